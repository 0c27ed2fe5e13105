"""One price, any number of answers: what is asked, written down and taken up again."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.curator.execution import InProcess
from whitecrow.curator.transcripts import end_series
from whitecrow.ledger.states import States
from whitecrow.noise.seeded import SeededSource
from whitecrow.question import digest
from whitecrow.screening.law import ONE, Law
from whitecrow.screening.mechanism import answered, gather

MODEL = wc.DistanceAnomaly(beta=60, radius=0.5)
SERIES = {"model": MODEL, "epsilon": 3, "delta": "1e-6"}


def frame(values):
    values = np.asarray(values, dtype=float).reshape(-1, 2)
    return pa.table({"a": values[:, 0], "b": values[:, 1]})


@pytest.fixture(scope="module")
def crowd():
    return np.random.default_rng(3).normal(size=(4000, 2))


@pytest.fixture
def opened(crowd, tmp_path):
    def make(**how):
        ledger = f"sqlite:///{tmp_path}/ledger.db"
        given = {"budget": "3, 1e-6", "ledger": ledger, "name": "crowd", **how}
        return wc.Curator.open(frame(crowd), **given)

    return make


def near(crowd, places):
    return np.array([(((crowd - p) ** 2).sum(axis=1) <= 0.25).sum() for p in places])


def test_it_is_paid_once_and_answers_rightly_where_the_case_is_clear(opened, crowd):
    curator = opened()
    screening = curator.screening(**SERIES)
    assert screening.opening.charged
    assert curator.remaining()["differential"] == 0
    asked = np.random.default_rng(5).normal(scale=1.5, size=(1500, 2))
    answers = screening.ask_all(frame(asked))
    counts = near(crowd, asked)
    clear = (counts < 20) | (counts > 200)
    assert clear.mean() > 0.5
    assert (answers == (counts < 60))[clear].mean() > 0.98
    one = screening.ask({"a": 9.0, "b": 9.0})
    assert one.answer is True
    assert not one.charged
    assert one.guarantee == wc.DifferentialPrivacy(3, "1e-6")


def test_a_record_that_was_asked_about_gets_the_same_answer(opened):
    screening = opened().screening(**SERIES)
    asked = np.random.default_rng(6).normal(scale=2, size=(300, 2))
    first = screening.ask_all(frame(asked))
    assert (screening.ask_all(frame(asked[::-1]))[::-1] == first).all()
    twice = screening.ask_all(frame(np.repeat(asked, 2, axis=0)))
    assert (twice[::2] == first).all()
    assert (twice[1::2] == first).all()


def test_another_process_goes_on_where_it_was_whatever_the_order_of_the_records(
    opened, crowd, tmp_path
):
    asked = np.random.default_rng(7).normal(scale=2, size=(700, 2))
    first = opened().screening(**SERIES).ask_all(frame(asked))
    shuffled = frame(crowd[np.random.default_rng(8).permutation(len(crowd))])
    again = wc.Curator.open(shuffled, ledger=f"sqlite:///{tmp_path}/ledger.db", name="crowd")
    screening = again.screening(**SERIES)
    assert not screening.opening.charged
    assert (screening.ask_all(frame(asked)) == first).all()
    assert screening.ask({"a": 9.0, "b": 9.0}).answer is True


def active_records(question, execution):
    return gather(question, execution._dataset, execution._engine).exact_active


def flags_of(curator, execution):
    """How many flags each record has counted, in the process that holds them."""
    (counters,) = active_records(wc.Screening(**SERIES), execution)._series.values()
    return counters


def test_counters_after_a_restart_are_those_from_before(opened, crowd):
    asked = np.random.default_rng(9).normal(scale=2, size=(900, 2))
    for number, curator in enumerate((opened(), opened())):
        screening = curator.screening(**SERIES)
        answers = screening.ask_all(frame(asked))
        screening.ask({"a": 30.0 + number, "b": 30.0})  # earlier flags are taken in
        counters = flags_of(curator, curator._execution)
        law = screening.question.law(curator.card)
        at = counters._columns.T
        wanted = [(((asked[answers] - p) ** 2).sum(axis=1) <= 0.25).sum() for p in at]
        assert counters._flags.dtype == np.uint16
        assert (counters._flags == np.minimum(wanted, law.limit)).all()


def test_nothing_private_is_kept(opened):
    curator = opened()
    curator.screening(**SERIES).ask_all(frame([[1, 1], [2, 2], [9, 9]]))
    name = digest(wc.Screening(**SERIES), curator.card, curator.revision)
    _, kept = States(curator.ledger, "crowd").load(f"{name} 0")
    assert set(kept) == {"digests", "anomalies", "places", "ended"}
    assert len(kept["digests"]) == 3 * 32
    assert len(kept["places"]) == len(kept["anomalies"]) <= 3


def test_of_two_who_draw_at_once_one_answer_is_kept_and_both_show_it(opened):
    curators = [opened(), opened()]
    screenings = [curator.screening(**SERIES) for curator in curators]
    asked = frame(np.random.default_rng(11).normal(scale=1.6, size=(400, 2)))
    found = {}

    def ask(number):
        found[number] = screenings[number].ask_all(asked)

    threads = [threading.Thread(target=ask, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found[0] == found[1]).all()


def test_an_answer_that_was_not_written_is_shown_to_nobody(opened, monkeypatch):
    curator = opened()
    screening = curator.screening(**SERIES)
    save, tried = States.save, []

    def fails_once(self, key, version, state):
        tried.append(state)
        if len(tried) == 1:
            raise OSError("the disk is full")
        return save(self, key, version, state)

    monkeypatch.setattr(States, "save", fails_once)
    with pytest.raises(OSError, match="disk"):
        screening.ask({"a": 1.0, "b": 1.0})
    assert flags_of(curator, curator._execution)._flags.max() == 0
    assert screening.ask({"a": 1.0, "b": 1.0}).answer in (True, False)


def test_what_goes_wrong_behind_the_boundary_closes_the_dataset(opened, monkeypatch):
    curator = opened()
    screening = curator.screening(**SERIES)
    monkeypatch.setattr(InProcess, "answer", lambda *_, **__: None)
    with pytest.raises(wc.Unavailable):
        screening.ask({"a": 1.0, "b": 1.0})
    monkeypatch.undo()
    with pytest.raises(wc.Unavailable):
        screening.ask({"a": 2.0, "b": 2.0})


def test_records_are_left_out_after_the_limit_and_answers_lean_towards_anomaly():
    crowd = np.random.default_rng(1).normal(scale=0.05, size=(300, 2))
    curator = wc.Curator.open(frame(crowd), budget="8, 1e-6")
    model = wc.DistanceAnomaly(beta=299, radius=5.0)
    screening = curator.screening(model=model, epsilon=8, delta="1e-6", limit=3)
    asked = np.random.default_rng(2).uniform(-1, 1, size=(4000, 2))
    answers = screening.ask_all(frame(asked))
    assert answers[:20].mean() > 0.1
    assert answers[2000:].mean() > 0.99  # nobody is active any more


def test_a_batch_is_answered_as_one_by_one():
    rng = np.random.default_rng(4)
    crowd = rng.normal(size=(500, 2))
    curator = wc.Curator.open(frame(crowd), budget="8, 1e-6")
    question = wc.Screening(model=wc.DistanceAnomaly(40, 0.8), epsilon=8, delta="1e-6", limit=4)
    law = question.law(curator.card)
    execution = curator._execution
    active = active_records(question, execution)
    asked = rng.normal(size=(400, 2))
    words = [int(w) for w in np.frombuffer(rng.bytes(8 * len(asked)), dtype="<u8")]

    class Words:
        def __init__(self, listed):
            self.listed = list(listed)

        def bits(self, k):
            taken = [self.listed.pop(0) for _ in range(k // 64)]
            return sum(word << (64 * at) for at, word in enumerate(taken))

    together = answered(law, active, active.fresh(law.limit), asked, Words(words))
    flags, expected = np.zeros(len(crowd), dtype=int), []
    for place, word in zip(asked, words, strict=True):
        inside = ((crowd - place) ** 2).sum(axis=1) <= 0.8**2
        count = int((inside & (flags < law.limit)).sum())
        expected.append(word < int(law.chances(np.array(count))))
        flags += expected[-1] * (inside & (flags < law.limit))
    assert (flags >= law.limit).sum() > 20
    assert together.tolist() == expected


def test_an_answer_has_its_chance():
    # 4,000 draws a count: five standard deviations, a false alarm in 10^6 a count.
    law = Law.chosen(beta=5, epsilon=Fraction(8), delta=Fraction(1, 10**6))
    crowd = np.zeros((5, 2))
    curator = wc.Curator.open(frame(crowd), budget="8, 1e-6")
    question = wc.Screening(model=wc.DistanceAnomaly(5, 1.0), epsilon=8, delta="1e-6")
    execution = curator._execution
    active = active_records(question, execution)
    source = SeededSource("chance")
    for place in ([0.0, 0.0], [9.0, 9.0]):
        wanted = law.chance(5 if place[0] == 0 else 0)
        found = np.mean(
            [
                answered(law, active, active.fresh(law.limit), np.array([place]), source)[0]
                for _ in range(4000)
            ]
        )
        assert abs(found - wanted) < 5 * (wanted * (1 - wanted) / 4000) ** 0.5 + 1 / ONE


def test_a_closed_one_is_opened_again_for_nothing_and_an_ended_one_is_over(opened):
    curator = opened()
    with curator.screening(**SERIES) as screening:
        first = screening.ask({"a": 1.0, "b": 1.0}).answer
    with pytest.raises(wc.PolicyViolation, match="closed"):
        screening.ask({"a": 1.0, "b": 1.0})
    again = curator.screening(**SERIES)
    assert not again.opening.charged
    end_series(curator, again.question)
    assert again.ask({"a": 1.0, "b": 1.0}).answer == first
    with pytest.raises(wc.PolicyViolation, match="for good"):
        again.ask({"a": 2.0, "b": 1.0})


def test_other_records_are_another_series(opened, crowd, tmp_path):
    curator = opened(budget="9, 1e-5")
    curator.screening(**SERIES).ask({"a": 1.0, "b": 1.0})
    later = curator.advance(frame(crowd[1:]), reason="one left")
    assert later.screening(**SERIES).opening.charged


def test_columns_that_are_not_compared_are_left(opened):
    screening = opened().screening(columns=["b"], **SERIES)
    assert screening.ask({"b": 90.0, "name": "x"}).answer is True
    assert screening.ask_all(pa.table({"id": [1, 2], "b": [90.0, 0.0]})).tolist() == [True, False]
    with pytest.raises(wc.InvalidInput, match="columns of the series"):
        screening.ask({"a": 1.0})


def test_a_file_is_asked_about_like_a_frame(opened, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("a,b\n90,90\n0,0\n")
    told = []
    answers = opened().screening(**SERIES).ask_all(path, progress=lambda *how: told.append(how))
    assert answers.tolist() == [True, False]
    assert told == [(2, 2, "screening")]


def test_persons_with_several_records_are_protected_whole(crowd):
    card = wc.Card(
        "visits",
        (wc.Column("who", "text"), wc.Column("a"), wc.Column("b")),
        unit="user",
        user_column="who",
        contribution=2,
    )
    rows = frame(crowd).append_column("who", pa.array([f"p{i // 2}" for i in range(len(crowd))]))
    curator = wc.Curator.open(rows, card=card, budget="3, 1e-6")
    screening = curator.screening(**SERIES)
    law = screening.question.law(curator.card)
    assert (law.contribution, law.flags) == (2, 2 * law.limit)
    assert law.promise(wc.DifferentialPrivacy(1, "1e-6").delta) <= 3
    assert screening.ask({"a": 90.0, "b": 90.0}).answer is True


def test_radius_zero_counts_copies():
    curator = wc.Curator.open(pa.table({"a": [1.0] * 400 + [2.0]}), budget="8, 1e-6")
    model = wc.DistanceAnomaly(beta=60, radius=0)
    screening = curator.screening(model=model, epsilon=8, delta="1e-6")
    assert screening.ask_all(pa.table({"a": [1.0, 2.0, 3.0]})).tolist() == [False, True, True]


def test_a_dummy_answers_and_nothing_is_spent(opened):
    curator = opened()
    question = wc.Screening(record={"a": 1.0, "b": 1.0}, **SERIES)
    assert curator.dummy(question).answer in (True, False)
    assert curator.remaining()["differential"] == 3


def test_what_is_said_before_paying_is_told_from_public_facts(opened):
    said = opened().describe(wc.Screening(**SERIES), typical_neighbours=300)
    assert "paid once" in said.words
    assert "lean towards anomaly" in said.words
    assert said.figures["clear_above"] > 60
    assert said.figures["expected_error"] < 0.01
    poor = opened().describe(
        wc.Screening(model=wc.DistanceAnomaly(3, 1.0), epsilon=1, delta="1e-6")
    )
    assert "beta should be" in poor.words
    assert "WARNING" in poor.words
