"""Finding the warehouse that a source names."""

from __future__ import annotations

from pathlib import Path

from whitecrow.card import Card, TableChoice
from whitecrow.data._folders import lake_kind
from whitecrow.data._reading import bare_card
from whitecrow.data._sources import SqlQuery, data_file
from whitecrow.data._tables import delta_files
from whitecrow.data.warehouse._duck import DuckWarehouse
from whitecrow.data.warehouse._postgres import PostgresWarehouse
from whitecrow.data.warehouse._protocol import Warehouse
from whitecrow.data.warehouse._remote import RemoteDataset
from whitecrow.data.warehouse._spark import SparkWarehouse
from whitecrow.errors import InvalidInput, Unreachable, WhitecrowError

__all__ = ["open_remote"]


def open_remote(
    source: object,
    card: Card | str | Path | None = None,
    *,
    engine: str = "sql",
    spark_master: str | None = None,
) -> RemoteDataset:
    """Open records where they are.

    Parameters
    ----------
    source : path, text or SqlQuery
        ``sql``: a Parquet file or folder (DuckDB), or ``postgresql://...::TABLE`` or
        ``postgresql://...::SELECT ...``. ``spark``: a Parquet file, folder or address, the folder
        of a Delta table, the name of a table, or a Spark data frame.
    card : Card or path, optional
        Without one, names and types come from the schema, and no bounds are known.
    engine : {"sql", "spark"}
        Who answers queries.
    spark_master : str, optional
        ``local[4]``, ``spark://host:7077``, ``yarn``, or ``sc://host`` for Spark Connect; by
        default Spark in this machine.

    Raises
    ------
    Unreachable
        What the engine needs is not installed; nothing was read.
    """
    known = Card.load(card) if isinstance(card, str | Path) else card
    file = data_file(source)
    lake = "" if file is None else lake_kind(file)
    if file is not None and lake and (engine, lake) != ("spark", "delta"):
        raise InvalidInput(
            f"The engine '{engine}' would take all Parquet files of the table {file.name!r} for "
            "its records, and some belong to other versions. Use engine='local'."
        )
    try:
        if file is not None and lake:
            chosen = TableChoice() if known is None else known.table
            return _opened(known, SparkWarehouse(file, spark_master, delta_files(file, chosen)))
        if engine == "spark":
            return _opened(known, SparkWarehouse(source, spark_master))
        return _opened(known, _sql(source))
    except WhitecrowError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver's own text may quote values
        raise Unreachable(
            f"The engine '{engine}' did not answer ({type(error).__name__}); nothing was counted."
        ) from None


def _opened(card: Card | None, warehouse: Warehouse) -> RemoteDataset:
    try:
        return RemoteDataset(card or bare_card(warehouse.schema(), warehouse.name), warehouse)
    except BaseException:
        warehouse.close()
        raise


def _sql(source: object) -> Warehouse:
    if isinstance(source, str) and "::" in source and "://" in source:
        url, _, query = source.partition("::")
        source = SqlQuery(url, query)
    if isinstance(source, SqlQuery):
        if not source.url.startswith("postgresql"):
            raise InvalidInput(
                "The engine 'sql' asks PostgreSQL (postgresql://...::SELECT ...) or Parquet files; "
                "other databases are read with engine='local'."
            )
        return PostgresWarehouse(source.url, source.query)
    if isinstance(source, str | Path):
        return DuckWarehouse(Path(source))
    raise InvalidInput(
        "The engine 'sql' counts where the data are: give a Parquet file or folder, or "
        "postgresql://...::SELECT ..., not a frame in memory."
    )
