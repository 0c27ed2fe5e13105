"""Datasets: cards of public facts, and records read against them."""

from whitecrow.card import Card, Column
from whitecrow.data.dataset import Dataset, Rejections
from whitecrow.data.reading import read, read_and_keep
from whitecrow.data.records import Records
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
    "read",
    "read_and_keep",
    "template",
]
