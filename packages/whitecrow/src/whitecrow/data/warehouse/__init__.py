"""Canonical columns that memory does not hold: in a file of this process, or on Apache Spark."""

from whitecrow.data.warehouse._protocol import Asked, Warehouse, Work, Yields, gathered
from whitecrow.data.warehouse._remote import RemoteDataset, open_remote

__all__ = ["Asked", "RemoteDataset", "Warehouse", "Work", "Yields", "gathered", "open_remote"]
