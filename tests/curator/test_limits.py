"""Limits of time and memory come from public facts, and refuse when a question is priced."""

from __future__ import annotations

import dataclasses
import math
import time

import pyarrow as pa
import pytest
from test_faults import CARD, QUESTIONS, ROWS, SCREENING

import whitecrow as wc
from whitecrow.curator.opening import Opened
from whitecrow.limits import UNLIMITED, Limits
from whitecrow.neighbours import open_engine
from whitecrow.question import Question
from whitecrow.questions import BUILT_IN, type_of

BOUNDED = dataclasses.replace(CARD, records_at_most=10_000)


def test_every_question_is_among_these() -> None:
    assert {question.kind for question in [*QUESTIONS, SCREENING]} == set(BUILT_IN)


@pytest.mark.parametrize("question", [*QUESTIONS, SCREENING], ids=lambda question: question.kind)
def test_limits_are_finite_grow_with_the_bound_and_ignore_the_records(question: Question) -> None:
    assert type_of(question).limits(question, CARD) == UNLIMITED
    small, large = (type_of(question).limits(question, CARD, records) for records in (100, 10**6))
    assert small.seconds < large.seconds < math.inf
    assert small.bytes < large.bytes < math.inf
    seen = {
        wc.Curator.open(ROWS[:size], card=BOUNDED, name=f"m{size}").limits(question)
        for size in (0, 1, 20)
    }
    assert len(seen) == 1


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_a_question_that_may_need_too_much_is_refused_when_priced(question: Question) -> None:
    said = set()
    for rows in (ROWS[:0], ROWS[:1], ROWS):
        curator = wc.Curator.open(rows, card=BOUNDED, name="members", limits=Limits(seconds=1))
        for act in (curator.price, curator.describe, curator.price_for, curator.ask):
            with pytest.raises(wc.PolicyViolation) as refused:
                act(question)
            said.add(str(refused.value))
        with pytest.raises(wc.PolicyViolation):
            curator.plan([question])
        assert curator.remaining()["differential"] == 1
        assert curator.failures() == []
    assert len(said) == 1
    assert "records_at_most" in said.pop()


def test_without_a_bound_on_the_records_nothing_is_refused_by_size() -> None:
    curator = wc.Curator.open(ROWS, card=CARD, name="members", limits=Limits(seconds=1))
    curator.price(QUESTIONS[0])
    records = curator._dataset
    bounded = wc.Curator(
        Opened(records, curator.ledger, "members", open_engine(records)),
        lent=Limits(1.0),
        records_at_most=10**6,
    )
    with pytest.raises(wc.PolicyViolation, match="seconds"):
        bounded.price(QUESTIONS[0])


@pytest.mark.timing
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_worst_shapes_stay_far_within_their_limits(question: Question) -> None:
    """All records in one place, and each alone: a tenth of the limit at the most."""
    card = dataclasses.replace(CARD, records_at_most=2000)
    for spread in (0, 1):
        rows = pa.table(
            {
                "x": [spread * number * 37 % 100 for number in range(2000)],
                "y": [spread * number * 53 % 100 for number in range(2000)],
                "ward": ["ab"[number % 2] for number in range(2000)],
                "day": [number % 30 for number in range(2000)],
            }
        )
        curator = wc.Curator.open(rows, card=card, name=f"m{spread}")
        began = time.process_time()
        curator.ask(question)
        assert time.process_time() - began < curator.limits(question).seconds / 2


def test_more_records_than_the_bound_do_not_load() -> None:
    card = dataclasses.replace(CARD, records_at_most=19)
    with pytest.raises(wc.InvalidInput, match="records_at_most"):
        wc.Curator.open(ROWS, card=card, name="members")
    assert wc.Card.from_json(card.to_json()) == card
    assert card.fingerprint() == CARD.fingerprint()
    with pytest.raises(wc.InvalidInput, match="at least 1"):
        dataclasses.replace(CARD, records_at_most=0)
    with pytest.raises(wc.InvalidInput, match="needs no bound"):
        dataclasses.replace(card, size=5, size_public=True)


def test_former_names_of_limits_are_understood_for_one_release() -> None:
    with pytest.warns(DeprecationWarning, match="limits="):
        curator = wc.Curator.open(
            ROWS,
            card=BOUNDED,
            name="members",
            most_seconds=1.0,  # type: ignore[call-arg]
        )
    with pytest.raises(wc.PolicyViolation, match="seconds"):
        curator.price(QUESTIONS[0])
    with pytest.raises(TypeError, match="takes no 'bugdet'"):
        wc.Curator.open(ROWS, bugdet="1")  # type: ignore[call-arg]


def test_limits_are_still_lent_after_an_advance() -> None:
    curator = wc.Curator.open(ROWS, card=BOUNDED, name="members", limits=Limits(seconds=1))
    for _ in range(2):
        with pytest.raises(wc.PolicyViolation, match="seconds"):
            curator.price(QUESTIONS[0])
        curator = curator.advance(ROWS[:5], reason="fewer of them")
