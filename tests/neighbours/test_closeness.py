"""NeighbourRelation is a fixed, reflexive and symmetric relation between two records."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow.errors import InvalidInput
from whitecrow.neighbours import EARTH_RADIUS_KM, NeighbourRelation, count_close
from whitecrow.neighbours._kernels.metric import on_spheres
from whitecrow.neighbours.sphere import on_sphere, sine_cosine

PARIS, LONDON, SYDNEY = (48.8566, 2.3522), (51.5074, -0.1278), (-33.8688, 151.2093)

finite = st.floats(allow_nan=False, allow_infinity=False)


def haversine(a: tuple[float, float], b: tuple[float, float]) -> float:
    """The textbook formula, for comparison."""
    phi, psi = math.radians(a[0]), math.radians(b[0])
    turn = math.radians(b[1] - a[1])
    h = math.sin((psi - phi) / 2) ** 2
    h += math.cos(phi) * math.cos(psi) * math.sin(turn / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(h))


@settings(deadline=None)
@given(
    a=st.tuples(finite, finite, finite),
    b=st.tuples(finite, finite, finite),
    radius=st.floats(min_value=0.0, allow_infinity=False),
    metric=st.sampled_from(["euclidean", "manhattan", "chebyshev", "hamming", "gower"]),
)
def test_closeness_is_symmetric_and_reflexive(
    a: tuple[float, ...], b: tuple[float, ...], radius: float, metric: str
) -> None:
    ranges = (0.0, 1e-3, 7.0) if metric == "gower" else ()
    neighbour_relation = NeighbourRelation(("x", "y", "z"), metric, radius, ranges)
    assert neighbour_relation.close(a, b) == neighbour_relation.close(b, a)
    assert neighbour_relation.close(a, a)


@settings(deadline=None)
@given(
    a=st.tuples(st.floats(-90, 90), st.floats(-180, 180)),
    b=st.tuples(st.floats(-90, 90), st.floats(-180, 180)),
)
def test_haversine_agrees_with_the_textbook_formula(
    a: tuple[float, float], b: tuple[float, float]
) -> None:
    distance = haversine(a, b)
    near, far = distance * (1 - 1e-7) - 1e-6, distance * (1 + 1e-7) + 1e-6
    assert NeighbourRelation(("lat", "lon"), "haversine", far).close(a, b)
    if near > 0 and distance < 20_000:
        assert not NeighbourRelation(("lat", "lon"), "haversine", near).close(a, b)


def test_sine_and_cosine_are_accurate_and_the_same_in_every_batch() -> None:
    rng = np.random.default_rng(7)
    angles = np.concatenate([rng.uniform(-400, 400, 3000), np.arange(-720, 721, 15.0), [1e300]])
    for angle in angles[:-1]:
        sine, cosine = sine_cosine(float(angle))
        exact = math.radians(math.fmod(float(angle), 360.0))
        assert abs(sine - math.sin(exact)) < 1e-15
        assert abs(cosine - math.cos(exact)) < 1e-15
    assert sine_cosine(90.0) == (1.0, 0.0)
    assert sine_cosine(-180.0) == (0.0, -1.0)
    places = np.column_stack([angles, angles[::-1]])
    at_once = on_spheres(places)
    one_by_one = np.array([on_sphere(float(a), float(b)) for a, b in places])
    assert (at_once == one_by_one).all()


def test_known_distances_in_kilometres() -> None:
    for a, b, kilometres in ((PARIS, LONDON, 343.56), (LONDON, SYDNEY, 16_993.9)):
        assert not NeighbourRelation(("lat", "lon"), "haversine", kilometres - 1).close(a, b)
        assert NeighbourRelation(("lat", "lon"), "haversine", kilometres + 1).close(a, b)


def test_longitudes_meet_at_the_date_line_and_every_pair_is_within_half_the_equator() -> None:
    assert NeighbourRelation(("lat", "lon"), "haversine", 1.0).close((0.0, 180.0), (0.0, -180.0))
    whole = NeighbourRelation(("lat", "lon"), "haversine", math.pi * EARTH_RADIUS_KM)
    assert whole.close((90.0, 0.0), (-90.0, 0.0))
    assert whole.close((0.0, 0.0), (0.0, 180.0))


def test_hamming_is_a_number_of_columns() -> None:
    two = NeighbourRelation(("a", "b", "c"), "hamming", 2)
    assert two.close([1, 2, 3], [1, 5, 6])
    assert not two.close([1, 2, 3], [4, 5, 6])


def test_gower_is_a_mean_and_takes_ties_as_written() -> None:
    columns = tuple("abcdefghij")
    for different in range(11):
        other = [1.0] * different + [0.0] * (10 - different)
        neighbour_relation = NeighbourRelation(columns, "gower", different / 10, (0.0,) * 10)
        assert neighbour_relation.close([0.0] * 10, other)
        if different:
            less = math.nextafter(different / 10, 0.0)
            assert not NeighbourRelation(columns, "gower", less, (0.0,) * 10).close(
                [0.0] * 10, other
            )
    assert NeighbourRelation(("x",), "gower", 0.1, (10.0,)).close([3.0], [4.0])


def test_euclidean_is_the_rounded_sum_of_squares_against_the_rounded_square() -> None:
    assert NeighbourRelation(("x", "y"), "euclidean", 5.0).close([0, 0], [3, 4])
    # 1e-200 squared is 0: so is the square of any smaller difference.
    assert NeighbourRelation(("x",), "euclidean", 1e-200).close([0.0], [1e-170])
    assert not NeighbourRelation(("x",), "euclidean", 0.0).close([0.0], [1e-100])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "haversine"])
def test_the_value_and_the_kernels_are_one_predicate(metric: str) -> None:
    rng = np.random.default_rng(0)
    data = rng.uniform(-80, 80, (300, 2))
    radius = 4000.0 if metric == "haversine" else 50.0
    neighbour_relation = NeighbourRelation(("x", "y"), metric, radius)
    expected = [sum(neighbour_relation.close(a, b) for b in data) for a in data[:40]]
    assert count_close(data, data[:40], radius, metric).tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((), "euclidean", 1.0), "at least one column"),
        (("age", "euclidean", 1.0), "at least one column"),
        ((("a", "a"), "euclidean", 1.0), "each once"),
        ((("a",), "cosine", 1.0), "one of euclidean"),
        ((("a",), "euclidean", -1.0), "finite number of at least 0"),
        ((("a",), "euclidean", math.inf), "finite number of at least 0"),
        ((("a",), "euclidean", math.nan), "finite number of at least 0"),
        ((("a",), "euclidean", "far"), "finite number of at least 0"),
        ((("a",), "euclidean", True), "finite number of at least 0"),
        ((("a",), "haversine", 1.0), "latitude and longitude"),
        ((("a", "b"), "gower", 1.0, (1.0,)), "2 finite numbers"),
        ((("a",), "gower", 1.0, (-1.0,)), "at least 0"),
        ((("a",), "manhattan", 1.0, (1.0,)), "empty for manhattan"),
    ],
)
def test_what_is_not_a_closeness_is_refused(arguments: tuple, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InvalidInput, match=message):
        NeighbourRelation(*arguments)


def test_a_record_of_another_width_or_not_finite_is_refused() -> None:
    neighbour_relation = NeighbourRelation(("x", "y"), "euclidean", 1.0)
    for record in ([1.0], [1.0, math.nan], [math.inf, 0.0]):
        with pytest.raises(InvalidInput, match="2 finite numbers"):
            neighbour_relation.close(record, [0.0, 0.0])
