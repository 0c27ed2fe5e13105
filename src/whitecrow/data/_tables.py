"""Tables with a reader of their own: in DuckDB files, and Delta and Iceberg tables in folders.

A table is what lies in its file or folder. Its own records of what belongs to it may name files
anywhere, and code to load: neither is followed. What a reader says of a failure may quote values,
so it is not repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from whitecrow.card import TableChoice
from whitecrow.data._opened import BATCH, Opened
from whitecrow.errors import InvalidInput, MissingExtra, WhitecrowError

__all__ = ["delta_files", "open_delta", "open_duckdb", "open_iceberg"]

_NUMBERED = re.compile(r"v?(\d+)[-.].*metadata\.json")


def open_duckdb(path: Path, chosen: TableChoice) -> Opened:
    """Open one table or view of a DuckDB file, for reading alone."""
    try:
        import duckdb
    except ImportError:
        raise _missing("A DuckDB file", "sql") from None
    _no_version(chosen, "A DuckDB file")
    # A view may not read other files, and nothing is fetched from anywhere.
    closed: Any = {
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "lock_configuration": "true",
    }
    with _quiet(path, "a DuckDB file, or it is open for writing elsewhere"):
        connection = duckdb.connect(str(path), read_only=True, config=closed)
        listed = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
        names = sorted(name for (name,) in connection.sql(listed).fetchall())
    name = _chosen_name(path, names, chosen)
    readable = f"one whose table {name!r} is read from this file alone"
    with _quiet(path, readable):
        schema = connection.table(_quoted(name)).limit(0).to_arrow_table().schema

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        with _quiet(path, readable):
            table = connection.cursor().table(_quoted(name))
            yield from table.select(*map(_quoted, names)).to_arrow_reader(BATCH)

    return Opened(name, schema, 0, batches)


def open_delta(path: Path, chosen: TableChoice) -> Opened:
    """Open a Delta table, at the declared version or the newest."""
    _, found = _delta(path, chosen)

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        with _quiet(path, "a Delta table whose files are whole"):
            yield from found.to_batches(columns=names, batch_size=BATCH)

    return Opened(path.name, found.schema, 0, batches)


def delta_files(path: Path, chosen: TableChoice) -> list[Path]:
    """Return the Parquet files that hold the records of a Delta table, and nothing besides them.

    Raises
    ------
    InvalidInput
        Some columns are in the table's log alone, or its files are not alike.
    """
    from pyarrow import parquet

    table, found = _delta(path, chosen)
    if table.metadata().partition_columns:
        raise InvalidInput(
            f"The Delta table {path.name!r} is partitioned: some columns are not in its files. Use "
            "engine='local', or a table without partitions."
        )
    named = [Path(place.removeprefix("file://")) for place in table.file_uris()]
    files = [one if one.exists() else Path(unquote(str(one))) for one in named]
    if not files:
        raise InvalidInput(f"The Delta table {path.name!r} has no file yet.")
    with _quiet(path, "a Delta table whose files are whole"):
        schemas = [parquet.read_schema(file) for file in files]
    if any(one.names != found.schema.names or not one.equals(schemas[0]) for one in schemas):
        raise InvalidInput(
            f"The files of the Delta table {path.name!r} differ in names or types: columns were "
            "added or changed. Use engine='local', or rewrite the table."
        )
    return files


def _delta(path: Path, chosen: TableChoice) -> tuple[Any, Any]:
    """Return a Delta table and its records, if it keeps to its folder and its reader knows it."""
    try:
        import deltalake
    except ImportError:
        raise _missing("A Delta table", "delta") from None
    _no_name(chosen, "A Delta table")
    with _quiet(path, f"a Delta table{_at(chosen)}, of features that its reader knows"):
        table = deltalake.DeltaTable(str(path.resolve()), version=chosen.version)
        for place in table.file_uris():
            _inside(place, path)
            _inside(unquote(place), path)
        return table, table.to_pyarrow_dataset()


def open_iceberg(path: Path, chosen: TableChoice) -> Opened:
    """Open an Iceberg table from its metadata files, at the declared snapshot or the newest."""
    try:
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO, schema_to_pyarrow
        from pyiceberg.table import StaticTable
        from pyiceberg.table.metadata import TableMetadataUtil
    except ImportError:
        raise _missing("An Iceberg table", "iceberg") from None
    _no_name(chosen, "An Iceberg table")

    class Inside(PyArrowFileIO):
        """Opens the files of this folder and no others; the table's properties are not asked."""

        def new_input(self, location: str) -> PyArrowFile:
            _inside(location, path)
            return super().new_input(location)

    newest = _newest_metadata(path)
    with _quiet(path, f"an Iceberg table{_at(chosen)}, of features that its reader knows"):
        table = StaticTable(
            identifier=("static", path.name),
            metadata=TableMetadataUtil.parse_raw(newest.read_text(encoding="utf-8")),
            metadata_location=str(newest),
            io=Inside(),
            catalog=NoopCatalog("static"),
        )
        scan = table.scan(snapshot_id=chosen.version)
        schema = schema_to_pyarrow(scan.projection(), include_field_ids=False)

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        with _quiet(path, "an Iceberg table whose files are whole"):
            for batch in scan.select(*names).to_arrow_batch_reader():
                yield batch.select(names)

    return Opened(path.name, schema, 0, batches)


def _newest_metadata(path: Path) -> Path:
    """Without a catalogue, the metadata file with the largest number is the newest."""
    by_number: dict[int, list[Path]] = {}
    for file in (path / "metadata").glob("*.metadata.json"):
        found = _NUMBERED.fullmatch(file.name)
        if found is not None:
            by_number.setdefault(int(found[1]), []).append(file)
    newest = by_number[max(by_number)] if by_number else []
    if len(newest) != 1:
        raise InvalidInput(
            f"Which metadata file of the Iceberg table {path.name!r} is the newest cannot be told: "
            f"{len(newest)} of them have the largest number. Remove what was not committed."
        )
    _inside(str(newest[0]), path)
    return newest[0]


def _chosen_name(path: Path, names: list[str], chosen: TableChoice) -> str:
    if chosen.name in names:
        return chosen.name
    if not chosen.name and len(names) == 1:
        return names[0]
    raise InvalidInput(
        f"The DuckDB file {path.name!r} holds the tables {', '.join(names) or '(none)'}; say which "
        f'one is meant in the card: [table], name = "...". Got {chosen.name or "none"!r}.'
    )


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _inside(place: str, folder: Path) -> None:
    """Refuse a file that does not lie in the table's folder, whatever links its path has."""
    local = place.removeprefix("file://")
    if "://" in local or not Path(local).resolve().is_relative_to(folder.resolve()):
        raise InvalidInput(
            f"The table {folder.name!r} names a file outside of its folder. Only what lies in the "
            "folder is read: copy the table with its files."
        )


@contextmanager
def _quiet(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (WhitecrowError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - a reader's own text may quote values
        raise InvalidInput(f"{path.name!r} is not readable as {what}.") from None


def _at(chosen: TableChoice) -> str:
    return "" if chosen.version is None else f" with the version {chosen.version}"


def _missing(what: str, extra: str) -> MissingExtra:
    return MissingExtra(f"{what} needs a reader that is missing: pip install 'whitecrow[{extra}]'.")


def _no_name(chosen: TableChoice, what: str) -> None:
    if chosen.name:
        raise InvalidInput(f"{what} is one table: leave 'name' out of the card's [table].")


def _no_version(chosen: TableChoice, what: str) -> None:
    if chosen.version is not None:
        raise InvalidInput(f"{what} keeps no versions: leave 'version' out of the card's [table].")
