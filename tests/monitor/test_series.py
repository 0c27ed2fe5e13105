"""A series is paid once, goes on, and never has two answers for one step."""

from __future__ import annotations

from dataclasses import replace

import pytest

import whitecrow as wc
from whitecrow.detector import Detector
from whitecrow.ledger.states import States
from whitecrow.monitor.streams import strategy
from whitecrow.question import series_digest


def test_it_is_paid_once_and_goes_on_for_nothing_more(opened, made_up, series):
    curator = opened(made_up(300))
    first = curator.monitor(**series, through=1)
    assert first.charged
    assert curator.remaining()["differential"] == 0
    later = curator.monitor(**series, through=4)
    assert not later.charged
    assert (later.answer.step, later.answer.period) == (4, "3")
    assert isinstance(later.answer.detector, Detector)
    assert later.answer.detector.guarantee == later.guarantee == wc.DifferentialPrivacy(2, "1e-6")
    assert later.answer.detector.entry == series_digest(wc.Monitor(**series), curator.card)
    assert 800 < later.answer.detector.records < 1600


def test_a_step_asked_again_has_its_stored_answer(opened, made_up, series):
    curator = opened(made_up(300))
    first = curator.monitor(**series, through=2).answer
    curator.monitor(**series, through=5)
    again = curator.monitor(**series, through=2)
    assert not again.charged
    assert again.answer.detector == first.detector
    assert again.answer.series == first.series


def test_windows_and_running_sums_are_read_off_the_same_releases(opened, made_up, series):
    curator = opened(made_up(2000))
    whole = curator.monitor(**series, through=6).answer.detector
    kept = States(curator.ledger, "visits").load(series_digest(wc.Monitor(**series), curator.card))
    recent = curator.monitor(**series, through=6, window=2)
    assert not recent.charged
    assert 3000 < recent.answer.detector.records < 5000 < 11_000 < whole.records < 13_000
    assert kept == States(curator.ledger, "visits").load(
        series_digest(wc.Monitor(**series), curator.card)
    )


def test_no_exact_count_is_kept_between_two_steps(opened, made_up, series):
    curator = opened(made_up(300))
    question = wc.Monitor(**series, through=2)
    curator.ask(question)
    _, kept = States(curator.ledger, "visits").load(series_digest(question, curator.card))
    assert set(kept) == {"form", "first", "steps", "runs"}
    assert kept["runs"] == [0, 0]
    assert [len(step) for step in kept["steps"]] == [7, 7]


def test_another_series_is_another_price(opened, made_up, series):
    curator = opened(made_up(300), budget="4, 2e-6")
    assert curator.monitor(**series, through=1).charged
    assert curator.monitor(**{**series, "seed": 1}, through=1).charged
    with pytest.raises(wc.BudgetExhausted):
        curator.monitor(**{**series, "seed": 2}, through=1)


def test_it_goes_on_free_over_revisions_that_were_only_added_to(opened, made_up, series, tmp_path):
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    year = made_up(300, months=4)
    with opened(year[:600], ledger=ledger, growth="insert-only") as curator:
        first = curator.monitor(**series, through=2)
    with opened(year, ledger=ledger, advance="two months more") as curator:
        assert curator.revision == 2
        later = curator.monitor(**series, through=4)
        assert not later.charged
        assert curator.monitor(**series, through=2).answer.detector == first.answer.detector
        assert 800 < later.answer.detector.records < 1600


def corrected(year, month):
    """The year with every record in the month that is asked about."""
    return year.set_column(3, "month", [[month] * year.num_rows])


def test_it_is_paid_again_once_records_may_have_moved(opened, made_up, series, tmp_path):
    """A time that is corrected at every revision puts one record into every period."""
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    year, known = made_up(300, months=1), {"ledger": ledger, "budget": "9, 1e-5"}
    with opened(year, **known) as curator:
        curator.monitor(**series, through=1)
    for month in (1, 2):
        with opened(corrected(year, month), **known, advance="a correction") as curator:
            later = wc.Monitor(**series, through=month + 1)
            assert curator.plan([later]).charged == 1
            assert curator.ask(later).charged
            assert not curator.ask(later).charged
            assert curator.remaining()["differential"] == 9 - 2 * (month + 1)
            assert curator.totals().differential.epsilon == 2 * (month + 1)
    with opened(year, **known) as curator:  # what was closed is shown under every revision
        assert not curator.monitor(**series, through=3).charged
        assert curator.monitor(**series, through=4).charged is False  # the first run has paid


def test_a_run_that_does_not_fit_is_refused_before_anything_is_counted(
    opened, made_up, series, tmp_path
):
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    year = made_up(300, months=1)
    with opened(year, ledger=ledger) as curator:
        curator.monitor(**series, through=1)
    with opened(corrected(year, 1), ledger=ledger, advance="a correction") as curator:
        with pytest.raises(wc.BudgetExhausted):
            curator.monitor(**series, through=2)
        assert not curator.monitor(**series, through=1).charged


def test_growth_that_was_declared_and_is_over_ends_the_run(opened, made_up, series, tmp_path):
    known = {"ledger": f"sqlite:///{tmp_path / 'ledger.db'}", "budget": "9, 1e-5"}
    year = made_up(300, months=1)
    with opened(year, **known, growth="insert-only") as curator:
        curator.monitor(**series, through=1)
    with opened(corrected(year, 1), **known, advance="moved", growth="any") as curator:
        assert curator.monitor(**series, through=2).charged


