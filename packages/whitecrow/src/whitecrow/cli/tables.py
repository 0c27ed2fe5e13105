"""Tables that the terminal writes: Parquet or CSV, by the ending of the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whitecrow.errors import InvalidInput

_ENDINGS = (".parquet", ".pq", ".csv")


def check_ending(target: str | Path) -> None:
    """Refuse a file whose ending names no format that is written."""
    if Path(target).suffix.lower() not in _ENDINGS:
        raise InvalidInput(f"--out must end in .parquet or .csv; got {Path(target).name!r}.")


def write_tables(tables: Iterator[Any], target: Path) -> None:
    """Write tables as they come; an unfinished file does not stay."""
    from pyarrow import csv, parquet

    check_ending(target)
    made = csv.CSVWriter if target.suffix.lower() == ".csv" else parquet.ParquetWriter
    partial = target.with_name(f".{target.name}.part")
    writer = None
    try:
        for table in tables:
            if writer is None:
                writer = made(str(partial), table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
            partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
