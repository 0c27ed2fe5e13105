"""Private peers from other people's packages: synthetic data by MST and AIM, diffprivlib.

They pin libraries that whitecrow does not, so they run in a Python of their own, which the variable
WHITECROW_PEERS names: ``uv venv peers`` and ``uv pip install dpmm diffprivlib`` there. Where it is
not set they are left out.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whitecrow_research.detection.limit import FEW_COLUMNS, Limit
from whitecrow_research.detection.rivals import RIVALS
from whitecrow_research.detection.sets import Split, within

Vector = npt.NDArray[np.float64]
PYTHON = "WHITECROW_PEERS"

_WORKER = Path(__file__).with_name("worker.py")
_BINS = 32
_PATIENCE = 1200


def synthetic(task: str, split: Split, seed: int) -> tuple[Vector, float]:
    """Score by an Isolation Forest that learned from synthetic records, by ``mst`` or ``aim``.

    Columns are cut into equal bins between the card's bounds; a synthetic record lies anywhere in
    its cell. As many are drawn as there are records: the peer is told their number for free.
    """
    codes = np.minimum((within(split, split.train) * _BINS).astype(np.int64), _BINS - 1)
    made, seconds = _asked(task, codes=codes, bins=_BINS, seed=seed)
    spread = np.random.default_rng(seed).random(made.shape)
    scores = RIVALS["IForest"]((made + spread) / _BINS, within(split, split.test), seed)
    return scores, seconds


def diffprivlib(task: str, split: Split, seed: int) -> tuple[Vector, float]:
    """Score by diffprivlib's ``histograms`` or principal ``components``, pure epsilon 1."""
    train, test = within(split, split.train), within(split, split.test)
    return _asked(task, train=train, test=test, bins=_BINS, seed=seed)


def _asked(task: str, **arrays: object) -> tuple[Vector, float]:
    with tempfile.TemporaryDirectory() as folder:
        given, reply = Path(folder) / "given.npz", Path(folder) / "found.npz"
        np.savez(given, **arrays)  # type: ignore[arg-type]
        command = [os.environ[PYTHON], str(_WORKER), task, str(given), str(reply)]
        subprocess.run(command, check=True, timeout=_PATIENCE, capture_output=True)
        with np.load(reply, allow_pickle=False) as held:
            return held["answer"].astype(np.float64), float(held["seconds"])


OTHERS: dict[str, Callable[[Split, int], tuple[Vector, float]]] = {
    "dpmm MST + IForest": partial(synthetic, "mst"),
    "dpmm AIM + IForest": partial(synthetic, "aim"),
    "diffprivlib histograms": partial(diffprivlib, "histograms"),
    "diffprivlib PCA": partial(diffprivlib, "components"),
}
"""By the name in the tables: synthetic data at (1, 1e-6), diffprivlib at pure 1."""

LIMITS: dict[str, Limit] = {
    "dpmm MST + IForest": Limit(columns=6, seeds=2),
    "dpmm AIM + IForest": Limit(columns=3, seeds=2),
    "diffprivlib histograms": FEW_COLUMNS,
    "diffprivlib PCA": FEW_COLUMNS,
}
"""A fit of synthetic data takes a minute and more of one processor."""
