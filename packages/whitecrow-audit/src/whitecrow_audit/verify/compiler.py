"""The compiler, checked: the loss of compiled mechanisms on every edge, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from whitecrow.anomaly import AnomalyModel, DistanceAnomaly, KernelAnomaly
from whitecrow.anomaly.graph import Database, DatabaseGraph
from whitecrow.errors import InvalidInput
from whitecrow.exhaustive import Report, exhaust
from whitecrow.identify.compiler import (
    Base,
    Coins,
    Compiled,
    compiled,
    optimal_base,
    randomized_response,
)
from whitecrow_audit.verify.universes import Checks, together

_UNIVERSE, _SIZE = range(4), 7
_TINY = 1e-12
MODELS: tuple[AnomalyModel, ...] = (
    DistanceAnomaly(2, 1),
    DistanceAnomaly(3, 1),
    DistanceAnomaly(3, 0),
    KernelAnomaly(most=5, radii=[1, 2], heights=[2, 1]),
)


def _pairs(model: AnomalyModel, k: int) -> Iterator[tuple[Database, Database]]:
    """Yield the pairs of sensitive neighbours: as the model says, which ``models`` checks."""
    graph = DatabaseGraph(_UNIVERSE, _SIZE)
    for index, (smaller, larger) in enumerate(graph.all_pairs):
        for a, b in zip(smaller.tolist(), larger.tolist(), strict=True):
            one, other = graph.records(a), graph.records(b)
            if model.sensitive(list(other), index, k):
                yield one, other


def _loss(mechanism: Compiled) -> Report:
    """The loss of a compiled mechanism on every edge, about every record."""
    pairs = list(_pairs(mechanism.model, mechanism.k))
    note = f"{mechanism.model}, k {mechanism.k}"
    worst = together(
        exhaust(partial(_law, mechanism, i), pairs, float(mechanism.epsilon), note=note)
        for i in _UNIVERSE
    )
    return replace(worst, databases=worst.databases // len(_UNIVERSE))


def _law(mechanism: Compiled, i: int, records: Database) -> Mapping[Any, float]:
    wrong = mechanism.wrong(records, i)
    truth, _ = mechanism.model.judged(list(records), i, None)
    return {truth: 1 - wrong, not truth: wrong}


def compiled_loss(build: Callable[..., Base], epsilon: Fraction) -> Report:
    """The loss of a compiled base on every edge: at most twice the base's."""
    return together(
        _loss(compiled(build(model, epsilon=epsilon), model=model, k=k, universe=_UNIVERSE, size=4))
        for model in MODELS
        for k in (1, 2)
    )


def _tossed(model: AnomalyModel, wrong: Callable[[Sequence[Any], Any], float]) -> Any:
    """An answer that is wrong as often as a law says."""

    def draw(records: Sequence[Any], i: Any, coins: Coins) -> bool:
        truth, _ = model.judged(list(records), i, None)
        return truth != coins.bernoulli(Fraction(wrong(records, i)))

    return draw


def cautious_threshold(model: AnomalyModel, *, epsilon: Fraction) -> Base:
    """A natural base that must not be compiled: it says yes only when noise leaves it sure.

    The signed distance to the other answer plus Laplace noise is compared with 5, which is
    ε-differentially private and errs with probability above 1/2 near the boundary.
    """
    rate = float(epsilon)

    def wrong(records: Sequence[Any], i: Any) -> float:
        anomaly, distance = model.judged(list(records), i, None)
        assert distance is not None
        gap = rate * (5 - (distance if anomaly else 1 - distance))
        says_yes = 1 - math.exp(gap) / 2 if gap <= 0 else math.exp(-gap) / 2
        return 1 - says_yes if anomaly else says_yes

    return Base(epsilon, wrong, _tossed(model, wrong))


def rounding_base(model: AnomalyModel, *, epsilon: Fraction) -> Base:
    """The optimal base with errors below 1e-12 taken for none, which is no promise at all.

    Between two counts an answer of probability 7e-13 becomes impossible: an infinite loss, which
    a check with an absolute slack of 1e-12 does not see.
    """
    exactly = optimal_base(model, epsilon=epsilon)

    def wrong(records: Sequence[Any], i: Any) -> float:
        chance = exactly.wrong(records, i)
        return chance if chance >= _TINY else 0.0

    return Base(epsilon, wrong, _tossed(model, wrong))


def never_wrong(model: AnomalyModel, *, epsilon: Fraction) -> Base:
    """A base that declares to err as randomized response does, and never errs."""
    honest = randomized_response(model, epsilon=epsilon)

    def draw(records: Sequence[Any], i: Any, coins: Coins) -> bool:
        return model.judged(list(records), i, None)[0]

    return Base(epsilon, honest.wrong, draw)


def one_record_off(model: AnomalyModel, *, epsilon: Fraction) -> Base:
    """Randomized response that tosses a fairer coin about one record of one database."""
    honest = randomized_response(model, epsilon=epsilon)

    def draw(records: Sequence[Any], i: Any, coins: Coins) -> bool:
        if (sorted(records), i) == ([1, 1, 2], 1):
            return model.judged(list(records), i, None)[0] != coins.logistic(epsilon / 2)
        return honest.draw(records, i, coins)

    return Base(epsilon, honest.wrong, draw)


BROKEN: tuple[tuple[Callable[..., Base], Fraction], ...] = (
    (cautious_threshold, Fraction(2)),
    (rounding_base, Fraction(8)),
    (never_wrong, Fraction(1, 2)),
    (one_record_off, Fraction(1)),
)


def refused() -> Report:
    """Compiling any of these is refused."""
    tried = accepted = 0
    for build, epsilon in BROKEN:
        model = DistanceAnomaly(4, 1)
        tried += 1
        try:
            compiled(build(model, epsilon=epsilon), model=model, k=1, universe=range(3), size=7)
        except InvalidInput:
            continue
        accepted += 1
    return Report(0, tried, float(accepted), 0.0, note="loss: how many were accepted")


def in_spite_of_it(build: Callable[..., Base], epsilon: Fraction, model: AnomalyModel) -> Report:
    """What a base that must be refused loses once it is compiled."""
    return _loss(Compiled(build(model, epsilon=epsilon), model, 1))


CHECKS: Checks = {
    **{
        f"loss on every edge, {name}, epsilon {epsilon}": partial(compiled_loss, build, epsilon)
        for name, build in (
            ("optimal base", optimal_base),
            ("randomized response", randomized_response),
        )
        for epsilon in (Fraction(1, 10), Fraction(1))
    },
    "an invalid base is refused": refused,
    "mutant: an invalid base compiled": partial(
        in_spite_of_it, cautious_threshold, Fraction(2), DistanceAnomaly(4, 1)
    ),
    "mutant: tiny errors rounded to none": partial(
        in_spite_of_it, rounding_base, Fraction(8), DistanceAnomaly(2, 1)
    ),
}
