"""Identify, Screen and Lookahead as users meet them: validation, price, words, answers."""

from __future__ import annotations

import datetime
import json
import math
from fractions import Fraction

import numpy as np
import pyarrow
import pytest
from clinics import CARD, clinic

from whitecrow import screen
from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column, read
from whitecrow.errors import InvalidInput
from whitecrow.identify import Identify, PlaceFacts, gather, release
from whitecrow.identify.unaccounted import identify
from whitecrow.lookahead import Lookahead
from whitecrow.neighbours import open_engine
from whitecrow.noise.seeded import SeededSource
from whitecrow.privacy import DifferentialPrivacy, SensitivePrivacy
from whitecrow.question import digest
from whitecrow.screen import Screen

MODEL = DistanceAnomaly(beta=18, radius=0.148)
RECORD = {"age": 61, "bmi": 24.1}


def ask_identify(dataset, record, source, **given):
    question = Identify(record, **given)
    question.check(dataset.card)
    return release(question, gather(question, dataset, open_engine(dataset)), source)


# Bad input: an actionable error before anything is spent


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: DistanceAnomaly(0, 1.0), "'beta'.*at least 1. Got 0"),
        (lambda: DistanceAnomaly(1.5, 1.0), "'beta'.*Got 1.5"),
        (lambda: DistanceAnomaly(3, -0.1), "'radius'.*at least 0. Got -0.1"),
        (lambda: DistanceAnomaly(3, math.nan), "'radius'.*Got nan"),
        (lambda: DistanceAnomaly(3, 1, "cosine"), "'metric'.*euclidean.*Got 'cosine'"),
        (lambda: Identify(RECORD, model=MODEL, k=0, epsilon=1), "'k'.*at least 1. Got 0"),
        (lambda: Identify(RECORD, model=MODEL, k=1, epsilon=0), "'epsilon'.*above 0. Got 0"),
        (lambda: Identify(RECORD, model=MODEL, k=1, epsilon="abc"), "'epsilon'.*Got 'abc'"),
        (lambda: Identify(RECORD, model=MODEL, k=1, epsilon=-1), "'epsilon'.*Got -1"),
        (lambda: Identify(RECORD, model=(18, 0.1), k=1, epsilon=1), "'model'.*DistanceAnomaly"),
        (lambda: Identify(RECORD, model=MODEL, k=1, epsilon=1, notion="x"), "'notion'"),
        (
            lambda: Identify(RECORD, model=MODEL, k=1, epsilon=1, error_floor="0.6"),
            "'error_floor'.*below 1/2",
        ),
        (lambda: Identify({}, model=MODEL, k=1, epsilon=1), "'record'.*at least one column"),
        (lambda: Identify([61, 24], model=MODEL, k=1, epsilon=1), "'record'.*mapping"),
        (
            lambda: Identify({"age": math.nan}, model=MODEL, k=1, epsilon=1),
            "'record'.*finite.*Got nan.*'age'",
        ),
        (lambda: Identify({"age": None}, model=MODEL, k=1, epsilon=1), "'record'.*Got None"),
        (lambda: Screen({"age": math.inf}, model=MODEL, epsilon=1), "'record'.*Got inf"),
        (lambda: Screen(RECORD, model=MODEL, epsilon="1/0"), "'epsilon'"),
        (lambda: Lookahead([], model=DistanceAnomaly(3, 0), k=1, epsilon=1), "'columns'"),
        (lambda: Lookahead(["ward"], model=MODEL, k=1, epsilon=1), "radius 0.*Identify or Screen"),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(make, says):
    with pytest.raises(InvalidInput, match=f"(?s){says}"):
        make()


