"""What an opened source is; and Parquet files, alone or as the parts of a table.

Statistics of a Parquet file, and the names of the folders it lies in, decide nothing: every row of
every file is read, by names and types alone, and a column is what the file itself holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whitecrow.card import Card
from whitecrow.data.values import decoded_type
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
        The Parquet files that the rows lie in, where they do (:mod:`whitecrow.data.opened`):
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


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files at any depth of a folder."""
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in _PARQUET)


def files_of(path: Path) -> list[Path]:
    """Return every file that decides which records a file or folder holds."""
    if is_lake(path):
        return sorted(file for file in path.rglob("*") if file.is_file())
    if path.is_dir():
        return parquet_files(path)
    # What DuckDB has not yet moved into the file itself.
    log = path.with_name(f"{path.name}.wal")
    return [path, log] if path.suffix.lower() == ".duckdb" and log.exists() else [path]


_PIECE = 1 << 20  # bytes of a column that are read from a Parquet file at once


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
        groups = tuple(about.row_group(index).num_rows for index in range(about.num_row_groups))
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
    return {_kind(schema.field(index).type) for index in places if len(places) == 1}


def _kind(arrow: Any) -> str:
    """Return what values of a type are, whatever their width."""
    from pyarrow import types

    arrow = decoded_type(arrow)
    if types.is_decimal(arrow):
        return f"decimals of scale {arrow.scale}"
    kinds = (types.is_integer, types.is_floating, types.is_timestamp, types.is_date)
    return next((kind.__name__ for kind in kinds if kind(arrow)), str(arrow))


def in_sql(name: str) -> str:
    """Quote a name as standard SQL does."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
