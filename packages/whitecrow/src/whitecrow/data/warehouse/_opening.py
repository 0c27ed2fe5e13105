"""Finding the warehouse that a source names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from whitecrow.card import Card
from whitecrow.data._opened import Opened
from whitecrow.data.reading import Progress, open_checked
from whitecrow.data.sources import data_file, open_source
from whitecrow.data.warehouse._disk import DiskWarehouse
from whitecrow.data.warehouse._remote import RemoteDataset
from whitecrow.data.warehouse.spark import SparkWarehouse
from whitecrow.errors import InvalidInput, Unreachable, WhitecrowError


def open_remote(
    source: object,
    card: Card | str | Path | None = None,
    *,
    engine: str = "disk",
    spark_master: str | None = None,
    progress: Progress | None = None,
    watch: Callable[[Any], None] | None = None,
) -> RemoteDataset:
    """Open records that memory need not hold.

    Parameters
    ----------
    source, card, progress, watch
        ``disk``: see :func:`whitecrow.data.read`; the source is read once, here. ``spark``: a
        Parquet file or folder, or the folder of a Delta or Iceberg table, that all workers see;
        a Parquet address (``s3a://...``), the name of a table, or a Spark data frame.
    engine : {"disk", "spark"}
        Where canonical columns are: in a file of this process, or with Spark's workers.
    spark_master : str, optional
        ``local[4]``, ``spark://host:7077``, ``yarn``, or ``sc://host`` for Spark Connect; by
        default Spark in this machine.

    Raises
    ------
    Unreachable
        What the engine needs is not installed, or did not answer; nothing was counted.
    """
    known = Card.load(card) if isinstance(card, str | Path) else card
    if engine == "disk":
        opened, known = open_checked(source, known, watch)
        disk = DiskWarehouse(opened, known, progress)
        return _dataset(known, disk, size=disk.size, rejections=disk.rejections)
    try:
        spark = SparkWarehouse(source, known, spark_master, _in_files(source, known))
        mark = spark.mark if spark.rows_stored is None else None
        return _dataset(spark.card, spark, size=spark.size, rejections=spark.rejections, mark=mark)
    except WhitecrowError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver's own text may quote values
        raise Unreachable(
            f"The engine 'spark' did not answer ({type(error).__name__}); nothing was counted."
        ) from None


def _dataset(card: Card, warehouse: Any, **known: Any) -> RemoteDataset:
    try:
        return RemoteDataset(card, warehouse, **known)
    except BaseException:
        warehouse.close()
        raise


def _in_files(source: object, card: Card | None) -> Opened | None:
    """Open a source that consists of Parquet files here; None where Spark finds the records."""
    path = data_file(source)
    if path is None or not path.exists():
        return None
    opened = open_source(path, card)
    if opened.files is None:
        raise InvalidInput(
            f"The engine 'spark' reads Parquet files, and {path.name!r} consists of none. Use "
            "engine='disk'."
        )
    return opened
