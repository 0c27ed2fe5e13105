"""What was released so far, step by step: all that is kept between two steps, and all public.

A step releases *blocks*: five rounds of histograms of columns, the tables, and the histograms the
alarm looks at. A block is read through a :class:`Reader`, which stands where ``learn`` expects
noisy counts: it has them drawn (at the newest step) or repeats what was drawn, and returns an
estimate of the counts of some periods.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.detector import Detector, Model
from whitecrow.errors import InvalidInput
from whitecrow.histogram.facts import Counting
from whitecrow.histogram.noise_budget import Money, Noise
from whitecrow.monitor.strategy import Strategy

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Step = tuple[Ints, ...]

_FORM = 1


@dataclass(frozen=True, eq=False)
class Streams:
    """All releases of a series."""

    first: Detector | None = None  # the detector of the first step, which lays out all later ones
    steps: tuple[Step, ...] = ()  # for each closed step its blocks

    @property
    def layout(self) -> Model | None:
        return None if self.first is None else self.first.model

    def grown(self, first: Detector, step: Step) -> Streams:
        """Return the releases with one step more."""
        return replace(self, first=self.first or first, steps=(*self.steps, step))

    def to_json(self) -> dict[str, Any]:
        return {
            "form": _FORM,
            "first": None if self.first is None else self.first.to_json()["detector"],
            "steps": [[_written(block) for block in step] for step in self.steps],
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


def _written(block: Ints) -> str:
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

    money: Money  # what is paid with, for all steps together
    strategy: Strategy
    # The blocks of the steps so far: all of them to read again, or all but the newest to draw it.
    past: tuple[Step, ...]
    # The periods to estimate, ``first`` and the one after the last, which is the newest.
    span: tuple[int, int]
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
        noise = self.money.histograms(share / self.strategy.reach(user=self.user), tables)
        releases = [step[self._asked] for step in self.past]
        self._asked += 1
        if len(releases) < self.span[1]:
            assert self.draw is not None
            self.drawn.append(self.draw(cells, noise, groups))
            releases.append(self.drawn[-1])
        weights = self.strategy.weights(*self.span)
        estimate = np.asarray(weights @ np.stack(releases).astype(np.float64))
        return estimate, noise.deviation * float(np.linalg.norm(weights))
