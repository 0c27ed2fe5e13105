"""Counting in mixed spaces: the bound, what may be asked, and what is refused."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.counting.kissing import separated, separated_mixed
from whitecrow.counting.parameters import cap_of
from whitecrow.data import Card, Column
from whitecrow.neighbours.relation import NeighbourRelation

CARD = Card(
    "mixed",
    (
        Column("age", "integer", 0, 120, scale=10),
        Column("pay", lower=0, upper=1e6, scale=20_000),
        Column("job", "category", categories=("a", "b", "c")),
        Column("sex", "category", categories=("f", "m"), scale=2),
        Column("shoe", lower=20, upper=60),
    ),
)


def largest_separated(relation, records):
    """The most records that are close to the first and pairwise not close, by trying all."""
    near = [one for one in records if relation.close(records[0], one)]
    for size in range(len(near), 0, -1):
        for some in itertools.combinations(near, size):
            if not any(relation.close(a, b) for a, b in itertools.combinations(some, 2)):
                return size
    return 0


@pytest.mark.parametrize("radius", [0.4, 0.5, 0.9, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.5), (0.75, 0.75)])
def test_no_set_of_separated_records_exceeds_the_bound(radius, weights):
    scales = (1.0, *(1 / weight for weight in weights))
    relation = NeighbourRelation(("x", "j", "s"), "mixed", radius, scales, (0, 3, 2))
    numbers = (0.0, -1.0, 1.0, 0.5, -radius, radius)
    records = list(itertools.product(numbers, range(3), range(2)))
    bound = separated_mixed(2, list(zip((3, 2), weights, strict=True)), radius)
    assert greedily_separated(relation, records) <= bound


def greedily_separated(relation, records):
    """The best of many greedy orders: a lower bound of the largest separated set."""
    near = [one for one in records if relation.close(records[0], one)]
    best, draw = 0, np.random.default_rng(0)
    for _ in range(200):
        chosen = []
        for place in draw.permutation(len(near)):
            if not any(relation.close(near[place], other) for other in chosen):
                chosen.append(near[place])
        best = max(best, len(chosen))
    return best


def test_the_bound_is_attained_by_a_number_and_two_categories():
    relation = NeighbourRelation(("x", "j", "s"), "mixed", 1.0, (1.0, 1.0, 1.0), (0, 2, 2))
    records = [(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)]
    assert largest_separated(relation, records) == 4
    assert separated_mixed(separated(1), [(2, 1.0), (2, 1.0)], 1.0) == 4


def test_a_radius_below_every_weight_costs_what_the_numbers_cost():
    small = wc.DistanceAnomaly(3, 0.45, "mixed")
    plain = wc.DistanceAnomaly(3, 0.45, "standardised_manhattan")
    both = ("age", "pay")
    assert cap_of(small, (*both, "job", "sex"), CARD, "add_remove") == 3 * 9
    assert cap_of(plain, both, CARD, "add_remove") == 3 * 9
    assert cap_of(small, ("job", "sex"), CARD, "add_remove") == 3


def test_scaled_distances_are_those_of_columns_divided_by_hand():
    draw = np.random.default_rng(1)
    rows = pa.table(
        {
            "age": draw.integers(0, 90, 300),
            "pay": draw.uniform(0, 1e5, 300),
            "job": draw.choice(["a", "b", "c"], 300),
            "sex": draw.choice(["f", "m"], 300),
            "shoe": draw.uniform(30, 50, 300),
        }
    )
    by_hand = pa.table({"age": rows["age"].to_numpy() / 10, "pay": rows["pay"].to_numpy() / 20_000})
    one = wc.Curator.open(rows, card=CARD, ledger="sqlite://", name="one", budget="2000")
    two = wc.Curator.open(by_hand, ledger="sqlite://", name="two", budget="2000")
    for scaled, plain in (
        ("standardised", "euclidean"),
        ("standardised_manhattan", "manhattan"),
        ("standardised_chebyshev", "chebyshev"),
    ):
        asked = {"epsilon": 900, "raw": True, "mechanism": "global"}
        found = [
            curator.count(["age", "pay"], model=wc.DistanceAnomaly(4, 0.3, metric), **asked).answer
            for curator, metric in ((one, scaled), (two, plain))
        ]
        assert found[0] == found[1]
        one.amend(reason="go on", budget="20000")
        two.amend(reason="go on", budget="20000")


def test_every_question_takes_a_mixed_space():
    draw = np.random.default_rng(2)
    rows = pa.table(
        {
            "age": draw.integers(0, 90, 200),
            "pay": draw.uniform(0, 1e5, 200),
            "job": draw.choice(["a", "b", "c"], 200),
            "sex": draw.choice(["f", "m"], 200),
            "shoe": draw.uniform(30, 50, 200),
        }
    )
    curator = wc.Curator.open(rows, card=CARD, ledger="sqlite://", name="m", budget="100")
    model = wc.DistanceAnomaly(3, 0.4, "mixed")
    record = {"age": 40, "pay": 50_000, "job": "a", "sex": "f"}
    columns = ["age", "pay", "job", "sex"]
    assert curator.identify(record, model=model, epsilon=1).answer in (True, False)
    assert curator.screen(record, model=model, epsilon=1).answer in (True, False)
    assert curator.count(columns, model=model, epsilon=1).answer >= 0
    found = curator.subspaces(2, 2, columns=columns, model=model, epsilon=1).answer
    assert all(set(one) <= set(columns) for one in found)
    radii = [0.1, 0.2, 0.4]
    tuned = curator.tune(
        columns, share="0.1", radii=radii, beta=3, metric="mixed", epsilon=1
    ).answer
    assert tuned in radii


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda: wc.Count(["age", "job"], model=wc.DistanceAnomaly(3, 1, "gower"), epsilon=1),
            "mixed",
        ),
        (
            lambda: wc.Count(["age", "job"], model=wc.DistanceAnomaly(3, 1), epsilon=1).check(CARD),
            'metric="mixed"',
        ),
        (
            lambda: wc.Count(
                ["shoe"], model=wc.DistanceAnomaly(3, 1, "standardised"), epsilon=1
            ).check(CARD),
            "'shoe' has no scale on the card",
        ),
        (
            lambda: wc.Lookahead(
                columns=["age"], model=wc.DistanceAnomaly(3, 0, "mixed"), k=1, epsilon=1
            ),
            "another metric",
        ),
        (lambda: Column("x", scale=0), "'scale'"),
        (lambda: Column("x", scale=math.inf), "'scale'"),
        (lambda: Column("x", "text", scale=1), "'scale'"),
    ],
)
def test_what_has_no_scale_or_no_bound_is_refused_with_the_way_out(ask, says):
    with pytest.raises(wc.InvalidInput, match=says):
        ask()


def test_any_two_categories_are_one_weight_apart_as_they_are_laid_out():
    form = NeighbourRelation(("ward",), "mixed", 1.0, (4.0,), (7,)).form()
    places = form.placed(np.arange(7.0).reshape(-1, 1))
    assert len(form.scales) == places.shape[1] == 4
    for a, b in itertools.combinations(places, 2):
        assert np.abs(a - b).sum() == 0.25
