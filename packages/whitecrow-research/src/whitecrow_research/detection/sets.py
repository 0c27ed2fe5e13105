"""The data sets and the protocol: which records are learned from, which are scored."""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

MOST = 100_000
"""Sets with more records are cut to this many, stratified, anew for each seed."""

TRAIN = 0.7

_KIN = {
    "annthyroid": "thyroid",
    "http": "kddcup",
    "smtp": "kddcup",
    "wbc": "breast",
    "wdbc": "breast",
    "wpbc": "breast",
}
"""Sets of ADBench that stem from one source; others are families of their own."""


@dataclass(frozen=True)
class Known:
    """A set on disk.

    Parameters
    ----------
    path : Path
        An archive with ``X`` and ``y``.
    family : str
        Sets of one source tell the same story: they are chosen on, and resampled, together.
    """

    path: Path
    family: str

    def load(self) -> tuple[Matrix, npt.NDArray[np.bool_]]:
        """Return the records and which of them are outliers."""
        with np.load(self.path, allow_pickle=False) as held:
            return held["X"].astype(np.float64), held["y"].astype(bool)

    @property
    def chosen_on(self) -> bool:
        """Whether it is of the half of families that parameters are chosen on."""
        return hashlib.sha256(self.family.encode()).digest()[0] % 2 == 0


def default_folders() -> list[Path]:
    """Return the two collections below the folder that WHITECROW_DATA names."""
    held = os.environ.get("WHITECROW_DATA")
    return [] if held is None else [Path(held) / "adbench", Path(held) / "fresh"]


def find(folders: Iterable[Path]) -> dict[str, Known]:
    """Return the sets of some folders by name: ``NAME.npz`` or ``NUMBER_NAME.npz``.

    Families are read from ``sources.csv`` (columns ``name`` and ``family``) where there is one.
    """
    sets: dict[str, Known] = {}
    for folder in folders:
        listed = folder / "sources.csv"
        lines = listed.read_text().splitlines() if listed.exists() else ()
        families = {row["name"]: row["family"] for row in csv.DictReader(lines)}
        for path in sorted(folder.glob("*.npz")):
            name = re.sub(r"^\d+_", "", path.stem)
            kin = _KIN.get(name.lower(), name.lower())
            sets[name] = Known(path, families.get(name, kin))
    return sets


@dataclass(frozen=True)
class Split:
    """One seed's division of a set.

    Parameters
    ----------
    train, test : array
        Records; the training part holds its outliers too, unlabelled.
    truth : array of bool
        Which records of the test part are outliers.
    bounds : array of shape (columns, 2)
        The smallest and largest value of each column in the whole set: what a custodian who knows
        the domain would write on the card.
    """

    train: Matrix
    test: Matrix
    truth: npt.NDArray[np.bool_]
    bounds: Matrix


def split(records: Matrix, truth: npt.NDArray[np.bool_], seed: int) -> Split:
    """Divide a set: 70 % to learn from, 30 % to score, outliers in both alike."""
    source = np.random.default_rng(seed)
    bounds = np.stack([records.min(axis=0), records.max(axis=0)], axis=1)
    share = min(1.0, MOST / len(records))
    train, test = [], []
    for label in (False, True):
        indices = source.permutation(np.flatnonzero(truth == label))
        indices = indices[: max(2, round(share * len(indices)))]
        cut = min(len(indices) - 1, max(1, round(TRAIN * len(indices))))
        train.append(indices[:cut])
        test.append(indices[cut:])
    learned = source.permutation(np.concatenate(train))
    scored = np.concatenate(test)
    return Split(records[learned], records[scored], truth[scored], bounds)


def within(part: Split, rows: Matrix) -> Matrix:
    """Return records as parts of the way from each column's lower bound to its upper."""
    low, high = part.bounds.T
    scaled: Matrix = np.clip((rows - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    return scaled
