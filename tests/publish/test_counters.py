"""Counters: what they add up, how far an event reaches, how large the error is."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow.publish.counters import EachPeriod, Independent, SquareRoot, Tree
from whitecrow.publish.plan import best_mechanism
from whitecrow.publish.square_root import coefficients

COUNTERS = {
    "independent": lambda horizon: Independent(),
    "tree": Tree,
    "square_root": lambda horizon: SquareRoot(horizon, bits=20),
}


def root_coefficients(horizon: int) -> np.ndarray:
    steps = np.arange(1, horizon)
    return np.cumprod(np.r_[1.0, 1 - 1 / (2 * steps)])


def run(counter, increments, noises):
    memory, shown = counter.start(), []
    for increment, noise in zip(increments, noises, strict=True):
        memory, released = counter.step(memory, increment << counter.bits, noise)
        shown.append(released)
    return shown


def test_the_square_root_squared_is_the_matrix_of_running_sums():
    f = root_coefficients(40)
    half = np.array([[f[i - j] if i >= j else 0.0 for j in range(40)] for i in range(40)])
    assert np.allclose(half @ half, np.tril(np.ones((40, 40))))
    assert root_coefficients(365) @ root_coefficients(365) == pytest.approx(2.94, abs=0.005)


@pytest.mark.parametrize("name", COUNTERS)
@given(data=st.data())
@settings(deadline=None, max_examples=30)
def test_without_noise_every_counter_shows_the_running_sum(name, data):
    increments = data.draw(st.lists(st.integers(-50, 50), min_size=1, max_size=40))
    counter = COUNTERS[name](len(increments))
    shown = run(counter, increments, [0] * len(increments))
    assert [value >> counter.bits for value in shown] == list(np.cumsum(increments))


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 8, 9, 365])
def test_an_event_lies_in_at_most_the_stated_number_of_tree_nodes(horizon):
    most = 0
    for start in range(1, horizon + 1):
        nodes = [t for t in range(start, horizon + 1) if t - (t & -t) < start]
        most = max(most, len(nodes))
    assert most == Tree(horizon).levels == math.floor(math.log2(horizon)) + 1


@given(
    horizon=st.integers(2, 12),
    bits=st.integers(0, 3),
    size=st.integers(1, 5),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=60)
def test_the_square_roots_reach_bounds_every_conditional_effect(horizon, bits, size, seed):
    """Two streams, one event apart, forced to the same releases: how far do the centres part?"""
    rng = np.random.default_rng(seed)
    counter = SquareRoot(horizon, bits=bits, buffers=2, precision=6)
    when = int(rng.integers(horizon))
    increments = rng.integers(0, 6, horizon)
    one, two = counter.start(), counter.start()
    apart = []
    for t in range(horizon):
        x = int(increments[t]) << bits
        y = x + ((size << bits) if t == when else 0)
        centre_one, centre_two = counter.step(one, x, 0)[1], counter.step(two, y, 0)[1]
        release = centre_one + int(rng.integers(-9, 10))
        one, _ = counter.step(one, x, release - centre_one)
        two, _ = counter.step(two, y, release - centre_two)
        apart.append(abs(centre_two - centre_one))
    absolute, squared = counter.reach(size)
    assert sum(apart) <= absolute
    assert sum(value * value for value in apart) <= squared


def test_the_reach_in_blocks_is_above_the_exact_sum_and_close_to_it():
    horizon = 20_000
    counter = SquareRoot(horizon, bits=40)
    recurrence = counter.recurrence
    one = 1 << recurrence.precision
    shares = [float(share) for share in recurrence.share()]
    decays = np.array([d / one for d in recurrence.decays])
    lags = np.arange(horizon)
    strategy = 1 - sum(shares) + (np.array(shares) * decays ** lags[:, None]).sum(axis=1)
    _, squared = counter.reach(1)
    exact = float(strategy @ strategy)
    assert exact <= squared / 2.0**80 <= 1.0005 * exact


@pytest.mark.parametrize("horizon", [1, 2, 5, 30, 365, 10_000, 10**6])
def test_twelve_buffers_are_within_a_thousandth_of_the_square_root(horizon):
    f = root_coefficients(horizon)
    counter = SquareRoot(horizon)
    worst = math.sqrt(counter.reach(1)[1]) / 2.0**counter.bits * counter.deviations([horizon])[0]
    assert 1 - 1e-9 <= worst / (f @ f) <= 1.0015


def test_the_response_to_one_draw_is_what_the_deviations_say():
    counter = SquareRoot(60, bits=40)
    response = run(counter, [0] * 60, [1 << 40] + [0] * 59)
    squares = np.cumsum([(value / 2.0**40) ** 2 for value in response])
    assert np.sqrt(squares) == pytest.approx(counter.deviations(np.arange(1, 61)), rel=1e-6)


def test_the_recurrence_feeds_back_less_than_everything():
    for horizon in (1, 2, 365, 10**9):
        total = sum(coefficients(horizon).share())
        assert Fraction(1, 2) < total < 1


def test_memory_does_not_grow_with_the_horizon():
    assert len(SquareRoot(10**9).start()) == len(SquareRoot(10).start()) == 13
    assert len(Tree(10**9).start()) == 61


def test_each_period_stands_alone():
    assert run(EachPeriod(), [5, 7], [1, -1]) == [6, 6]
    assert list(EachPeriod().deviations([1, 100])) == [1.0, 1.0]


def test_the_square_root_beats_the_tree_by_2_8_at_a_year():
    tree, root = Tree(365), SquareRoot(365)
    times = np.arange(1, 366)
    worst_tree = math.sqrt(tree.reach(1)[1]) * tree.deviations(times).max()
    worst_root = math.sqrt(root.reach(1)[1]) / 2.0**root.bits * root.deviations(times).max()
    assert worst_tree == pytest.approx(8.49, abs=0.01)
    assert worst_root == pytest.approx(2.94, abs=0.01)
    assert worst_tree / worst_root >= 2.8


def test_the_default_mechanism_is_chosen_from_public_formulas():
    assert best_mechanism("gaussian", 1) == "square_root"
    assert best_mechanism("gaussian", 10_000) == "buffered"
    assert best_mechanism("gaussian", None) == "endless"
    assert best_mechanism("laplace", 30) == "independent"
