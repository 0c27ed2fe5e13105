"""Subspaces: what may be asked, what it costs, what comes back."""

from __future__ import annotations

import json
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.counting.parameters import cap_of, pairs_cost
from whitecrow.curator import Curator
from whitecrow.data import Card, Column, read
from whitecrow.errors import InvalidInput, TooCostly
from whitecrow.limits import Limits, in_turn
from whitecrow.neighbours import count_all, open_engine
from whitecrow.noise.seeded import seeded
from whitecrow.question import digest
from whitecrow.questions import type_of
from whitecrow.subspaces import Subspaces, gather, release
from whitecrow_audit.verify.subspaces import top_pmf

MODEL = DistanceAnomaly(beta=3, radius=0.3)
CARD = Card(
    "points",
    (
        *(Column(name, lower=-100, upper=100) for name in "abcd"),
        Column("kind", "category", categories=("x", "y")),
    ),
)


def table(n: int = 300, seed: int = 4) -> pa.Table:
    """Four columns; in "d" a tenth of the records is far from everything."""
    generator = np.random.default_rng(seed)
    values = {name: generator.normal(size=n) for name in "abcd"}
    values["d"][: n // 10] = generator.uniform(-100, 100, n // 10)
    return pa.table(values | {"kind": ["x"] * n})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "either"),
        ({"size": 1, "subspaces": [["a"]]}, "either"),
        ({"size": 0}, "size"),
        ({"size": True}, "size"),
        ({"size": 1, "top": 0}, "top"),
        ({"subspaces": [["a"], ["b"]], "top": 3}, "top"),
        ({"subspaces": [["a", "b"], ["b", "a"]]}, "twice"),
        ({"subspaces": [["a", "a"]]}, "twice"),
        ({"subspaces": []}, "subspaces"),
        ({"subspaces": "ab"}, "subspaces"),
        ({"subspaces": [["a"]], "columns": ["a"]}, "columns"),
        ({"size": 1, "columns": ["a", "a"]}, "twice"),
        ({"size": 1, "count_share": 1}, "count_share"),
        ({"size": 1, "relation": "swap"}, "relation"),
        ({"size": 1, "model": DistanceAnomaly(1, 1.0, "gower")}, "gower"),
    ],
)
def test_wrong_parameters_are_refused_at_once(given, says):
    with pytest.raises(InvalidInput, match=says):
        Subspaces(**{"model": MODEL, "epsilon": 1, **given})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"size": 5}, "at most 4"),
        ({"size": 3, "columns": ["a", "b"]}, "at most 2"),
        ({"size": 2, "top": 7}, "at most 6"),
        ({"size": 1, "columns": ["a", "z"]}, "'z'"),
        ({"size": 1, "columns": ["a", "kind"]}, "kind"),
        ({"subspaces": [["a"], ["kind"]]}, "kind"),
    ],
)
def test_what_the_card_cannot_serve_is_refused_before_anything_is_spent(given, says):
    curator = Curator.open(table(20), card=CARD)
    before = curator.remaining()
    with pytest.raises(InvalidInput, match=says):
        curator.ask(Subspaces(model=MODEL, epsilon="1/2", **given))
    assert curator.remaining() == before


def test_too_many_subspaces_are_refused_with_advice():
    wide = Card("wide", tuple(Column(f"c{i}") for i in range(60)))
    with pytest.raises(InvalidInput, match="Name the 'columns'"):
        Subspaces(size=6, model=MODEL, epsilon=1).check(wide)


def test_one_question_has_one_spelling():
    one = Subspaces(subspaces=[["b", "a"], ["c"]], model=MODEL, epsilon="0.5", count_share="1/2")
    other = Subspaces(subspaces=[["c"], ["a", "b"]], model=MODEL, epsilon=0.5, count_share=0.5)
    assert digest(one) == digest(other)
    assert Subspaces.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_the_candidates_are_all_subsets_of_a_size():
    question = Subspaces(size=2, model=MODEL, epsilon=1)
    assert len(question.candidates(CARD)) == 6
    assert question.candidates(CARD)[0] == ("a", "b")


def test_each_draw_gets_its_part_of_epsilon():
    """Under add/remove utilities move apart by 1 + 1/cap, under replace-one by 2."""
    model = DistanceAnomaly(3, 1.0)
    for relation, apart in (("add_remove", Fraction(7, 6)), ("replace_one", Fraction(2))):
        question = Subspaces(size=1, top=4, model=model, epsilon=2, relation=relation)
        assert question.eta(CARD) * 4 * apart == 2
    half = Subspaces(size=1, top=4, model=model, epsilon=2, count_share="1/2")
    assert half.eta(CARD) * 4 * Fraction(7, 6) == 1


def facts_of(question, data=None):
    data = data or read(table(), CARD)
    return gather(question, data, open_engine(data))


@pytest.mark.parametrize("normalised", [True, False])
def test_the_counts_are_those_of_each_subspace(normalised):
    data = read(table(), CARD)
    question = Subspaces(size=2, model=MODEL, epsilon=1, normalised=normalised)
    facts = facts_of(question, data)
    radius = 0.3 * 2**0.5 if normalised else 0.3
    expected = [
        int((count_all(data.matrix(subspace), radius) <= 3).sum())
        for subspace in question.candidates(CARD)
    ]
    assert list(facts.exact_outliers) == expected


