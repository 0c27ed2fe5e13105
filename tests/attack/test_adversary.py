"""The naive release falls to the attack; ours stays within what its privacy allows.

Thresholds are five standard errors of the simulation (a false alarm in about 10^6 runs).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import whitecrow.attack as attack_names
from whitecrow.attack import (
    auc,
    evaluate,
    flag_fraction,
    naive_log_ratio,
    naive_power,
    power_under_dp,
    power_under_zcdp,
    publisher_log_ratio,
    publisher_power,
    score,
)
from whitecrow.attack.naive import naive_loss, naive_release, naive_scale
from whitecrow.attack.scores import outlying_segments
from whitecrow.attack.streams import Stream, porto_like, publish_days
from whitecrow.data import Card, Column
from whitecrow.errors import InvalidInput
from whitecrow.noise.seeded import SeededSource
from whitecrow.publish import Publish
from whitecrow.publish.mechanism import begin, turn


def auc_error(ones: int, zeros: int) -> float:
    """An upper bound of the standard error of an AUC (its value under no difference)."""
    return math.sqrt((ones + zeros + 1) / (12 * ones * zeros))


def test_the_naive_loss_is_the_log_ratio_of_densities_and_has_no_bound():
    def density(r, mean, scale):
        return math.exp(-abs(r - mean) / scale) / (2 * scale)

    for r in (-3.0, 5.0, 5.7, 9.0):
        exact = math.log(density(r, 5.0, 0.2) / density(r, 6.0, 0.24))
        assert naive_loss(r, 5.0, 1.2, 0.2) == pytest.approx(exact)
    for growth in (1.0001, 0.9999):
        losses = [abs(naive_loss(10.0**k, 5.0, growth, 0.2)) for k in range(2, 9)]
        assert losses == sorted(losses)
        assert losses[-1] > 1000


def test_an_empty_day_has_no_naive_release():
    with pytest.raises(InvalidInput, match="no mean"):
        naive_release([[1.0], []], 1)


def test_on_the_naive_series_the_growing_window_is_well_above_guessing():
    rng = np.random.default_rng(1)
    scores, truth = [], []
    for _ in range(60):
        stream = porto_like(rng)
        scores.append(score(naive_release(stream.days, 1, rng=rng)))
        truth.append(outlying_segments(stream.outlying, 10))
    verdict = evaluate(scores, truth, flag_fraction(scores, 0.6))
    assert verdict.auc - 5 * 0.08 / math.sqrt(60) > 0.65
    assert verdict.precision > verdict.base_rate + 0.05


def test_on_our_series_the_growing_window_is_within_what_epsilon_allows():
    rng = np.random.default_rng(2)
    scores, truth = [], []
    for run in range(40):
        stream = porto_like(rng)
        shown = publish_days(stream.days, clip=(0, 30), epsilon=1, source=SeededSource(run))
        scores.append(score(shown))
        truth.append(outlying_segments(stream.outlying, 10))
    verdict = evaluate(scores, truth, flag_fraction(scores, 0.6))
    assert verdict.auc < power_under_dp(1.0).auc
    assert abs(verdict.auc - 0.5) < 5 * 0.09 / math.sqrt(40)


def test_the_ratio_adversary_reaches_its_theoretical_power_on_the_naive_release():
    rng = np.random.default_rng(3)
    others = rng.lognormal(1.5, 0.6, 54)
    runs, outlier, epsilon = 4000, 25.0, 0.5
    joined = np.append(others, outlier)
    quiet = rng.laplace(others.mean(), naive_scale(others.mean(), 54, epsilon), runs)
    loud = rng.laplace(joined.mean(), naive_scale(joined.mean(), 55, epsilon), runs)
    ratios = naive_log_ratio(np.r_[quiet, loud], others, outlier, epsilon)
    found = auc(ratios, np.repeat([False, True], runs))
    theory = naive_power(others, outlier, epsilon)
    assert 0.6 < theory.auc < 0.99
    assert abs(found - theory.auc) < 5 * auc_error(runs, runs)
    cut = np.quantile(ratios[:runs], 0.9)
    power = (ratios[runs:] > cut).mean()
    assert abs(power - theory.at(0.1)) < 5 * 0.5 / math.sqrt(runs) * 2


DAYS = ([4.0, 6.0], [5.0], [3.0], [], [7.0])


def game(plan, runs, seed, *, day=2, outlier=100.0):
    """Draw series with and without one outlier on a day; return the ratios and the truth."""
    days = [np.array(values) for values in DAYS]
    joined = [np.append(values, outlier) if t == day else values for t, values in enumerate(days)]
    source, ratios = SeededSource(seed), []
    for truth in (days, joined):
        for _ in range(runs):
            position, outputs = begin(plan), []
            for values in truth:
                stage = plan.stage(position.epoch)
                noises = tuple(stage.draw(position.within, source) for _ in range(plan.channels))
                position, shown = turn(plan, position, plan.encode(values), noises)
                outputs.append(shown)
            ratios.append(publisher_log_ratio(plan, outputs, days, joined))
    return np.array(ratios), np.repeat([False, True], runs)


CARD = Card("c", (Column("km", lower=0, upper=30), Column("t", lower=0, upper=9)))


@pytest.mark.parametrize(
    ("mechanism", "budget"),
    [
        ("independent", {"epsilon": 1}),
        ("tree", {"epsilon": 1}),
        ("buffered", {"epsilon": 1}),
        ("tree", {"rho": "1/2"}),
        ("buffered", {"rho": "1/2"}),
        ("endless", {"rho": "1/2"}),
    ],
)
def test_on_our_series_the_ratio_adversary_is_within_what_privacy_allows(mechanism, budget):
    question = Publish("km", time="t", start=0, period=1, horizon=5, mechanism=mechanism, **budget)
    plan = question.plan(CARD)
    runs = 600
    ratios, truth = game(plan, runs, seed=4)
    found = auc(ratios, truth)
    allowed = power_under_dp(1.0) if "epsilon" in budget else power_under_zcdp(0.5)
    assert found < allowed.auc + 5 * auc_error(runs, runs)
    if "epsilon" in budget:
        assert np.abs(ratios).max() <= 1 + 1e-9
    if mechanism == "independent":
        # One full shift of one channel: the theory is exact.
        assert abs(found - publisher_power(plan).auc) < 5 * auc_error(runs, runs)


def test_the_event_of_the_first_period_nearly_reaches_the_gaussian_bound():
    plan = Publish("km", time="t", start=0, period=1, horizon=5, rho="1/2").plan(CARD)
    runs = 600
    found = auc(*game(plan, runs, seed=5, day=0))
    assert abs(found - power_under_zcdp(0.5).auc) < 5 * auc_error(runs, runs)


def test_the_growing_window_gains_nothing_in_the_game_of_one_record():
    """Same stream with and without one outlier: the score of its segment, ours and naive."""
    rng = np.random.default_rng(6)
    stream = porto_like(rng, days=60, outliers=0)
    days = [np.append(day, 90.0) if at == 55 else day for at, day in enumerate(stream.days)]
    hit = Stream(tuple(days), stream.limit)
    runs = 150
    naive = [
        score(naive_release(s.days, 1, rng=rng), width=10)[-1]
        for s in [stream] * runs + [hit] * runs
    ]
    source = SeededSource(7)
    ours = [
        score(publish_days(s.days, clip=(0, 30), epsilon=1, source=source), width=10)[-1]
        for s in [stream] * runs + [hit] * runs
    ]
    truth = np.repeat([False, True], runs)
    error = auc_error(runs, runs)
    assert auc(naive, truth) > 0.5 + 5 * error
    assert auc(ours, truth) < power_under_dp(1.0).auc + 5 * error


def test_a_publisher_with_noise_for_a_smaller_clip_is_caught():
    """The mutant: the ratio adversary sees more than epsilon allows."""
    question = Publish("km", time="t", start=0, period=1, horizon=5, epsilon=1)
    plan = question.plan(CARD)
    weak = replace(plan)
    weak.set_stage(0, plan.stage(0).counter, 5, plan.stage(0).scale / 4)
    ratios, truth = game(weak, 300, seed=8)
    assert np.abs(ratios).max() > 1.5
    assert auc(ratios, truth) > power_under_dp(1.0).auc + 5 * auc_error(300, 300)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_the_naive_release_refuses_values_that_are_not_finite(value):
    with pytest.raises(InvalidInput):
        naive_release([[1.0, value]], 1)


def test_the_loss_bound_and_its_inverse_are_those_of_the_laplace_law():
    for error, delta, size in ((0.15, 0.15, 55), (0.01, 0.05, 1000)):
        epsilon = attack_names.epsilon_for_loss(error, delta, size)
        assert attack_names.loss_probability(error, size, epsilon) == pytest.approx(delta)
        assert epsilon <= np.sqrt(2 / delta) * 2 / (size * error)  # the paper's, by Chebyshev
        noise = np.random.default_rng(3).laplace(0, 2 / (size * epsilon), 100_000)
        assert (np.abs(noise) >= error).mean() == pytest.approx(delta, abs=0.005)
    with pytest.raises(InvalidInput):
        attack_names.epsilon_for_loss(0.1, 1.0, 55)
    with pytest.raises(InvalidInput):
        attack_names.loss_probability(float("nan"), 55, 1)
