"""Ball covers: exact where they say so, admissible everywhere."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from whitecrow._compiled import Kernels
from whitecrow.counting import ball_cover as ball_cover_module
from whitecrow.counting.ball_cover import ball_cover, cover, crowding
from whitecrow.errors import InvalidInput
from whitecrow.neighbours import count_close


def most_in_a_disc(points: np.ndarray, radius: float) -> int:
    """Try every centre that can matter: the points, and the circles through two of them."""
    centres = [tuple(p) for p in points]
    for a, b in itertools.combinations(points, 2):
        apart = math.dist(a, b)
        if 0 < apart <= 2 * radius * (1 + 1e-12):
            middle, across = (a + b) / 2, np.array([a[1] - b[1], b[0] - a[0]]) / apart
            height = math.sqrt(max(0.0, radius**2 - apart**2 / 4))
            centres += [tuple(middle + height * across), tuple(middle - height * across)]
    distances = np.linalg.norm(points[None] - np.array(centres)[:, None], axis=2)
    return int((distances <= radius * (1 + 1e-9)).sum(axis=1).max())


@pytest.mark.parametrize("seed", range(40))
def test_in_two_columns_the_cover_is_the_fullest_disc(seed):
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(30, 2)) * generator.choice([1, 100])
    radius = float(generator.uniform(0.2, 1.5)) * float(np.ptp(points)) / 6
    assert ball_cover(points, radius) == most_in_a_disc(points, radius)


@pytest.mark.parametrize("radius", [0.5, 1.0, math.sqrt(2), 2.0, 2.5])
def test_ties_on_a_lattice_are_counted(radius):
    points = np.array(list(itertools.product(range(5), range(4))), dtype=float)
    assert ball_cover(points, radius) == most_in_a_disc(points, radius)


def test_in_one_column_the_cover_is_the_longest_window():
    values = np.array([0, 0.5, 1, 2, 2, 2.5, 4, 9.0])
    assert ball_cover(values, 1.0) == 5
    assert ball_cover(values, 0.0) == 2
    assert ball_cover(values, 100.0) == 8


def degeneracy(points: np.ndarray, width: float, norm: float = 2) -> int:
    """Take away a point with the fewest close ones, again and again; return the most met."""
    near = np.linalg.norm(points[:, None] - points[None], ord=norm, axis=2) <= width
    numbers, most = near.sum(axis=1), 0
    for _ in points:
        least = int(numbers.argmin())
        most = max(most, int(numbers[least]))
        numbers -= near[least]
        numbers[least] = 2 * len(points)  # gone
    return most


@pytest.mark.parametrize("seed", range(12))
def test_in_three_columns_or_more_the_cover_is_the_degeneracy(seed):
    """Beyond a thousand points the first rounds are counted by the neighbours' kernels."""
    generator = np.random.default_rng(seed)
    n = 1100 if seed == 0 else int(generator.integers(5, 300))
    points = generator.normal(size=(n, int(generator.integers(3, 8))))
    radius = float(generator.uniform(0.2, 1.0))
    assert ball_cover(points, radius) == degeneracy(points, 2 * radius)


def test_three_columns_are_bounded_from_above_and_often_exactly():
    generator = np.random.default_rng(3)
    flat = generator.normal(size=(60, 2))
    bound = ball_cover(np.column_stack([flat, np.zeros(60)]), 0.7)
    exact = ball_cover(flat, 0.7)
    assert exact <= bound <= exact + 3


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_every_metric_holds_every_ball(metric, width):
    generator = np.random.default_rng(width)
    points = np.round(generator.normal(size=(50, width)), 1)
    found = ball_cover(points, 1.0, metric)
    centres = generator.normal(size=(200, width))
    assert found >= count_close(points, points, 1.0, metric).max()
    assert found >= count_close(points, centres, 1.0, metric).max()


@settings(max_examples=60, deadline=None)
@given(
    nps.arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 4)),
        elements=st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 1e9, -1e-9, 3.7]),
    ),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
)
def test_one_point_less_lowers_the_cover_by_nothing_or_one(points, radius):
    whole = ball_cover(points, radius)
    for i in range(len(points)):
        assert whole - ball_cover(np.delete(points, i, axis=0), radius) in (0, 1)