def test_progress_speaks_of_subspaces_only():
    seen = []
    data = read(table(), CARD)
    question = Subspaces(size=1, model=MODEL, epsilon=1)
    gather(question, data, open_engine(data), lambda *said: seen.append(said))
    assert {total for _, total, _ in seen} == {4}


def test_with_a_large_budget_the_crowded_subspace_is_found():
    question = Subspaces(size=1, top=2, model=MODEL, epsilon=1000, count_share="1/2")
    answer = release(question, facts_of(question), seeded(1))
    assert answer[0]["columns"] == ["d"]
    assert len({tuple(entry["columns"]) for entry in answer}) == 2
    assert abs(answer[0]["count"] - facts_of(question).exact_outliers[3]) <= 2


def test_without_counts_the_answer_is_a_list_of_subspaces():
    question = Subspaces(size=2, top=3, model=MODEL, epsilon=1)
    answer = release(question, facts_of(question), seeded(2))
    assert len(answer) == 3
    assert set(map(tuple, answer)) <= set(question.candidates(CARD))
    assert json.loads(json.dumps(answer)) == answer


def test_draws_follow_the_law():
    """20,000 lists against the closed law; chi-square at 1e-6 (false alarm)."""
    question = Subspaces(size=1, top=2, model=MODEL, epsilon=2)
    facts = facts_of(question)
    source = seeded(3)
    utilities = [Fraction(n, cap) for n, cap in zip(facts.exact_outliers, facts.caps, strict=True)]
    law = top_pmf(utilities, facts.eta, 2)
    drawn = Counter(
        tuple(facts.candidates.index(tuple(found)) for found in release(question, facts, source))
        for _ in range(20_000)
    )
    expected = {key: 20_000 * p for key, p in law.items()}
    rare = {key for key, number in expected.items() if number < 20}
    square = sum(
        (drawn[key] - number) ** 2 / number for key, number in expected.items() if key not in rare
    )
    assert square < 60  # chi-square with 11 degrees of freedom exceeds 60 with less than 1e-6


def test_counts_come_with_the_raw_value_and_are_never_negative():
    question = Subspaces(size=1, top=4, model=MODEL, epsilon="1/10", count_share="1/2")
    facts = facts_of(question)
    entries = [entry for seed in range(5) for entry in release(question, facts, seeded(seed))]
    assert all(entry["count"] == max(0, entry["raw"]) for entry in entries)
    assert min(entry["raw"] for entry in entries) < 0


def test_one_price_for_finding_and_counting():
    curator = Curator.open(table(), card=CARD, budget="3")
    question = Subspaces(size=1, top=2, model=MODEL, epsilon=2, count_share="1/2")
    found = curator.ask(question)
    assert found.guarantee.epsilon == 2
    assert [set(entry) for entry in found.answer] == [{"columns", "count", "raw"}] * 2
    assert curator.ask(question).answer == found.answer


def test_the_description_is_public_and_names_the_shortfall():
    question = Subspaces(size=2, top=2, model=MODEL, epsilon=1, count_share="1/2")
    found = question.describe(CARD)
    assert found.figures["median_shortfall"] < found.figures["shortfall_95"]
    assert {"count_mechanism", "count_median_error"} <= set(found.figures)
    json.dumps(found.to_json())


def test_constant_columns_and_few_records_have_answers():
    card = Card("flat", (Column("a"), Column("b")))
    data = read(pa.table({"a": [1.0] * 2, "b": [2.0, 9.0]}), card)
    question = Subspaces(size=1, top=2, model=MODEL, epsilon=1, count_share="1/2")
    assert facts_of(question, data).exact_outliers == (2, 2)
    assert len(release(question, facts_of(question, data), seeded(1))) == 2


def _wide(columns: int) -> Card:
    return Card("wide", tuple(Column(f"c{i}", lower=0, upper=1) for i in range(columns)))


@pytest.mark.timing
def test_a_million_candidates_are_refused_at_once_and_a_hundred_thousand_by_their_cost() -> None:
    """From public facts, in less time than any of them would take: asking for a price is free."""
    card = _wide(28)
    started = time.process_time()
    with pytest.raises(InvalidInput, match="at most 200000 subspaces"):
        Subspaces(size=8, model=MODEL, epsilon="1").check(card)
    assert time.process_time() - started < 2
    many = Subspaces(size=5, model=MODEL, epsilon="1")
    started = time.process_time()
    limits = type_of(many).limits(many, card, 100_000)
    assert time.process_time() - started < 2
    with pytest.raises(TooCostly):
        limits.within(Limits(3600.0, 2**33), "subspaces")


def test_candidates_cost_by_their_widths_what_they_cost_one_by_one() -> None:
    card = _wide(6)
    for question in (
        Subspaces(size=3, model=MODEL, epsilon="1"),
        Subspaces(subspaces=(("c0",), ("c1", "c2"), ("c3", "c4")), model=MODEL, epsilon="1"),
    ):
        found = type_of(question).limits(question, card, 1000)
        apart = in_turn([pairs_cost(len(one), 1000) for one in question.candidates(card)])
        assert found.seconds == pytest.approx(apart.seconds)
        assert found.bytes == apart.bytes
        caps = [
            cap_of(question.model_in(one), one, card, question.relation)
            for one in question.candidates(card)
        ]
        assert question.caps(card) == tuple(caps)
