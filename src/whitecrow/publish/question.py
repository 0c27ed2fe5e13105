"""The question: a mean, a sum or a count kept current as data arrive (public facts only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, Column
from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import DifferentialPrivacy, Guarantee, ZeroConcentrated, exact, text
from whitecrow.publish.clip import PrivateClip
from whitecrow.publish.counters import MECHANISMS
from whitecrow.publish.periods import Calendar
from whitecrow.publish.plan import FIRST_EPOCH, Plan, best_mechanism
from whitecrow.publish.signed import signed
from whitecrow.question import Description

__all__ = ["Publish"]

STATISTICS = ("mean", "sum", "count")
VIEWS = ("to_date", "each_period")
_LONGEST = 10**9
_FARTHEST = 10**300
_FINEST = 2**31  # steps between the clips: codes and their sums stay far below 64 bits

_NAMES = {
    "square_root": "the square-root factorisation",
    "tree": "a binary tree",
    "independent": "independent noise on each period",
}


@dataclass(frozen=True)
class Publish:
    """Publish a statistic period by period under event-level or user-level privacy.

    Parameters
    ----------
    column : str, optional
        What is averaged or added up; nothing for a count.
    statistic : {"mean", "sum", "count"}
        A mean is the ratio of a noisy sum and a noisy count that share the budget.
    time : str
        The column that says when a record arrived: a date, or a number.
    start : date or number
        The first moment of the first period. Public, as are the period and the horizon.
    period : {"day", "week", "month"} or number
        The length of a period (a number where the time is one).
    horizon : int, optional
        How many periods there will be at the most; None if unknown (costs accuracy, not privacy).
    through : int, optional
        How many periods to release now from a dataset; all of the horizon unless given (the first
        16 if the horizon is unknown).
    view : {"to_date", "each_period"}
        The statistic of all records so far, or of each period's own.
    clip : (lower, upper) or PrivateClip, optional
        Values are moved into this public interval; the card's bounds unless given. A
        :class:`PrivateClip` has the upper end chosen privately, for a part of the budget.
    resolution : exact number, optional
        The public step values are rounded to; the card's, or a fine default.
    mechanism : {"square_root", "tree", "independent"}, optional
        By default the one with the least worst-case error: the square-root factorisation for
        Gaussian noise.
    leaves : str, optional
        The column that says when a record leaves again (for streams, any text): a leave is one
        more event and doubles the sensitivity.
    epsilon : exact number
        Pure differential privacy by discrete Laplace noise.
    rho : exact number
        Zero-concentrated privacy by discrete Gaussian noise. Give one of the two.

    Notes
    -----
    Asked over a dataset, it releases a finished series; asking for more periods later is another
    question at its own price. A series that goes on is opened once, with ``curator.publisher``, and
    then updated for nothing more.

    Examples
    --------
    >>> Publish("km", time="date", start="2019-03-01", horizon=31, rho="1/2").mechanism
    'square_root'
    """

    kind: ClassVar[str] = "publish"

    column: str | None = None
    statistic: str = field(default="mean", kw_only=True)
    time: str = field(kw_only=True)
    start: Any = field(kw_only=True)
    period: Any = field(default="day", kw_only=True)
    horizon: int | None = field(default=None, kw_only=True)
    through: int = field(default=0, kw_only=True)
    view: str = field(default="to_date", kw_only=True)
    clip: tuple[Fraction, Fraction] | PrivateClip | None = field(default=None, kw_only=True)
    resolution: Fraction | None = field(default=None, kw_only=True)
    mechanism: str = field(default="", kw_only=True)
    leaves: str | None = field(default=None, kw_only=True)
    epsilon: Fraction | None = field(default=None, kw_only=True)
    rho: Fraction | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self._check_words()
        calendar = Calendar.of(self.start, self.period)
        self._set("start", calendar.start)
        self._set("period", calendar.period)
        self._check_lengths()
        if self.resolution is not None:
            self._set("resolution", exact(self.resolution, owner="Publish", parameter="resolution"))
        if self.clip is not None and not isinstance(self.clip, PrivateClip):
            self._set("clip", _interval(self.clip))
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidInput(
                "Publish wants exactly one of 'epsilon' (pure privacy, Laplace noise) and 'rho' "
                "(zero-concentrated privacy, Gaussian noise)."
            )
        name = "epsilon" if self.rho is None else "rho"
        self._set(name, exact(getattr(self, name), owner="Publish", parameter=name))
        if not self.mechanism:
            each = self.view == "each_period"
            self._set(
                "mechanism", "independent" if each else best_mechanism(self.noise, self.horizon)
            )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_words(self) -> None:
        for name, allowed in (("statistic", STATISTICS), ("view", VIEWS)):
            if getattr(self, name) not in allowed:
                choice = " or ".join(repr(word) for word in allowed)
                raise invalid("Publish", name, choice, getattr(self, name))
        if self.mechanism and self.mechanism not in MECHANISMS:
            choice = " or ".join(repr(word) for word in MECHANISMS)
            raise invalid("Publish", "mechanism", choice, self.mechanism)
        if self.view == "each_period" and self.mechanism not in ("", "independent"):
            hint = "The others pay for running sums, which this view does not show."
            raise invalid(
                "Publish", "mechanism", "'independent' for each_period", self.mechanism, hint
            )
        if not isinstance(self.time, str) or not self.time:
            raise invalid("Publish", "time", "the name of a column", self.time)
        if self.statistic == "count" and self.column is not None:
            raise invalid("Publish", "column", "left out of a count", self.column)
        if self.statistic != "count" and (not isinstance(self.column, str) or not self.column):
            raise invalid("Publish", "column", "the name of a column", self.column)
        if self.leaves is not None and (not isinstance(self.leaves, str) or not self.leaves):
            raise invalid("Publish", "leaves", "the name of a column", self.leaves)

    def _check_lengths(self) -> None:
        for name in ("horizon", "through"):
            value = getattr(self, name)
            if value is None or (name == "through" and value == 0):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LONGEST:
                raise invalid("Publish", name, f"a whole number from 1 to {_LONGEST}", value)
        if not self.through:
            self._set("through", self.horizon or FIRST_EPOCH)
        elif self.horizon is not None and self.through > self.horizon:
            raise invalid(
                "Publish", "through", f"at most the horizon, {self.horizon}", self.through
            )

    @property
    def noise(self) -> str:
        """ "laplace" under epsilon, "gaussian" under rho."""
        return "laplace" if self.rho is None else "gaussian"

    @property
    def budget(self) -> Fraction:
        """The epsilon or the rho."""
        found = self.epsilon if self.rho is None else self.rho
        assert found is not None
        return found

    @cached_property
    def calendar(self) -> Calendar:
        """What the periods are called."""
        return Calendar(self.start, self.period)

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        clip: object = None
        if isinstance(self.clip, PrivateClip):
            clip = self.clip.to_json()
        elif self.clip is not None:
            clip = [text(bound) for bound in self.clip]
        return {
            "column": self.column,
            "statistic": self.statistic,
            "time": self.time,
            "start": self.start,
            "period": self.period,
            "horizon": self.horizon,
            "through": self.through,
            "view": self.view,
            "clip": clip,
            "resolution": None if self.resolution is None else text(self.resolution),
            "mechanism": self.mechanism,
            "leaves": self.leaves,
            "epsilon": None if self.epsilon is None else text(self.epsilon),
            "rho": None if self.rho is None else text(self.rho),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the question that :meth:`to_json` wrote."""
        found = dict(data)
        clip = found.get("clip")
        if isinstance(clip, Mapping):
            found["clip"] = _given(PrivateClip, clip)
        question: Self = _given(cls, found)
        return question

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        self._check_time(card.column(self.time))
        if self.leaves is not None and self.leaves in card.names:
            self._check_time(card.column(self.leaves))
        if self.column is None:
            return
        column = card.column(self.column)
        if not column.numeric:
            raise InvalidInput(
                f"The column {self.column!r} is a {column.type}; a {self.statistic} needs numbers."
            )
        lower, upper = self._clip(column)
        if max(-lower, upper) > _FARTHEST:
            raise InvalidInput("The clips must lie within 1e300 of 0, for sums to stay numbers.")
        plan = self.plan(card)
        if not 1 <= plan.levels <= _FINEST:
            step = "resolution" if plan.resolution is not None else "clip"
            raise InvalidInput(
                f"Between the clips {float(lower):g} and {float(upper):g} there must be 1 to 2^31 "
                f"steps of the {step}; choose another resolution."
            )
        if not plan.has_finite_noise(self.through):
            raise InvalidInput(
                "The noise of this series is beyond the numbers a computer holds; choose smaller "
                "clips, a coarser resolution or a larger budget."
            )

    def _check_time(self, column: Column) -> None:
        dated = self.calendar.dated
        if (column.type == "date") != dated or (not dated and not column.numeric):
            wanted = "a date" if dated else "a number"
            raise InvalidInput(
                f"The column {column.name!r} is a {column.type}, but periods of {self.period!r} "
                f"need {wanted}."
            )

    def _clip(self, column: Column) -> tuple[Fraction, Fraction]:
        if isinstance(self.clip, PrivateClip):
            return self.clip.lower, self.clip.candidates[-1]
        if self.clip is not None:
            return self.clip
        if column.lower is None or column.upper is None:
            raise InvalidInput(
                f"The card gives no bounds for {column.name!r}: say clip=(lower, upper) from "
                "public knowledge, or clip=PrivateClip(...) to have it chosen for a share of "
                "the budget."
            )
        return _on_card(column.lower), _on_card(column.upper)

    def plan(self, card: Card) -> Plan:
        """Work out everything public about the publication."""
        clip = self.clip if isinstance(self.clip, PrivateClip) and self.column else None
        spent = self.budget * clip.share if clip else Fraction(0)
        lower, upper, resolution = Fraction(0), Fraction(1), None
        if self.column is not None:
            column = card.column(self.column)
            lower, upper = self._clip(column)
            resolution = self.resolution
            if resolution is None and column.resolution is not None:
                resolution = _on_card(column.resolution)
            if resolution is None and column.type == "integer":
                resolution = Fraction(1)
        return Plan(
            statistic=self.statistic,
            view=self.view,
            mechanism=self.mechanism,
            noise=self.noise,
            horizon=self.horizon,
            lower=lower,
            upper=upper,
            resolution=resolution,
            contribution=card.contribution,
            leaving=self.leaves is not None,
            budget=self.budget - spent,
            calendar=self.calendar,
            clip=clip,
            clip_epsilon=clip.epsilon(spent, self.noise) if clip else Fraction(0),
        )

    def price(self, card: Card) -> Guarantee:
        """Return what the whole series costs, however many periods are shown."""
        self.check(card)
        if self.rho is not None:
            return ZeroConcentrated(self.rho)
        return DifferentialPrivacy(self.budget)

    def expected_error(
        self, card: Card, times: npt.ArrayLike, *, per_period: float = 0.0
    ) -> npt.NDArray[np.float64]:
        """Return the standard deviation of the release at ``times`` (1, 2, ...), before asking.

        Parameters
        ----------
        card : Card
            The public facts.
        times : array-like
            Which periods.
        per_period : float
            For a mean: about how many records come in a period. The mean is taken to lie half-way
            between the clips, to first order in the noise.

        Examples
        --------
        >>> card = Card("c", (Column("t", lower=0, upper=9),))
        >>> year = Publish(statistic="count", time="t", start=0, period=1, horizon=365, rho="1/2")
        >>> year.expected_error(card, [1, 365]).round(2).tolist()
        [1.73, 2.95]
        """
        plan = self.plan(card)
        found = plan.deviations(times)
        if self.statistic != "mean":
            return found
        if per_period <= 0:
            raise invalid("expected_error", "per_period", "above 0 for a mean", per_period)
        periods = np.asarray(times) if self.view == "to_date" else np.ones(len(found))
        return np.asarray(plan.mean_deviation(1.0, per_period) * found / periods)

    def describe(self, card: Card, **public: object) -> Description:
        """Say what will be released and how far off it will be.

        Parameters
        ----------
        card : Card
            The public facts.
        per_period : number, optional
            About how many records come in a period, if that is known publicly; it turns the error
            of sum and count into the error of the mean.
        """
        price = self.price(card)
        plan = self.plan(card)
        last = self.through
        times = sorted({1, max(1, last // 2), last})
        figures: dict[str, Any] = {
            "mechanism": self.mechanism,
            "noise": self.noise,
            "periods": times,
            "deviation": plan.deviations(times).tolist(),
        }
        what = f"the {self.statistic}" + (f" of {self.column!r}" if self.column else " of records")
        span = "of all records so far" if self.view == "to_date" else "of each period's records"
        spread, over = figures["deviation"], ""
        if self.statistic == "mean":
            per_period = public.get("per_period")
            over = " divided by the number of records"
            if isinstance(per_period, int | float) and per_period > 0:
                over = ""
                spread = self.expected_error(card, times, per_period=per_period).tolist()
                figures["mean_deviation"] = spread
        errors = f"{spread[0]:.4g} at first and {spread[-1]:.4g} after {last} periods{over}"
        clip = ""
        if plan.clip is not None:
            clip = (
                f" The upper clip is chosen privately from the first {plan.clip.periods} periods, "
                f"for {text(plan.clip.share)} of the price."
            )
        unit = "person" if card.unit == "user" else "record"
        words = (
            f"Publishes {what}, {span}, every {self.period} from {self.start}, through "
            f"{_NAMES[self.mechanism]} with discrete {self.noise} noise. Values are moved into "
            f"[{float(plan.lower):g}, {float(plan.upper):g}].{clip} Expected standard deviation: "
            f"{errors}. One price for the whole series; it protects each {unit}."
        )
        return Description(words, price, figures)


def _interval(value: object) -> tuple[Fraction, Fraction]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise invalid("Publish", "clip", "a pair (lower, upper) or a PrivateClip", value)
    lower, upper = (signed(bound, owner="Publish", parameter="clip") for bound in value)
    if lower >= upper:
        raise invalid("Publish", "clip", "a pair with lower below upper", value)
    return lower, upper


def _on_card(value: object) -> Fraction:
    return signed(value, owner="the card", parameter="bound")


def _given(cls: Any, data: Mapping[str, Any]) -> Any:
    try:
        return cls(**data)
    except TypeError:
        raise InvalidInput(f"These are not the parameters of {cls.__name__}.") from None
