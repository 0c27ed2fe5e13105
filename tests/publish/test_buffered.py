"""Buffered strategies: what they add up, how far an event reaches, how large the error is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow.data import Card, Column
from whitecrow.noise.seeded import SeededSource
from whitecrow.publish import Publish
from whitecrow.publish.buffered import ENDLESS, Buffered, Coefficients, any_time, fitted
from whitecrow.publish.counters import ONE
from whitecrow.publish.plan import counter_for

COARSE = Coefficients((9, 4), (26, 12), precision=5)
CARD = Card("c", (Column("t", lower=0, upper=10**12),))


def strategy(counter: Buffered, periods: int) -> np.ndarray:
    """The columns as they are protected: each divided by its multiple."""
    recurrence, one = counter.recurrence, 1 << counter.recurrence.precision
    decays = np.array([d / one for d in recurrence.decays])
    weights = np.array([w / one for w in recurrence.weights])
    c = np.r_[1.0, (weights * decays ** np.arange(periods - 1)[:, None]).sum(axis=1)]
    toeplitz = np.array(
        [[c[i - j] if i >= j else 0.0 for j in range(periods)] for i in range(periods)]
    )
    return toeplitz / multiples(counter, periods)


def multiples(counter: Buffered, periods: int) -> np.ndarray:
    return np.array([counter.multiple(within) / ONE for within in range(periods)])


def worst(counter: Buffered, times: np.ndarray) -> float:
    unit = math.sqrt(counter.reach(1)[1]) / 2.0**counter.bits
    return unit * float(counter.deviations(times).max())


def test_the_last_period_of_a_year_has_the_least_noise():
    scales = multiples(Buffered(365, fitted(365)), 365)
    assert (round(scales[0], 2), scales[-1]) == (1.73, 1.0)
    assert (np.diff(scales) <= 0).all()


@pytest.mark.parametrize("mechanism", ["buffered", "endless"])
@given(increments=st.lists(st.integers(-50, 50), min_size=1, max_size=80))
@settings(deadline=None, max_examples=30)
def test_without_noise_buffers_show_the_running_sum(mechanism, increments):
    counter = counter_for(mechanism, "to_date", len(increments), 50)
    memory = counter.start()
    for t, increment in enumerate(increments):
        memory, shown = counter.step(memory, increment << counter.bits, 0)
        assert shown == sum(increments[: t + 1]) << counter.bits


@given(
    horizon=st.integers(1, 12),
    bits=st.integers(0, 3),
    size=st.integers(1, 5),
    normalised=st.booleans(),
    leaves=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=120)
def test_the_buffers_reach_bounds_every_conditional_effect(
    horizon, bits, size, normalised, leaves, seed
):
    """Two streams, one event apart, forced to the same releases: how far do the centres part?"""
    rng = np.random.default_rng(seed)
    counter = Buffered(horizon, COARSE, bits, normalised)
    come, go = sorted(int(t) for t in rng.integers(horizon, size=2))
    one, two = counter.start(), counter.start()
    apart = []
    for t in range(horizon):
        x = int(rng.integers(0, 6)) << bits
        y = x + ((size << bits) if t == come else 0) - ((size << bits) if leaves and t == go else 0)
        centre_one, centre_two = counter.step(one, x, 0)[1], counter.step(two, y, 0)[1]
        release = centre_one + int(rng.integers(-9, 10))
        one, _ = counter.step(one, x, release - centre_one)
        two, _ = counter.step(two, y, release - centre_two)
        apart.append(abs(centre_two - centre_one) * ONE / counter.multiple(t))
    absolute, squared = counter.reach(size)
    assert sum(apart) <= (1 + leaves) * absolute
    assert sum(value * value for value in apart) <= (1 + leaves) * squared


@pytest.mark.parametrize("horizon", [1, 2, 3, 12, 64, 65, 365])
def test_every_column_has_norm_at_most_one(horizon):
    norms = np.linalg.norm(strategy(Buffered(horizon, fitted(horizon)), horizon), axis=0)
    assert norms.max() <= 1 + 1e-12
    assert norms.min() > 0.99


def test_noise_of_one_scale_would_not_do():
    """The mutant: normalised columns whose early periods are not louder."""
    counter = Buffered(365, fitted(365))
    protected = strategy(counter, 365) * multiples(counter, 365)[:, None]
    assert np.linalg.norm(protected, axis=0).max() ** 2 > 2 * counter.reach(1)[1] / 2.0**64


def test_a_strategy_without_horizon_is_of_norm_one_over_all_time():
    counter = Buffered(ENDLESS, any_time(), normalised=False)
    gaps = np.array([ONE - d for d in any_time().decays]) / ONE
    weights = np.array(any_time().weights) / ONE
    pairs = gaps[:, None] + gaps - np.outer(gaps, gaps)
    for_ever = 1 + (np.outer(weights, weights) / pairs).sum()
    assert 1 <= (counter.multiple(0) / ONE) ** 2 / for_ever < 1.001
    assert counter.reach(1)[1] / 2.0**64 < 1.0005


@pytest.mark.parametrize(
    ("horizon", "root", "normalised"), [(12, 1.851, 1.696), (365, 2.944, 2.756)]
)
def test_few_buffers_have_the_error_of_the_dense_normalised_square_root(horizon, root, normalised):
    f = np.cumprod(np.r_[1.0, 1 - 1 / (2 * np.arange(1, horizon))])
    dense = np.array(
        [[f[i - j] if i >= j else 0.0 for j in range(horizon)] for i in range(horizon)]
    )
    left = np.tril(np.ones((horizon, horizon))) @ np.linalg.inv(
        dense / np.linalg.norm(dense, axis=0)
    )
    assert f @ f == pytest.approx(root, abs=0.001)
    assert np.linalg.norm(left, axis=1).max() == pytest.approx(normalised, abs=0.001)
    times = np.arange(1, horizon + 1)
    assert worst(Buffered(horizon, fitted(horizon)), times) <= 1.001 * normalised


@pytest.mark.parametrize("horizon", [2, 3, 5, 12, 20, 100, 365, 2000, 10_000, 10**5, 10**6, 10**9])
def test_few_optimised_buffers_beat_the_square_root(horizon):
    times = np.unique(np.geomspace(1, horizon, 400).astype(np.int64))
    best = worst(Buffered(horizon, fitted(horizon)), times)
    steps = np.arange(1, min(horizon, 10**6))
    root = float((np.cumprod(np.r_[1.0, 1 - 1 / (2 * steps)]) ** 2).sum())
    assert best < root + math.log(horizon / len(steps)) / math.pi


def test_without_a_horizon_the_error_is_at_most_1_5_times_that_of_knowing_it():
    counter = counter_for("endless", "to_date", ENDLESS, 1)
    times = np.unique(np.geomspace(1, 2**30, 300).astype(np.int64))
    unit = math.sqrt(counter.reach(1)[1]) / 2.0**counter.bits
    known = np.r_[1.0, 1.066 + np.log(times[1:]) / math.pi]
    assert (unit * counter.deviations(times) / known).max() < 1.5


def test_a_stream_without_a_horizon_beats_epochs_from_a_year_on():
    def error(mechanism):
        question = Publish(
            statistic="count", time="t", start=0, period=1, mechanism=mechanism, rho="1/2"
        )
        return question.expected_error(CARD, [365, 10_000, 10**6])

    assert (error("endless") < 0.95 * error("tree")).all()


@pytest.mark.parametrize("mechanism", ["buffered", "endless"])
def test_memory_does_not_grow_with_time(mechanism):
    counter = counter_for(mechanism, "to_date", 10**9, 1)
    memory, source = counter.start(), SeededSource(1)
    for _ in range(2000):
        memory, _ = counter.step(memory, 3 << counter.bits, source.bits(34) - (1 << 33))
    assert len(memory) == len(counter.start()) <= 17
    assert all(abs(entry) < 1 << 120 for entry in memory)


def test_the_response_to_draws_is_what_the_deviations_say():
    horizon = 200
    counter = Buffered(horizon, fitted(horizon), bits=40)
    squares = np.zeros(horizon)
    for when in range(horizon):
        memory = counter.start()
        for t in range(horizon):
            draw = counter.multiple(t) >> 8 if t == when else 0
            memory, shown = counter.step(memory, 0, draw)
            squares[t] += (shown / 2.0**40) ** 2
    expected = counter.deviations(np.arange(1, horizon + 1))
    assert np.sqrt(squares) == pytest.approx(expected, rel=1e-5)
