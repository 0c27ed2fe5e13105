"""Records that stay where they are: Parquet through DuckDB, PostgreSQL, Apache Spark."""

from whitecrow.data._dialect import Dialect, Query
from whitecrow.data.warehouse._opening import open_remote
from whitecrow.data.warehouse._protocol import Warehouse, Work, Yields, gathered
from whitecrow.data.warehouse._remote import RemoteDataset

__all__ = [
    "Dialect",
    "Query",
    "RemoteDataset",
    "Warehouse",
    "Work",
    "Yields",
    "gathered",
    "open_remote",
]
