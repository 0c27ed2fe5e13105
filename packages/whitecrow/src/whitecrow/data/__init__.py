"""Datasets: cards of public facts, and records read against them."""

from whitecrow.card import Card, Column
from whitecrow.data._dataset import Dataset, Records, Rejections
from whitecrow.data._opened import is_lake
from whitecrow.data.reading import read
from whitecrow.data.sources import Opened, SourceType, SqlQuery
from whitecrow.data.template import template

__all__ = [
    "Card",
    "Column",
    "Dataset",
    "Opened",
    "Records",
    "Rejections",
    "SourceType",
    "SqlQuery",
    "is_lake",
    "read",
    "template",
]
