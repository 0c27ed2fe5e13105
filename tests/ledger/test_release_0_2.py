"""Ledgers that version 0.2 wrote: opened, verified, every answer given again, series gone on with.

``ledger-0.2.sql`` and ``ledger-0.2-last.sql`` are dumps of small ones about the demo's records, by
the first and the last 0.2: one question of each kind, among them two series by counters that new
questions no longer have, and a publication of which two periods are out.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import whitecrow as wc
from whitecrow import demo
from whitecrow.curator import read_question
from whitecrow.ledger import LINES, ChargeRequest, Ledger, RecordedOutcome, Reservation
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS
from whitecrow.questions import BUILT_IN

KINDS = 11
"""Of questions, in 0.2."""
DUMPS = ("ledger-0.2.sql", "ledger-0.2-last.sql")
PUBLISHED = wc.Publish(
    "cost", time="day", start="2024-01-01", period="week", horizon=4, clip=(0, 20_000), rho="1/8"
)


@pytest.fixture(params=DUMPS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A ledger as 0.2 left it."""
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(Path(__file__).with_name(request.param).read_text("utf-8"))
        connection.execute("CREATE TABLE moved (of_another_program)")
    return path


@pytest.fixture
def opened(old: Path) -> Iterator[wc.Curator]:
    with wc.Curator.open(
        demo.DATA, card=demo.CARD, ledger=f"sqlite:///{old}", name="clinic"
    ) as curator:
        yield curator


def test_it_opens_and_verifies_with_every_entry(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        before = connection.execute("SELECT seq, hash FROM entries ORDER BY seq").fetchall()
    with Ledger(old, geometry=BALLS) as ledger:
        assert [(one.seq, one.hash) for one in ledger.entries("clinic")] == before
        assert verify(ledger, "clinic", geometry=BALLS, full=True).ok
        asked = Counter(
            entry.content["question"]["kind"] for entry in ledger.entries("clinic", kind="reserve")
        )
        assert len(asked) == KINDS
        assert set(asked) <= set(BUILT_IN)
        assert asked["publish"] == 4


def test_every_answer_it_keeps_is_free_and_a_question_more_adds_up(
    old: Path, opened: wc.Curator
) -> None:
    before = opened.remaining()["differential"]
    price = wc.DifferentialPrivacy("1/1000")
    free = 0
    with Ledger(old, geometry=BALLS) as ledger:
        answers = {
            one.closes: one.content["answer"] for one in ledger.entries("clinic", kind="settle")
        }
        for entry in ledger.entries("clinic", kind="reserve"):
            if entry.seq not in answers:
                continue
            charge = ChargeRequest(entry.analyst, entry.digest, entry.content["question"], price)
            recorded, _ = ledger.reserve("clinic", charge)
            assert isinstance(recorded, RecordedOutcome)
            assert recorded.answer == answers[entry.seq]
            free += 1
    assert free == len(answers) >= KINDS
    assert opened.remaining()["differential"] == before
    model = wc.DistanceAnomaly(beta=5, radius=4.0)
    assert opened.count(["age", "bmi"], model=model, epsilon="1/7").charged
    assert opened.remaining()["differential"] == before - Fraction(1, 7)


def test_it_counts_as_it_did_until_its_custodian_lets_it_count_by_either_rule(old: Path) -> None:
    with Ledger(old, geometry=BALLS) as ledger:
        before = ledger.snapshot("clinic")
        assert (before.budget.count_by, before.spent.renyi) == ("sum", None)
        delta = before.budget.delta
        said = {line: before.spent.spent(line, delta) for line in LINES}
        budget = replace(before.budget, count_by="either")
        ledger.amend("clinic", budget=budget, reason="more answers")
        after = ledger.snapshot("clinic").spent
        # What was spent stays what it was, whether or not sums of rho are read beside it.
        assert all(
            0 <= after.spent(line, delta) - said[line] < Fraction(1, 10**18) for line in LINES
        )
        small = wc.DifferentialPrivacy("1/1000")
        for number in range(20):
            held, _ = ledger.reserve("clinic", ChargeRequest("ana", f"{number:064}", {}, small))
            held.release()
        spent = ledger.snapshot("clinic").spent
        assert all(spent.spent(line, delta) <= said[line] + Fraction(21, 1000) for line in LINES)
        assert verify(ledger, "clinic", geometry=BALLS, full=True).ok


@pytest.mark.parametrize("old", ["ledger-0.2-last.sql"], indirect=True)
def test_asked_again_every_question_has_its_answer_and_a_publication_goes_on(
    old: Path, opened: wc.Curator
) -> None:
    """The first 0.2 told cards apart in another way: what is asked again is asked anew there.

    Since 0.3 only the columns that are asked about decide who counts. What was answered before is
    told as it was; a series begins anew.
    """
    before = opened.remaining()
    with Ledger(old, geometry=BALLS) as ledger:
        entries = ledger.entries("clinic", kind="reserve")
        answered = {one.closes for one in ledger.entries("clinic", kind="settle")}
    told = 0
    for entry in entries:
        question = read_question(entry.content["question"])
        request = opened.inquire(question).request
        assert request.digest != entry.digest
        if entry.seq in answered and request.names[1] == entry.digest:
            assert not opened.ask(question).charged
            told += 1
    assert told >= 8
    publisher = opened.publisher(PUBLISHED)
    assert publisher.closed == 2
    (point,) = publisher.update("2024-01-15", [700.0, 20.0])
    assert point.period == "2024-01-15"
    assert opened.remaining() == before


def test_an_answer_of_before_opens_no_series_and_no_other_question(old: Path) -> None:
    """What is charged under a name of its own is not paid by the plain question's old answer."""
    with Ledger(old, geometry=BALLS) as ledger:
        (paid, *_) = (
            entry
            for entry in ledger.entries("clinic", kind="reserve")
            if entry.seq in {one.closes for one in ledger.entries("clinic", kind="settle")}
        )
        price = wc.DifferentialPrivacy("1/1000")
        new = ChargeRequest("ana", "new", {}, price, former=("new", paid.digest))
        assert isinstance(ledger.reserve("clinic", new)[0], RecordedOutcome)
        assert ledger.quote("clinic", [new]).charged == 0
        series = replace(new, digest="a series")
        assert ledger.quote("clinic", [series]).charged == 1
        held, _ = ledger.reserve("clinic", series)
        assert isinstance(held, Reservation)
        held.release()
