"""Publish, audited: short series by every counter, both noises, a mean, and the private clip.

One event on the first day is the whole difference. What a series tells about it lies in the noisy
numbers that its counter added up, which are computed back from the released values: day ``t``
shows a noisy number that the event moves by ``SHIFTS[t]``.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import mul
from statistics import NormalDist
from typing import Any

from whitecrow.data import Card, Column
from whitecrow.noise import laws as noise_laws
from whitecrow.publish import PrivateClip, Publish
from whitecrow.publish.buffered import Buffered
from whitecrow.publish.counters import ONE
from whitecrow.publish.facts import PublishFacts
from whitecrow.publish.plan import Stage, counter_for
from whitecrow_audit.audit.case import Case, Laws, both, doubled, viewed
from whitecrow_audit.audit.shipped import Asked, Records
from whitecrow_audit.audit.tester import Law
from whitecrow_audit.verify.publish import choice_law

CARD = Card("days", (Column("d", "integer", 0, 9), Column("v", "integer", 0, 8)))
EMPTY: Records = {"d": [], "v": []}


def _fed_back(mechanism: str) -> float:
    """The part of the first day's error that is in the second day's again."""
    counter = counter_for(mechanism, "to_date", 2, 1)
    assert isinstance(counter, Buffered)
    first, second = counter.multiple(0), counter.multiple(1)
    return 1.0 - sum(counter.recurrence.weights) / ONE * second / first


FEEDBACK = {name: _fed_back(name) for name in ("buffered", "endless")}

SHIFTS = {
    "independent": (1.0,),
    "tree": (1.0, 1.0),
    **{name: (1.0, 1.0 - part) for name, part in FEEDBACK.items()},
}
"""By how much an event of the first day moves the noisy numbers of two days."""


def _event(value: int) -> Records:
    return {"d": [0], "v": [value]}


def _numbers(mechanism: str, answer: Any) -> list[float]:
    """Compute the noisy numbers back from the released running counts."""
    values = [point["value"] for point in answer["series"]]
    if mechanism in FEEDBACK:
        return [values[0], values[1] - FEEDBACK[mechanism] * values[0]]
    return values[: len(SHIFTS[mechanism])]


def _beyond(stage: Stage, within: int, least: float) -> float:
    """P(Laplace noise >= least), in units of one event."""
    steps = math.ceil(round(least * 2**stage.counter.bits, 6))
    rate = 1 / float(stage.scale_at(within))
    low = math.exp(-rate * (steps if steps >= 1 else 1 - steps)) / (1 + math.exp(-rate))
    return low if steps >= 1 else 1 - low


def _bins(stage: Stage, moved: float, cuts: Sequence[float], within: int = 0) -> list[float]:
    """The chances of a noisy number between the cuts, when the event moves it by ``moved``."""
    above = [1.0, *(_beyond(stage, within, cut - moved) for cut in cuts), 0.0]
    return [lower - upper for lower, upper in itertools.pairwise(above)]


def _bin(number: float, cuts: Sequence[float]) -> int:
    return sum(number >= cut for cut in cuts)


@dataclass(frozen=True)
class _Counting:
    """A count of one or two days, looked at where the likelihood of the event is largest.

    Under Laplace noise that is each day's number on its own side of a cut; under Gaussian noise
    the numbers added up, each by its shift.
    """

    mechanism: str
    budget: Fraction
    noise: str = "epsilon"

    def question(self, factor: Fraction = Fraction(1)) -> Publish:
        price: dict[str, Any] = {self.noise: self.budget * factor}
        return Publish(
            statistic="count",
            time="d",
            start=0,
            period=1,
            horizon=len(self.shifts),
            mechanism=self.mechanism,
            **price,
        )

    @property
    def shifts(self) -> tuple[float, ...]:
        return SHIFTS[self.mechanism]

    @property
    def pulls(self) -> tuple[float, ...]:
        """How much each day's number says about the event: its shift over its noise's variance."""
        counter = counter_for(self.mechanism, "to_date", len(self.shifts), 1)
        return tuple(
            shift * (ONE / counter.multiple(day)) ** 2 for day, shift in enumerate(self.shifts)
        )

    def laws(self, times: int, factor: Fraction) -> Laws:
        stage = self.question(factor * times).plan(CARD).stage(0)
        law = self._apart if self.noise == "epsilon" else self._together
        return law(stage, 0), law(stage, 1)

    def _apart(self, stage: Stage, there: int) -> Law:
        days = [
            _bins(stage, there * shift, (shift / 2,), within)
            for within, shift in enumerate(self.shifts)
        ]
        return {
            tuple(position for position, _ in day): math.prod(chance for _, chance in day)
            for day in itertools.product(*map(enumerate, days))
        }

    def _together(self, stage: Stage, there: int) -> Law:
        square = math.fsum(map(mul, self.shifts, self.pulls))
        if stage.counter.bits:  # so finely divided that the noise is as good as continuous
            deviation = math.sqrt(stage.scale * Fraction(square)) / 2**stage.counter.bits
            high = 1 - NormalDist().cdf(square * (0.5 - there) / deviation)
            return {(0,): 1 - high, (1,): high}
        law: dict[int, float] = {0: 1.0}
        for shift in self.shifts:
            law = _added(law, stage, there * int(shift))
        cuts = (square / 2,)
        return viewed(law, lambda total: (_bin(total, cuts),))

    def view(self, answer: Any) -> Hashable:
        numbers = _numbers(self.mechanism, answer)
        if self.noise == "epsilon":
            return tuple(
                _bin(number, (shift / 2,))
                for number, shift in zip(numbers, self.shifts, strict=True)
            )
        total = math.fsum(map(mul, numbers, self.pulls))
        return (_bin(total, (math.fsum(map(mul, self.shifts, self.pulls)) / 2,)),)

    def exact(self, times: int) -> float:
        """The loss of the whole answer: the shifts over the noise."""
        stage = self.question(Fraction(times)).plan(CARD).stage(0)
        unit = 2**stage.counter.bits
        if self.noise == "epsilon":
            return math.fsum(
                shift * unit / float(stage.scale_at(day)) for day, shift in enumerate(self.shifts)
            )
        square = math.fsum(map(mul, self.shifts, self.pulls))
        return float(square * unit**2 / (2 * float(stage.scale)))

    def case(self, name: str, times: int = 1, most: int = 20_000) -> Case:
        spoiled = None if times == 1 else partial(_richer, times)
        asked = Asked(self.question(), CARD, (EMPTY, _event(1)), self.view, spoiled)
        where = f"no records ~ one event on the first of {len(self.shifts)} days"
        exact = self.exact(times)
        return asked.case(name, where, partial(self.laws, times), most=most, exact=exact)


def _added(law: dict[int, float], stage: Stage, moved: int) -> dict[int, float]:
    """The law of a number plus one more noisy number."""
    far = math.ceil(9 * stage.deviation)
    shifted: dict[int, float] = defaultdict(float)
    for total, chance in law.items():
        for noise in range(-far, far + 1):
            weight = noise_laws.discrete_gaussian_pmf(noise, stage.scale)
            shifted[total + moved + noise] += chance * weight
    return dict(shifted)


def _richer(times: int, facts: PublishFacts) -> PublishFacts:
    """Noise as if the budget were a multiple of what is charged."""
    return replace(facts, plan=replace(facts.plan, budget=times * facts.plan.budget))


# --- a mean, and noise that follows the data ------------------------------------------------------


def _priced(statistic: str, epsilon: Fraction, **given: Any) -> Publish:
    return Publish(
        "v",
        statistic=statistic,
        time="d",
        start=0,
        period=1,
        horizon=1,
        mechanism="independent",
        epsilon=epsilon,
        resolution=Fraction(1),
        **given,
    )


def _total(key: str, high: float, answer: Any) -> Hashable:
    return _bin(answer["series"][0][key], (0.5, high))


def _total_laws(statistic: str, high: float, epsilon: int, factor: Fraction) -> Laws:
    """Everything of an event of value 2 is in one of the two sums of a mean."""
    stage = _priced(statistic, epsilon * factor, clip=(0, 2)).plan(CARD).stage(0)
    return both(lambda moved: dict(enumerate(_bins(stage, moved, (0.5, high)))), (0.0, 2.0))


def _mean() -> Case:
    question = _priced("mean", Fraction(2), clip=(0, 2))
    asked = Asked(question, CARD, (EMPTY, _event(2)), partial(_total, "total", 1.5))
    where = "no records ~ one record at the upper clip"
    return asked.case("mean, Laplace", where, partial(_total_laws, "mean", 1.5, 2))


def _following() -> Case:
    """The noise is scaled to the largest value that happens to be there."""

    def spoiled(facts: PublishFacts) -> PublishFacts:
        largest = max([1.0, *(value for day in facts.exact_days for value in day.exact_joins)])
        follower = replace(facts.plan, upper=Fraction(largest))
        return replace(facts, plan=follower)

    def laws(factor: Fraction) -> Laws:
        def law(given: tuple[int, float]) -> Law:
            upper, moved = given
            stage = _priced("sum", 2 * factor, clip=(0, upper)).plan(CARD).stage(0)
            return dict(enumerate(_bins(stage, moved, (0.5, 3.5))))

        return both(law, ((1, 0.0), (8, 8.0)))

    question = _priced("sum", Fraction(2), clip=(0, 8))
    asked = Asked(question, CARD, (EMPTY, _event(8)), partial(_total, "value", 3.5), spoiled)
    where = "no records ~ one record of value 8"
    return asked.case("mutant: noise scaled to the data", where, laws)


# --- the private clip -----------------------------------------------------------------------------


def _clip(method: str) -> PrivateClip:
    return PrivateClip(
        smallest=Fraction(1),
        largest=Fraction(4),
        method=method,
        quantile=Fraction(1, 2),
        above=0,
        periods=1,
        share=Fraction(9, 10),
    )


def _upper(answer: Any) -> Hashable:
    return float(answer["clip"][1])


def _clip_case(method: str, values: tuple[int, ...], epsilon: int, times: int = 1) -> Case:
    """Values there already, and one more above every candidate."""
    pair: tuple[Records, Records] = (
        {"d": [0] * len(values), "v": list(values)},
        {"d": [0] * (len(values) + 1), "v": [*values, 8]},
    )
    question = _priced("sum", Fraction(epsilon), clip=_clip(method))

    def laws(factor: Fraction) -> Laws:
        spent = float(Fraction(9, 10) * epsilon * factor * times)
        return both(partial(choice_law, _clip(method), spent), (values, (*values, 8)))

    def richer(facts: PublishFacts) -> PublishFacts:
        plan = facts.plan
        return replace(facts, plan=replace(plan, clip_epsilon=times * plan.clip_epsilon))

    mutant = times != 1
    asked = Asked(question, CARD, pair, _upper, richer if mutant else None)
    start = f"mutant: a clip that spends {times} times what it says" if mutant else "private clip"
    return asked.case(
        f"{start}, by {method}",
        f"values {values} ~ {(*values, 8)}",
        laws,
        most=2_000,
        full=10_000,
        note="The view is the clip chosen, for which nine tenths of the budget are spent.",
    )


def cases() -> Iterator[Case]:
    yield _Counting("independent", Fraction(2)).case("independent, Laplace")
    yield (case := _Counting("tree", Fraction(2)).case("tree, Laplace", most=25_000))
    yield doubled(case)
    buffered = _Counting("buffered", Fraction(3))
    yield buffered.case("buffered, Laplace", most=30_000)
    yield buffered.case("mutant: buffered, Laplace, half the noise", times=2)
    gaussian = {"independent": 3, "tree": 3, **dict.fromkeys(FEEDBACK, 4)}
    for mechanism, rho in gaussian.items():
        counting = _Counting(mechanism, Fraction(rho), "rho")
        name = f"{mechanism.replace('_', ' ')}, Gaussian"
        yield counting.case(name, most=10_000 if mechanism in FEEDBACK else 30_000)
        # Two days show little of a strategy that is made for thousands of years.
        times, part = (16, "a quarter of") if mechanism == "endless" else (4, "half")
        yield counting.case(f"mutant: {name}, {part} the deviation", times=times)
    yield _mean()
    yield _following()
    for method in ("quantile", "sparse_vector"):
        yield _clip_case(method, (1,), epsilon=6)
        yield _clip_case(method, (1,), epsilon=2, times=16)
