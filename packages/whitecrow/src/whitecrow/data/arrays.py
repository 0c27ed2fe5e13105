"""A folder of arrays that are mapped into memory, not read: what is kept beside the data.

`about.json` says what the folder holds; each array is a `.npy` file. The arrays are the records
themselves, or an arrangement of them, so a folder is readable by its owner only. On load the
format and a checksum of every array are checked.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.errors import InvalidInput

_ABOUT = "about.json"

Arrays = dict[str, npt.NDArray[Any]]


def save_arrays(
    target: Path,
    form: str,
    body: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> None:
    """Write arrays into a folder; an older one is replaced once all is written.

    Parameters
    ----------
    target : Path
        The folder.
    form : str
        What kind of folder it is, and in which version.
    body : mapping
        What else is to be known of it, as plain JSON.
    arrays : mapping of str to array
        By file name; none of them of objects.
    """
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        sums = {}
        for name, values in arrays.items():
            np.save(fresh / f"{name}.npy", values, allow_pickle=False)
            sums[name] = _checksum(values)
        whole = {"body": body, "arrays": sums}
        head = {"format": form, "checksum": _of_text(whole), **whole}
        (fresh / _ABOUT).write_text(json.dumps(head, indent=1), encoding="utf-8")
        _replace(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def load_arrays(
    folder: Path, form: str, *, wanted: Callable[[Mapping[str, Any]], bool]
) -> tuple[dict[str, Any], Arrays]:
    """Return what a folder says of itself, and its arrays.

    Parameters
    ----------
    folder : Path
    form : str
        As it was saved.
    wanted : callable
        Says whether a folder with this body is the one to read; asked before any array is.

    Raises
    ------
    InvalidInput
        There is none, it is damaged, of another version, or not the one wanted.
    """
    try:
        head = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        if head["format"] != form:
            raise refused(folder, "was written by another version")
        body, sums = head["body"], head["arrays"]
        if head["checksum"] != _of_text({"body": body, "arrays": sums}):
            raise refused(folder, "is damaged")
        if not wanted(body):
            raise refused(folder, "belongs to other data than these, or to an earlier state")
        return body, {name: _mapped(folder, name, checksum) for name, checksum in sums.items()}
    except InvalidInput:
        raise
    except FileNotFoundError:
        raise refused(folder, "is not there, or not whole") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise refused(folder, "is damaged") from None


def refused(folder: Path, why: str) -> InvalidInput:
    """Say that a folder cannot be used, and that nothing is lost with it."""
    return InvalidInput(f"The folder {folder} {why}. Delete it; it can be made again.")


def _mapped(folder: Path, name: str, checksum: int) -> npt.NDArray[Any]:
    # Copy on write: the kernels are compiled for writable arrays and never write to these.
    file = folder / f"{Path(name).name}.npy"
    values = np.asarray(np.load(file, mmap_mode="c", allow_pickle=False))
    if _checksum(values) != checksum:
        raise refused(folder, "is damaged")
    return values


def _replace(fresh: Path, target: Path) -> None:
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)) / "old"
        target.rename(old)
        fresh.rename(target)
        shutil.rmtree(old.parent)
    else:
        fresh.rename(target)


def _checksum(values: npt.NDArray[Any]) -> int:
    shape = f"{values.dtype.str}{values.shape}".encode()
    return zlib.crc32(
        np.ascontiguousarray(values).reshape(-1).view(np.uint8).data, zlib.crc32(shape)
    )


def _of_text(whole: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(whole, sort_keys=True).encode())
