"""Tables whose own reader is asked: in DuckDB files, and Iceberg tables in folders.

A table is what lies in its file or folder. Its own records of what belongs to it may name files
anywhere, and code to load: neither is followed. An Iceberg table is asked for its columns and its
files only; no file is left unread for what its metadata say of the values in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from whitecrow.card import TableChoice
from whitecrow.data._delta import open_delta
from whitecrow.data._opened import BATCH, Opened, inside, readable_as
from whitecrow.data.parquet import open_parts
from whitecrow.errors import InvalidInput, MissingExtra

__all__ = ["open_delta", "open_duckdb", "open_iceberg"]

_AS_TEXT = ("UHUGEINT", "BIGNUM")
"""Numbers of DuckDB that Arrow has no room for."""
_NUMBERED = re.compile(r"v?(\d+)[-.].*metadata\.json")


def open_duckdb(path: Path, chosen: TableChoice) -> Opened:
    """Open one table or view of a DuckDB file, for reading alone."""
    import pyarrow

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
        # What a view selects must not hang on what is known of all values of a column.
        "disabled_optimizers": "statistics_propagation,filter_pushdown",
    }
    with readable_as(path, "a DuckDB file, or it is open for writing elsewhere"):
        connection = duckdb.connect(str(path), read_only=True, config=closed)
        listed = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
        names = sorted(name for (name,) in connection.sql(listed).fetchall())
    name = _chosen_name(path, names, chosen)
    readable = f"one whose table {name!r} is read from this file alone"

    def table() -> Any:
        session = connection.cursor()
        session.execute("SET TimeZone = 'UTC'")  # a day of a view is one of UTC
        return session.table(_quoted(name))

    with readable_as(path, readable):
        relation = table()
        as_text = {
            column
            for column, kind in zip(relation.columns, relation.types, strict=True)
            if str(kind).upper() in _AS_TEXT
        }
        exported = relation.limit(0).to_arrow_table().schema
        schema = pyarrow.schema(
            [(one.name, pyarrow.string() if one.name in as_text else one.type) for one in exported]
        )

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        wanted = [
            f"CAST({_quoted(one)} AS VARCHAR) AS {_quoted(one)}" if one in as_text else _quoted(one)
            for one in names
        ]
        with readable_as(path, readable):
            yield from table().select(*wanted).to_arrow_reader(BATCH)

    return Opened(name, schema, 0, batches)


def open_iceberg(path: Path, chosen: TableChoice) -> Opened:
    """Open an Iceberg table from its metadata files, at the declared snapshot or the newest."""
    try:
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO, schema_to_pyarrow
        from pyiceberg.manifest import DataFileContent, FileFormat
        from pyiceberg.table import StaticTable
        from pyiceberg.table.metadata import TableMetadataUtil
        from pyiceberg.transforms import IdentityTransform
    except ImportError:
        raise _missing("An Iceberg table", "iceberg") from None
    _no_name(chosen, "An Iceberg table")

    class Inside(PyArrowFileIO):
        """Opens the files of this folder and no others; the table's properties are not asked."""

        def new_input(self, location: str) -> PyArrowFile:
            inside(location, path)
            return super().new_input(location)

    newest = _newest_metadata(path)
    with readable_as(path, f"an Iceberg table{_at(chosen)}, of features that its reader knows"):
        table = StaticTable(
            identifier=("static", path.name),
            metadata=TableMetadataUtil.parse_raw(newest.read_text(encoding="utf-8")),
            metadata_location=str(newest),
            io=Inside(),
            catalog=NoopCatalog("static"),
        )
        if table.format_version > 2:
            raise _refused(path, f"version {table.format_version} of the format")
        scan = table.scan(snapshot_id=chosen.version)
        columns = scan.projection()
        schema = schema_to_pyarrow(columns, include_field_ids=False)
        snapshot = scan.snapshot()
        manifests = [] if snapshot is None else snapshot.manifests(table.io)
        entries = [one for manifest in manifests for one in manifest.fetch_manifest_entry(table.io)]
        files: dict[Path, dict[str, Any]] = {}
        for data_file in (entry.data_file for entry in entries):
            if data_file.content != DataFileContent.DATA:
                raise _refused(path, "files that delete records of others")
            if data_file.file_format != FileFormat.PARQUET:
                raise _refused(path, "files that are no Parquet")
            inside(data_file.file_path, path)
            files[Path(data_file.file_path.removeprefix("file://"))] = {}
        partitioned = {
            part.source_id
            for spec in table.specs().values()
            for part in spec.fields
            if isinstance(part.transform, IdentityTransform)
        }

    def stored(own: Any, file: Path) -> dict[str, str]:
        """Columns are told by their numbers: names may have been given to others since."""
        numbered = {
            int(number): column.name
            for column in own
            if (number := (column.metadata or {}).get(b"PARQUET:field_id")) is not None
        }
        if len(numbered) != len(own):
            raise _refused(path, "files whose columns have no numbers")
        lacking = [one.field_id for one in columns.fields if one.field_id not in numbered]
        if partitioned.intersection(lacking):
            raise _refused(path, "partition columns that its files do not hold")
        return {
            one.name: numbered[one.field_id] for one in columns.fields if one.field_id in numbered
        }

    return open_parts(path.name, schema, files, stored)


def _refused(path: Path, what: str) -> InvalidInput:
    return InvalidInput(
        f"The Iceberg table {path.name!r} uses {what}, which is not read here: its records might "
        "not be those that its files show. Write it anew without, or as Parquet files."
    )


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
    inside(str(newest[0]), path)
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
