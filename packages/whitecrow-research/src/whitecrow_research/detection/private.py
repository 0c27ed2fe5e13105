"""whitecrow's learned detector, as a function of the training part, at a given price and card."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from whitecrow.detector import scoring
from whitecrow.detector.model import Grid, Model
from whitecrow.histogram.facts import Bought, CellFacts, counted_rows
from whitecrow.histogram.noise_budget import Money, concentrated
from whitecrow.learning.training import train
from whitecrow_research.detection.sets import Split

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """A price and how much the card knows.

    Parameters
    ----------
    epsilon, delta : str
    width : float or None
        How many times too wide the card's bounds are; None if it has none.
    """

    epsilon: str
    delta: str = "1/1000000"
    width: float | None = 1.0

    def model(self, split: Split, seed: int) -> Model:
        """Learn from the training part. The noise is the operating system's."""
        epsilon, delta = Fraction(self.epsilon), Fraction(self.delta)
        if delta:
            money = Money("gaussian", concentrated(epsilon, delta), "add_remove", 1)
        else:
            money = Money("laplace", epsilon, "add_remove", 1)
        return train(
            self._grids(split),
            Bought(CellFacts(partial(counted_rows, split.train)), money),
            Fraction(1),
            seed=seed,
        )

    def _grids(self, split: Split) -> tuple[Grid, ...]:
        middle = split.bounds.mean(axis=1)
        half = (split.bounds[:, 1] - split.bounds[:, 0]) / 2
        half = np.where(half > 0, half, 0.5) * (self.width or 1.0)
        return tuple(
            Grid(f"x{place}", True, False, float(centre - reach), float(centre + reach))
            if self.width
            else Grid(f"x{place}", True, False, None, None)
            for place, (centre, reach) in enumerate(zip(middle, half, strict=True))
        )


def scored(setting: Setting, split: Split, seed: int) -> tuple[Vector, float]:
    """Learn from the training part, score the other; return the seconds of learning, too."""
    begin = time.process_time()
    model = setting.model(split, seed)
    seconds = time.process_time() - begin
    found = scoring.raw_scores(model, scoring.encoders(model), split.test)
    return found / scoring.scale(model), seconds


SETTINGS: dict[str, Setting] = {
    "(1, 1e-6)": Setting("1"),
    "(1, 1e-6) loose card": Setting("1", width=3.0),
    "(1, 1e-6) no bounds": Setting("1", width=None),
    "(1, 1e-6) bounds x 10,000": Setting("1", width=10_000.0),
    "(0.1, 1e-6)": Setting("1/10"),
    "(10, 1e-6)": Setting("10"),
    "pure 1": Setting("1", "0"),
    "pure 0.1": Setting("1/10", "0"),
}
"""By the name in the tables."""
