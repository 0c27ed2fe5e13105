"""Keeping indexes beside the data, in a folder that is checked on load."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from whitecrow.data.arrays import load_arrays, save_arrays
from whitecrow.neighbours._kernels.tables import Index
from whitecrow.neighbours.index import Arranged

_FORM = "whitecrow-index 2"
_TABLES = ("blocks", "boxes", "local", "frames", "weights", "categories")


@dataclass(frozen=True)
class Space:
    """What an index is over: columns, and how their values are laid out.

    Parameters
    ----------
    columns : tuple of str
    layout : str
        ``plain``, ``sphere`` (haversine), ``mixed`` (gower, hamming) or ``scaled`` (the metrics
        with scales).
    scales : tuple of float
        For ``mixed``: the ranges, 0 for categories. For ``scaled``: the scales.
    levels : tuple of int
        For ``scaled`` with categories: how many each column has, 0 for numbers.
    """

    columns: tuple[str, ...]
    layout: str = "plain"
    scales: tuple[float, ...] = ()
    levels: tuple[int, ...] = ()


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
    arrays: dict[str, NDArray[Any]] = {}
    spaces = []
    for number, (space, index) in enumerate(indexes.items()):
        for name in _TABLES:
            arrays[f"{number}-{name}"] = getattr(index.tables, name)
        arrays[f"{number}-ids"] = index.ids
        spaces.append(
            {
                "columns": list(space.columns),
                "layout": space.layout,
                "scales": list(space.scales),
                "levels": list(space.levels),
                "size": index.tables.size,
                "mixed": index.mixed,
                "faithful": index.faithful,
            }
        )
    save_arrays(Path(path), _FORM, {"fingerprint": fingerprint, "spaces": spaces}, arrays)


def load(path: str | os.PathLike[str], fingerprint: str) -> dict[Space, Arranged]:
    """Read the indexes of a folder.

    Raises
    ------
    InvalidInput
        There is no index, it is damaged, of another version, or of other data.
    """
    body, arrays = load_arrays(
        Path(path), _FORM, wanted=lambda body: bool(body["fingerprint"] == fingerprint)
    )
    return dict(_read(number, said, arrays) for number, said in enumerate(body["spaces"]))


def _read(
    number: int, said: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[Space, Arranged]:
    tables = {name: arrays[f"{number}-{name}"] for name in _TABLES}
    mismatches = int(tables["categories"].sum())
    index = Index(size=int(said["size"]), mismatches=mismatches, **tables)
    levels = tuple(said.get("levels", ()))  # none in folders of earlier versions
    space = Space(tuple(said["columns"]), said["layout"], tuple(said["scales"]), levels)
    ids = arrays[f"{number}-ids"]
    return space, Arranged(index, ids, bool(said["mixed"]), bool(said["faithful"]))
