"""Which sums are released: whole numbers, and what is read off them."""

from __future__ import annotations

import numpy as np
import pytest

from whitecrow.monitor.streams import strategy


@pytest.mark.parametrize("horizon", [1, 2, 7, 12, 64])
def test_columns_have_a_norm_of_at_most_1024_and_nearly_that(horizon):
    plan = strategy("gaussian", horizon)
    assert 0.99 * 1024**2 < plan.reach(user=False) <= 1024**2
    assert all(isinstance(entry, int) and entry > 0 for row in plan.rows for entry in row)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_every_span_is_estimated_without_bias(law):
    plan = strategy(law, 12)
    counts = np.random.default_rng(0).integers(0, 1000, 12)
    releases = np.array([np.dot(row, counts[: step + 1]) for step, row in enumerate(plan.rows)])
    for first in range(12):
        for last in range(first + 1, 13):
            found = plan.weights(first, last) @ releases[:last]
            assert found == pytest.approx(counts[first:last].sum())


def test_the_worst_running_sum_of_a_year_has_the_error_of_the_normalised_square_root():
    plan = strategy("gaussian", 12)
    worst = max(plan.deviation(0, last) for last in range(1, 13))
    assert worst == pytest.approx(1.696, abs=0.005)


def test_the_stated_error_of_a_window_is_that_of_simulated_noise():
    plan = strategy("gaussian", 12)
    noise = np.random.default_rng(1).normal(size=(40_000, 12)) * np.sqrt(plan.reach(user=False))
    for span in ((0, 12), (9, 12), (4, 5)):
        found = (noise[:, : span[1]] @ plan.weights(*span)).std()
        assert found == pytest.approx(plan.deviation(*span), rel=0.02)  # five standard errors


def test_a_person_whose_records_change_reaches_every_row():
    plan = strategy("gaussian", 3)
    assert plan.reach(user=True) == sum(max(row) ** 2 for row in plan.rows)
    assert strategy("laplace", 3).reach(user=True) == 3
    assert strategy("laplace", 3).reach(user=False) == 1


def test_over_a_year_all_months_have_more_noise_than_the_last_alone():
    year = strategy("gaussian", 12)
    assert round(float(year.deviation(0, 12)), 2) == 1.61
    assert round(float(year.deviation(11, 12)), 2) == 1.13
