"""Spatial accounting: exact in one and two dimensions, never too little elsewhere."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column
from whitecrow.identify import Identify
from whitecrow.lookahead import Lookahead
from whitecrow.place.balls import BALLS, Balls, common, deepest, no_deeper_than, reach, weights_of
from whitecrow.place.recount import Recount
from whitecrow.screen import Screen

TENTH = Fraction(1, 10)


def ball(*center, radius, metric="euclidean", ranges=(), columns=None):
    return {
        "columns": columns or [f"c{i}" for i in range(len(center))],
        "metric": metric,
        "ranges": list(ranges),
        "center": [float(x) for x in center],
        "radius": float(radius),
    }


def batch_price(locations, epsilons):
    recount = Recount()
    for location, epsilon in zip(locations, epsilons, strict=True):
        recount.add(location, epsilon)
    return recount.price


def swept(balls, epsilons):
    """The depth of balls in a plane, by one sweep over all of them."""
    scale, whole = common(epsilons)
    centers = np.array([one["center"] for one in balls])
    radii = np.array([reach(one["radius"]) for one in balls])
    return Fraction(deepest(balls[0]["metric"], centers, radii, weights_of(whole)), scale)


def inside(point, one):
    gaps = [abs(a - b) for a, b in zip(point, one["center"], strict=True)]
    distance = {"euclidean": math.hypot(*gaps), "manhattan": sum(gaps), "chebyshev": max(gaps)}[
        one["metric"]
    ]
    return distance <= one["radius"] * (1 + 1e-12) + 1e-12


def crossings(a, b):
    """The points where the borders of two balls meet, for the brute-force depth."""
    (x0, y0), (x1, y1) = a["center"], b["center"]
    if a["metric"] == "euclidean":
        d = math.hypot(x1 - x0, y1 - y0)
        r, s = a["radius"], b["radius"]
        if d == 0 or d > r + s or d < abs(r - s):
            return []
        along = (d * d + r * r - s * s) / (2 * d)
        up = math.sqrt(max(0.0, r * r - along * along))
        ux, uy = (x1 - x0) / d, (y1 - y0) / d
        return [(x0 + along * ux + t * up * uy, y0 + along * uy - t * up * ux) for t in (1, -1)]
    if a["metric"] == "chebyshev":
        edges = lambda one, axis: [one["center"][axis] + t * one["radius"] for t in (1, -1)]  # noqa: E731
        return [(x, y) for x in edges(a, 0) for y in edges(b, 1)] + [
            (x, y) for x in edges(b, 0) for y in edges(a, 1)
        ]
    turn = lambda one: {  # noqa: E731
        **one,
        "metric": "chebyshev",
        "center": [sum(one["center"]), one["center"][0] - one["center"][1]],
    }
    return [((u + v) / 2, (u - v) / 2) for u, v in crossings(turn(a), turn(b))]


def brute(balls, epsilons):
    if len(balls[0]["center"]) == 1:
        candidates = [(b["center"][0] + t * b["radius"],) for b in balls for t in (-1, 0, 1)]
    else:
        candidates = [tuple(b["center"]) for b in balls]
        for a, b in itertools.combinations(balls, 2):
            candidates += crossings(a, b)
        if balls[0]["metric"] != "euclidean":
            candidates += [p for b in balls for p in crossings(b, b)]
    return max(
        sum((e for b, e in zip(balls, epsilons, strict=True) if inside(z, b)), Fraction(0))
        for z in candidates
    )


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize("width", [1, 2])
def test_the_depth_equals_brute_force(metric, width):
    rng = np.random.default_rng(7)
    for _ in range(150):
        count = int(rng.integers(1, 13))
        balls = [
            ball(*rng.uniform(0, 4, width), radius=rng.uniform(0.1, 2.0), metric=metric)
            for _ in range(count)
        ]
        epsilons = [Fraction(int(n), 60) for n in rng.integers(1, 20, count)]
        assert batch_price(balls, epsilons) == brute(balls, epsilons)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize("width", [1, 2])
def test_whole_numbers_with_many_ties_equal_brute_force(metric, width):
    rng = np.random.default_rng(11)
    for _ in range(100):
        count = int(rng.integers(1, 10))
        balls = [
            ball(*rng.integers(0, 5, width), radius=int(rng.integers(0, 3)), metric=metric)
            for _ in range(count)
        ]
        epsilons = [TENTH] * count
        assert batch_price(balls, epsilons) == brute(balls, epsilons)


def test_one_by_one_costs_what_one_sweep_finds():
    rng = np.random.default_rng(3)
    balls = [ball(*rng.uniform(0, 5, 2), radius=rng.uniform(0.2, 1.5)) for _ in range(25)]
    epsilons = [Fraction(int(n), 10) for n in rng.integers(1, 5, 25)]
    recount = Recount()
    for place, (b, e) in enumerate(zip(balls, epsilons, strict=True), 1):
        before = recount.price
        assert recount.add(b, e) == recount.price - before
        assert recount.price == swept(balls[:place], epsilons[:place])


def test_elsewhere_the_price_is_never_below_the_depth_found_by_sampling():
    rng = np.random.default_rng(5)
    for width, metric in ((3, "euclidean"), (4, "manhattan"), (3, "chebyshev")):
        balls = [
            ball(*rng.uniform(0, 2, width), radius=rng.uniform(0.3, 1.2), metric=metric)
            for _ in range(15)
        ]
        price = batch_price(balls, [TENTH] * 15)
        points = rng.uniform(-0.5, 2.5, (3000, width))
        deepest = max(sum(inside(p, b) for b in balls) for p in points)
        assert price >= deepest * TENTH
        assert price <= 15 * TENTH


def test_far_apart_questions_cost_one_in_any_dimension():
    for metric, ranges in (("euclidean", ()), ("hamming", ()), ("gower", (100.0,) * 5)):
        balls = [ball(*[40.0 * i] * 5, radius=0.01, metric=metric, ranges=ranges) for i in range(4)]
        assert batch_price(balls, [TENTH] * 4) == TENTH
    cities = [
        ball(*place, radius=100, metric="haversine")
        for place in ((48.86, 2.35), (52.52, 13.40), (-33.87, 151.2))
    ]
    assert batch_price(cities, [TENTH] * 3) == TENTH
    near = ball(48.9, 2.4, radius=100, metric="haversine")
    assert batch_price([*cities, near], [TENTH] * 4) == 2 * TENTH


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_the_cheap_bound_is_never_below_the_depth_and_often_equal(metric):
    draw = np.random.default_rng(7)
    equal = 0
    for _ in range(300):
        count, size = int(draw.integers(1, 30)), 10.0 ** draw.integers(-3, 9)
        across = draw.integers(-8, 9, (count, 2)) * size / 4 + draw.normal(0, size / 50, (count, 2))
        radii = size * draw.choice([0.5, 1.0, 1.3, 4.0], count)
        weights = draw.integers(1, 4, count)
        heavy = int(weights.sum())
        centers = np.concatenate([across, np.zeros((1, 2))])
        found = deepest(metric, centers, np.append(radii, size), np.append(weights, heavy + 1))
        inside = found - heavy - 1
        bound = no_deeper_than(metric, across, radii, size, weights)
        assert inside <= bound <= heavy
        equal += bound == inside
    assert equal > 200


def _many_discs(draw, shape):
    """More discs than numpy sweeps: anywhere, on a grid where circles meet in points, any size."""
    count = int(draw.integers(30, 90))
    if shape == "anywhere":
        return draw.uniform(0, 5, (count, 2)), np.full(count, 1.0)
    if shape == "grid":
        radii = draw.choice([0.5, 1.0, 2.0, 1e-9, 3.0], count)
        return draw.integers(0, 6, (count, 2)).astype(float), np.array([*map(reach, radii)])
    return draw.normal(0, 1, (count, 2)) * 10.0 ** draw.integers(-3, 3), 10.0 ** draw.uniform(
        -3, 1, count
    )


@pytest.mark.parametrize("shape", ["anywhere", "grid", "any size"])
def test_the_compiled_sweep_finds_the_depth_that_numpy_finds(shape):
    draw = np.random.default_rng(11)
    for _ in range(60):
        centers, radii = _many_discs(draw, shape)
        weights = draw.integers(1, 9, len(radii)).astype(np.int64)
        floor = int(draw.integers(0, 30))
        compiled = deepest("euclidean", centers, radii, weights, floor)
        plain = deepest("euclidean", centers, radii, weights.astype(object), floor)
        assert compiled == plain


@pytest.mark.parametrize("shape", ["anywhere", "grid", "any size"])
def test_a_service_prices_few_places_as_everybody_else_does(shape):
    draw, service = np.random.default_rng(12), Balls(few=1)
    service.load()
    for _ in range(60):
        centers, radii = _many_discs(draw, shape)
        count = int(draw.integers(2, 26))
        balls = [
            {"columns": ["a", "b"], "metric": "euclidean", "center": list(where), "radius": radius}
            for where, radius in zip(centers[:count].tolist(), radii.tolist(), strict=False)
        ]
        weights = [Fraction(int(n), 100) for n in draw.integers(1, 9, count)]
        enough = Fraction(int(draw.integers(0, 30)), 100)
        priced = balls[0], weights[0], list(zip(balls[1:], weights[1:], strict=True)), enough
        assert service.depth(*priced) == BALLS.depth(*priced)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_the_compiled_squares_weigh_what_numpys_weigh(metric):
    draw = np.random.default_rng(13)
    for turn in range(20):
        grid = draw.integers(-8, 8, (150, 2)).astype(float)
        across = grid if turn % 2 else draw.normal(0, 2, (150, 2))
        radii = np.array([reach(one) for one in draw.choice([0.5, 1.5, 1e200], 150)])
        weights = draw.integers(1, 9, 150).astype(np.int64)
        compiled = no_deeper_than(metric, across, radii, 1.5, weights)
        assert compiled == no_deeper_than(metric, across, radii, 1.5, weights.astype(object))


@pytest.mark.parametrize(
    "metric", ["euclidean", "manhattan", "chebyshev", "hamming", "gower", "haversine"]
)
def test_balls_that_touch_are_never_told_apart_by_their_keys(metric):
    draw, geometry = np.random.default_rng(3), Balls()
    touched = 0
    for _ in range(400):
        width = 2 if metric == "haversine" else int(draw.integers(1, 5))
        size = 1.0 if metric in ("gower", "haversine") else 10.0 ** draw.integers(-6, 12)
        spread = 60.0 if metric == "haversine" else 2.0 * size
        ranges = [float(one) for one in draw.choice([0.0, 1.0, 7.0], width)]
        reaches = {"gower": 0.4, "haversine": 4000.0, "hamming": 1.0}
        one, other = (
            ball(
                *draw.uniform(-spread, spread, width),
                radius=reaches.get(metric, size) * draw.uniform(0.1, 1.2),
                metric=metric,
                ranges=ranges if metric == "gower" else (),
            )
            for _ in range(2)
        )
        if geometry.touching(one, [other])[0]:
            touched += 1
            assert near_by_their_keys(geometry, one, other)
    assert touched > 30


def near_by_their_keys(geometry, one, other):
    (u, v, r, rounding), (x, y, s, _) = geometry.keys(one), geometry.keys(other)
    return max(abs(u - x), abs(v - y)) <= r + s + rounding


def test_balls_whose_columns_cancel_are_not_told_apart_by_rounding():
    draw, geometry = np.random.default_rng(0), Balls()
    moved = 0
    for _ in range(2000):
        half = np.round(2.0**52 * draw.uniform(1.0, 1.9, 10))
        center = np.concatenate([half, -draw.permutation(half)])
        one, other = (ball(*(center + step), radius=2.3) for step in (0.0, 1.0))
        assert geometry.touching(one, [other])[0]
        assert near_by_their_keys(geometry, one, other)
        (u, v, r, _), (x, y, s, _) = geometry.keys(one), geometry.keys(other)
        moved += max(abs(u - x), abs(v - y)) > r + s + 1e-9 * abs(u)
    assert moved > 10  # what was allowed before: such balls were charged as if they lay apart


def test_in_a_crowd_too_large_to_weigh_the_price_is_never_too_little():
    draw = np.random.default_rng(5)
    recount = Recount()
    for center in draw.uniform(-0.2, 0.2, (520, 2)):
        recount.add(ball(*center, radius=1), TENTH)
    assert recount.price == 52  # all of them hold the origin
    assert recount.add(ball(0, 1.9, radius=1), TENTH) <= TENTH
    assert recount.add(ball(0, 0, radius=1), TENTH) >= TENTH
    assert recount.price >= Fraction(521, 10)


def test_touching_balls_share_their_border():
    """Closed balls: the record exactly between two of them is in both."""
    for metric in ("euclidean", "manhattan", "chebyshev"):
        pair = [ball(0, 0, radius=1, metric=metric), ball(2, 0, radius=1, metric=metric)]
        assert batch_price(pair, [TENTH] * 2) == 2 * TENTH
    assert batch_price([ball(0, radius=1), ball(2, radius=1)], [TENTH] * 2) == 2 * TENTH
    thirds = [ball(0.1, 0, radius=0.1), ball(0.3, 0, radius=0.1)]
    assert batch_price(thirds, [TENTH] * 2) == 2 * TENTH


def test_a_hidden_ball_and_equal_balls_are_counted():
    big, small = ball(0, 0, radius=5), ball(0.5, 0.5, radius=0.25)
    assert batch_price([big, small], [TENTH, TENTH]) == 2 * TENTH
    assert batch_price([small] * 7, [TENTH] * 7) == 7 * TENTH
    points = [ball(1, 1, radius=0), ball(1, 1, radius=0), ball(1, 1.5, radius=0)]
    assert batch_price(points, [TENTH] * 3) == 2 * TENTH
    assert batch_price([*points, ball(1, 1.2, radius=0.3)], [TENTH] * 4) == 3 * TENTH


def test_huge_tiny_and_far_away_balls_are_never_undercharged():
    far = 1e15
    pair = [ball(far, far, radius=0.5), ball(far + 1, far, radius=0.5)]
    assert batch_price(pair, [TENTH] * 2) == 2 * TENTH
    # Squares of these radii overflow or underflow; the predicate then calls everything close.
    endless = [ball(0, 0, radius=1e200), ball(1e250, 0, radius=1e200)]
    assert batch_price(endless, [TENTH] * 2) == 2 * TENTH
    tiny = [ball(0, 0, radius=1e-170), ball(1e-165, 0, radius=1e-170)]
    assert batch_price(tiny, [TENTH] * 2) == 2 * TENTH


def test_other_columns_or_metrics_add_up():
    one, other = ball(0, radius=1, columns=["a"]), ball(50, radius=1, columns=["b"])
    assert batch_price([one, other], [TENTH, TENTH]) == 2 * TENTH
    manhattan = {**ball(50, radius=1, columns=["a"]), "metric": "manhattan"}
    assert batch_price([one, manhattan], [TENTH, TENTH]) == 2 * TENTH
    assert batch_price([one, None], [TENTH, TENTH]) == 2 * TENTH
    assert batch_price([one, None, None], [TENTH] * 3) == 3 * TENTH
    assert batch_price([], []) == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 3), st.integers(1, 9)),
        min_size=1,
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_order_and_company_never_lower_a_price(places, random):
    balls = [ball(x, y, radius=r) for x, y, r, _ in places]
    epsilons = [Fraction(w, 7) for *_, w in places]
    whole = batch_price(balls, epsilons)
    order = list(range(len(balls)))
    random.shuffle(order)
    assert batch_price([balls[i] for i in order], [epsilons[i] for i in order]) == whole
    assert batch_price(balls[:-1], epsilons[:-1]) <= whole <= sum(epsilons)
    assert whole >= max(epsilons)


def test_questions_know_their_location():
    card = Card(
        "c", (Column("age", lower=0, upper=120), Column("ward", "category", categories=("A",)))
    )
    model = DistanceAnomaly(3, 5)
    for question in (
        Identify({"age": 61}, model=model, k=1, epsilon="0.1"),
        Screen({"age": 61}, model=model, epsilon="0.1"),
    ):
        found = question.location(card)
        assert found == json.loads(json.dumps(found))
        assert found["center"] == [61.0]
        assert found["radius"] == 5.0
    histogram = Lookahead(["ward"], model=DistanceAnomaly(3, 0), k=1, epsilon="0.1")
    assert not hasattr(histogram, "location")


@pytest.mark.timing
def test_a_thousand_questions_are_priced_in_a_second_or_two():
    import time

    rng = np.random.default_rng(1)
    balls = [ball(*rng.uniform(0, 10, 2), radius=0.5) for _ in range(1000)]
    start = time.process_time()
    batch_price(balls, [TENTH] * 1000)
    assert time.process_time() - start < 20  # a guard against cubic behaviour, not a benchmark


def test_questions_under_another_card_are_added_up():
    """With the categories in another order the same people are at another place."""

    def located(*categories, **person):
        card = Card(
            "c",
            (Column("ward", "category", categories=categories), Column("who", "text")),
            **person,
        )
        question = Screen(
            {"ward": "A"}, model=DistanceAnomaly(3, 0, "hamming"), epsilon=TENTH, error_floor="1e-9"
        )
        return question.location(card)

    one, other = located("A", "B"), located("B", "A")
    assert one["center"] != other["center"]
    assert batch_price([one, other], [TENTH] * 2) == 2 * TENTH
    person = {"unit": "user", "user_column": "who"}
    several = [located("A", "B", **person, contribution=bound) for bound in (2, 3)]
    assert batch_price(several, [TENTH] * 2) == 2 * TENTH
    assert located("A", "B") == one