@pytest.mark.parametrize(
    ("record", "metric", "says"),
    [
        ({"height": 180}, "euclidean", "no column 'height'; the card lists age, bmi"),
        ({"age": 130}, "euclidean", "'age'.*between the card's bounds 0 and 120. Got 130"),
        ({"age": "old"}, "euclidean", "'age'.*a number. Got 'old'"),
        ({"visits": 1.5}, "euclidean", "'visits'.*whole number. Got 1.5"),
        ({"ward": "A"}, "euclidean", "category.*gower"),
        ({"ward": "Z"}, "gower", "'ward'.*one of the card's categories. Got 'Z'"),
        ({"note": "x"}, "gower", "text"),
        ({"free": 1}, "gower", "no bounds on the card"),
        ({"seen": "yesterday"}, "euclidean", "'seen'.*date"),
        ({"age": 1}, "haversine", "two columns"),
    ],
)
def test_records_the_card_cannot_place_are_refused(record, metric, says):
    model = DistanceAnomaly(3, 1.0, metric)
    for question in (
        Identify(record, model=model, k=1, epsilon="0.1"),
        Screen(record, model=model, epsilon="0.1"),
    ):
        for step in (question.check, question.price, question.describe):
            with pytest.raises(InvalidInput, match=f"(?s){says}"):
                step(CARD)


def test_a_wrong_arity_is_an_error_in_the_bare_mechanism():
    with pytest.raises(InvalidInput, match="2 numbers"):
        identify([[0.0, 1.0]], [0.0], beta=1, radius=1, k=1, epsilon=1)
    with pytest.raises(InvalidInput, match="rng"):
        identify([[0.0]], [0.0], beta=1, radius=1, k=1, epsilon=1, rng=7)


# One question, one spelling


def test_spellings_of_one_question_have_one_digest():
    one = Identify({"bmi": 24.0, "age": np.int64(61)}, model=MODEL, k=2, epsilon=0.1)
    two = Identify({"age": 61.0, "bmi": 24}, model=MODEL, k=2, epsilon="1/10")
    assert one == two
    assert digest(one) == digest(two)
    assert hash(one) == hash(two)
    assert digest(one) != digest(Identify({"age": 61, "bmi": 24}, model=MODEL, k=3, epsilon="0.1"))


@pytest.mark.parametrize(
    "question",
    [
        Identify(
            RECORD, model=MODEL, k=2, epsilon="0.1", notion="differential", error_floor="1e-6"
        ),
        Screen({"seen": datetime.date(2021, 5, 4)}, model=MODEL, epsilon="1/3"),
        Lookahead(["ward", "visits"], model=DistanceAnomaly(5, 0), k=2, epsilon=1),
    ],
)
def test_json_goes_there_and_back(question):
    written = json.loads(json.dumps(question.to_json()))
    assert type(question).from_json(written) == question
    assert "facts" not in json.dumps(written)


def test_haversine_keeps_latitude_first():
    model = DistanceAnomaly(3, 10, "haversine")
    given = {"y": 48.0, "x": 2.0}
    question = Identify(given, model=model, k=1, epsilon=1)
    assert question.columns == ("y", "x")
    card = Card("map", (Column("y", lower=-90, upper=90), Column("x", lower=-180, upper=180)))
    assert question.price(card).metric == "haversine with latitude y"


# Prices


def test_the_price_is_the_guarantee():
    question = Identify(RECORD, model=MODEL, k=2, epsilon="0.1")
    model = {"beta": 18, "k": 2, "radius": 0.148, "columns": ("age", "bmi")}
    assert question.price(CARD) == SensitivePrivacy.of("0.1", **model, card=CARD.fingerprint())
    assert question.price(CARD).tau == 17
    everyone = DifferentialPrivacy("0.1")
    assert (
        Identify(RECORD, model=MODEL, k=2, epsilon="0.1", notion="differential").price(CARD)
        == everyone
    )
    assert Identify(RECORD, model=MODEL, k=18, epsilon="0.1").price(CARD) == everyone
    assert Screen(RECORD, model=MODEL, epsilon="0.1").price(CARD) == everyone
    flat = DistanceAnomaly(5, 0)
    assert Lookahead(["ward"], model=flat, k=5, epsilon="0.1").price(CARD) == everyone
    assert Lookahead(["ward"], model=flat, k=4, epsilon="0.1").price(CARD).tau == 2


