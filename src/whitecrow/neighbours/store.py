"""Keeping indexes beside the data.

An index is a folder: `index.json` describes it, each array is a `.npy` file that is mapped into
memory, not read. It holds the records themselves, so it is readable by its owner only. On load the
format, the data's fingerprint and a checksum of every array are checked.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.errors import InvalidInput
from whitecrow.neighbours._kernels.tables import Index
from whitecrow.neighbours.index import Arranged

__all__ = ["Space", "beside", "load", "save"]

_FORMAT = "whitecrow-index"
_VERSION = 1
_TABLES = ("blocks", "boxes", "local", "frames", "weights", "categories")


@dataclass(frozen=True)
class Space:
    """What an index is over: columns, and how their values are laid out.

    Parameters
    ----------
    columns : tuple of str
    layout : str
        ``plain``, ``sphere`` (haversine) or ``mixed`` (gower, hamming).
    scales : tuple of float
        For ``mixed``: the ranges, 0 for categories.
    """

    columns: tuple[str, ...]
    layout: str = "plain"
    scales: tuple[float, ...] = ()


def beside(source: str | os.PathLike[str]) -> Path:
    """Return where the index of a data file is kept.

    Examples
    --------
    >>> print(beside("patients.parquet"))
    patients.parquet.whitecrow-index
    """
    path = Path(source)
    return path.with_name(f"{path.name}.whitecrow-index")


def save(path: str | os.PathLike[str], fingerprint: str, indexes: Mapping[Space, Arranged]) -> None:
    """Write indexes into a folder; an older one is replaced once all is written."""
    target = Path(path)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        spaces = [
            _write(fresh, number, space, index)
            for number, (space, index) in enumerate(indexes.items())
        ]
        body = {"fingerprint": fingerprint, "spaces": spaces}
        head = {"format": _FORMAT, "version": _VERSION, "checksum": _of_text(body), "body": body}
        (fresh / "index.json").write_text(json.dumps(head, indent=1))
        _replace(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def load(path: str | os.PathLike[str], fingerprint: str) -> dict[Space, Arranged]:
    """Read the indexes of a folder.

    Raises
    ------
    InvalidInput
        There is no index, it is damaged, of another version, or of other data.
    """
    folder = Path(path)
    try:
        head = json.loads((folder / "index.json").read_text())
        if head["format"] != _FORMAT or head["version"] != _VERSION:
            raise _refused(folder, "was written by another version")
        body = head["body"]
        if head["checksum"] != _of_text(body):
            raise _refused(folder, "is damaged")
        if body["fingerprint"] != fingerprint:
            raise _refused(folder, "belongs to other data than these, or to an earlier state")
        return dict(_read(folder, described) for described in body["spaces"])
    except InvalidInput:
        raise
    except FileNotFoundError:
        raise _refused(folder, "is not there, or not whole") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise _refused(folder, "is damaged") from None


def _write(folder: Path, number: int, space: Space, index: Arranged) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for name, values in [
        *((name, getattr(index.tables, name)) for name in _TABLES),
        ("ids", index.ids),
    ]:
        file = f"{number}-{name}.npy"
        np.save(folder / file, values)
        arrays[name] = {"file": file, "checksum": _of_array(values)}
    return {
        "columns": list(space.columns),
        "layout": space.layout,
        "scales": list(space.scales),
        "size": index.tables.size,
        "mixed": index.mixed,
        "faithful": index.faithful,
        "arrays": arrays,
    }


def _read(folder: Path, described: Mapping[str, Any]) -> tuple[Space, Arranged]:
    arrays: dict[str, NDArray[Any]] = {}
    for name in (*_TABLES, "ids"):
        entry = described["arrays"][name]
        # Copy on write: the kernels are compiled for writable arrays and never write to these.
        mapped = np.load(folder / Path(entry["file"]).name, mmap_mode="c", allow_pickle=False)
        arrays[name] = np.asarray(mapped)
        if _of_array(arrays[name]) != entry["checksum"]:
            raise _refused(folder, "is damaged")
    ids = arrays.pop("ids")
    mismatches = int(arrays["categories"].sum())
    tables = Index(size=int(described["size"]), mismatches=mismatches, **arrays)
    space = Space(tuple(described["columns"]), described["layout"], tuple(described["scales"]))
    return space, Arranged(tables, ids, bool(described["mixed"]), bool(described["faithful"]))


def _replace(fresh: Path, target: Path) -> None:
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)) / "old"
        target.rename(old)
        fresh.rename(target)
        shutil.rmtree(old.parent)
    else:
        fresh.rename(target)


def _of_array(values: NDArray[Any]) -> int:
    shape = f"{values.dtype.str}{values.shape}".encode()
    return zlib.crc32(
        np.ascontiguousarray(values).reshape(-1).view(np.uint8).data, zlib.crc32(shape)
    )


def _of_text(body: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _refused(folder: Path, why: str) -> InvalidInput:
    return InvalidInput(f"The index at {folder} {why}. Delete the folder; it can be built again.")
