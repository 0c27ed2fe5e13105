"""Attacks on the margins of `proof.md`: pairs at the radius, give or take a rounding error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbour_tools import Counts, Matrix, agree, brute, mixture

from whitecrow.neighbours import _products
from whitecrow.neighbours.relation import Form, checked_form

ULPS = (-3, -2, -1, 0, 1, 2, 3)


def nudged(values: Matrix, steps: Counts) -> Matrix:
    """Move each double by a number of steps to its neighbours."""
    for _ in range(int(np.abs(steps).max(initial=0))):
        values = np.where(steps > 0, np.nextafter(values, np.inf), values)
        values = np.where(steps < 0, np.nextafter(values, -np.inf), values)
        steps = steps - np.sign(steps)
    return values


def shell(n: int, d: int, radius: float, seed: int) -> Matrix:
    """Return records at the radius from the first one, within parts in a million or in 10^16."""
    rng = np.random.default_rng(seed)
    away = rng.normal(size=(n, d))
    away /= np.linalg.norm(away, axis=1)[:, None]
    off = rng.choice([0.0, 1e-16, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6], n) * rng.choice([-1, 1], n)
    away *= (radius * (1.0 + off))[:, None]
    away[0] = 0.0
    return away


def single_precision_counts(data: Matrix, radius: float) -> Counts:
    """The mutant: the filter's float32 scores, taken at their word."""
    low, high = data.min(axis=0), data.max(axis=0)
    local = (data - (low + high) / 2).astype(np.float32)
    half = (local * local).sum(axis=1, dtype=np.float32) / np.float32(2)
    score = local @ local.T - half[None, :] - half[:, None]
    return (score >= np.float32(-radius * radius / 2)).sum(axis=1)


@pytest.mark.parametrize("d", [1, 2, 3, 6, 20])
@pytest.mark.parametrize("radius", [1.0, 0.1, 1 / 3, 1e-5, 3e7])
def test_records_at_the_radius_are_counted_exactly(d: int, radius: float) -> None:
    for offset in (0.0, 1.0, 1e4 * radius, -7e9 * radius):
        data = shell(300, d, radius, seed=d) + offset
        agree(data, radius)
        agree(data, radius, cap=40)


def test_the_same_records_defeat_single_precision_without_margins() -> None:
    data = shell(2000, 6, 1.0, seed=1)
    broken = single_precision_counts(data, 1.0)
    assert (broken != brute(data, data, 1.0)).mean() > 0.1
    agree(data, 1.0)


def test_the_same_records_defeat_products_without_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.vstack([shell(1000, 6, 1.0, seed=1) + far for far in (-1000.0, 1000.0)])
    form = checked_form("euclidean", 1.0, (), 6, "products")
    expected = brute(data, data, 1.0)
    found = _products.count_products(data, form, data, len(data))
    assert found is not None
    assert (found == expected).all()
    monkeypatch.setattr(_products, "margin", lambda columns: 0.0)
    broken = _products.count_products(data, form, data, len(data))
    assert (broken != expected).any()


def test_products_leave_to_the_predicate_what_could_overflow_and_other_measures() -> None:
    data = mixture(64, 3)
    for values, metric, radius in (
        (data * 1e200, "euclidean", 1e139),
        (data, "euclidean", 1e-200),
        (data, "euclidean", 0.0),
        (data, "manhattan", 1.0),
    ):
        form = checked_form(metric, radius, (), 3, "products")
        assert _products.count_products(values, form, values, 64) is None


def test_a_far_record_leaves_products_to_decide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    data = mixture(3000, 4)
    data[0] = 1e12
    form = checked_form("euclidean", 1.0, (), 4, "products")
    judged: list[int] = []
    measures = _products.measures

    def noted(form: Form, columns: Matrix, record: Matrix) -> Matrix:
        judged.append(columns.size)
        return measures(form, columns, record)

    monkeypatch.setattr(_products, "measures", noted)
    found = _products.count_products(data, form, data, len(data))
    assert (found == brute(data, data, 1.0)).all()
    assert sum(judged) < 0.1 * data.size * len(data)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "gower"])
