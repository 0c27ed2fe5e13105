"""Lookahead as users meet it: what it says, what it releases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from clinics import CARD, clinic

from whitecrow import lookahead
from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column, Dataset
from whitecrow.errors import InvalidInput
from whitecrow.lookahead import Lookahead
from whitecrow.neighbours import open_engine
from whitecrow.noise.seeded import SeededSource


def test_the_lookahead_says_loudly_what_it_does_not_protect():
    model = DistanceAnomaly(20, 0)
    said = Lookahead(["ward", "visits"], model=model, k=5, epsilon=1).describe(CARD)
    assert "COUNTS BELOW 15 ARE RELEASED AS THEY ARE" in str(said)
    assert said.figures["cells"] == 30
    everyone = Lookahead(["ward"], model=model, k=20, epsilon=1).describe(CARD, typical_count=40)
    assert everyone.figures["expected_false_anomalies"] > 0
    assert 0 < everyone.figures["expected_error"] < 1e-6


def test_the_noise_is_within_its_stated_range_in_95_of_100_cells():
    for epsilon in (0.1, 0.5, 1, 3):
        question = Lookahead(["ward"], model=DistanceAnomaly(4, 0), k=4, epsilon=epsilon)
        m, a = question.describe(CARD).figures["noise_within_95"], math.exp(-epsilon)
        outside = [2 * a ** (n + 1) / (1 + a) for n in (m, m - 1)]
        assert outside[0] <= 0.05
        assert m == 0 or outside[1] > 0.05


def test_the_expected_error_of_a_cell_is_the_law_of_its_noise():
    question = Lookahead(["ward"], model=DistanceAnomaly(4, 0), k=4, epsilon=1)
    a = math.exp(-1)
    for count in range(8):
        law = {n: (1 - a) / (1 + a) * a ** abs(n) for n in range(-60, 61)}
        listed = sum(p for n, p in law.items() if 1 <= count + n <= 4)
        wrong = 1 - listed if 1 <= count <= 4 else listed
        found = question.describe(CARD, typical_count=count).figures["expected_error"]
        assert found == pytest.approx(wrong, rel=1e-9)


def histogram(question, dataset, source):
    return lookahead.release(
        question, lookahead.gather(question, dataset, open_engine(dataset)), source
    )


def test_small_cells_come_out_as_they_are_and_large_ones_do_not():
    dataset = clinic([30] * 60, ward=["A"] * 40 + ["B"] * 3 + ["C"] * 17)
    question = Lookahead(["ward"], model=DistanceAnomaly(20, 0), k=5, epsilon="1/4")
    seen = [dict(histogram(question, dataset, SeededSource(s))["cells"]) for s in range(40)]
    assert all(cells["B"] == 3 for cells in seen)
    assert len({cells["A"] for cells in seen}) > 5
    assert len({cells["C"] for cells in seen}) > 5
    assert lookahead.anomalies({"columns": ["ward"], "cells": [["B", 3], ["A", 41]]}, beta=20) == [
        ["B", 3]
    ]


def test_the_release_lists_what_is_released_and_not_what_is_occupied():
    """A cell that fell to 0 is not listed, and with k >= beta an empty cell may be."""
    dataset = clinic([30] * 3, ward=["C", "A", "A"], visits=[9, 0, 0])
    question = Lookahead(["visits", "ward"], model=DistanceAnomaly(2, 0), k=2, epsilon="1/2")
    seen = [histogram(question, dataset, SeededSource(s)) for s in range(60)]
    assert all(cell[-1] > 0 for answer in seen for cell in answer["cells"])
    assert any(
        ["B", 5] in [cell[::-1][1:] for cell in answer["cells"]] or len(answer["cells"]) > 4
        for answer in seen
    )
    missing = [a for a in seen if not any(c[:2] == [0, "A"] for c in a["cells"])]
    assert missing
    for answer in seen:
        assert answer["columns"] == ["visits", "ward"]
        keys = [(cell[0], "ABC".index(cell[1])) for cell in answer["cells"]]
        assert keys == sorted(keys), "the order is the domain's, not the data's"


def test_released_counts_follow_the_discrete_laplace_law():
    dataset = clinic([30] * 6)
    question = Lookahead(["ward"], model=DistanceAnomaly(5, 0), k=1, epsilon=1)
    facts = lookahead.gather(question, dataset, open_engine(dataset))
    source, times, a = SeededSource(77), 20_000, math.exp(-1)
    counts = [
        dict(lookahead.release(question, facts, source)["cells"]).get("A", 0) for _ in range(times)
    ]
    for value in (0, 4, 5, 6, 7):
        p = a**6 / (1 + a) if value == 0 else (1 - a) / (1 + a) * a ** abs(value - 6)
        assert abs(counts.count(value) / times - p) < 5 * math.sqrt(p / times)


def test_domains_come_from_the_card_and_must_be_finite():
    model = DistanceAnomaly(3, 0)
    for name in ("age", "note", "seen"):
        with pytest.raises(InvalidInput, match="no finite list of values"):
            Lookahead([name], model=model, k=1, epsilon=1).check(CARD)
    wide = Card("wide", tuple(Column(f"c{i}", "integer", lower=0, upper=99) for i in range(5)))
    names = wide.names
    Lookahead(names, model=model, k=2, epsilon=1).check(wide)  # only occupied cells matter
    with pytest.raises(InvalidInput, match="10,000,000,000 of them"):
        Lookahead(names, model=model, k=3, epsilon=1).check(wide)


def test_numbers_are_listed_by_public_bins():
    dataset = clinic([1, 29.9, 30, 120, 120], ward=["A", "A", "B", "C", "C"])
    model = DistanceAnomaly(9, 0)
    question = Lookahead(["age", "ward"], model=model, k=1, epsilon=1, bins=4)
    assert histogram(question, dataset, None)["cells"] == [
        ["0 to 30", "A", 2],
        ["30 to 60", "B", 1],
        ["90 to 120", "C", 2],
    ]
    price = question.price(CARD)
    assert price.columns == (("age", "in 4 equal parts"), "ward")
    other = Lookahead(["age", "ward"], model=model, k=1, epsilon=1, bins=5)
    assert price.zones != other.price(CARD).zones
    assert Lookahead.from_json(question.to_json()) == question
    with pytest.raises(InvalidInput, match="no finite list of values"):
        Lookahead(["free"], model=model, k=1, epsilon=1, bins=4).check(CARD)
    with pytest.raises(InvalidInput, match=r"'bins'.*Got 1"):
        Lookahead(["age"], model=model, k=1, epsilon=1, bins=1)


def test_numbers_are_cut_at_the_cards_edges():
    card = Card(
        "c", (Column("pay", edges=(1000.0, 2500.0)), Column("n", lower=0, upper=1e-20, edges=(1,)))
    )
    dataset = Dataset(card, {"pay": np.array([-5.0, 1000.0, 2499.0, 1e9]), "n": np.zeros(4)})
    question = Lookahead(["pay"], model=DistanceAnomaly(9, 0), k=1, epsilon=1)
    assert histogram(question, dataset, None)["cells"] == [
        ["below 1000", 1],
        ["1000 to 2500", 2],
        ["2500 or more", 1],
    ]
    assert question.price(card).columns == (("pay", "cut at 1000, 2500"),)


def test_rare_combinations_of_many_columns_are_listed_exactly_and_others_with_noise():
    """More cells than could ever be visited: only the occupied ones are."""
    names = tuple(f"c{place}" for place in range(30))
    card = Card("wide", tuple(Column(name, lower=0, upper=1) for name in names))
    usual, odd = np.full((400, 30), 0.31), np.full((2, 30), 0.99)
    rows = np.vstack([usual, odd])
    dataset = Dataset(card, {name: rows[:, place] for place, name in enumerate(names)})
    question = Lookahead(names, model=DistanceAnomaly(20, 0), k=5, epsilon="1/2", bins=10)
    assert question.cells(card) == 10**30
    answers = [histogram(question, dataset, SeededSource(seed))["cells"] for seed in range(20)]
    for answer in answers:
        (_, (*cell, count)) = answer
        assert cell == ["0.9 to 1"] * 30
        assert count == 2
    assert len({answer[0][-1] for answer in answers}) > 3
    assert lookahead.anomalies({"cells": answers[0]}, beta=20) == [answers[0][1]]


def test_integer_cells_keep_their_values():
    card = Card("c", (Column("n", "integer", lower=-3, upper=4),))
    dataset = Dataset(card, {"n": np.array([-3.0, -3.0, 4.0])})
    question = Lookahead(["n"], model=DistanceAnomaly(9, 0), k=1, epsilon=1)
    assert histogram(question, dataset, None)["cells"] == [[-3, 2], [4, 1]]
