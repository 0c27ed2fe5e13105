"""Detectors without privacy, each a function ``(train, test, seed) -> scores``, large is strange.

To enter another, add it to :data:`RIVALS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Detector = Callable[[Matrix, Matrix, int], Matrix]

NEIGHBOURS = 10_000
"""Detectors that compare pairs learn from at most this many records."""


def _pyod(module: str, name: str, *, most: int | None = None, **settings: Any) -> Detector:
    def detect(train: Matrix, test: Matrix, seed: int) -> Matrix:
        from importlib import import_module

        made = getattr(import_module(f"pyod.models.{module}"), name)
        seeded = {"random_state": seed} if name == "IForest" else {}
        if most is not None and len(train) > most:
            chosen = np.random.default_rng(seed).permutation(len(train))[:most]
            train = train[chosen]
        centre, spread = train.mean(axis=0), train.std(axis=0)
        spread[spread == 0] = 1.0
        detector = made(**settings, **seeded).fit((train - centre) / spread)
        scores: Matrix = np.asarray(detector.decision_function((test - centre) / spread), float)
        return np.nan_to_num(scores, nan=0.0, posinf=1e300, neginf=-1e300)

    return detect


RIVALS: dict[str, Detector] = {
    "IForest": _pyod("iforest", "IForest"),
    "ECOD": _pyod("ecod", "ECOD"),
    "COPOD": _pyod("copod", "COPOD"),
    "HBOS": _pyod("hbos", "HBOS"),
    "KNN": _pyod("knn", "KNN", most=NEIGHBOURS, n_neighbors=50),
    "LOF": _pyod("lof", "LOF", most=NEIGHBOURS, n_neighbors=20),
}
