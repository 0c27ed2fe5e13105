"""Parquet files that workers read by themselves: the card's checks are those of a reading here.

A worker that is handed rows by Spark waits for them: each value is decoded, checked, written to a
stream and read again, at fifteen times the cost of decoding the file where it is needed. So where
the records are plain Parquet files, Spark says which worker reads which part of them, and no more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.data._columns import convert, decoded
from whitecrow.data._folders import is_parquet
from whitecrow.data.warehouse._protocol import BATCH, Matrix

__all__ = [
    "Footer",
    "Part",
    "Reading",
    "common_schema",
    "footers_of",
    "glanced",
    "parts_of",
    "plain_files",
]

_LEAST, _MOST = 1 << 19, 1 << 22
"""Records of a task: like parts for all cores, between these as far as the files' groups go."""
_GLANCED = 8
"""Groups of rows that a sample comes from, at most."""


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

    def read(self, reading: Reading, together: int = BATCH) -> Iterator[Matrix]:
        """Read and check them, on one core: others work beside."""
        return map(reading, self.batches(reading.stored, together))

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


def footers_of(files: Sequence[Path]) -> tuple[Footer, ...] | None:
    """Read how files are stored, and no record; None where one is not plain Parquet."""
    import pyarrow
    from pyarrow import parquet

    footers = []
    for path in files:
        try:
            found = parquet.read_metadata(path)
        except (pyarrow.ArrowException, OSError):
            return None
        rows = tuple(found.row_group(place).num_rows for place in range(found.num_row_groups))
        # A worker starts in a folder of its own.
        footers.append(Footer(str(Path(path).resolve()), found.schema.to_arrow_schema(), rows))
    return tuple(footers)


def common_schema(footers: Sequence[Footer]) -> Any:
    """Return the schema that Spark would find; None where that is for Spark to say.

    So it is where files differ, where names differ by case alone, and where it would read a type
    as another.
    """
    import pyarrow

    known = {pyarrow.bool_(), pyarrow.float32(), pyarrow.float64(), pyarrow.string()}
    known |= {pyarrow.int8(), pyarrow.int16(), pyarrow.int32(), pyarrow.int64(), pyarrow.date32()}
    schemas = [footer.schema for footer in footers]
    if not schemas or not all(schema.equals(schemas[0]) for schema in schemas):
        return None
    names = [name.casefold() for name in schemas[0].names]
    if len(set(names)) < len(names) or not known.issuperset(schemas[0].types):
        return None
    return pyarrow.schema([(field.name, field.type) for field in schemas[0]])


def parts_of(
    footers: Sequence[Footer], names: Sequence[str], cores: int
) -> tuple[Part, ...] | None:
    """Divide files among tasks; None where they have no common schema."""
    schema: Any = None
    groups: list[tuple[str, int, int]] = []
    for footer in footers:
        if any(len(footer.schema.get_all_field_indices(name)) != 1 for name in names):
            return None
        types = [footer.schema.field(name).type for name in names]
        if types != (types if schema is None else schema):
            return None
        schema = types
        groups += [(footer.path, place, number) for place, number in enumerate(footer.rows)]
    return _divided(groups, cores)


def glanced(parts: Sequence[Part], reading: Reading, number: int) -> Matrix | None:
    """Read the first records of some groups of rows here, and draw about so many of them.

    None where they hold none. A sample decides how work is split, and never a count: it need not
    be of all groups.
    """
    source = np.random.default_rng()
    groups = [(path, group) for part in parts for path, groups in part.groups for group in groups]
    found = [np.empty((0, len(reading.columns)))]
    for place in source.permutation(len(groups))[:_GLANCED]:
        path, group = groups[place]
        found += itertools.islice(Part(((path, (group,)),), 0).read(reading, 2 * number), 1)
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


def plain_files(path: Path) -> list[Path] | None:
    """Return the files that Spark reads of a file or a folder; None if it would do more than that.

    In a folder of folders it makes columns of their names.
    """
    if path.is_file():
        return [path]
    seen = sorted(one for one in path.iterdir() if not one.name.startswith(("_", ".")))
    return seen if all(one.is_file() and is_parquet(one) for one in seen) else None