def test_floor_and_ceiling_cut_and_change_nothing_else():
    generator = np.random.default_rng(5)
    for width in (1, 2, 3):
        points = generator.normal(size=(80, width))
        whole = ball_cover(points, 0.8)
        for floor in range(whole + 3):
            for ceiling in range(floor, whole + 3):
                found = cover(points, 0.8, "euclidean", floor, ceiling)
                assert found == max(floor, min(whole, ceiling))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_numpy_and_the_kernels_find_the_same_windows_and_discs(metric, monkeypatch):
    generator = np.random.default_rng(4)
    for n in (5, 60, 400):
        points = np.round(generator.standard_t(3, size=(n, 2)), int(generator.integers(1, 9)))
        radius = float(generator.uniform(0.2, 1.5))
        found = []
        for after in (0, 1 << 60):
            monkeypatch.setattr("whitecrow.counting.ball_cover.KERNELS", Kernels(after))
            ball_cover_module.KERNELS.pay(1)
            monkeypatch.setattr(ball_cover_module, "_LOOPED", 0 if after == 0 else 1000)
            found.append([ball_cover(points, radius, metric), ball_cover(points[:, 0], radius)])
        assert found[0] == found[1]


def test_a_search_that_takes_many_boxes_is_left_to_the_kernel(monkeypatch):
    points = np.random.default_rng(1).normal(size=(300, 2))
    whole = ball_cover(points, 0.3)
    monkeypatch.setattr(ball_cover_module, "_BOXES", 3)
    monkeypatch.setattr(ball_cover_module, "KERNELS", Kernels())
    assert ball_cover(points, 0.3) == whole
    assert ball_cover_module.KERNELS.loaded


@pytest.mark.parametrize("floor", [0, 5, 12, 40])
@pytest.mark.parametrize("compiled", [False, True])
def test_among_many_points_the_search_from_above_finds_the_degeneracy(floor, compiled, monkeypatch):
    """Of the bounds some are too low, some too high; cores are peeled with numpy and compiled."""
    kernels = Kernels(0 if compiled else 1 << 60)
    monkeypatch.setattr("whitecrow.counting.ball_cover.KERNELS", kernels)
    generator = np.random.default_rng(floor)
    for metric, width in (("euclidean", 4), ("manhattan", 3), ("chebyshev", 5)):
        points = generator.standard_t(4, size=(1300, width))
        apart = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}[metric]
        whole = degeneracy(points, 0.9, apart)
        for ceiling in (whole - 1, whole, whole + 60, 1300):
            if floor < ceiling:
                found = cover(points, 0.45, metric, floor, ceiling)
                assert found == max(floor, min(whole, ceiling))


def test_points_that_the_crowding_rules_out_never_raise_the_cover():
    points = np.random.default_rng(8).standard_t(3, size=(1500, 4))
    numbers = crowding(points, 0.5, "euclidean")
    assert numbers is not None
    for floor in range(0, 60, 6):
        found = cover(points[numbers > floor], 0.5, "euclidean", floor, 1500)
        assert found == cover(points, 0.5, "euclidean", floor, 1500)


def test_points_far_out_do_no_harm():
    points = np.array([[0, 0], [1, 0], [1e300, 1e300], [1e300, 1e300], [-1e300, 2.0]])
    assert ball_cover(points, 1.0) == 2


def test_rounding_never_loses_a_point_on_the_rim():
    """Points at exactly the radius, far from the origin, where coordinates are coarse."""
    angles = np.linspace(0, 2 * math.pi, 40)
    for offset in (0.0, 1e6, 1e12):
        rim = np.column_stack([offset + np.cos(angles) * 3, offset + np.sin(angles) * 3])
        inside = int(count_close(rim, [[offset, offset]], 3.0)[0])
        assert ball_cover(rim, 3.0) >= inside
        spatial = np.column_stack([rim, np.full(40, offset)])
        assert ball_cover(spatial, 3.0) >= inside


def test_no_points_no_cover():
    assert ball_cover(np.zeros((0, 2)), 1.0) == 0


@pytest.mark.parametrize(
    ("points", "radius", "metric"),
    [
        ([1, math.nan], 1, "euclidean"),
        ("abc", 1, "euclidean"),
        ([[[1]]], 1, "euclidean"),
        ([1], -1, "euclidean"),
        ([1], 1, "hamming"),
    ],
)
def test_bad_input_is_refused(points, radius, metric):
    with pytest.raises(InvalidInput, match="ball_cover"):
        ball_cover(points, radius, metric)
