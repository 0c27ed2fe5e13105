"""Counters of earlier releases: what was published with them is read, nothing new is."""

from __future__ import annotations

import pyarrow
import pytest

import whitecrow as wc
from whitecrow.ledger import Reservation
from whitecrow.ledger.verification import verify
from whitecrow.publish import Publisher
from whitecrow.publish.counters import MECHANISMS, RETIRED
from whitecrow.questions import read_question

TABLE = pyarrow.table({"t": [0, 1, 1]})
CARD = wc.Card("visits", (wc.Column("t", "integer", 0, 9),))
ANSWER = {
    "statistic": "count",
    "view": "to_date",
    "clip": None,
    "series": [{"period": "0", "value": 1.5, "error": 1.0}],
}


def asked(mechanism, horizon=5, **given):
    return wc.Publish(
        statistic="count", time="t", start=0, period=1, horizon=horizon,
        mechanism=mechanism, epsilon="1/2", **given,
    )  # fmt: skip


@pytest.fixture
def curator():
    with wc.Curator.open(TABLE, card=CARD, budget=1) as found:
        yield found


def put(curator, question):
    """Enter an answer as an earlier release did."""
    held, _ = curator.ledger.reserve(curator.name, curator.inquire(question).request)
    assert isinstance(held, Reservation)
    curator.ledger.settle(curator.name, held, ANSWER)
    held.release()


@pytest.mark.parametrize("mechanism", RETIRED)
def test_a_stored_series_is_answered_shown_and_verified(curator, mechanism):
    question = asked(mechanism)
    put(curator, question)
    again = curator.ask(read_question({"kind": "publish", **question.to_json()}))
    assert again.answer == ANSWER
    assert not again.charged
    assert curator.stored(question).answer == ANSWER
    assert "1.5" in question.says(again.answer).headline
    assert verify(curator.ledger, curator.name, full=True).ok


@pytest.mark.parametrize("mechanism", RETIRED)
def test_no_new_series_has_such_a_counter(curator, mechanism):
    before = curator.remaining()
    for call in (curator.ask, curator.publisher, curator.dummy):
        with pytest.raises(wc.InvalidInput, match=", ".join(MECHANISMS)):
            call(asked(mechanism))
    assert curator.remaining() == before
    assert ", ".join(MECHANISMS) in curator.describe(asked(mechanism)).words
    with pytest.raises(wc.InvalidInput, match="only read"):
        Publisher(asked(mechanism), CARD)


def test_such_counters_are_offered_to_nobody():
    offered = wc.Publish.json_schema()["properties"]["mechanism"]["enum"]
    assert not {*RETIRED} & {*offered}
    with pytest.raises(wc.InvalidInput, match="one of"):
        asked("cube_root")
