"""The checked columns of a data file, kept beside it so that the next start need not read it.

The custodian makes them with ``whitecrow index``; nothing else does. For a million records of four
numbers one `screen` takes 1.3 s with them, 4.6 s from a CSV file and 1.6 s from Parquet.

They are used while the file has the size and the time of change it had, under a card that makes
the same records of it; else the file is read again. Whoever changes a file and sets its time back
must remove the folder too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card
from whitecrow.data._dataset import Dataset, Rejections
from whitecrow.data.arrays import load_arrays, save_arrays
from whitecrow.errors import InvalidInput

_FORM = "whitecrow-columns 3"


def _place(file: Path) -> Path:
    return file.with_name(f"{file.name}.whitecrow-columns")


def keepable(file: Path) -> bool:
    """Whether the file's own size and time tell of every change: not those of a folder."""
    return file.is_file() and file.suffix.lower() in (".parquet", ".pq", ".csv")


def state_of(file: Path) -> list[int]:
    """Return what changes when a file is written: its size and its time of change."""
    found = file.stat()
    return [found.st_size, found.st_mtime_ns]


def keep(dataset: Dataset, file: Path, state: list[int]) -> Path:
    """Write a dataset's columns beside the file they were read from, and return where.

    Parameters
    ----------
    dataset : Dataset
    file : Path
    state : list of int
        The file's :func:`state_of` before it was read: a change since then is noticed.
    """
    names = dataset.card.names
    columns = [dataset.values(name) for name in names]
    body = {
        "file": state,
        "card": dataset.card.fingerprint(),
        "fingerprint": dataset.fingerprint(),
        "columns": list(names),
        "read": dataset.rejections.read,
        "reasons": dict(dataset.rejections.reasons),
        "mended": dict(dataset.rejections.mended),
    }
    arrays = {
        f"{number}": _as_text(values) if values.dtype == object else values
        for number, values in enumerate(columns)
    }
    for number, name in enumerate(names):
        arrays.update(_left_out(f"left-{number}", dataset.left_out.get(name)))
    save_arrays(_place(file), _FORM, body, arrays)
    return _place(file)


def _left_out(name: str, values: npt.NDArray[Any] | None) -> dict[str, npt.NDArray[Any]]:
    """What the records left out hold, as arrays without objects: missing texts are marked."""
    if values is None:
        return {}
    if values.dtype != object:
        return {name: values}
    missing = values == np.array(None)
    return {name: _as_text(np.where(missing, "", values)), f"{name}-missing": missing}


def _read_left_out(arrays: Mapping[str, Any], name: str) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = arrays[name]
    if values.dtype.kind == "U":
        values = values.astype(object)
        values[arrays[f"{name}-missing"]] = None
    return values


def _as_text(values: npt.NDArray[Any]) -> npt.NDArray[np.str_]:
    text = values.astype(np.str_)
    if (text.astype(object) != values).any():
        raise InvalidInput("A text column holds zero bytes; such data cannot be kept beside it.")
    return text


def kept(file: Path, card: Card) -> Dataset | None:
    """Return the dataset that was kept for a file under a card; None if it must be read."""

    def wanted(body: Mapping[str, Any]) -> bool:
        return bool(body["file"] == state_of(file) and body["card"] == card.fingerprint())

    place = _place(file)
    if not place.exists() or not keepable(file):
        return None
    try:
        body, arrays = load_arrays(place, _FORM, wanted=wanted)
        columns = {name: arrays[f"{number}"] for number, name in enumerate(body["columns"])}
        for name, values in columns.items():
            if values.dtype.kind == "U":
                columns[name] = values.astype(object)
        left = {
            name: _read_left_out(arrays, f"left-{number}")
            for number, name in enumerate(body["columns"])
            if f"left-{number}" in arrays
        }
        size = len(columns[card.names[0]])
        if card.most_records is not None and size > card.most_records:
            return None  # reading will say that the card's size is wrong
        return Dataset(
            card,
            columns,
            rejections=Rejections(body["read"], size, body["reasons"], body.get("mended", {})),
            left_out=left,
            origin=file.stem,
            fingerprint=body["fingerprint"],
        )
    except (InvalidInput, KeyError, TypeError):
        return None
