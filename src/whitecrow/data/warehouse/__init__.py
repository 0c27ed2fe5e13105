"""Records that stay where they are: Parquet through DuckDB, PostgreSQL, Apache Spark."""

from whitecrow.data.dialect import Dialect, Query
from whitecrow.data.warehouse.opening import open_remote
from whitecrow.data.warehouse.protocol import Warehouse
from whitecrow.data.warehouse.remote import RemoteDataset

__all__ = ["Dialect", "Query", "RemoteDataset", "Warehouse", "open_remote"]
