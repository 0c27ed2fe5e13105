"""The plan of a publication: everything about it that is public, worked out once.

A plan turns values into whole numbers, says how large one event's effect is, which noise is drawn
for each period, and how a noisy running sum is read as a mean, a sum or a count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.errors import InvalidInput
from whitecrow.noise import Source, discrete_gaussian, discrete_laplace
from whitecrow.publish.buffered import ENDLESS, Buffered, any_time, fitted
from whitecrow.publish.clip import PrivateClip
from whitecrow.publish.counters import ONE, Counter, EachPeriod, Independent, Tree, retired
from whitecrow.publish.periods import Calendar

FIRST_EPOCH = 16
GROWTH = 16  # each epoch of an unknown horizon is sixteen times as long as the one before
_LEVELS = 1 << 20  # steps between the clips unless a resolution is given
_BLOCK = 4096  # times whose expected error is worked out together
_EXACT_FLOATS = 1 << 53  # sums of whole floats below this are exact
_COARSE = 1 << 24  # scales above this are rounded up to whole numbers
_REFINED = 32  # buffers want one event to weigh about 2^32 units


@dataclass(frozen=True)
class Point:
    """One released number."""

    period: str  # which period it closes
    value: float | None  # the statistic; None where a mean has no denominator left after noise
    error: float | None  # its standard deviation, from public facts and the release itself
    # count, total: For a mean: the noisy number of records and the noisy sum it is the ratio of.
    count: float | None = None
    total: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; what does not apply is left out."""
        point = dict(vars(self))
        if self.count is None:
            del point["count"], point["total"]
        return point


def counter_for(mechanism: str, view: str, length: int, bound: int) -> Counter:
    """Return the counter of a mechanism for ``length`` periods."""
    if view == "each_period":
        return EachPeriod()
    if mechanism == "independent":
        return Independent()
    if mechanism == "tree":
        return Tree(length)
    if why := retired(mechanism):
        raise InvalidInput(why)
    bits = max(0, _REFINED - bound.bit_length())
    if mechanism == "endless":
        return Buffered(max(length, ENDLESS), any_time(), bits, normalised=False)
    return Buffered(length, fitted(length), bits)


def best_mechanism(noise: str, horizon: int | None) -> str:
    """Return the mechanism with the least worst-case error, a function of public facts alone.

    Under Gaussian noise these are the optimised buffers, or, with an unknown horizon, the strategy
    that needs none: both in constant memory.
    """
    if horizon == 1:
        return "independent"  # there is nothing to add up
    if noise == "gaussian":
        return "endless" if horizon is None else "buffered"
    length = 1 << 20 if horizon is None else horizon
    # In units of bound/epsilon: the levels times the root of the most nodes in a sum, and the root.
    levels, nodes = length.bit_length(), (length + 1).bit_length() - 1
    return "tree" if levels * levels * nodes <= length else "independent"


def _finite(above: int, below: int) -> float:
    """Return a quotient as the nearest double; what lies beyond is moved to the last one.

    Sums may grow past every double, by their values or by their noise, and whether they do must
    not decide whether there is an answer.
    """
    try:
        quotient = above / below  # of whole numbers: rounded once, however long they are
    except OverflowError:
        quotient = math.inf if above > 0 else -math.inf
    return max(-_LAST_DOUBLE, min(_LAST_DOUBLE, quotient))


_LAST_DOUBLE = math.nextafter(math.inf, 0.0) / 4  # with room for the sum of two


@dataclass(frozen=True)
class Stage:
    """The counter of one epoch and the noise drawn in it."""

    counter: Counter  # what turns increments into releases
    length: int  # how many periods the epoch has
    noise: str  # "laplace" or "gaussian"
    # The scale of the discrete Laplace law, or the variance of the discrete Gaussian, in a period
    # whose multiple is 1.
    scale: Fraction

    def scale_at(self, within: int) -> Fraction:
        """Return the scale, or the variance, of the noise of a period (0, 1, ...)."""
        multiple = self.counter.multiple(within)
        if multiple not in self._scales:
            self._scales.clear()  # a scale serves a stretch of periods and does not come back
            times = Fraction(multiple, ONE)
            exact = self.scale * (times if self.noise == "laplace" else times**2)
            # A little more noise does no harm, and whole numbers are quick to draw with.
            self._scales[multiple] = Fraction(math.ceil(exact)) if exact > _COARSE else exact
        return self._scales[multiple]

    @cached_property
    def _scales(self) -> dict[int, Fraction]:
        return {}

    def draw(self, within: int, source: Source | None) -> int:
        """Draw the noise of one period (0, 1, ...) and channel."""
        if self.noise == "laplace":
            return discrete_laplace(self.scale_at(within), source)
        return discrete_gaussian(self.scale_at(within), source)

    @property
    def deviation(self) -> float:
        """The standard deviation of a draw of multiple 1 (the Gaussian's is at most this)."""
        if self.noise == "gaussian":
            return math.sqrt(self.scale)
        # Beyond 700 the noise is 0 for every purpose, and sinh would overflow.
        rate = float(min(1 / (2 * self.scale), Fraction(700)))
        return 1.0 / (math.sqrt(2.0) * math.sinh(rate))


