"""The distance model and the relation it asks for."""

from __future__ import annotations

import pytest

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column
from whitecrow.errors import InvalidInput
from whitecrow.neighbours import NeighbourRelation

CARD = Card(
    "clinic",
    (
        Column("age", lower=0, upper=120),
        Column("ward", "category", categories=("A", "B")),
        Column("free", "number"),
        Column("note", "text"),
    ),
)


def test_a_model_is_a_plain_value():
    model = DistanceAnomaly(beta=18, radius=1)
    assert model == DistanceAnomaly.from_json(model.to_json())
    assert model.radius == 1.0
    assert hash(model) == hash(DistanceAnomaly(18, 1.0))


def test_closeness_over_columns_of_a_card():
    model = DistanceAnomaly(3, 2.5)
    assert model.neighbour_relation(("age", "free"), CARD) == NeighbourRelation(
        ("age", "free"), "euclidean", 2.5
    )


def test_gower_takes_ranges_from_the_card():
    found = DistanceAnomaly(3, 0.1, "gower").neighbour_relation(("age", "ward"), CARD)
    assert found.ranges == (120.0, 0.0)
    with pytest.raises(InvalidInput, match="'free' has no bounds"):
        DistanceAnomaly(3, 0.1, "gower").neighbour_relation(("free",), CARD)


def test_categories_have_no_euclidean_distance_but_can_be_equal():
    with pytest.raises(InvalidInput, match="category"):
        DistanceAnomaly(3, 1.0).neighbour_relation(("age", "ward"), CARD)
    assert DistanceAnomaly(3, 0).neighbour_relation(("ward",), CARD).radius == 0


def test_text_and_unknown_columns_are_refused():
    with pytest.raises(InvalidInput, match="text"):
        DistanceAnomaly(3, 0).neighbour_relation(("note",), CARD)
    with pytest.raises(InvalidInput, match="no column 'height'"):
        DistanceAnomaly(3, 0).neighbour_relation(("height",), CARD)


@pytest.mark.parametrize("beta", [0, -1, True, 2.0, "3"])
def test_beta_is_a_whole_number_from_1(beta):
    with pytest.raises(InvalidInput, match="'beta'"):
        DistanceAnomaly(beta, 1)


@pytest.mark.parametrize("radius", [-1, float("inf"), float("nan"), "1", True, None])
def test_radius_is_a_finite_number_from_0(radius):
    with pytest.raises(InvalidInput, match="'radius'"):
        DistanceAnomaly(1, radius)
