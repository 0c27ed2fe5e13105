"""Which sums are released at each step, and what was released so far: all of it public.

Step ``t`` releases ``sum_s M[t, s] x_s`` with noise, for the counts ``x_s`` of the periods so far
and a public matrix of whole numbers ``M``. Every estimate is a linear function of the releases.
Privacy needs the columns of ``M`` only (``proof.md`` 2), whole numbers that are added up exactly.

A step releases *blocks*: five rounds of histograms of columns, the tables, and the histograms the
alarm looks at. A block is read through a :class:`Reader`, which stands where ``learn`` expects
noisy counts: it has them drawn (at the newest step) or repeats what was drawn, and returns an
estimate of the counts of some periods.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.detector import Detector, Model
from whitecrow.errors import InvalidInput
from whitecrow.histogram.facts import Counting
from whitecrow.histogram.noise_budget import Noise, NoiseBudget

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Step = tuple[Ints, ...]

_FORM = 1
_FINE = 1024  # entries are multiples of one over this, before they are made whole


@dataclass(frozen=True)
class Strategy:
    """A lower triangular matrix of whole numbers, and what follows from it."""

    law: str  # "laplace" or "gaussian": whether the l1 or the l2 norm of a column counts
    rows: tuple[tuple[int, ...], ...]  # the weights of the periods 0..t in the release of step t

    @property
    def horizon(self) -> int:
        return len(self.rows)

    def reach(self, *, user: bool) -> int:
        """Return the most that one record moves all releases by: the l1 or the squared l2 norm.

        A record keeps its period, so that its effects are (a part of) one column. The records of a
        *user* may be others at every step: each row counts with its largest entry.
        """
        pure = self.law == "laplace"
        sizes = [[entry if pure else entry * entry for entry in row] for row in self.rows]
        if user:
            return sum(max(row) for row in sizes)
        return max(sum(row[period] for row in sizes[period:]) for period in range(self.horizon))

    @cached_property
    def inverse(self) -> Floats:
        """Row ``s``: how the count of period ``s`` is read off the releases, without bias."""
        matrix = np.zeros((self.horizon, self.horizon))
        for step, row in enumerate(self.rows):
            matrix[step, : len(row)] = row
        return np.asarray(np.linalg.inv(matrix))

    @cached_property
    def _sums(self) -> Floats:
        return np.concatenate([np.zeros((1, self.horizon)), np.cumsum(self.inverse, axis=0)])

    def weights(self, first: int, last: int) -> Floats:
        """Return the weights of the releases in an estimate of the periods ``first..last - 1``."""
        return np.asarray(self._sums[last, :last] - self._sums[first, :last])

    def deviation(self, first: int, last: int, *, user: bool = False) -> float:
        """Return the noise of that estimate over that of a release of one period at this price."""
        spread = float(np.linalg.norm(self.weights(first, last)))
        reach = self.reach(user=user)
        return spread * (reach if self.law == "laplace" else float(np.sqrt(reach)))


@lru_cache(maxsize=16)
def strategy(law: str, horizon: int) -> Strategy:
    """Return the strategy for a horizon.

    Gaussian noise: the normalised square-root factorisation (docs/mechanisms.md 5.4), each entry
    rounded down to a whole number of 1024ths. Laplace noise: every period by itself, which has the
    least error for horizons like these.
    """
    if law == "laplace":
        return Strategy(law, tuple((*(0,) * step, 1) for step in range(horizon)))
    falling = [Fraction(1)]
    for lag in range(1, horizon):
        falling.append(falling[-1] * Fraction(2 * lag - 1, 2 * lag))
    squares = list(accumulate(value * value for value in falling))

    def entry(step: int, period: int) -> int:
        part = falling[step - period] ** 2 / squares[horizon - 1 - period]
        return isqrt(_FINE * _FINE * part.numerator // part.denominator)

    rows = tuple(tuple(entry(step, s) for s in range(step + 1)) for step in range(horizon))
    return Strategy(law, rows)


@dataclass(frozen=True, eq=False)
class Streams:
    """All releases of a series."""

    first: Detector | None = None  # the detector of the first step, which lays out all later ones
    steps: tuple[Step, ...] = ()  # for each closed step its blocks

    @property
    def layout(self) -> Model | None:
        return None if self.first is None else self.first.model

    def to_json(self) -> dict[str, Any]:
        return {
            "form": _FORM,
            "first": None if self.first is None else self.first.to_json()["detector"],
            "steps": [[_encoded(block) for block in step] for step in self.steps],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Streams:
        """Read what :meth:`to_json` wrote; nothing stands for no step."""
        if not data:
            return cls()
        if data.get("form") != _FORM:
            raise InvalidInput("This series was begun by another version of whitecrow.")
        return cls(
            None if data["first"] is None else Detector.from_json({"detector": data["first"]}),
            tuple(tuple(_read(block) for block in step) for step in data["steps"]),
        )


def _encoded(block: Ints) -> str:
    planes = np.ascontiguousarray(block.astype("<i8").view(np.uint8).reshape(-1, 8).T)
    return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")


def _read(text: str) -> Ints:
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    return np.ascontiguousarray(planes.reshape(8, -1).T).view("<i8").reshape(-1).astype(np.int64)


Draw = Callable[[Counting, Noise, Ints | None], Ints]
"""Draws a block of the newest step: the noisy counts of some cells, or of groups of them."""


@dataclass
class Reader:
    """The noisy counts of some periods, for parts of the price of all steps together."""

    budget: NoiseBudget  # what is paid with, for all steps together
    strategy: Strategy
    past: tuple[Step, ...]  # the blocks of the steps so far; without those of the newest, to draw
    span: tuple[int, int]  # the periods to estimate: the first, and the one after the newest
    user: bool  # whether persons are protected, whose records may be others at every step
    draw: Draw | None = None  # draws the newest step; not needed to read it again
    drawn: list[Ints] = field(default_factory=list)
    _asked: int = 0

    def counts(
        self, cells: Counting, share: Fraction, tables: int, groups: Ints | None = None
    ) -> tuple[Floats, float]:
        """Return the estimate of the span's counts by the next block, and its deviation.

        The block has ``tables`` histograms that share a part of the price.
        """
        noise = self.budget.histograms(share / self.strategy.reach(user=self.user), tables)
        releases = [step[self._asked] for step in self.past]
        self._asked += 1
        if len(releases) < self.span[1]:
            assert self.draw is not None
            self.drawn.append(self.draw(cells, noise, groups))
            releases.append(self.drawn[-1])
        weights = self.strategy.weights(*self.span)
        estimate = np.asarray(weights @ np.stack(releases).astype(np.float64))
        return estimate, noise.deviation * float(np.linalg.norm(weights))
