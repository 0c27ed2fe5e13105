"""Delta tables: which files hold the records of a version, by the table's own log.

The log is read here, for what it says of files and columns; its statistics are not looked at.
Tables of the first version of the protocol are read, and others only where a newer one says nothing
of how records are read: whatever is not known is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from whitecrow.card import TableChoice
from whitecrow.data._opened import Opened, inside, readable_as
from whitecrow.data._values import number_or_none, text_array
from whitecrow.data.parquet import Constants, open_parts
from whitecrow.errors import InvalidInput

_COMMIT = re.compile(r"([0-9]{20})\.json")
_CHECKPOINT = re.compile(r"([0-9]{20})\.checkpoint(?:\.[0-9]{10}\.([0-9]{10}))?\.parquet")
_ACTIONS = {"add", "remove", "metaData", "protocol", "txn", "commitInfo", "cdc", "domainMetadata"}
_FEATURES = {"timestampNtz", "vacuumProtocolCheck"}
"""Of readers: a type that is read like any other, and a rule for who removes old files."""
_PROPERTIES = """
appendOnly autoOptimize checkpoint checkpointInterval checkpointPolicy constraints
dataSkippingNumIndexedCols dataSkippingStatsColumns deletedFileRetentionDuration
enableChangeDataFeed enableExpiredLogCleanup feature isolationLevel logRetentionDuration
minReaderVersion minWriterVersion parquet randomizeFilePrefixes randomPrefixLength
setTransactionRetentionDuration targetFileSize tuneFileSizesForRewrites
"""
"""They say how a table is written and kept; which records it has does not change with them."""
_OFF = {"columnMapping.mode": "none", "enableDeletionVectors": "false"}
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)", re.ASCII)


def open_delta(path: Path, chosen: TableChoice) -> Opened:
    """Open a Delta table, at the declared version or the newest."""
    schema, files = _table(path, chosen)

    def stored(own: Any, file: Path) -> dict[str, str]:
        return {name: name for name in schema.names if name in own.names}

    return open_parts(path.name, schema, files, stored)


def _table(path: Path, chosen: TableChoice) -> tuple[Any, dict[Path, Constants]]:
    """Return the schema of a version, and its files with their partition values."""
    import pyarrow

    if chosen.name:
        raise InvalidInput("A Delta table is one table: leave 'name' out of the card's [table].")
    version = "" if chosen.version is None else f" with the version {chosen.version}"
    with readable_as(path, f"a Delta table{version}"):
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
        return schema, files


def _commits(path: Path, version: int | None) -> Iterator[list[tuple[str, Any]]]:
    """Yield the actions of each commit up to a version, from the last checkpoint before it."""
    log = path / "_delta_log"
    commits: dict[int, Path] = {}
    checkpoints: dict[tuple[int, int], list[Path]] = {}
    for file in sorted(log.iterdir()):
        inside(str(file), path)
        if found := _COMMIT.fullmatch(file.name):
            commits[int(found[1])] = file
        elif found := _CHECKPOINT.fullmatch(file.name):
            checkpoints.setdefault((int(found[1]), int(found[2] or 1)), []).append(file)
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
        known = ("path", "partitionValues", "deletionVector")
        wanted += [f"add.{name}" for name in known if add.get_field_index(name) >= 0]
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
        known = name == key or name.partition(".")[0] in _PROPERTIES.split()
        if not known and _OFF.get(name) != str(value).lower():
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
        f"The Delta table {path.name!r} uses {what}, which is not read here: its records might not "
        "be those that its files show. Write it anew without, or as Parquet files."
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


def _arrow(written: object) -> Any:
    """Return the Arrow type of a column; that of a structure for whatever is not read."""
    import pyarrow as pa

    known = {
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
    if not isinstance(written, str):
        return pa.struct([])
    if decimal := _DECIMAL.fullmatch(written):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return known.get(written, pa.struct([]))