def test_a_spend_that_was_given_back_is_due_again_before_its_step_is_shown(
    opened, made_up, series, tmp_path, monkeypatch
):
    known = {"ledger": f"sqlite:///{tmp_path / 'ledger.db'}", "budget": "9, 1e-5"}
    year = made_up(300, months=1)
    with opened(year, **known) as curator:
        curator.monitor(**series, through=1)
    with opened(corrected(year, 1), **known, advance="a correction") as curator:

        def dies(*given):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(type(curator.ledger), "settle", dies)
            with pytest.raises(KeyboardInterrupt):
                curator.monitor(**series, through=2)
        spend = curator.ledger.unsettled("visits")[-1]
        curator.ledger.void("visits", spend.seq, reason="it ended")
        assert curator.remaining()["differential"] == 7
        assert curator.monitor(**series, through=2).charged
        assert curator.remaining()["differential"] == 5


def test_records_that_may_change_unseen_pay_for_every_step(opened, made_up, series):
    curator = opened(made_up(300), budget="9, 1e-5")
    curator._identity = replace(curator._identity, steady=False)
    for step in (1, 2, 3):
        assert curator.monitor(**series, through=step).charged
        assert not curator.monitor(**series, through=step).charged
    assert curator.remaining()["differential"] == 3


def test_persons_pay_once_over_all_revisions(opened, made_up, card, series, tmp_path):
    known = {"ledger": f"sqlite:///{tmp_path / 'ledger.db'}"}
    table = made_up(300, months=1)
    named = table.append_column("who", [[str(n) for n in range(table.num_rows)]])
    persons = replace(
        card,
        columns=(*card.columns, wc.Column("who", "text")),
        unit="user",
        user_column="who",
        contribution=1,
    )
    with opened(named, card=persons, **known) as curator:
        curator.monitor(**series, through=1)
    with opened(corrected(named, 1), card=persons, **known, advance="a correction") as curator:
        assert not curator.monitor(**series, through=2).charged


def test_a_series_from_before_runs_were_kept_goes_on_in_the_first_run(
    opened, made_up, series, tmp_path, monkeypatch
):
    known = {"ledger": f"sqlite:///{tmp_path / 'ledger.db'}", "budget": "9, 1e-5"}
    year = made_up(300, months=1)
    plain = States.save

    def old(self, key, version, state):
        state = {name: value for name, value in state.items() if name != "runs"}
        return plain(self, key, version, state)

    with opened(year, **known) as curator:
        monkeypatch.setattr(States, "save", old)
        curator.monitor(**series, through=1)
        monkeypatch.undo()
        assert not curator.monitor(**series, through=2).charged
    with opened(corrected(year, 1), **known, advance="a correction") as curator:
        assert curator.monitor(**series, through=3).charged


def test_a_crash_before_the_write_shows_nothing_and_after_it_repeats(
    opened, made_up, series, tmp_path, monkeypatch
):
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    plain = States.save
    with opened(made_up(300), ledger=ledger) as curator:

        def dies(*given):
            raise KeyboardInterrupt

        monkeypatch.setattr(States, "save", dies)
        with pytest.raises(KeyboardInterrupt):
            curator.monitor(**series, through=1)
        question = wc.Monitor(**series)
        key = series_digest(question, curator.card)
        assert States(curator.ledger, "visits").load(key) is None

        def dies_after(*given):
            plain(*given)
            raise KeyboardInterrupt

        monkeypatch.setattr(States, "save", dies_after)
        with pytest.raises(KeyboardInterrupt):
            curator.monitor(**series, through=1)
        monkeypatch.setattr(States, "save", plain)
        before = States(curator.ledger, "visits").load(key)
    with opened(made_up(300), ledger=ledger) as curator:
        curator.monitor(**series, through=1)
        assert States(curator.ledger, "visits").load(key) == before
        assert curator.remaining()["differential"] == 0


def test_of_two_writers_the_second_shows_what_the_first_wrote(opened, made_up, series, monkeypatch):
    curator = opened(made_up(300))
    plain, other = States.save, []

    def slow(self, key, version, state):
        if not other:  # another process closes the step meanwhile
            other.append(None)
            other[0] = curator.monitor(**series, through=2).answer.detector
        return plain(self, key, version, state)

    curator.monitor(**series, through=1)
    monkeypatch.setattr(States, "save", slow)
    mine = curator.monitor(**series, through=2).answer.detector
    assert mine == other[0]


def test_persons_are_protected_at_more_noise(opened, made_up, card, series):
    table = made_up(300)
    named = table.append_column("who", [[str(n) for n in range(table.num_rows)]])
    persons = replace(
        card,
        columns=(*card.columns, wc.Column("who", "text")),
        unit="user",
        user_column="who",
        contribution=1,
    )
    person = opened(named, card=persons).monitor(**series, through=1)
    record = opened(table).monitor(**series, through=1)
    assert "one person" in person.statement
    one, other = (found.answer.detector.model for found in (person, record))
    ratio = one.noise / other.noise * (len(other.tables) / len(one.tables)) ** 0.5
    rows = strategy("gaussian", 6)
    assert ratio == pytest.approx((rows.reach(user=True) / rows.reach(user=False)) ** 0.5, rel=1e-3)
    assert ratio > 2


def test_pure_privacy_has_laplace_noise(opened, made_up, series):
    del series["delta"]
    found = opened(made_up(300), budget="2").monitor(**series, through=2)
    assert found.guarantee == wc.DifferentialPrivacy(2)
    assert found.answer.detector.guarantee.delta == 0
