"""Parquet files that workers read by themselves, with the code that reads records here.

A worker that is handed rows by Spark waits for them: each value is decoded, written to a stream and
read again, at fifteen times the cost of decoding the file where it is needed. So where the records
are Parquet files, Spark says which worker reads which part of them, and no more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.data._decoding import Decoded
from whitecrow.data.parquet import File
from whitecrow.data.warehouse._protocol import BATCH, Asked, Matrix

_LEAST, _MOST = 1 << 19, 1 << 22
"""Records of a task: like parts for all cores, between these as far as the files' groups go."""
_PEEKED = 8
"""Groups of rows that a sample comes from, at most."""


@dataclass(frozen=True)
class Part:
    """Groups of rows of some files, for one task, and how many rows they have."""

    files: tuple[tuple[File, tuple[int, ...]], ...]
    rows: int

    def decoded(self, card: Card, together: int = BATCH) -> Iterator[Decoded]:
        """Read and check them, on one core: others work beside."""
        return (Decoded(batch, card) for batch in self.batches(card.names, together))

    def batches(self, columns: Sequence[str], together: int = BATCH) -> Iterator[Any]:
        """Read some columns as they are stored."""
        for file, groups in self.files:
            yield from file.batches(columns, list(groups), together=together, threads=False)


def parts_of(files: Sequence[File], cores: int) -> tuple[Part, ...]:
    """Divide the groups of rows of files among tasks, into parts of like size."""
    total = sum(sum(file.groups) for file in files)
    needed = -(-total // _MOST)
    wanted = -(-max(1, needed) // cores) * cores
    tasks = max(1, needed, min(wanted, -(-total // _LEAST)))
    parts: list[dict[int, list[int]]] = [{} for _ in range(tasks)]
    rows, before = [0] * tasks, 0
    for number, file in enumerate(files):
        for group, size in enumerate(file.groups):
            task = min(tasks - 1, (2 * before + size) * tasks // (2 * max(1, total)))
            parts[task].setdefault(number, []).append(group)
            rows[task] += size
            before += size
    # A worker starts in a folder of its own.
    found = [replace(file, path=file.path.resolve()) for file in files]
    return tuple(
        Part(tuple((found[number], tuple(groups)) for number, groups in part.items()), size)
        for part, size in zip(parts, rows, strict=True)
        if size
    )


def peeked(parts: Sequence[Part], card: Card, asked: Asked, number: int) -> Matrix | None:
    """Read the first records of some groups of rows here, and draw about so many of them.

    None where they hold none. A sample decides how work is split, and never a count: it need not
    be of all groups.
    """
    source = np.random.default_rng()
    groups = [(file, group) for part in parts for file, groups in part.files for group in groups]
    found = [np.empty((0, len(asked.columns)))]
    for place in source.permutation(len(groups))[:_PEEKED]:
        file, group = groups[place]
        first = itertools.islice(Part(((file, (group,)),), 0).decoded(card, 2 * number), 1)
        found += asked.of(first)
    values = np.concatenate(found)
    drawn = source.choice(len(values), min(number, len(values)), replace=False)
    return values[drawn] if len(values) else None
