"""Radius 0 is one place by the metric, not equality of coordinates."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

import whitecrow as wc
from whitecrow.anomaly.law import flip_probability
from whitecrow.data import Card, Column, Dataset
from whitecrow.hazmat import identify
from whitecrow.identify.map import privacy_map
from whitecrow.neighbours import open_engine
from whitecrow.place.mechanism import gather

CARD = Card("globe", (Column("lat", lower=-90, upper=90), Column("lon", lower=-180, upper=180)))
PLACES = [(10.0, 180.0), (10.0, -180.0), (10.0, 0.0), (90.0, 0.0), (90.0, 77.0), (0.0, -0.0)]
TINY = 5e-324


def dataset(records):
    values = np.array(records, dtype=np.float64).reshape(-1, 2)
    return Dataset(CARD, {"lat": values[:, 0], "lon": values[:, 1]})


def chance_of_yes(question, records) -> float:
    data = dataset(records)
    facts = gather(question, data, open_engine(data))
    wrong = flip_probability(facts.exact_bound, facts.step)
    return 1 - wrong if facts.exact_truth else wrong


def asked(place, *, radius=0.0, beta=3, k=2, metric="haversine"):
    model = wc.DistanceAnomaly(beta, radius, metric)
    record = dict(zip(("lat", "lon"), place, strict=True))
    return wc.Identify(record, model=model, k=k, epsilon=1)


@pytest.mark.parametrize("radius", [0.0, 50.0])
def test_within_0_is_the_metrics_own_predicate(radius):
    """The exact law on every edge that the promise covers, by its own words."""
    for place in PLACES:
        question = asked(place, radius=radius)
        close = question.balls(CARD)[-1][1].close
        laws = {
            records: chance_of_yes(question, records)
            for size in range(5)
            for records in combinations_with_replacement(PLACES, size)
        }
        for records, before in laws.items():
            for one in PLACES:
                more = tuple(sorted((*records, one), key=PLACES.index))
                if more not in laws or sum(close(one, other) for other in more) < question.tau:
                    continue
                for x, y in ((before, laws[more]), (laws[more], before)):
                    for p, q in ((x, y), (1 - x, 1 - y)):
                        assert p == 0 or (q > 0 and math.log(p / q) <= 1 + 1e-9), (records, one)


@pytest.mark.parametrize("radius", [0.0, 50.0])
def test_two_names_of_one_place_get_one_answer(radius):
    for one, other in (((10.0, 180.0), (10.0, -180.0)), ((90.0, 0.0), (90.0, 77.0))):
        for records in ([one], [other], [one, other], [one] * 3 + [other] * 2):
            here, there = (asked(place, radius=radius) for place in (one, other))
            assert chance_of_yes(here, records) == chance_of_yes(there, records)
            data = dataset(records)
            for place in (one, other):
                screen = wc.Screen(
                    {"lat": place[0], "lon": place[1]},
                    model=wc.DistanceAnomaly(3, radius, "haversine"),
                    epsilon=1,
                )
                found = gather(screen, data, open_engine(data))
                assert found.exact_bound == screen.bound(0, len(records), found.step)


def test_the_bare_mechanism_and_the_map_see_places_too():
    records = [[10.0, 180.0], [10.0, -180.0], [10.0, -180.0], [50.0, 8.0]]
    setting = {"beta": 2, "radius": 0, "metric": "haversine", "k": 1, "epsilon": 1000}
    assert not identify(records, [10.0, 180.0], **setting)
    assert identify(records, [50.0, 8.0], **setting)
    found = privacy_map(records, **setting)
    assert found.anomalous.tolist() == [False, False, False, True]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "hamming", "gower"])
def test_a_difference_that_underflows_is_a_difference(metric):
    """0, one and two of the smallest steps: "within 0" must be an equivalence."""
    records = [(0.0, 1.0), (-0.0, 1.0), (TINY, 1.0), (2 * TINY, 1.0)]
    model = wc.DistanceAnomaly(1, 0.0, metric)
    neighbour_relation = model.neighbour_relation(("lat", "lon"), CARD)
    related = [[neighbour_relation.close(a, b) for b in records] for a in records]
    assert related == [[True, True, False, False]] * 2 + [
        [False, False, True, False],
        [False, False, False, True],
    ]
    engine = open_engine(dataset(records))
    assert engine.copies(records, neighbour_relation).tolist() == [2, 2, 1, 1]
    assert engine.neighbours(records, neighbour_relation).tolist() == [2, 2, 1, 1]
    assert engine.degrees(neighbour_relation).tolist() == [2, 2, 1, 1]


def test_a_histogram_of_cells_is_not_offered_for_the_globe():
    with pytest.raises(wc.InvalidInput, match="haversine"):
        wc.Lookahead(["lat", "lon"], model=wc.DistanceAnomaly(3, 0.0, "haversine"), k=1, epsilon=1)