def test_users_with_several_records_are_covered_by_differential_privacy_only():
    columns = (*CARD.columns, Column("who", "text"))
    card = Card("users", columns, unit="user", user_column="who", contribution=4)
    with pytest.raises(InvalidInput, match=r'up to 4 records.*notion="differential"'):
        Identify(RECORD, model=MODEL, k=2, epsilon=1).price(card)
    with pytest.raises(InvalidInput, match="k of at least beta"):
        Lookahead(["ward"], model=DistanceAnomaly(5, 0), k=1, epsilon=1).price(card)
    question = Identify(RECORD, model=MODEL, k=2, epsilon=1, notion="differential")
    assert question.price(card) == DifferentialPrivacy(1)
    assert question.describe(card).figures["worst_error"] == pytest.approx(1 / (1 + math.exp(0.25)))


def test_every_record_of_a_user_is_given_its_share_of_epsilon():
    columns = (Column("age", lower=0, upper=120), Column("who", "text"))
    card = Card("users", columns, unit="user", user_column="who", contribution=2)
    dataset = read(pyarrow.table({"age": [1.0, 2.0, 3.0], "who": ["x", "x", "y"]}), card)
    question = Screen({"age": 1}, model=DistanceAnomaly(1, 0.5), epsilon=1)
    facts = screen.gather(question, dataset, open_engine(dataset))
    assert facts.step == Fraction(1, 2)


# Words


def test_descriptions_speak_of_public_facts_only():
    question = Identify(RECORD, model=MODEL, k=1, epsilon="0.1")
    said = question.describe(CARD, typical_neighbours=3)
    assert said.figures["worst_error"] == pytest.approx(0.475021, abs=1e-6)
    assert said.figures["error_if_absent"] == pytest.approx(0.0867785, rel=1e-5)
    assert said.figures["expected_error"] == pytest.approx(question.wrong(1, 3))
    assert "3 records near it" in str(said)
    with pytest.raises(InvalidInput, match="typical_neighbours"):
        question.describe(CARD, typical=3)
    with pytest.raises(InvalidInput, match="at least 1"):
        question.describe(CARD, typical_neighbours=0)
    novel = Screen(RECORD, model=MODEL, epsilon="0.1").describe(CARD, typical_neighbours=0)
    assert novel.figures["expected_error"] == novel.figures["error_if_alone"]
    json.dumps([said.to_json(), novel.to_json()])


@pytest.mark.parametrize("epsilon", ["1e-150", "1/1000000", "1", "5000"])
def test_descriptions_hold_at_any_price(epsilon):
    flat = DistanceAnomaly(5, 0)
    for question in (
        Identify(RECORD, model=MODEL, k=2, epsilon=epsilon),
        Screen(RECORD, model=MODEL, epsilon=epsilon),
        Lookahead(["ward"], model=flat, k=5, epsilon=epsilon),
        Lookahead(["ward"], model=flat, k=1, epsilon=epsilon),
    ):
        figures = question.describe(CARD).figures
        assert all(math.isfinite(value) and value >= 0 for value in figures.values())


# Answers


def test_the_error_probability_is_a_fact_and_not_part_of_the_answer():
    facts = PlaceFacts(True, 3, Fraction(1))
    assert repr(facts) == str(facts) == "<facts withheld>"
    question = Identify({"age": 1}, model=MODEL, k=1, epsilon=1)
    assert type(release(question, facts, SeededSource(1))) is bool


