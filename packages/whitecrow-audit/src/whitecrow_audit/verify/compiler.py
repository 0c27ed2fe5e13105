"""The compiler, checked: the loss of compiled mechanisms on every edge, and what (V) is for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from whitecrow.anomaly.law import discrepancy, is_anomaly
from whitecrow.errors import InvalidInput
from whitecrow.exhaustive import Check, Report
from whitecrow.identify.compiler import (
    Base,
    Compiled,
    compiled,
    optimal_base,
    randomized_response,
)
from whitecrow.noise import Source
from whitecrow_audit.verify.identify import every_universe, settings
from whitecrow_audit.verify.sensitive import Tally, Universe, flip_losses, line

_FLOOR = "1/100"
_MOST = 12
_TINY = 1e-12


def compiled_loss(build: Callable[..., Base], epsilon: Fraction) -> Report:
    """The loss of a compiled base on every edge: at most twice the base's."""
    tally = Tally()
    for beta, k in settings(4):
        base = build(beta=beta, epsilon=epsilon, floor=_FLOOR)
        mechanism = compiled(base, beta=beta, k=k)
        wrong = lru_cache(maxsize=None)(mechanism.wrong)
        for _, universe in every_universe():
            _add(tally, mechanism, wrong, universe)
    return tally.report(float(2 * epsilon))


def _add(
    tally: Tally, mechanism: Compiled, wrong: Callable[[int, int], float], universe: Universe
) -> None:
    steps = universe.steps(mechanism.beta + 1 - mechanism.k)
    with np.errstate(divide="ignore"):
        before, after = (np.log(p) for p in steps.before_and_after(wrong))
    losses = flip_losses((before, after), steps.answers(mechanism.beta))
    tally.add_steps(universe, steps, losses, f"beta={mechanism.beta} k={mechanism.k}")


def cautious_threshold(*, beta: int, epsilon: Fraction) -> Base:
    """A natural base that must not be compiled: it says yes only when noise leaves it sure.

    The signed distance to the other answer plus Laplace noise is compared with 5, which is
    ε-differentially private and errs with probability above 1/2 near the boundary.
    """
    rate = float(epsilon)

    def wrong(copies: int, neighbours: int) -> float:
        distance = discrepancy(copies, neighbours, beta=beta, k=beta) or 0
        anomaly = is_anomaly(copies, neighbours, beta=beta)
        gap = rate * (5 - (distance if anomaly else 1 - distance))
        says_yes = 1 - math.exp(gap) / 2 if gap <= 0 else math.exp(-gap) / 2
        return 1 - says_yes if anomaly else says_yes

    def draw(copies: int, neighbours: int, source: Source | None) -> bool:
        raise NotImplementedError("only its law is looked at")

    return Base(epsilon, _MOST, wrong, draw)


def rounding_base(*, beta: int, epsilon: Fraction) -> Base:
    """The optimal base with errors below 1e-12 taken for none, which is no promise at all.

    Between two counts an answer of probability 7e-13 becomes impossible: an infinite loss, which
    a check with an absolute slack of 1e-12 does not see.
    """
    exactly = optimal_base(beta=beta, epsilon=epsilon, floor="1e-15")

    def wrong(copies: int, neighbours: int) -> float:
        found = exactly.wrong(copies, neighbours)
        return found if found >= _TINY else 0.0

    return Base(epsilon, exactly.most, wrong, exactly.draw)


def refused() -> Report:
    """Compiling either of the two is refused, for each beta and k with something to gain."""
    tried = accepted = 0
    for beta, k in settings(4):
        if k >= beta:
            continue
        for build, epsilon in ((cautious_threshold, Fraction(2)), (rounding_base, Fraction(4))):
            tried += 1
            try:
                compiled(build(beta=beta, epsilon=epsilon), beta=beta, k=k)
            except InvalidInput:
                continue
            accepted += 1
    return Report(0, tried, float(accepted), 0.0, note="loss: how many were accepted")


def invalid_twin() -> Report:
    """The cautious threshold compiled in spite of (V)."""
    tally = Tally()
    base = cautious_threshold(beta=5, epsilon=Fraction(2))
    mechanism = Compiled(base, 5, 2)
    _add(tally, mechanism, mechanism.wrong, line(3, 1, 5))
    return tally.report(4.0)


def tiny_twin() -> Report:
    """The rounding base compiled in spite of its broken promise."""
    tally = Tally()
    base = rounding_base(beta=2, epsilon=Fraction(4))
    mechanism = Compiled(base, 2, 1)
    _add(tally, mechanism, mechanism.wrong, line(2, 1, 12))
    return tally.report(8.0)


CHECKS = (
    *(
        Check(
            "compiler",
            f"loss on every edge, {name}, epsilon {epsilon}",
            partial(compiled_loss, build, epsilon),
        )
        for name, build in (
            ("optimal base", optimal_base),
            ("randomized response", randomized_response),
        )
        for epsilon in (Fraction(1, 10), Fraction(1))
    ),
    Check("compiler", "an invalid base is refused", refused),
    Check("compiler", "broken twin: an invalid base compiled", invalid_twin, must_fail=True),
    Check("compiler", "broken twin: tiny errors rounded to none", tiny_twin, must_fail=True),
)
