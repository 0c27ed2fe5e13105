"""What an account says holds at the moment at which the answers make somebody stop and look."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

import whitecrow as wc
from whitecrow.ledger.account import Account
from whitecrow.privacy import ZeroConcentrated, at_any_stop
from whitecrow.privacy.composition import ORDERS

RATIO = Fraction(6, 5)
_GRID = np.linspace(-10.0, 10.0, 1201)


def most_beyond(sums: list[float], bounds: list[float]) -> float:
    """The most by which the loss is beyond what is said of it, over all rules of when to stop.

    A release of Gaussian noise with ``rho`` has a loss of mean rho and variance 2 rho, exactly, in
    the world with the record. After sums that grow by one ratio the loss, in its own deviations,
    goes from step to step by one law, which is computed on a grid. Stopping at a loss L of which
    ``said`` is said is worth 1 - e^(said - L), the delta it needs; the best rule is found backward.
    """
    pull = math.sqrt(1 / RATIO)
    steps = np.exp(-((_GRID[None, :] - pull * _GRID[:, None]) ** 2) / (2 * (1 - pull * pull)))
    steps /= steps.sum(axis=1, keepdims=True)
    law = np.exp(-(_GRID**2) / 2)
    worth = np.zeros_like(_GRID)
    for rho, said in reversed(list(zip(sums, bounds, strict=True))):
        beyond = rho + math.sqrt(2 * rho) * _GRID - said
        worth = np.maximum(-np.expm1(-np.maximum(beyond, 0)), steps @ worth)
    return float(law @ worth / law.sum())


def fixed_beforehand(rho: float, delta: float) -> float:
    """The epsilon of Gaussian noise with ``rho`` at ``delta``, exactly, if nobody looks before."""

    def needed(epsilon: float) -> float:
        far, shift = epsilon / math.sqrt(2 * rho), math.sqrt(rho / 2)
        tail = normal.cdf(-shift - far)
        return normal.cdf(shift - far) - (math.exp(epsilon + math.log(tail)) if tail else 0)

    normal, low, high = NormalDist(), 0.0, rho + 20 * math.sqrt(rho)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) > delta else (low, middle)
    return high


SUMS = [(RATIO**step / 10**6).limit_denominator(10**12) for step in range(112)]
"""What an account has spent of rho after each of 112 releases: from a millionth to some 600."""


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 1000)])
def test_what_an_account_says_holds_whenever_one_stops(delta: Fraction):
    said, fixed = [], []
    for rho in SUMS:
        account = Account(rho=rho)
        total = account.totals(delta).differential
        assert total.delta == delta
        said.append(float(total.epsilon))
        fixed.append(fixed_beforehand(float(rho), float(delta / 2)))
    plain = [float(rho) for rho in SUMS]
    # The sum as if it had been fixed beforehand: over five times the delta that was said.
    assert most_beyond(plain, fixed) > 5 * delta / 2
    assert most_beyond(plain, said) < delta / 2
    # At a moment that was fixed beforehand, both hold.
    assert most_beyond(plain[-1:], fixed[-1:]) < 1.01 * delta / 2


def test_a_pure_question_after_a_lucky_loss_stays_within_the_cap():
    """Stop when the loss is high, and spend what the cap leaves where the loss is certain."""
    delta, cap = Fraction(1, 1000), Fraction(8)
    sums = [one for one in SUMS if Account(rho=one).spent("differential", delta) < cap]
    left = [cap - Account(rho=one).spent("differential", delta) for one in sums]
    assert max(left) > 7  # a pure release of so much is answered truly nearly always
    worth = most_beyond([float(one) for one in sums], [float(cap - one) for one in left])
    assert worth < delta / 2


def test_a_delta_for_concentrated_releases_is_set_aside_before_any_answer():
    budget = wc.ledger.Budget.of("9, 1e-6")
    both = Account().with_release(ZeroConcentrated("1/8"))
    half = both.with_release(wc.DifferentialPrivacy("1", "5e-7"))
    assert both.delta_left(budget) == Fraction("5e-7")
    assert half.delta_left(budget) == 0
    # An approximate release does not change at which delta the sum of rho is read.
    before, after = (one.spent("differential", budget.delta) for one in (both, half))
    assert after - before == 1
    assert (
        half.with_release(wc.DifferentialPrivacy("1", "1e-9")).spent("differential", budget.delta)
        is None
    )
    assert Account().with_release(wc.DifferentialPrivacy("1", "1e-6")).delta_left(budget) == 0


@pytest.mark.parametrize("rho", ["1/100000", "1/50", "1/2", "3", "40"])
def test_the_bound_is_that_of_the_orders_and_never_below_the_one_for_a_fixed_sum(rho: str):
    delta = Fraction(1, 10**6)
    found = float(at_any_stop(ZeroConcentrated(rho), delta).epsilon)
    value = float(Fraction(rho))
    chance = float(delta) / len(ORDERS)
    by_hand = min(
        (1 + a) * value + (-math.log(chance) - (1 + a) * math.log(1 + a) + a * math.log(a)) / a
        for a in ORDERS
    )
    assert found == pytest.approx(by_hand, rel=1e-12)
    fixed = fixed_beforehand(value, float(delta))
    assert fixed < found < max(1.25 * fixed, fixed + 0.02)
