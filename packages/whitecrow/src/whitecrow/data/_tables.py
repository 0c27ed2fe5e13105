"""Tables in files and folders: Delta tables by their own log, DuckDB and Iceberg by their reader.

A table is what lies in its file or folder. Its own records of what belongs to it may name files
anywhere, and code to load: neither is followed. No file is left unread for what a table's metadata
say of the values in it. Delta tables of the first version of the protocol are read, and others only
where a newer one says nothing of how records are read: whatever is not known is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from whitecrow.card import TableChoice
from whitecrow.data.opened import (
    BATCH,
    Constants,
    Opened,
    in_sql,
    inside,
    lake_kind,
    open_parts,
    readable_as,
)
from whitecrow.data.values import number_or_none, text_array
from whitecrow.errors import InvalidInput, MissingExtra

_COMMIT = re.compile(r"([0-9]{20})\.json")
_CHECKPOINT = re.compile(r"([0-9]{20})\.checkpoint(?:\.[0-9]{10}\.([0-9]{10}))?\.parquet")
_ACTIONS = {"add", "remove", "metaData", "protocol", "txn", "commitInfo", "cdc", "domainMetadata"}
_FEATURES = {"timestampNtz", "vacuumProtocolCheck"}
"""Of readers: a type that is read like any other, and a rule for who removes old files."""
# How a table is written and kept: which records it has does not change with these.
_PROPERTIES = """
appendOnly autoOptimize checkpoint checkpointInterval checkpointPolicy constraints
dataSkippingNumIndexedCols dataSkippingStatsColumns deletedFileRetentionDuration
enableChangeDataFeed enableExpiredLogCleanup feature isolationLevel logRetentionDuration
minReaderVersion minWriterVersion parquet randomizeFilePrefixes randomPrefixLength
setTransactionRetentionDuration targetFileSize tuneFileSizesForRewrites
"""
_OFF = {"columnMapping.mode": "none", "enableDeletionVectors": "false"}
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)", re.ASCII)


def open_delta(path: Path, chosen: TableChoice) -> Opened:
    """Open a Delta table, at the declared version or the newest."""
    import pyarrow

    if chosen.name:
        raise InvalidInput("A Delta table is one table: leave 'name' out of the card's [table].")
    with readable_as(path, f"a Delta table{_at(chosen)}"):
        told: dict[str, Any] = {}
        added: dict[str, Mapping[str, Any]] = {}
        for actions in _commits(path, chosen.version):
            for kind, about in actions:
                if kind == "remove":
                    added.pop(about["path"], None)
                elif kind in ("protocol", "metaData"):
                    told[kind] = about
                elif kind not in _ACTIONS:
                    raise _refused(path, f"the action {kind}")
            added |= {about["path"]: about for kind, about in actions if kind == "add"}
        metadata = told["metaData"]
        fields = json.loads(metadata["schemaString"])["fields"]
        _check(path, told["protocol"], metadata, fields, added)
        schema = pyarrow.schema([(field["name"], _arrow(field["type"])) for field in fields])
        files: dict[Path, Constants] = {}
        for add in added.values():
            values = dict(add.get("partitionValues") or {})
            files[_local(path, add["path"])] = {
                name: _constant(values.get(name), schema.field(name).type)
                for name in metadata["partitionColumns"]
            }

    def stored(own: Any, file: Path) -> dict[str, str]:
        return {name: name for name in schema.names if name in own.names}

    return open_parts(path.name, schema, files, stored)


def _commits(path: Path, version: int | None) -> Iterator[list[tuple[str, Any]]]:
    """Yield the actions of each commit up to a version, from the last checkpoint before it."""
    log = path / "_delta_log"
    commits: dict[int, Path] = {}
    checkpoints: dict[tuple[int, int], list[Path]] = {}
    for file in sorted(log.iterdir()):
        inside(str(file), path)
        if match := _COMMIT.fullmatch(file.name):
            commits[int(match[1])] = file
        elif match := _CHECKPOINT.fullmatch(file.name):
            checkpoints.setdefault((int(match[1]), int(match[2] or 1)), []).append(file)
    whole = {number: files for (number, parts), files in checkpoints.items() if len(files) == parts}
    last = max([*commits, *whole]) if version is None else version
    first = max((number for number in whole if number <= last), default=-1)
    if first >= 0:
        yield [action for file in whole[first] for row in _rows(file) for action in _told(row)]
    for number in range(first + 1, last + 1):
        # What a record holds may be in here, as the value of a partition: it need not be text.
        lines = commits[number].read_text("utf-8", "surrogateescape").split("\n")
        yield [action for line in lines if line.strip() for action in _told(json.loads(line))]


def _told(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(kind, about) for kind, about in row.items() if about is not None]


def _rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a checkpoint, without statistics."""
    from pyarrow import parquet

    with parquet.ParquetFile(file) as checkpoint:
        schema = checkpoint.schema_arrow
        wanted = [name for name in schema.names if name not in ("add", "remove", "txn")]
        add = schema.field("add").type
        parts = ("path", "partitionValues", "deletionVector")
        wanted += [f"add.{name}" for name in parts if add.get_field_index(name) >= 0]
        rows: list[dict[str, Any]] = checkpoint.read(columns=wanted).to_pylist()
    return rows


