"""The search for cells: what it may cost, and what it finds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow.histogram.line import Line
from whitecrow.histogram.money import Noise
from whitecrow.histogram.quantiles import quantile, running
from whitecrow.profile.search import Look, search

LINES = (
    Line("number"),
    Line("integer"),
    Line("date", -719_162.0, 2_932_896.0),
    Line("number", 0.0, 1.0),
    Line("integer", 0.0, 1.0),
    Line("number", -1.7e308, 1.7e308),
)


def looks(line: Line, seed: int, highest: int, law: str) -> list[Look]:
    """Run a search on noisy counts drawn at random."""
    draw = np.random.default_rng(seed)
    going = search(line, 256)
    found = [next(going)]
    while True:
        noise = Noise(law, Fraction(3) / found[-1].share)
        counts = draw.integers(-50, highest, len(found[-1].edges) + 1)
        counts[draw.random(len(counts)) < 0.7] = 0
        try:
            found.append(going.send((counts, noise)))
        except StopIteration:
            return found


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), highest=st.sampled_from([1, 100, 10_000, 10**9]))
def test_no_way_costs_more_than_the_whole_and_all_of_it_is_used(
    line: Line, law: str, seed: int, highest: int
) -> None:
    found = looks(line, seed, highest, law)
    assert sum(look.share for look in found) == 1
    assert all(look.share > 0 for look in found)
    for look in found:
        assert (np.diff(look.edges) > 0).all()
        assert np.isfinite(look.edges).all()
        assert ((look.edges > line.lower) & (look.edges < line.end)).all()


@given(st.floats(allow_nan=False), st.floats(allow_nan=False), st.integers(2, 50))
def test_cuts_lie_inside_and_rise(one: float, other: float, parts: int) -> None:
    lower, upper = min(one, other) + 0.0, max(one, other) + 0.0
    cuts = Line("number").cut(lower, upper, parts)
    assert ((cuts > lower) & (cuts < upper)).all()
    assert (np.diff(cuts) > 0).all()


@given(st.lists(st.integers(-100, 1000), min_size=1, max_size=20))
def test_running_counts_never_fall_and_start_at_nothing(counts: list[int]) -> None:
    found = running(np.array(counts))
    assert (np.diff(found) >= -1e-9).all()
    assert found[-1] <= max(sum(counts), 0) + 1e-6


def test_a_value_that_most_records_share_is_found_to_the_last_bit() -> None:
    value = -math.log(10.0)
    data = np.sort(np.concatenate([np.full(5000, value), np.linspace(-4.0, 4.0, 5000)]))
    going = search(Line("number"), 1 << 14)
    look = next(going)
    while True:
        counts = np.diff(np.concatenate([[0], np.searchsorted(data, look.edges), [len(data)]]))
        try:
            look = going.send((counts, Noise("laplace", Fraction(3) / look.share)))
        except StopIteration:
            break
    assert quantile(Line("number"), look.edges, counts, 0.45) == value