def test_other_measures_at_the_radius(metric: str) -> None:
    rng = np.random.default_rng(4)
    for d in (1, 2, 4, 9):
        away = rng.normal(size=(400, d))
        if metric == "chebyshev":
            away /= np.abs(away).max(axis=1)[:, None]
        else:
            away /= np.abs(away).sum(axis=1)[:, None]
        away[0] = 0.0
        data = nudged(away, rng.integers(-3, 4, away.shape))
        ranges = (1.0,) * d if metric == "gower" else ()
        for radius in (1.0, 1.0 / d):
            for step in ULPS:
                wanted = float(nudged(np.array([radius]), np.array([step]))[0])
                agree(data, wanted, metric, None, ranges)


@pytest.mark.parametrize("step", ULPS)
def test_a_lattice_with_the_radius_a_step_to_either_side(step: int) -> None:
    rng = np.random.default_rng(5)
    lattice = rng.integers(-6, 7, (500, 3)) * 0.1
    for length in (0.1, 0.3, 0.5, 0.7):
        radius = float(nudged(np.array([length]), np.array([step]))[0])
        for metric in ("euclidean", "manhattan", "chebyshev"):
            agree(lattice, radius, metric)
            agree(lattice, radius, metric, cap=30)


@pytest.mark.parametrize("fineness", [2, 3, 7, 24])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_records_on_the_borders_of_cells(fineness: int, d: int) -> None:
    rng = np.random.default_rng(fineness)
    for radius in (1.0, 0.7, 1e-3, 12345.678):
        side = radius / fineness
        cells = rng.integers(-2 * fineness, 2 * fineness, (900, d))
        data = nudged(cells * side, rng.integers(-2, 3, cells.shape))
        for cap in (20, 120, 450):
            agree(data, radius, cap=cap)


@pytest.mark.parametrize("d", [1, 4])
def test_pivots_where_the_triangle_inequality_is_an_equality(d: int) -> None:
    # Two clusters on one line, the far ends a radius apart: what lies within radius - d of a
    # pivot lies exactly at the radius from the records at distance d on its other side.
    rng = np.random.default_rng(6)
    line = np.ones(d) if d == 1 else rng.normal(size=d)
    for radius in (1.0, 0.1, 1 / 3):
        length = float(np.sqrt((line * line).sum()))
        here = rng.integers(-8, 9, 200) / 64
        there = 1.0 - 0.125 + rng.integers(0, 3, 300) * 0.125
        places = np.concatenate([here, there]) * radius / length
        data = nudged(places[:, None] * line[None, :], rng.integers(-1, 2, (500, d)))
        for cap in (5, 60, 150, 290):
            agree(data, radius, cap=cap)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    d=st.integers(1, 5),
    exponent=st.integers(-1070, 960),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e9, 1e15]),
    step=st.sampled_from(ULPS),
    cap=st.sampled_from([None, 10]),
    metric=st.sampled_from(["euclidean", "manhattan", "chebyshev"]),
)
def test_a_radius_next_to_the_distance_of_some_pair(
    seed: int, d: int, exponent: int, offset: float, step: int, cap: int | None, metric: str
) -> None:
    rng = np.random.default_rng(seed)
    data = np.ldexp(rng.integers(-9, 10, (150, d)) / 8 + rng.normal(size=(150, d)) / 64, exponent)
    data = data + np.ldexp(offset, exponent)
    a, b = data[rng.integers(150)], data[rng.integers(150)]
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
        distance = {
            "euclidean": np.hypot.reduce(apart),
            "manhattan": apart.sum(),
            "chebyshev": apart.max(),
        }[metric]
    radius = float(nudged(np.array([distance]), np.array([step]))[0])
    agree(data, abs(radius), metric, cap)


@settings(deadline=None, max_examples=40)
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=60),
    metric=st.sampled_from(["euclidean", "manhattan", "chebyshev"]),
    radius=st.floats(min_value=0.0, allow_nan=False, allow_infinity=False),
)
def test_any_doubles_at_all(values: list[float], metric: str, radius: float) -> None:
    data = np.array(values)[: len(values) // 2 * 2].reshape(-1, 2)
    agree(data, radius, metric)
    agree(data, abs(values[0]), metric)