def _check(
    path: Path,
    protocol: Mapping[str, Any],
    metadata: Mapping[str, Any],
    fields: list[Mapping[str, Any]],
    added: Mapping[str, Mapping[str, Any]],
) -> None:
    """Refuse a table whose records may be other than the rows of its files."""
    version, features = protocol["minReaderVersion"], set(protocol.get("readerFeatures") or ())
    if version not in (1, 3) or (version == 1 and features):
        raise _refused(path, f"version {version} of the protocol for readers")
    for feature in sorted(features - _FEATURES):
        raise _refused(path, f"the feature {feature}")
    for key, value in dict(metadata.get("configuration") or {}).items():
        name = key.removeprefix("delta.")
        harmless = name == key or name.partition(".")[0] in _PROPERTIES.split()
        if not harmless and _OFF.get(name) != str(value).lower():
            raise _refused(path, f"the property {key} = {value}")
    for field in fields:
        if any(key.startswith("delta.columnMapping") for key in field.get("metadata") or {}):
            raise _refused(path, "column mapping")
        if any(key.startswith("delta.typeChanges") for key in field.get("metadata") or {}):
            raise _refused(path, "columns that changed their type")
    if any(add.get("deletionVector") for add in added.values()):
        raise _refused(path, "deletion vectors")
    if (metadata.get("format") or {}).get("provider", "parquet") != "parquet":
        raise _refused(path, "files that are no Parquet")


def _refused(path: Path, what: str) -> InvalidInput:
    return InvalidInput(
        f"The {lake_kind(path).capitalize()} table {path.name!r} uses {what}, which is not read "
        "here: its records might not be those that its files show. Write it anew without, or as "
        "Parquet files."
    )


def _local(path: Path, named: str) -> Path:
    """Return the file that the log names, in the way of addresses."""
    for name in (unquote(named), named):
        file = Path(name.removeprefix("file://")) if "://" in name else path / name
        inside(name if "://" in name else str(file), path)
        if file.is_file():
            return file
    raise FileNotFoundError


def _constant(text: str | None, arrow: Any) -> Any:
    """Return the value that all rows of a file have; each is read by itself, like any other."""
    import pyarrow
    from pyarrow import types

    if types.is_floating(arrow):
        return pyarrow.scalar(number_or_none(text), pyarrow.float64())
    if types.is_integer(arrow):
        whole = None if text is None else _WHOLE.fullmatch(text)
        number = None if whole is None else int(whole[0])
        fits = number is not None and -(1 << 63) <= number < 1 << 63
        return pyarrow.scalar(number if fits else None, pyarrow.int64())
    return text_array([text or None])[0]


