"""A source whose names and types are known; its values are read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["BATCH", "Opened"]

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
        ``batches(names, left_out)`` yields the named columns; ``left_out()`` is called for each row
        that could not be told into columns.
    """

    name: str
    schema: Any
    rows: int
    batches: Callable[[list[str], Callable[[], None]], Iterator[Any]]
