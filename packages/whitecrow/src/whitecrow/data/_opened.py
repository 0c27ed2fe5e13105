"""A source whose names and types are known, and which files hold the records of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitecrow.errors import InvalidInput, WhitecrowError

BATCH = 65_536
"""How many rows are read at once."""


@dataclass(frozen=True)
class Opened:
    """A source whose names and types are known.

    Parameters
    ----------
    name : str
        What the data are called, in words.
    schema : Arrow schema
    rows : int
        How many there are, 0 if that is not known.
    batches : callable
        ``batches(names, left_out)`` yields the named columns and reads no others; ``left_out()`` is
        called for each row that could not be told into columns.
    files : tuple, optional
        The Parquet files that the rows lie in, where they do (:mod:`whitecrow.data.parquet`):
        workers of a cluster read them.
    """

    name: str
    schema: Any
    rows: int
    batches: Callable[[list[str], Callable[[], None]], Iterator[Any]]
    files: tuple[Any, ...] | None = None


@contextmanager
def readable_as(path: Path, what: str) -> Iterator[None]:
    """Refuse a file in words of our own: what a reader says of a failure may quote values."""
    try:
        yield
    except (WhitecrowError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - whatever a reader raises
        raise InvalidInput(f"{path.name!r} is not readable as {what}.") from None


def inside(location: str, folder: Path) -> None:
    """Refuse a file that does not lie in a table's folder, whatever links its path has."""
    local = location.removeprefix("file://")
    if "://" in local or not Path(local).resolve().is_relative_to(folder.resolve()):
        raise InvalidInput(
            f"The table {folder.name!r} names a file outside of its folder. Only what lies in the "
            "folder is read: copy the table with its files."
        )


_PARQUET = (".parquet", ".pq")


def lake_kind(path: Path) -> str:
    """Return "delta" or "iceberg" for a folder that such a table lies in, else nothing.

    Its Parquet files are not its records: some were removed, others belong to another version.
    """
    if (path / "_delta_log").is_dir():
        return "delta"
    return "iceberg" if any((path / "metadata").glob("*.metadata.json")) else ""


def is_lake(path: Path) -> bool:
    """Whether a Delta or an Iceberg table lies in this folder."""
    return bool(lake_kind(path))


def is_parquet(path: Path) -> bool:
    """Whether a file is one of Parquet, by its ending."""
    return path.suffix.lower() in _PARQUET


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files at any depth of a folder."""
    return sorted(one for one in path.rglob("*") if is_parquet(one))


def files_of(path: Path) -> list[Path]:
    """Return every file that decides which records a file or folder holds."""
    if is_lake(path):
        return sorted(one for one in path.rglob("*") if one.is_file())
    if path.is_dir():
        return parquet_files(path)
    # What DuckDB has not yet moved into the file itself.
    log = path.with_name(f"{path.name}.wal")
    return [path, log] if path.suffix.lower() == ".duckdb" and log.exists() else [path]
