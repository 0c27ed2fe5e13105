"""The standard deviations of docs/mechanisms.md 5.4, by formula and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from whitecrow.data import Card, Column
from whitecrow.publish import Publish
from whitecrow.publish.buffered import Buffered, fitted
from whitecrow.publish.counters import ONE, Independent, Tree

CARD = Card("c", (Column("t", lower=0, upper=10**6),))


def worst(mechanism, horizon, **budget):
    question = Publish(
        statistic="count", time="t", start=0, period=1, horizon=horizon,
        mechanism=mechanism, **budget,
    )  # fmt: skip
    return float(question.expected_error(CARD, np.arange(1, horizon + 1)).max())


@pytest.mark.parametrize(
    ("horizon", "naive", "tree", "few"), [(365, 19.1, 8.49, 2.755), (10_000, 100.0, 13.5, 3.8)]
)
def test_worst_case_deviations_are_those_of_the_formulas(horizon, naive, tree, few):
    """In units of C / sqrt(2 rho); rho = 1/2 makes that 1."""
    assert worst("independent", horizon, rho="1/2") == pytest.approx(naive, rel=0.005)
    assert worst("tree", horizon, rho="1/2") == pytest.approx(tree, rel=0.005)
    assert worst("buffered", horizon, rho="1/2") == pytest.approx(few, rel=0.005)


def test_laplace_deviations_are_those_of_the_formulas():
    """sqrt(2 popcount) C L / eps for the tree; the discrete law is a little narrower."""
    levels = 9
    assert worst("tree", 365, epsilon="1/10") == pytest.approx(
        math.sqrt(2 * 8) * levels * 10, rel=1e-4
    )
    assert worst("independent", 365, epsilon="1/10") == pytest.approx(
        math.sqrt(2 * 365) * 10, rel=1e-3
    )


def simulate(counter, bound, runs, seed):
    """Run many series at once through the counter's own step, on small whole numbers."""
    rng = np.random.default_rng(seed)
    spread = math.sqrt(counter.reach(bound)[1])
    memory, found = counter.start(), []
    for period in range(365):
        scale = spread * counter.multiple(period) / ONE
        noise = np.rint(rng.normal(0, scale, runs)).astype(np.int64)
        memory, released = counter.step(memory, 0, noise)
        found.append(released.std())
    return np.array(found)


# 8 bits and 14 binary places keep the buffers within 64-bit integers, so that numpy can run it.
SMALL = {
    "buffered": (Buffered(365, fitted(365, precision=14), bits=8), 1),
    "tree": (Tree(365), 256),
    "independent": (Independent(), 256),
}


@pytest.mark.parametrize("name", SMALL)
def test_simulated_deviations_meet_the_formula(name):
    """4,000 runs: five standard errors of a standard deviation are 5.6 %."""
    counter, bound = SMALL[name]
    expected = math.sqrt(counter.reach(bound)[1]) * counter.deviations(np.arange(1, 366))
    assert np.abs(simulate(counter, bound, 4000, 1) / expected - 1).max() < 0.056


@pytest.mark.study
@pytest.mark.parametrize("name", SMALL)
def test_simulated_worst_deviation_is_within_one_percent(name):
    """125,000 runs: five standard errors are 1 %."""
    counter, bound = SMALL[name]
    expected = math.sqrt(counter.reach(bound)[1]) * counter.deviations(np.arange(1, 366)).max()
    assert simulate(counter, bound, 125_000, 2).max() == pytest.approx(expected, rel=0.01)


def test_an_unknown_horizon_costs_a_constant_factor():
    known = Publish(statistic="count", time="t", start=0, period=1, horizon=365, rho="1/2")
    unknown = Publish(statistic="count", time="t", start=0, period=1, rho="1/2")
    times = np.arange(1, 366)
    ratio = unknown.expected_error(CARD, times) / known.expected_error(CARD, times)
    assert ratio.max() < 2.1


def test_a_mean_wants_to_know_how_many_records_come():
    card = Card("c", (Column("km", lower=0, upper=10), Column("t", lower=0, upper=9)))
    question = Publish("km", time="t", start=0, period=1, horizon=9, rho=1)
    with pytest.raises(ValueError, match="per_period"):
        question.expected_error(card, [1])
    ten, twenty = (question.expected_error(card, [9], per_period=n)[0] for n in (10, 20))
    assert ten == pytest.approx(2 * twenty)
