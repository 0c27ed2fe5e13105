"""A source whose names and types are known; its values are read batch by batch."""

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
