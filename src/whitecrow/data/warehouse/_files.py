"""Parquet files that workers read by themselves: the card's checks are those of a reading here.

A worker that is handed rows by Spark waits for them: each value is decoded, checked, written to a
stream and read again, at fifteen times the cost of decoding the file where it is needed. So where
the records are plain Parquet files, Spark says which worker reads which part of them, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.data._columns import convert, decoded
from whitecrow.data._folders import is_parquet
from whitecrow.data.warehouse._protocol import BATCH, Matrix

__all__ = ["Part", "Reading", "parts_of", "plain_files"]

_TASKS = 16
_LEAST, _MOST = 1 << 19, 1 << 21
"""Records of a task: a sixteenth of all, between these as far as the files' own groups go."""


@dataclass(frozen=True)
class Reading:
    """Checks the card on stored records: picklable, and the code that reads records here.

    Parameters
    ----------
    card : Card
        The public facts; of no unit other than the record, since it looks at one record alone.
    columns : tuple of str
        The columns wanted, as doubles.
    """

    card: Card
    columns: tuple[str, ...]

    @property
    def stored(self) -> list[str]:
        """The columns that a batch must have, in this order."""
        return list(self.card.names)

    def __call__(self, batch: Any) -> Matrix:
        """Return the records of a batch that pass the card."""
        keep = np.ones(batch.num_rows, dtype=bool)
        checked = {}
        for place, column in enumerate(self.card.columns):
            values, bad = convert(decoded(batch.column(place)), column)
            for wrong in bad.values():
                keep &= ~wrong
            checked[column.name] = values
        found = np.empty((batch.num_rows, len(self.columns)))
        for place, name in enumerate(self.columns):
            found[:, place] = checked[name]
        return found if keep.all() else found[keep]


@dataclass(frozen=True)
class Part:
    """Groups of rows of some files, for one task, and how many rows they have."""

    groups: tuple[tuple[str, tuple[int, ...]], ...]
    rows: int

    def read(self, reading: Reading) -> Iterator[Matrix]:
        """Read and check them, on one core: others work beside."""
        from pyarrow import parquet

        for path, groups in self.groups:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(
                    BATCH, row_groups=list(groups), columns=reading.stored, use_threads=False
                ):
                    yield reading(batch)


def parts_of(files: Sequence[Path], names: Sequence[str]) -> tuple[Part, ...] | None:
    """Divide files among tasks; None where they have no common schema, or are not plain Parquet."""
    import pyarrow
    from pyarrow import parquet

    schema: Any = None
    groups: list[tuple[str, int, int]] = []
    for path in files:
        try:
            found = parquet.read_metadata(path)
        except (pyarrow.ArrowException, OSError):
            return None
        described = found.schema.to_arrow_schema()
        if any(len(described.get_all_field_indices(name)) != 1 for name in names):
            return None
        types = [described.field(name).type for name in names]
        if types != (types if schema is None else schema):
            return None
        schema = types
        rows = [found.row_group(place).num_rows for place in range(found.num_row_groups)]
        where = str(Path(path).resolve())  # a worker starts in a folder of its own
        groups += [(where, place, number) for place, number in enumerate(rows)]
    return _divided(groups)


def _divided(groups: list[tuple[str, int, int]]) -> tuple[Part, ...]:
    """Divide groups of rows, as a file, a place and a number of rows, into parts of like size."""
    total = sum(rows for *_, rows in groups)
    tasks = max(1, min(_TASKS, -(-total // _LEAST)), -(-total // _MOST))
    parts: list[tuple[dict[str, tuple[int, ...]], int]] = [({}, 0)] * tasks
    before = 0
    for path, place, rows in groups:
        number = min(tasks - 1, (2 * before + rows) * tasks // (2 * max(1, total)))
        files, held = parts[number]
        parts[number] = ({**files, path: (*files.get(path, ()), place)}, held + rows)
        before += rows
    return tuple(Part(tuple(files.items()), held) for files, held in parts if held)


def plain_files(path: Path) -> list[Path] | None:
    """Return the files that Spark reads of a file or a folder; None if it would do more than that.

    In a folder of folders it makes columns of their names.
    """
    if path.is_file():
        return [path]
    seen = sorted(one for one in path.iterdir() if not one.name.startswith(("_", ".")))
    return seen if all(one.is_file() and is_parquet(one) for one in seen) else None
