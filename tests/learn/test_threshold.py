"""Thresholds: which rates are tried, and how close they come."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from whitecrow.histogram.money import Money, concentrated
from whitecrow.learn import threshold
from whitecrow.noise.laws import exponential_mechanism_pmf

GAUSSIAN = Money("gaussian", concentrated(Fraction(1), Fraction(1, 10**6)), "add_remove", 1)
PURE = Money("laplace", Fraction(1), "add_remove", 1)
RATES = (Fraction(1, 20), Fraction(1, 100))
SHARE = Fraction(1, 5)


@pytest.mark.parametrize("money", [PURE, GAUSSIAN])
def test_all_rates_together_spend_their_share_and_no_more(money: Money) -> None:
    found = threshold.allotted(RATES, 1e6, money, SHARE)
    spent = (
        sum(found.values())
        if money.law == "laplace"
        else sum(epsilon**2 / 8 for epsilon in found.values())
    )
    assert set(found) == set(RATES)
    assert 0.999 < float(spent / (money.total * SHARE)) <= 1
    assert found[Fraction(1, 100)] > found[Fraction(1, 20)]


def test_the_least_rate_is_given_up_first_and_leaves_its_part_to_the_others() -> None:
    many, few, hardly = (
        threshold.allotted(RATES, records, GAUSSIAN, SHARE) for records in (20_000, 3000, 100)
    )
    assert len(many) == 2
    assert list(few) == [Fraction(1, 20)]
    assert few[Fraction(1, 20)] > many[Fraction(1, 20)]
    assert hardly == {}


def test_persons_with_many_records_need_more_of_them() -> None:
    persons = Money("gaussian", GAUSSIAN.total, "add_remove", 5)
    assert threshold.allotted(RATES[1:], 12_000, GAUSSIAN, SHARE)
    assert not threshold.allotted(RATES[1:], 12_000, persons, SHARE)


@pytest.mark.parametrize(("rate", "away"), [(Fraction(1, 100), 0.0015), (Fraction(1, 20), 0.004)])
def test_on_ten_thousand_records_realised_rates_are_close(rate: Fraction, away: float) -> None:
    """By the exact law of the choice; scores whose tail is longer than the candidates expect."""
    records = 10_000
    source = np.random.default_rng(0)
    made_up = np.sort(source.exponential(1000, 32_768).astype(np.int64))[::-1]
    ranks = np.unique(np.rint(np.geomspace(1, 16_384, 512)).astype(np.int64))
    beyond = made_up[0] + np.geomspace(300, 30_000, 64).astype(np.int64)
    edges = np.unique(np.concatenate([made_up[ranks - 1], beyond]))
    scores = (source.exponential(1000, records) ** 1.05).astype(np.int64)
    counts = np.bincount(np.searchsorted(edges, scores), minlength=len(edges) + 1)
    epsilon = threshold.allotted(RATES, records, GAUSSIAN, SHARE)[rate]
    eta = epsilon / (2 * threshold.sensitivity(rate, "add_remove", 1))
    law = np.array(exponential_mechanism_pmf(threshold.utilities(counts, rate), eta))
    realised = np.array([(scores > edge).mean() for edge in edges])
    assert abs(law @ realised - float(rate)) < away / 2
    assert law[np.abs(realised - float(rate)) <= away].sum() > 0.7