def test_a_generous_epsilon_gives_the_truth():
    dataset = clinic([30, 30, 30, 31, 90])
    source = SeededSource(4)
    for metric in ("euclidean", "manhattan", "chebyshev", "gower"):
        radius = 0.01 if metric == "gower" else 1.5
        model = DistanceAnomaly(2, radius, metric)
        said = [
            ask_identify(dataset, {"age": age}, source, model=model, k=1, epsilon=200)
            for age in (30, 31, 90, 70)
        ]
        assert said == [False, False, True, False], metric
        novel = [
            screen.release(q, screen.gather(q, dataset, open_engine(dataset)), source)
            for q in (Screen({"age": age}, model=model, epsilon=200) for age in (30, 90, 70))
        ]
        assert novel == [False, True, True], metric
    hamming = DistanceAnomaly(2, 0, "hamming")
    assert ask_identify(dataset, {"ward": "B"}, source, model=hamming, k=1, epsilon=99) is False


def test_radius_zero_compares_for_equality_even_where_squares_underflow():
    dataset = clinic([30, 30, 31], free=[0.0, 1e-200, 1e-200])
    question = Identify({"free": 0}, model=DistanceAnomaly(5, 0), k=1, epsilon=1)
    facts = gather(question, dataset, open_engine(dataset))
    assert facts.exact_truth
    assert facts.exact_bound == question.bound(1, 1, facts.step)


def test_no_record_at_all():
    empty = clinic([])
    assert ask_identify(empty, RECORD, SeededSource(1), model=MODEL, k=1, epsilon=100) is False


def frequency(draw, times):
    return sum(draw() for _ in range(times)) / times


@pytest.mark.parametrize(
    ("copies", "neighbours", "k", "notion"),
    [
        (1, 1, 1, "sensitive"),
        (1, 5, 2, "sensitive"),
        (0, 0, 2, "differential"),
        (2, 7, 1, "sensitive"),
    ],
)
def test_answers_are_turned_over_as_often_as_the_law_says(copies, neighbours, k, notion):
    """False alarms: five standard deviations, below 1e-6 for each case."""
    model = DistanceAnomaly(5, 1.0)
    question = Identify({"age": 1}, model=model, k=k, epsilon="1/2", notion=notion)
    counted = question.of_counts(copies, neighbours)
    facts = PlaceFacts(*counted, question.epsilon)
    source, times = SeededSource(copies + 10 * neighbours), 20_000
    truth = copies >= 1 and neighbours <= 5
    found = frequency(lambda: release(question, facts, source) != truth, times)
    wrong = question.wrong(copies, neighbours)
    assert abs(found - wrong) < 5 * math.sqrt(wrong * (1 - wrong) / times)


def test_the_bare_mechanism_has_the_same_law():
    data, source, times = np.array([[0.0], [0.2], [5.0]]), SeededSource(8), 6_000
    found = frequency(
        lambda: identify(data, [5.0], beta=3, radius=1, k=1, epsilon=1, rng=source), times
    )
    right = 1 - Identify({"x": 5}, model=DistanceAnomaly(3, 1), k=1, epsilon=1).wrong(1, 1)
    assert abs(found - right) < 5 * math.sqrt(right * (1 - right) / times)


def test_an_exact_answer_at_radius_zero_never_errs():
    question = Identify({"age": 1}, model=DistanceAnomaly(20, 0), k=2, epsilon="1/1000")
    facts = PlaceFacts(*question.of_counts(1, 1), question.epsilon)
    assert facts.exact_bound is None
    assert all(release(question, facts, SeededSource(s)) for s in range(200))


@pytest.mark.parametrize("ask", [Identify, Screen])
def test_which_column_is_the_latitude_is_part_of_a_questions_identity(ask):
    model = DistanceAnomaly(3, 10, "haversine")
    one = ask({"x": 10, "y": 20}, model=model, epsilon="0.1")
    other = ask({"y": 20, "x": 10}, model=model, epsilon="0.1")
    assert digest(one) != digest(other)
    for question in (one, other):
        stored = json.loads(json.dumps(question.to_json(), sort_keys=True))
        assert ask.from_json(stored).columns == question.columns
        assert digest(ask.from_json(stored)) == digest(question)
    with pytest.raises(InvalidInput, match="order"):
        ask.from_json({**one.to_json(), "order": ["x"]})
