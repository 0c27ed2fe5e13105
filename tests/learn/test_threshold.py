"""Thresholds: which rates are tried, and how close they come."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from whitecrow.data import Card, Column, read
from whitecrow.detector import scoring
from whitecrow.histogram.noise_budget import NoiseBudget, concentrated
from whitecrow.learning import Learn, gather, threshold
from whitecrow.learning.mechanism import learn
from whitecrow.noise.laws import exponential_mechanism_pmf

GAUSSIAN = NoiseBudget("gaussian", concentrated(Fraction(1), Fraction(1, 10**6)), "add_remove", 1)
PURE = NoiseBudget("laplace", Fraction(1), "add_remove", 1)
RATES = (Fraction(1, 20), Fraction(1, 100))
SHARE = Fraction(1, 5)


@pytest.mark.parametrize("budget", [PURE, GAUSSIAN])
def test_all_rates_together_spend_their_share_and_no_more(budget: NoiseBudget) -> None:
    found = threshold.allotted(RATES, 1e6, budget, SHARE)
    spent = (
        sum(found.values())
        if budget.law == "laplace"
        else sum(epsilon**2 / 8 for epsilon in found.values())
    )
    assert set(found) == set(RATES)
    assert 0.999 < float(spent / (budget.total * SHARE)) <= 1
    assert found[Fraction(1, 100)] > found[Fraction(1, 20)]


def test_the_least_rate_is_given_up_first_and_leaves_its_part_to_the_others() -> None:
    many, few, hardly = (
        threshold.allotted(RATES, records, GAUSSIAN, SHARE) for records in (30_000, 8000, 100)
    )
    assert len(many) == 2
    assert list(few) == [Fraction(1, 20)]
    assert few[Fraction(1, 20)] > many[Fraction(1, 20)]
    assert hardly == {}


def test_persons_with_many_records_need_more_of_them() -> None:
    persons = NoiseBudget("gaussian", GAUSSIAN.total, "add_remove", 5)
    assert threshold.allotted(RATES[1:], 24_000, GAUSSIAN, SHARE)
    assert not threshold.allotted(RATES[1:], 24_000, persons, SHARE)


def test_one_percent_of_ten_thousand_records_is_refused_beside_another_rate() -> None:
    """Its 100 alarms would be missed by more than 15 with a chance of one in four."""
    assert list(threshold.allotted(RATES, 10_000, GAUSSIAN, SHARE)) == [Fraction(1, 20)]


@pytest.mark.parametrize(
    ("rate", "away", "records"),
    [
        (Fraction(1, 20), 0.004, 8000),
        (Fraction(1, 20), 0.004, 24_000),
        (Fraction(1, 100), 0.0015, 24_000),
        (Fraction(1, 100), 0.0015, 35_000),
    ],
)
def test_a_rate_that_is_not_refused_is_realised_nineteen_times_in_twenty(
    rate: Fraction, away: float, records: int
) -> None:
    """By the exact law of the choice; scores whose tail is longer than the candidates expect."""
    source = np.random.default_rng(0)
    edges = threshold.candidates(source.exponential(1000, 32_768).astype(np.int64), 0)
    scores = (source.exponential(1000, records) ** 1.05).astype(np.int64)
    counts = np.bincount(np.searchsorted(edges, scores), minlength=len(edges) + 1)
    epsilon = threshold.allotted(RATES, records, GAUSSIAN, SHARE)[rate]
    eta = epsilon / (2 * threshold.sensitivity(rate, "add_remove", 1))
    law = np.array(exponential_mechanism_pmf(threshold.utilities(counts, rate), eta))
    realised = np.array([(scores > edge).mean() for edge in edges])
    assert abs(law @ realised - float(rate)) < away / 4
    assert law[np.abs(realised - float(rate)) <= away].sum() > 19 / 20


@pytest.mark.parametrize("budget", [PURE, GAUSSIAN])
def test_a_rough_threshold_takes_the_whole_part_for_the_largest_rate_or_nothing(
    budget: NoiseBudget,
) -> None:
    found = threshold.rough(RATES, 1000.0, budget, SHARE)
    assert found == {Fraction(1, 20): budget.selection(SHARE)}
    assert threshold.rough(RATES, 100.0, budget, SHARE) == {}
    persons = NoiseBudget(budget.law, budget.total, "add_remove", 5)
    assert threshold.rough(RATES, 1000.0, persons, SHARE) == {}


@pytest.mark.parametrize("middle", [900.0, 500.0, -5_000.0])
def test_records_far_below_the_synthetic_ones_are_flagged_at_the_rate_too(middle: float) -> None:
    """Records whose columns hang together are less strange than any synthetic record."""
    source = np.random.default_rng(0)
    edges = threshold.candidates(source.normal(1_000, 100, 10_000).astype(np.int64), -12_000)
    scores = source.normal(middle, 100, 9_000).astype(np.int64)
    counts = np.bincount(np.searchsorted(edges, scores), minlength=len(edges) + 1)
    rate = Fraction(1, 20)
    eta = threshold.allotted((rate,), 9_000, GAUSSIAN, SHARE)[rate] / (
        2 * threshold.sensitivity(rate, "add_remove", 1)
    )
    law = np.array(exponential_mechanism_pmf(threshold.utilities(counts, rate), eta))
    realised = np.array([(scores > edge).mean() for edge in edges])
    assert law[np.abs(realised - 0.05) <= 0.15 * 0.05].sum() > 19 / 20


def test_no_record_scores_below_the_least_score() -> None:
    rows = np.random.default_rng(0).normal(size=(500, 3))
    rows[:, 1] += rows[:, 0]
    for width in (1, 3):
        card = Card(
            "records",
            tuple(Column(f"x{j}", lower=-5, upper=5, outside="clip") for j in range(width)),
        )
        table = pa.table({f"x{j}": rows[:, j] for j in range(width)})
        model = learn(Learn(epsilon=1), gather(Learn(epsilon=1), read(table, card))).model
        scores = scoring.raw_scores(model, scoring.encoders(model), rows[:, :width])
        assert scoring.least(model) <= scores.min()


def test_noisy_counts_give_the_edge_that_the_wanted_part_is_above() -> None:
    edges, noisy = np.array([10, 20, 30]), np.array([890, 90, 15, 5])
    rate = Fraction(1, 50)
    assert threshold.read_off(noisy, edges, (rate,), 1000.0, 0.1) == {rate: 20.0}


def test_a_candidate_is_worse_by_each_alarm_that_it_misses() -> None:
    assert threshold.utilities(np.array([90, 9, 1]), Fraction(1, 100)) == [-900, 0]


def test_from_enough_records_on_a_rate_gets_its_threshold() -> None:
    rate = Fraction(1, 10)
    needed = threshold.enough_records(rate, PURE, Fraction(1, 10))
    assert not threshold.allotted((rate,), needed - 1, PURE, Fraction(1, 10))
    assert threshold.allotted((rate,), needed, PURE, Fraction(1, 10))
