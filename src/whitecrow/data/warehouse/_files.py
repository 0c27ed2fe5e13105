"""Parquet files that workers read by themselves, with the code that reads records here.

A worker that is handed rows by Spark waits for them: each value is decoded, written to a stream and
read again, at fifteen times the cost of decoding the file where it is needed. So where the records
are Parquet files, Spark says which worker reads which part of them, and no more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.data._decoding import Decoded
from whitecrow.data.warehouse._protocol import BATCH, Asked, Matrix
from whitecrow.errors import InvalidInput

_LEAST, _MOST = 1 << 19, 1 << 22
"""Records of a task: like parts for all cores, between these as far as the files' groups go."""
_PEEKED = 8
"""Groups of rows that a sample comes from, at most."""


@dataclass(frozen=True)
class Part:
    """Groups of rows of some files, for one task, and how many rows they have."""

    groups: tuple[tuple[str, tuple[int, ...]], ...]
    rows: int

    def decoded(self, card: Card, together: int = BATCH) -> Iterator[Decoded]:
        """Read and check them, on one core: others work beside."""
        return (Decoded(batch, card) for batch in self.batches(card.names, together))

    def batches(self, columns: Sequence[str], together: int = BATCH) -> Iterator[Any]:
        """Read some columns as they are stored."""
        from pyarrow import parquet

        for path, groups in self.groups:
            with parquet.ParquetFile(path) as file:
                yield from file.iter_batches(
                    together, row_groups=list(groups), columns=list(columns), use_threads=False
                )


@dataclass(frozen=True)
class Footer:
    """What the end of a Parquet file says of it: where it lies, its schema, its groups of rows."""

    path: str
    schema: Any
    rows: tuple[int, ...]


def footers_of(files: Sequence[Path], name: str) -> tuple[Footer, ...]:
    """Read how the files of a source are stored, and no record.

    Raises
    ------
    InvalidInput
        A file is not Parquet, or their schemas differ.
    """
    import pyarrow
    from pyarrow import parquet

    footers = []
    for path in files:
        try:
            with parquet.ParquetFile(path) as file:
                schema, about = file.schema_arrow, file.metadata
        except (pyarrow.ArrowException, OSError):
            raise InvalidInput(f"The file {path.name!r} is not readable Parquet.") from None
        rows = tuple(about.row_group(place).num_rows for place in range(about.num_row_groups))
        # A worker starts in a folder of its own.
        footers.append(Footer(str(path.resolve()), schema, rows))
        if not footers[-1].schema.equals(footers[0].schema):
            raise InvalidInput(
                f"The files of the folder {name!r} differ in names or types: {path.name!r} is not "
                f"like {files[0].name!r}."
            )
    if not footers:
        raise InvalidInput(f"The folder {name!r} holds no Parquet file.")
    return tuple(footers)


def parts_of(footers: Sequence[Footer], cores: int) -> tuple[Part, ...]:
    """Divide files among tasks."""
    groups = [
        (footer.path, place, number)
        for footer in footers
        for place, number in enumerate(footer.rows)
    ]
    return _divided(groups, cores)


def peeked(parts: Sequence[Part], card: Card, asked: Asked, number: int) -> Matrix | None:
    """Read the first records of some groups of rows here, and draw about so many of them.

    None where they hold none. A sample decides how work is split, and never a count: it need not
    be of all groups.
    """
    source = np.random.default_rng()
    groups = [(path, group) for part in parts for path, groups in part.groups for group in groups]
    found = [np.empty((0, len(asked.columns)))]
    for place in source.permutation(len(groups))[:_PEEKED]:
        path, group = groups[place]
        first = itertools.islice(Part(((path, (group,)),), 0).decoded(card, 2 * number), 1)
        found += asked.of(first)
    values = np.concatenate(found)
    drawn = source.choice(len(values), min(number, len(values)), replace=False)
    return values[drawn] if len(values) else None


def _divided(groups: list[tuple[str, int, int]], cores: int) -> tuple[Part, ...]:
    """Divide groups of rows, as a file, a place and a number of rows, into parts of like size."""
    total = sum(rows for *_, rows in groups)
    needed = -(-total // _MOST)
    wanted = -(-max(1, needed) // cores) * cores
    tasks = max(1, needed, min(wanted, -(-total // _LEAST)))
    parts: list[tuple[dict[str, tuple[int, ...]], int]] = [({}, 0)] * tasks
    before = 0
    for path, place, rows in groups:
        number = min(tasks - 1, (2 * before + rows) * tasks // (2 * max(1, total)))
        files, held = parts[number]
        parts[number] = ({**files, path: (*files.get(path, ()), place)}, held + rows)
        before += rows
    return tuple(Part(tuple(files.items()), held) for files, held in parts if held)
