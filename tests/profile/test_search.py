"""The search for cells: what it may cost, and what it finds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whitecrow.histogram.line import Line
from whitecrow.histogram.noise_budget import Noise
from whitecrow.histogram.table import quantile, running
from whitecrow.profile.search import Request, search, threshold

LINES = (
    Line("number"),
    Line("integer"),
    Line("date", -719_162.0, 2_932_896.0),
    Line("number", 0.0, 1.0),
    Line("integer", 0.0, 1.0),
    Line("number", -1.7e308, 1.7e308),
)


def looks(line: Line, seed: int, highest: int, law: str) -> list[Request]:
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


@example(-1.7e308, 7.9e306, 2)  # farther apart than the largest number
@given(st.floats(allow_nan=False), st.floats(allow_nan=False), st.integers(2, 50))
def test_cuts_lie_inside_and_rise(one: float, other: float, parts: int) -> None:
    lower, upper = min(one, other) + 0.0, max(one, other) + 0.0
    cuts = Line("number").cut(lower, upper, parts)
    assert ((cuts > lower) & (cuts < upper)).all()
    assert (cuts[1:] > cuts[:-1]).all()


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


def searched(data: np.ndarray, line: Line, scale: int) -> tuple[list[Request], np.ndarray]:
    """Run a search on exact counts; return its looks and the counts of the last."""
    going = search(line, 1 << 14)
    found = [next(going)]
    while True:
        edges = found[-1].edges
        counts = np.diff(np.concatenate([[0], np.searchsorted(data, edges), [len(data)]]))
        try:
            found.append(going.send((counts, Noise("laplace", Fraction(scale) / found[-1].share))))
        except StopIteration:
            return found, counts


def test_a_written_decimal_is_found_in_fewer_looks_than_a_value_of_full_length() -> None:
    spread = np.linspace(-4.0, 4.0, 5000)
    looks = {}
    for value in (-0.78441482, -math.log(10.0)):
        data = np.sort(np.concatenate([np.full(5000, value), spread]))
        looks[value], counts = searched(data, Line("number"), 3)
        assert quantile(Line("number"), looks[value][-1].edges, counts, 0.45) == value
    assert len(looks[-0.78441482]) < len(looks[-math.log(10.0)])


def test_a_median_among_small_numbers_is_not_taken_for_a_power_far_below_them() -> None:
    data = np.sort(np.linspace(-0.3, -0.001, 20_000))
    looks, counts = searched(data, Line("number"), 100)
    found = quantile(Line("number"), looks[-1].edges, counts, 0.5)
    assert abs(np.searchsorted(data, found) / len(data) - 0.5) < 0.01


@given(st.floats(allow_nan=False), st.floats(allow_nan=False), st.integers(2, 50))
def test_decimals_lie_inside_and_rise_and_stand_alone(one: float, other: float, parts: int) -> None:
    lower, upper = min(one, other) + 0.0, max(one, other) + 0.0
    edges = Line("number").decimals(lower, upper, parts)
    assert ((edges > lower) & (edges < upper)).all()
    assert (edges[1:] > edges[:-1]).all()
    assert len(edges) <= 2 * parts + 8


def test_fewer_cells_where_noise_would_move_a_median() -> None:
    data = np.sort(np.random.default_rng(0).normal(size=10_000))
    few, _ = searched(data, Line("number"), 20)
    many, _ = searched(data, Line("number"), 1)
    assert len(few[-1].edges) < len(many[-1].edges)


def test_a_value_is_named_from_what_noise_reaches_once_in_a_million() -> None:
    assert threshold(Noise("gaussian", Fraction(21)), 1, Fraction(1, 10**6)) == 26


def test_between_public_bounds_cells_are_octaves_cut_into_equal_steps() -> None:
    line = Line("integer", 0.0, 5.0)
    assert line.root.tolist() == [1.0, 2.0, 4.0]
    assert line.cut(2.0, 6.0, 4).tolist() == [3.0, 4.0, 5.0]


def test_running_counts_never_fall() -> None:
    assert running(np.array([4, -2, 4])).tolist() == [0.0, 3.0, 3.0, 6.0]
