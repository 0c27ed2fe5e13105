"""Parquet files, alone or as the parts of a table, read by names and types alone.

Statistics of a file, and the names of the folders it lies in, decide nothing: every row of every
file is read, and a column is what the file itself holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whitecrow.card import Card
from whitecrow.data._opened import BATCH, Opened, parquet_files, readable_as
from whitecrow.data._values import decoded_type
from whitecrow.errors import InvalidInput

_PIECE = 1 << 20
"""Bytes of a column that are read from a Parquet file at once."""


Constants = Mapping[str, Any]
"""By column, what all rows of a file have: an Arrow scalar."""


def open_parquet(path: Path, _: Card | None = None) -> Opened:
    own, groups = _footer(path)
    return _opened(path.stem, own, [File(path, groups, {name: name for name in own.names})])


def open_folder(path: Path) -> Opened:
    """Open all Parquet files below a folder as one table; their schemas must be equal."""
    files = parquet_files(path)
    if not files:
        raise InvalidInput(f"The folder {path.name!r} holds no Parquet file.")
    first = open_parquet(files[0]).schema

    def stored(own: Any, file: Path) -> dict[str, str]:
        if not own.equals(first):
            raise InvalidInput(
                f"The files of the folder {path.name!r} differ in names or types: {file.name!r} is "
                f"not like {files[0].name!r}."
            )
        return {name: name for name in own.names}

    return open_parts(path.name, first, {file: {} for file in files}, stored)


def open_parts(
    name: str,
    schema: Any,
    files: Mapping[Path, Constants],
    stored: Callable[[Any, Path], dict[str, str]],
) -> Opened:
    """Open Parquet files as the parts of one table.

    ``files`` says what the rows of each have in columns that are not read from it.
    ``stored(own, file)`` returns by the table's names of columns those in a file with the schema
    ``own``. What is neither stored nor constant is missing in all rows.
    """
    from pyarrow import types

    parts = []
    for file, constants in files.items():
        own, groups = _footer(file)
        names = {key: value for key, value in stored(own, file).items() if key not in constants}
        for column in schema:
            if types.is_nested(column.type) or column.name not in names:
                continue  # no card reads it, or nothing is read
            if _kinds(own, names[column.name]) != {_kind(column.type)}:
                raise InvalidInput(
                    f"The files of {name!r} differ in names or types: {file.name!r} does not hold "
                    f"the column {column.name!r} as {column.type}. Rewrite the table."
                )
        parts.append(File(file, groups, names, constants))
    return _opened(name, schema, parts)


@dataclass(frozen=True)
class File:
    """One Parquet file of a table, and where its columns come from; picklable."""

    path: Path  # where it lies
    groups: tuple[int, ...]  # how many rows each of its groups of rows has
    stored: Mapping[str, str]  # the names in the file, by those of the table
    # What all rows have in columns that are not read from the file.
    constants: Constants = field(default_factory=dict)

    def batches(
        self,
        names: Sequence[str],
        groups: Sequence[int] | None = None,
        *,
        together: int | None = None,
        threads: bool = True,
    ) -> Iterator[Any]:
        """Read columns of all groups of rows, or of some, so many rows together."""
        import pyarrow

        wanted = [self.stored[name] for name in names if name in self.stored]
        with readable_as(self.path, "Parquet"), _file(self.path) as file:
            for batch in file.iter_batches(
                together or BATCH, row_groups=groups, columns=wanted, use_threads=threads
            ):
                # By name: what is read of a nested column may stand between those wanted.
                arrays = [
                    batch.column(self.stored[name])
                    if name in self.stored
                    else pyarrow.repeat(self.constants.get(name, pyarrow.NA), batch.num_rows)
                    for name in names
                ]
                yield pyarrow.record_batch(arrays, names=list(names))


def _opened(name: str, schema: Any, files: list[File]) -> Opened:
    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        for file in files:
            yield from file.batches(names)

    return Opened(name, schema, sum(sum(file.groups) for file in files), batches, tuple(files))


def _footer(path: Path) -> tuple[Any, tuple[int, ...]]:
    """Return the schema, and how many rows each group of rows has."""
    with readable_as(path, "Parquet"), _file(path) as file:
        about = file.metadata
        groups = tuple(about.row_group(place).num_rows for place in range(about.num_row_groups))
        return file.schema_arrow, groups


def _file(path: Path) -> Any:
    from pyarrow import parquet

    # Columns are read in small pieces: a whole row group may be as large as the data. In
    # milliseconds every moment of the old form of timestamps has room.
    return parquet.ParquetFile(
        path, pre_buffer=False, buffer_size=_PIECE, coerce_int96_timestamp_unit="ms"
    )


def _kinds(schema: Any, name: str) -> set[str]:
    """Return what a column holds; nothing if there is not one column of that name."""
    places = schema.get_all_field_indices(name)
    return {_kind(schema.field(place).type) for place in places if len(places) == 1}


def _kind(arrow: Any) -> str:
    """Return what values of a type are, whatever their width."""
    from pyarrow import types

    arrow = decoded_type(arrow)
    if types.is_decimal(arrow):
        return f"decimals of scale {arrow.scale}"
    kinds = (types.is_integer, types.is_floating, types.is_timestamp, types.is_date)
    return next((kind.__name__ for kind in kinds if kind(arrow)), str(arrow))