def _arrow(name: object) -> Any:
    """Return the Arrow type of a column; that of a structure for whatever is not read."""
    import pyarrow as pa

    types = {
        "void": pa.null(),
        "string": pa.string(),
        "byte": pa.int8(),
        "short": pa.int16(),
        "integer": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }
    if not isinstance(name, str):
        return pa.struct([])
    if decimal := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return types.get(name, pa.struct([]))


_AS_TEXT = ("UHUGEINT", "BIGNUM")  # numbers of DuckDB that Arrow has no room for
_NUMBERED = re.compile(r"v?(\d+)[-.].*metadata\.json")


def open_duckdb(path: Path, chosen: TableChoice) -> Opened:
    """Open one table or view of a DuckDB file, for reading alone."""
    import pyarrow

    try:
        import duckdb
    except ImportError:
        raise _missing("A DuckDB file", "sql") from None
    if chosen.version is not None:
        raise InvalidInput(
            "A DuckDB file keeps no versions: leave 'version' out of the card's [table]."
        )
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
    name = chosen.name or (names[0] if len(names) == 1 else "")
    if name not in names:
        raise InvalidInput(
            f"The DuckDB file {path.name!r} holds the tables {', '.join(names) or '(none)'}; say "
            'which one is meant in the card: [table], name = "...". Got '
            f"{chosen.name or 'none'!r}."
        )
    readable = f"one whose table {name!r} is read from this file alone"

    def table() -> Any:
        session = connection.cursor()
        session.execute("SET TimeZone = 'UTC'")  # a day of a view is one of UTC
        return session.table(in_sql(name))

    with readable_as(path, readable):
        relation = table()
        as_text = {
            column
            for column, kind in zip(relation.columns, relation.types, strict=True)
            if str(kind).upper() in _AS_TEXT
        }
        exported = relation.limit(0).to_arrow_table().schema
        schema = pyarrow.schema(
            [
                (part.name, pyarrow.string() if part.name in as_text else part.type)
                for part in exported
            ]
        )

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        wanted = [
            f"CAST({in_sql(name)} AS VARCHAR) AS {in_sql(name)}"
            if name in as_text
            else in_sql(name)
            for name in names
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
    if chosen.name:
        raise InvalidInput("An Iceberg table is one table: leave 'name' out of the card's [table].")

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
        entries = [
            entry for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io)
        ]
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
        lacking = [field.field_id for field in columns.fields if field.field_id not in numbered]
        if partitioned.intersection(lacking):
            raise _refused(path, "partition columns that its files do not hold")
        return {
            part.name: numbered[part.field_id]
            for part in columns.fields
            if part.field_id in numbered
        }

    return open_parts(path.name, schema, files, stored)


def _newest_metadata(path: Path) -> Path:
    """Without a catalogue, the metadata file with the largest number is the newest."""
    by_number: dict[int, list[Path]] = {}
    for file in (path / "metadata").glob("*.metadata.json"):
        match = _NUMBERED.fullmatch(file.name)
        if match is not None:
            by_number.setdefault(int(match[1]), []).append(file)
    newest = by_number[max(by_number)] if by_number else []
    if len(newest) != 1:
        raise InvalidInput(
            f"Which metadata file of the Iceberg table {path.name!r} is the newest cannot be told: "
            f"{len(newest)} of them have the largest number. Remove what was not committed."
        )
    inside(str(newest[0]), path)
    return newest[0]


def _at(chosen: TableChoice) -> str:
    return "" if chosen.version is None else f" with the version {chosen.version}"


def _missing(what: str, extra: str) -> MissingExtra:
    return MissingExtra(f"{what} needs a reader that is missing: pip install 'whitecrow[{extra}]'.")
