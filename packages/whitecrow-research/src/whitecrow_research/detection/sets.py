"""The data sets and the protocol: which records are learned from, which are scored."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

MOST = 100_000
"""Sets with more records are cut to this many, stratified, anew for each seed."""

TRAIN = 0.7


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


def names(folder: Path) -> list[str]:
    """Return the sets in a folder of ``NUMBER_NAME.npz`` files."""
    return sorted(path.stem.partition("_")[2] for path in folder.glob("*_*.npz"))


def load(folder: Path, name: str) -> tuple[Matrix, npt.NDArray[np.bool_]]:
    """Return the records of a set and which of them are outliers."""
    (path,) = folder.glob(f"*_{name}.npz")
    with np.load(path, allow_pickle=False) as held:
        return held["X"].astype(np.float64), held["y"].astype(bool)


def chosen_on(name: str) -> bool:
    """Whether a set is of the half that parameters are to be chosen on; the rest only reports."""
    return hashlib.sha256(name.lower().encode()).digest()[0] % 2 == 0


def split(records: Matrix, truth: npt.NDArray[np.bool_], seed: int) -> Split:
    """Divide a set: 70 % to learn from, 30 % to score, outliers in both alike."""
    source = np.random.default_rng(seed)
    bounds = np.stack([records.min(axis=0), records.max(axis=0)], axis=1)
    share = min(1.0, MOST / len(records))
    train, test = [], []
    for label in (False, True):
        places = source.permutation(np.flatnonzero(truth == label))
        places = places[: max(2, round(share * len(places)))]
        cut = min(len(places) - 1, max(1, round(TRAIN * len(places))))
        train.append(places[:cut])
        test.append(places[cut:])
    learned = source.permutation(np.concatenate(train))
    scored = np.concatenate(test)
    return Split(records[learned], records[scored], truth[scored], bounds)


def within(part: Split, rows: Matrix) -> Matrix:
    """Return records as parts of the way from each column's lower bound to its upper."""
    low, high = part.bounds.T
    found: Matrix = np.clip((rows - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    return found
