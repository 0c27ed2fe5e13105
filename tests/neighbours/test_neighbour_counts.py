"""Every way of counting gives the integers of brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbour_tools import agree, brute, mixture

from whitecrow.errors import InvalidInput
from whitecrow.neighbours import copies, count_all, count_close, count_related
from whitecrow.neighbours._kernels.count import count_blocks
from whitecrow.neighbours._kernels.tables import ALONE
from whitecrow.neighbours.index import arranged, count_in, relation_of
from whitecrow.neighbours.relation import checked_form

METRICS = ("euclidean", "manhattan", "chebyshev", "hamming", "gower", "haversine")


def table(metric: str, n: int, d: int, seed: int) -> tuple[np.ndarray, tuple[float, ...], float]:
    """Return data that suit a metric, ranges, and a radius with some neighbours in it."""
    rng = np.random.default_rng(seed)
    if metric == "haversine":
        data = np.column_stack([rng.uniform(-90, 90, n), rng.uniform(-180, 180, n)])
        return data, (), 2500.0
    if metric == "hamming":
        return rng.integers(0, 3, (n, d)).astype(float), (), float(d // 2)
    data = mixture(n, d, seed)
    if metric == "gower":
        data[:, ::2] = np.round(data[:, ::2])
        return data, tuple(0.0 if c % 2 == 0 else 20.0 for c in range(d)), 0.45
    return data, (), {"euclidean": 4.0, "manhattan": 7.0, "chebyshev": 2.5}[metric] * d**0.4


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("cap", [None, 1, 40])
def test_every_way_counts_like_brute_force(metric: str, cap: int | None) -> None:
    for d in (2,) if metric == "haversine" else (1, 2, 3, 5, 17):
        data, ranges, radius = table(metric, 600, d, seed=d)
        agree(data, radius, metric, cap, ranges)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 128, 129, 1000])
def test_any_number_of_records(n: int) -> None:
    agree(mixture(n, 3), 3.0)
    agree(mixture(n, 3), 3.0, cap=5)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "gower"])
@pytest.mark.parametrize("cap", [3, 30, 300])
def test_groups_that_share_little_are_counted_one_by_one_and_alike(metric: str, cap: int) -> None:
    """Many columns, few neighbours: a group's box touches most leaves, a record's own only some."""
    data = np.random.default_rng(cap).standard_t(5, (5000, 7))
    radius = {"euclidean": 1.9, "manhattan": 4.0, "chebyshev": 1.1, "gower": 0.06}[metric]
    ranges = (10.0,) * 7 if metric == "gower" else ()
    form = checked_form(metric, radius, ranges, 7, "test")
    index = arranged(data, form)
    together = np.zeros(len(data), np.int32)
    relation = relation_of(form, index, index.tables.blocks)
    count_blocks(
        index.tables, relation, index.tables.blocks, index.ids, cap, 0, len(index.tables.blocks),
        together,
    )  # fmt: skip
    assert (together == ALONE).any(), "otherwise this is no such case"
    expected = brute(data, data, radius, metric, cap, ranges)
    for way in (True, False):
        found = count_in(index, form, index.tables.blocks, index.ids, cap, together=way)
        assert (found == expected).all()
    assert (together[together != ALONE] == expected[together != ALONE]).all()


@pytest.mark.parametrize("d", [30, 64, 200])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "gower"])
def test_up_to_200_columns(d: int, metric: str) -> None:
    rng = np.random.default_rng(d)
    data = rng.normal(size=(200, d))
    ranges = (6.0,) * d if metric == "gower" else ()
    radius = {"euclidean": 1.4 * d**0.5, "manhattan": 1.13 * d, "chebyshev": 3.3, "gower": 0.188}
    agree(data, radius[metric], metric, cap=None, ranges=ranges)
    agree(data, radius[metric], metric, cap=30, ranges=ranges)


def test_no_records() -> None:
    nothing = np.empty((0, 3))
    assert count_all(nothing, 1.0).tolist() == []
    assert count_close(nothing, [[0, 0, 0]], 1.0).tolist() == [0]
    assert copies(nothing, [[0, 0, 0]]).tolist() == [0]
    assert count_close([[1.0]], np.empty((0, 1)), 1.0).tolist() == []


def test_a_closed_ball_takes_ties_at_exactly_the_radius() -> None:
    grid = np.array([[float(x), float(y)] for x in range(25) for y in range(25)])
    for radius in (0.0, 1.0, 5.0, 13.0):
        agree(grid, radius)
        agree(grid, radius, "manhattan")
        agree(grid, radius, "chebyshev")
    assert count_close(grid, [[0, 0]], 5.0).tolist() == [26]


def test_duplicates_count_each() -> None:
    data = np.repeat(mixture(20, 4), 50, axis=0)
    agree(data, 0.0)
    agree(data, 2.0)
    assert count_all(data, 0.0).min() >= 50
    assert copies(data, data[:3]).tolist() == [50, 50, 50]
    assert copies(data, data[:3], cap=7).tolist() == [7, 7, 7]
    agree(np.full((500, 3), 7.25), 0.0)


def test_negative_zero_is_a_copy_of_zero() -> None:
    assert copies([[0.0, 1.0], [-0.0, 1.0]], [[-0.0, 1.0]]).tolist() == [2]
    assert count_close([[0.0], [-0.0]], [[-0.0]], 0.0, "hamming").tolist() == [2]


@pytest.mark.parametrize("offset", [1e6, 1e12, 1e15, -3e15])
def test_huge_offsets_change_nothing_but_what_the_doubles_lost(offset: float) -> None:
    rng = np.random.default_rng(1)
    data = np.round(rng.normal(size=(600, 3)) * 8) / 4 + offset
    for radius in (0.25, 0.75, 1.25, 3.0):
        agree(data, radius)
        agree(data, radius, "manhattan", cap=25)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-160, 1e-30, 1e30, 1e150, 1e200, 1e300])
def test_tiny_and_huge_scales_underflow_and_overflow_like_the_predicate(scale: float) -> None:
    data = mixture(400, 3) * scale
    for factor in (0.0, 0.3, 2.0, 9.0):
        for metric in ("euclidean", "manhattan", "chebyshev"):
            agree(data, factor * scale, metric)
            agree(data, factor * scale, metric, cap=12)


def test_the_widest_doubles_are_counted() -> None:
    largest = np.finfo(float).max
    data = np.array([[largest], [-largest], [0.0], [1.0], [-1e308], [5e-324]] * 30)
    for radius in (0.0, 1.0, 1e308, largest):
        agree(data, radius, "manhattan")
        agree(data, radius, "chebyshev")
        agree(data, radius)


def test_float32_input_is_the_same_numbers() -> None:
    data = mixture(500, 4).astype(np.float32)
    exact = data.astype(np.float64)
    assert (count_all(data, 2.5) == count_all(exact, 2.5)).all()
    assert (count_close(data, data[:9], 2.5) == brute(exact, exact[:9], 2.5)).all()
    assert copies(data, exact[:1]).tolist() == [1]


def test_categories_that_float32_cannot_hold_are_told_apart() -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 4, (300, 3)) + 2.0**40
    agree(codes, 1.0, "hamming")
    agree(np.hstack([codes, rng.normal(size=(300, 1))]), 0.3, "gower", ranges=(0, 0, 0, 9.0))
    data = rng.integers(0, 3, (500, 4)).astype(float)
    asked = data[:200] + 1e-12
    assert (count_close(data, asked, 1.0, "hamming") == brute(data, asked, 1.0, "hamming")).all()


def test_extreme_gower_ranges_are_exact_too() -> None:
    data = mixture(300, 3)
    for ranges in ((1e-300, 5.0, 0.0), (1e300, 1e-5, 2.0), (5e-324, 1e308, 1.0)):
        agree(data, 0.4, "gower", ranges=ranges)


def test_one_far_record_does_not_disturb_the_others() -> None:
    data = mixture(900, 3)
    data[17] = 1e9
    data[400] = (-1e300, 1e300, 0.0)
    agree(data, 3.0, cap=50)
    agree(data, 3.0)


def test_sorted_data_and_any_order_of_records() -> None:
    data = np.sort(mixture(800, 2), axis=0)
    shuffled = np.random.default_rng(0).permutation(len(data))
    counts = count_all(data, 1.5, cap=60)
    assert (count_all(data[shuffled], 1.5, cap=60) == counts[shuffled]).all()
    agree(data, 1.5, cap=60)


def test_records_asked_about_need_not_be_in_the_data() -> None:
    data = mixture(3000, 4)
    asked = np.random.default_rng(3).normal(0, 6, (500, 4))
    for cap in (None, 30):
        for part in (asked[:1], asked[:40], asked):
            found = count_close(data, part, 3.0, cap=cap)
            assert (found == brute(data, part, 3.0, cap=cap)).all()


def test_larger_data_through_the_public_names() -> None:
    for d, radius in ((2, 1.0), (3, 1.8), (6, 5.5)):
        data = mixture(20_000, d)
        some = np.random.default_rng(d).choice(len(data), 300, replace=False)
        expected = brute(data, data[some], radius)
        for cap in (None, 300):
            found = count_all(data, radius, cap=cap)[some]
            assert (found == np.minimum(expected, cap or len(data))).all()


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 300),
    d=st.integers(1, 8),
    cap=st.sampled_from([None, 1, 3, 20]),
    metric=st.sampled_from(METRICS),
    style=st.sampled_from(["normal", "lattice", "heavy", "few"]),
)
def test_any_small_table(
    seed: int, n: int, d: int, cap: int | None, metric: str, style: str
) -> None:
    rng = np.random.default_rng(seed)
    d = 2 if metric == "haversine" else d
    data = rng.normal(size=(n, d))
    if style == "lattice":
        data = np.round(data * 2)
    elif style == "heavy":
        data = data / rng.uniform(size=(n, 1)) ** 3
    elif style == "few":
        data = data[rng.integers(0, max(1, n // 9), n)]
    ranges = tuple(rng.choice([0.0, 1.0, 3.5], d)) if metric == "gower" else ()
    radius = float(abs(rng.normal()) * (2000 if metric == "haversine" else 2))
    agree(data, radius, metric, cap, ranges)


def test_an_own_relation_needs_to_be_reflexive_only() -> None:
    divides = count_related([[1], [2], [3], [4], [6]], [[6], [4]], lambda a, b: a[0] % b[0] == 0)
    assert divides.tolist() == [4, 3]
    assert count_related([[1], [1], [1]], [[1]], lambda a, b: True, cap=2).tolist() == [2]
    with pytest.raises(InvalidInput, match="reflexive"):
        count_related([[1.0]], [[1.0]], lambda a, b: a[0] < b[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: count_all([[np.nan]], 1.0), "finite numbers"),
        (lambda: count_all([[np.inf]], 1.0), "finite numbers"),
        (lambda: count_close([[1.0]], [[np.nan]], 1.0), "'records' parameter of count_close"),
        (lambda: count_close([[1.0]], [[1.0, 2.0]], 1.0), "have 1 numbers each"),
        (lambda: count_all([1.0, 2.0], 1.0), "two dimensions"),
        (lambda: count_all([["a"]], 1.0), "an array of numbers"),
        (lambda: count_all([[1.0]], -1.0), "radius"),
        (lambda: count_all([[1.0]], float("nan")), "radius"),
        (lambda: count_all([[1.0]], "1"), "radius"),
        (lambda: count_all([[1.0]], 1.0, "cosine"), "one of euclidean"),
        (lambda: count_all([[1.0]], 1.0, "haversine"), "two columns"),
        (lambda: count_all([[1.0]], 1.0, "gower"), "ranges"),
        (lambda: count_all([[1.0]], 1.0, ranges=(1.0,)), "empty for euclidean"),
        (lambda: count_all([[1.0]], 1.0, cap=0), "at least 1"),
        (lambda: count_all([[1.0]], 1.0, cap=2.5), "whole number"),
        (lambda: copies([[1.0]], [[None]]), "finite numbers|array of numbers"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput, match=message):
        call()
