"""Counters: what they add up, how far an event reaches, how large the error is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow.publish.buffered import GUARD, fitted
from whitecrow.publish.counters import EachPeriod, Independent, Tree
from whitecrow.publish.plan import best_mechanism, counter_for

COUNTERS = {
    "independent": lambda horizon: Independent(),
    "tree": Tree,
    "buffered": lambda horizon: counter_for("buffered", "to_date", horizon, 50),
}


def run(counter, increments, noises):
    memory, shown = counter.start(), []
    for increment, noise in zip(increments, noises, strict=True):
        memory, released = counter.step(memory, increment << counter.bits, noise)
        shown.append(released)
    return shown


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


def test_the_bounds_in_blocks_are_above_the_exact_sum_and_close_to_it():
    horizon, recurrence = 20_000, fitted(20_000)
    one = 1 << recurrence.precision
    weights = np.array([w / one for w in recurrence.weights])
    decays = np.array([d / one for d in recurrence.decays])
    exact = float(((weights * decays ** np.arange(horizon - 1)[:, None]).sum(axis=1) ** 2).sum())
    bounds = recurrence.bounds(horizon)
    assert sum(length for _, length in bounds) == horizon - 1
    above = sum((bound / (one << GUARD)) ** 2 * length for bound, length in bounds)
    assert exact <= above <= 1.0005 * exact


def test_memory_does_not_grow_with_the_horizon():
    assert len(Tree(10**9).start()) == 61


def test_each_period_stands_alone():
    assert run(EachPeriod(), [5, 7], [1, -1]) == [6, 6]
    assert list(EachPeriod().deviations([1, 100])) == [1.0, 1.0]


def test_buffers_beat_the_tree_threefold_at_a_year():
    tree, buffered = Tree(365), counter_for("buffered", "to_date", 365, 1)
    times = np.arange(1, 366)
    worst_tree = math.sqrt(tree.reach(1)[1]) * tree.deviations(times).max()
    unit = math.sqrt(buffered.reach(1)[1]) / 2.0**buffered.bits
    worst = unit * buffered.deviations(times).max()
    assert worst_tree == pytest.approx(8.49, abs=0.01)
    assert worst == pytest.approx(2.76, abs=0.01)


def test_the_default_mechanism_is_chosen_from_public_formulas():
    assert best_mechanism("gaussian", 1) == best_mechanism("laplace", 1) == "independent"
    assert best_mechanism("gaussian", 10_000) == "buffered"
    assert best_mechanism("gaussian", None) == "endless"
    assert best_mechanism("laplace", 30) == best_mechanism("laplace", 365) == "independent"
