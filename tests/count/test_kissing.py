"""The bound on separated points, and what rounding does to it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from whitecrow.counting.kissing import KISSING, computed_exactly, global_sensitivity, separated
from whitecrow.data import Card, Column
from whitecrow.neighbours import NeighbourRelation, count_all
from whitecrow_audit.verify.point_sets import HEXAGON

RADIUS = 1.4727596271488845


def test_the_hexagon_of_doubles_is_what_it_is_said_to_be():
    close = NeighbourRelation(("x", "y"), "euclidean", RADIUS).close
    centre, *corners = HEXAGON
    assert all(close(centre, corner) for corner in corners)
    assert not any(close(a, b) for a, b in itertools.combinations(corners, 2))


def test_six_flip_at_once_in_doubles_and_the_bound_says_so():
    with_centre = (count_all(np.array(HEXAGON), RADIUS) <= 1).sum()
    without = (count_all(np.array(HEXAGON[1:]), RADIUS) <= 1).sum()
    assert without - with_centre == 6
    assert separated(2, exactly=False) == 6


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_at_radius_0_tiny_differences_are_differences(metric):
    """Their squares underflow: the corners would all be close to the centre, not to each other."""
    tiny = 1.2e-162
    corners = np.array(list(itertools.product((tiny, -tiny), repeat=3)))
    together = np.vstack([corners, np.zeros((1, 3))])
    without, with_centre = ((count_all(x, 0.0, metric) <= 1).sum() for x in (corners, together))
    assert abs(int(without) - int(with_centre)) <= global_sensitivity(
        1, 3, "add_remove", metric=metric, radius=0.0
    )


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_no_random_packing_beats_the_bound(dimension):
    generator = np.random.default_rng(dimension)
    most = 0
    for _ in range(60):
        packed: list[np.ndarray] = []
        for _ in range(200):
            way = generator.normal(size=dimension)
            point = way / np.linalg.norm(way)
            if all(np.linalg.norm(point - other) > 1 for other in packed):
                packed.append(point)
        most = max(most, len(packed))
    assert most <= separated(dimension)
    assert most >= (2, 5, 8)[dimension - 1]


def test_five_and_twelve_are_attained():
    pentagon = [(math.cos(2 * math.pi * i / 5), math.sin(2 * math.pi * i / 5)) for i in range(5)]
    golden = (1 + math.sqrt(5)) / 2
    corners = [
        np.roll((0, a, b * golden), turn) for a in (-1, 1) for b in (-1, 1) for turn in range(3)
    ]
    icosahedron = [corner / np.linalg.norm(corner) for corner in corners]
    for points, bound in ((pentagon, 5), (icosahedron, 12)):
        assert len(points) == bound == separated(len(points[0]))
        assert min(math.dist(a, b) for a, b in itertools.combinations(points, 2)) > 1


def test_the_table_grows_and_stays_below_the_volume_bound():
    assert list(KISSING) == sorted(KISSING)
    assert all(k <= 3**d for d, k in enumerate(KISSING, start=1))
    assert separated(25) == 3**25


@pytest.mark.parametrize("dimension", [4, 5, 6, 7, 8])
def test_linear_programming_confirms_the_order_of_the_table(dimension):
    """Delsarte's bound, a coarse grid: above the table by little, never below a known packing."""
    found = delsarte(dimension, degree=14)
    known = {4: 24, 5: 40, 6: 72, 7: 126, 8: 240}[dimension]
    assert known <= KISSING[dimension - 1] <= found * 1.001
    assert found <= KISSING[dimension - 1] * 1.1


def delsarte(dimension: int, degree: int) -> float:
    """Minimise f(1) / f_0 over polynomials with f <= 0 on [-1, 1/2] and f_i >= 0."""
    from scipy.optimize import linprog
    from scipy.special import eval_gegenbauer

    grid = np.cos(np.linspace(math.acos(0.5), math.pi, 1500))
    order = (dimension - 2) / 2
    rows = np.array(
        [eval_gegenbauer(i, order, grid) / eval_gegenbauer(i, order, 1.0) for i in range(1, degree)]
    )
    solved = linprog(
        np.ones(degree - 1), A_ub=rows.T, b_ub=-np.ones(len(grid)), bounds=(0, None), method="highs"
    )
    return 1 + float(solved.fun)


def test_other_norms():
    assert separated(3, "chebyshev") == 8
    assert separated(3, "manhattan") == 27
    assert separated(1, "manhattan") == 2
    assert separated(7, radius=0) == 1


def test_whole_numbers_are_computed_exactly():
    card = Card(
        "c",
        (
            Column("a", "integer", 0, 1000),
            Column("b", "integer", -5, 2**24),
            Column("wide", "integer", 0, 2**24 + 1),
            Column("open", "integer"),
            Column("filled", "integer", 0, 9, missing="fill", fill=4),
            Column("real", lower=0, upper=1),
        ),
    )
    assert computed_exactly(["a", "b", "filled"], card)
    for name in ("wide", "open", "real"):
        assert not computed_exactly(["a", name], card)


def test_the_global_sensitivity_of_each_relation():
    assert global_sensitivity(3, 7, "add_remove") == 402
    assert global_sensitivity(3, 7, "replace_one") == 403
    assert global_sensitivity(3, 7, "replace_one", size=50) == 50
    assert global_sensitivity(3, 7, "add_remove", size=50) == 402
