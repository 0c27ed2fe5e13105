"""Counters: streams of whole numbers in, noisy running sums out, one draw of noise a period.

Every counter is a lower-triangular strategy with one new noisy number a period, so what is released
at ``t`` is a function of the noisy numbers up to ``t`` and the privacy proof is the same for all
(``proof.md`` 2). A counter holds no data: its memory is handed in and out as a tuple of integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Memory = tuple[int, ...]

PRECISION = 48
ONE = 1 << PRECISION

MECHANISMS = ("buffered", "endless", "tree", "independent")

RETIRED = ("square_root", "normalised")
"""Counters of earlier releases: entries with them are read, no series is opened with them."""


def retired(mechanism: str) -> str:
    """Say why no series is opened with a counter; nothing if one can be."""
    if mechanism not in RETIRED:
        return ""
    return (
        f"Entries with the counter {mechanism!r} are only read; a new series has one of "
        f"{', '.join(MECHANISMS)}, or the best of them if 'mechanism' is left out."
    )


class Counter(Protocol):
    """What the publisher needs of a counter."""

    bits: int
    """Binary places that increments are refined by before :meth:`step`."""

    def start(self) -> Memory:
        """Return the memory before the first period."""

    def step(self, memory: Memory, increment: int, noise: int) -> tuple[Memory, int]:
        """Take in one period and its noise; return the new memory and what is released."""

    def reach(self, bound: int, channels: int = 1) -> tuple[int, int]:
        """Return the l1 norm and the squared l2 norm of one event's effect, or upper bounds."""

    def multiple(self, within: int) -> int:
        """Return the scale of a period's noise over the epoch's, in units of ``2^-PRECISION``."""
        return ONE

    def deviations(self, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the standard deviation of the release at ``times`` over that of one draw."""


@dataclass(frozen=True)
class Independent(Counter):
    """Fresh noise on each period's sum; a running sum adds the noisy periods up.

    An event touches one period, so no horizon is needed; the error grows as the square root of t.
    """

    bits: int = 0

    def start(self) -> Memory:
        return (0,)

    def step(self, memory: Memory, increment: int, noise: int) -> tuple[Memory, int]:
        total = memory[0] + increment + noise
        return (total,), total

    def reach(self, bound: int, channels: int = 1) -> tuple[int, int]:
        return bound, bound * bound

    def deviations(self, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.sqrt(np.atleast_1d(np.asarray(times, dtype=np.float64)))


@dataclass(frozen=True)
class EachPeriod(Independent):
    """Fresh noise on each period's sum, released period by period and never added up."""

    def step(self, memory: Memory, increment: int, noise: int) -> tuple[Memory, int]:
        """Take in one period and its noise; return its noisy sum."""
        return memory, increment + noise

    def deviations(self, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.ones(len(np.atleast_1d(np.asarray(times))))


@dataclass(frozen=True)
class Tree(Counter):
    """The binary tree of Dwork et al. (2010) and Chan, Shi and Song (2011).

    Period ``t`` draws noise for the one node that ends there (``t`` is a multiple of its length);
    the running sum adds the nodes of the binary digits of ``t``. An event lies in at most
    ``floor(log2 horizon) + 1`` of these nodes.
    """

    horizon: int
    bits: int = 0

    @property
    def levels(self) -> int:
        """The largest number of nodes that hold one event."""
        return self.horizon.bit_length()

    def start(self) -> Memory:
        """Return the memory before the first period: the time, open sums, noisy nodes."""
        return (0,) * (1 + 2 * self.levels)

    def step(self, memory: Memory, increment: int, noise: int) -> tuple[Memory, int]:
        levels = self.levels
        t = memory[0] + 1
        sums, nodes = list(memory[1 : 1 + levels]), list(memory[1 + levels :])
        level = (t & -t).bit_length() - 1
        sums[level] = sum(sums[:level]) + increment
        nodes[level] = sums[level] + noise
        for lower in range(level):
            sums[lower] = nodes[lower] = 0
        return (t, *sums, *nodes), sum(nodes)

    def reach(self, bound: int, channels: int = 1) -> tuple[int, int]:
        return self.levels * bound, self.levels * bound * bound

    def deviations(self, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
        t = np.atleast_1d(np.asarray(times, dtype=np.int64))
        return np.sqrt(np.bitwise_count(t).astype(np.float64))
