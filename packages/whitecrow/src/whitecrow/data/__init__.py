"""Datasets: cards of public facts, and records read against them."""

from whitecrow.card import Card, Column
from whitecrow.data.dataset import Dataset, Records, Rejections
from whitecrow.data.opened import Opened, is_lake
from whitecrow.data.reading import read
from whitecrow.data.sources import SourceType, SqlQuery
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