@dataclass(frozen=True)
class PublicationPlan:
    """Everything public about one publication."""

    # statistic, view, mechanism, noise: As in :class:`~whitecrow.publish.Publish`; noise is
    # "laplace" or "gaussian".
    statistic: str
    view: str
    mechanism: str
    noise: str
    horizon: int | None  # the number of periods, or None for epochs of growing length
    # lower, upper: The clip.
    lower: Fraction
    upper: Fraction
    resolution: Fraction | None  # the step values are rounded to; a public default if None
    contribution: int  # how many records one unit of privacy may have
    leaving: bool  # whether records may also leave, which is one more event for each
    budget: Fraction  # the epsilon or the rho of the running sums
    calendar: Calendar  # what the periods are called
    # How the upper clip is chosen; ``upper`` is then the largest candidate until it is.
    clip: PrivateClip | None = None
    clip_epsilon: Fraction = Fraction(0)  # the epsilon of that choice

    def waits(self, done: int) -> bool:
        """Whether the clip is still to be chosen once so many periods are closed."""
        return self.clip is not None and done < min(self.clip.periods, self.horizon or done + 1)

    @property
    def growth(self) -> tuple[int, int]:
        """What one unit's events do to the l1 norm and the squared l2 norm of a single event.

        Records of one unit add up. A leave undoes a join: the two never pull the same way, so
        their squares add up (``proof.md`` 5), except in a sum whose values have both signs.
        """
        if not self.leaving:
            return self.contribution, self.contribution**2
        opposed = self.statistic != "sum" or self.lower >= 0 or self.upper <= 0
        return 2 * self.contribution, (2 if opposed else 4) * self.contribution**2

    # ---- whole numbers -------------------------------------------------------------------------

    @cached_property
    def step(self) -> Fraction:
        if self.statistic == "count":
            return Fraction(1)
        if self.resolution is not None:
            return self.resolution
        return max(self.upper - self.lower, abs(self.lower), abs(self.upper)) / _LEVELS

    @cached_property
    def first(self) -> int:
        """The code of the lower clip: for a sum the multiple of the step, else 0."""
        return math.ceil(self.lower / self.step) if self.statistic == "sum" else 0

    @cached_property
    def levels(self) -> int:
        """The number of steps between the clips."""
        if self.statistic == "count":
            return 1
        if self.statistic == "sum":
            return math.floor(self.upper / self.step) - self.first
        return math.ceil((self.upper - self.lower) / self.step)

    @property
    def channels(self) -> int:
        """How many running sums are kept: a mean needs two."""
        return 2 if self.statistic == "mean" else 1

    @cached_property
    def bound(self) -> int:
        """The most one event moves the sums by, in units, all channels together."""
        if self.statistic == "sum":
            return max(abs(self.first), abs(self.first + self.levels))
        return self.levels

    def encode(self, values: npt.NDArray[np.float64]) -> tuple[int, ...]:
        """Return the increments of one period: values clipped, rounded and added up.

        Each value's part depends on that value alone, and NaN has none. A mean keeps two sums, of
        the distances to the lower and to the upper clip: an event moves them by ``levels`` in all
        whatever its value, which costs no more than one sum (Kulesza, Suresh and Wang 2024).
        """
        if self.statistic == "count":
            return (len(values) - int(np.count_nonzero(np.isnan(values))),)
        origin, step, top = self._floats
        codes = np.maximum(values, origin)
        np.minimum(codes, top, out=codes)
        if origin:
            codes -= origin
        codes /= step
        np.rint(codes, out=codes)
        above = np.add.reduce(codes)
        if above != above:  # a missing value has made the sum one too
            return self.encode(values[~np.isnan(values)])
        if above >= _EXACT_FLOATS:
            above = np.add.reduce(codes.astype(np.int64))
        if self.statistic == "sum":
            return (int(above) + self.first * len(values),)
        return int(above), self.levels * len(values) - int(above)

    @cached_property
    def _floats(self) -> tuple[float, float, float]:
        """The value of code 0, the step, and the largest value whose code is the last one."""
        origin = float(self.first * self.step if self.statistic == "sum" else self.lower)
        step = float(self.step)
        top = origin + step * self.levels
        while np.rint((top - origin) / step) > self.levels:
            top = math.nextafter(top, origin)
        return origin, step, top

    # ---- epochs and noise ----------------------------------------------------------------------

    def stage(self, epoch: int) -> Stage:
        """Return the counter and the noise of an epoch."""
        if epoch not in self._stages:
            unknown = ENDLESS if self.mechanism == "endless" else FIRST_EPOCH * GROWTH**epoch
            length = self.horizon or unknown
            counter = counter_for(self.mechanism, self.view, length, self.bound)
            self.set_stage(epoch, counter, length)
        return self._stages[epoch]

    def set_stage(
        self, epoch: int, counter: Counter, length: int, scale: Fraction | None = None
    ) -> None:
        """Lay down an epoch; a scale other than the proved one is for mutants only."""
        if scale is None:
            absolute, squared = counter.reach(self.bound, self.channels)
            once, twice = self.growth
            if self.noise == "laplace":
                scale = once * absolute / self.budget
            else:
                scale = twice * squared / (2 * self.budget)
        self._stages[epoch] = Stage(counter, length, self.noise, scale)

    @cached_property
    def _stages(self) -> dict[int, Stage]:
        return {}

    def deviations(self, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the standard deviation of one channel at ``times`` (1, 2, ...), in values.

        For a sum or a count this is the standard deviation of the statistic.
        """
        t = np.atleast_1d(np.asarray(times, dtype=np.int64))
        if self.view == "each_period":
            return np.full(len(t), self.stage(0).deviation * float(self.step))
        variance = np.zeros(len(t))
        start, epoch = 0, 0
        while (later := t > start).any():
            stage = self.stage(epoch)
            unit = stage.deviation * float(self.step) / 2.0**stage.counter.bits
            # Past its end an epoch contributes the error of its last release.
            inside = np.minimum(t[later] - start, stage.length)
            variance[later] += (unit * stage.counter.deviations(inside)) ** 2
            start, epoch = start + stage.length, epoch + 1
            if self.horizon is not None:
                break
        return np.sqrt(variance)

    def has_finite_noise(self, last: int) -> bool:
        """Whether the standard deviation is a number at every time up to ``last``."""
        try:
            with np.errstate(over="ignore"):
                worst = float(self.deviations([last])[0])
            return float(self.step) > 0.0 and worst < math.inf
        except OverflowError:
            return False

    # ---- reading -------------------------------------------------------------------------------

    def deviation_at(self, t: int) -> float:
        """Return :meth:`deviations` at one time; neighbouring times are worked out together."""
        block, offset = divmod(t, _BLOCK)
        if block not in self._deviations:
            self._deviations.clear()
            end = (block + 1) * _BLOCK
            times = np.arange(block * _BLOCK, min(end, (self.horizon or end) + 1))
            self._deviations[block] = self.deviations(np.maximum(times, 1))
        return float(self._deviations[block][offset])

    @cached_property
    def _deviations(self) -> dict[int, npt.NDArray[np.float64]]:
        return {}

    def point(self, t: int, released: tuple[int, ...]) -> Point:
        """Read the noisy sums of period ``t`` (1, 2, ...), in refined units, as the statistic."""
        label, deviation = self.calendar.label(t - 1), self.deviation_at(t)
        unit, of, refined = self._units
        if self.statistic != "mean":
            return Point(label, _finite(released[0] * unit, refined * of), deviation)
        lower, step, _ = self._floats
        above, below = _finite(released[0], refined), _finite(released[1], refined)
        count = (above + below) / self.levels
        # above step + count lower, exactly.
        (a, b), (c, d) = above.as_integer_ratio(), count.as_integer_ratio()
        first, under = self.lower.as_integer_ratio()
        total = _finite(a * unit * d * under + c * first * b * of, b * of * d * under)
        if count <= 0:
            return Point(label, None, None, count, total)
        part = min(1.0, max(0.0, above / (above + below)))
        width = self.levels * step
        error = min(width, self.mean_deviation(deviation, count, part))
        return Point(label, lower + width * part, error, count, total)

    @cached_property
    def _units(self) -> tuple[int, int, int]:
        """The step as a ratio, and how many refined units one of the released sums has."""
        return (*self.step.as_integer_ratio(), 1 << self.stage(0).counter.bits)

    def mean_deviation(self, deviation: float, count: float, part: float = 0.5) -> float:
        """Return the standard deviation of a mean of ``count`` records, to first order.

        ``part`` says where the mean lies between the clips: one channel pulls by ``1 - part``, the
        other by ``part``.
        """
        return deviation * math.hypot(part, 1.0 - part) / count

    # ---- storing -------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        return self._json  # a state is written with every period

    @cached_property
    def _json(self) -> dict[str, Any]:
        stored = {
            name: str(value) if isinstance(value, Fraction) else value
            for name, value in vars(self).items()
            if name in _STORED
        }
        stored["calendar"] = [self.calendar.start, self.calendar.period]
        stored["clip"] = None if self.clip is None else self.clip.to_json()
        return stored

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PublicationPlan:
        plan = dict(data)
        for name in ("lower", "upper", "resolution", "budget", "clip_epsilon"):
            if plan[name] is not None:
                plan[name] = Fraction(plan[name])
        plan["calendar"] = Calendar(*plan["calendar"])
        plan["clip"] = None if plan["clip"] is None else PrivateClip(**plan["clip"])
        return cls(**plan)


_STORED = frozenset(entry.name for entry in fields(PublicationPlan))
