"""An account is opened when something is reserved, and looking around leaves nothing behind."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import whitecrow as wc
from whitecrow.ledger import Ledger

ROWS = pa.table({"age": [30.0, 31.0, 32.0, 90.0] * 30})
CARD = wc.Card("ages", (wc.Column("age", lower=0, upper=120),))
MODEL = wc.DistanceAnomaly(beta=2, radius=5.0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "ages.parquet"
    parquet.write_table(ROWS, path)
    return path


def screen(epsilon: str = "1/4", age: float = 50) -> wc.Screen:
    return wc.Screen({"age": age}, model=MODEL, epsilon=epsilon)


def files(data: Path) -> list[str]:
    return sorted(path.name for path in data.parent.iterdir())


def test_looking_and_refusals_leave_nothing_behind(data: Path) -> None:
    with wc.Curator.open(data, card=CARD) as curator:
        assert not curator.has_account
        assert curator.price(screen()).epsilon == Fraction(1, 4)
        assert curator.remaining()["differential"] == 1
        assert curator.stored(screen()) is None
        assert curator.plan([screen(), screen("2")]).fits is False
        assert "Nothing" in curator.statement()
        series = wc.Screening(model=wc.DistanceAnomaly(40, 5.0), epsilon=2, delta="1e-6")
        for refused in (screen("2"), wc.Learn(epsilon=2), series):
            with pytest.raises(wc.WhitecrowError):
                curator.ask(refused)
        with pytest.raises(wc.InvalidInput):
            curator.ask(wc.Screen({"weight": 3}, model=MODEL, epsilon=1))
    assert files(data) == ["ages.parquet"]


def test_the_first_spend_opens_the_account_with_a_delta_that_questions_need(data: Path) -> None:
    with wc.Curator.open(data, card=CARD) as curator:
        assert curator.ask(screen()).charged
        assert curator.has_account
        assert curator.ledger.database.path == data.with_name("ages.whitecrow.db")
        assert curator.ledger.snapshot("ages").budget.delta == Fraction(1, 10**6)
        assert curator.revision == 1
    with wc.Curator.open(data, card=CARD) as again:
        assert again.has_account
        assert not again.ask(screen()).charged


def test_a_promise_that_is_given_is_written_at_once(data: Path) -> None:
    wc.Curator.open(data, card=CARD, policy={"max_epsilon": "1/8"}).close()
    with wc.Curator.open(data, card=CARD) as curator, pytest.raises(wc.PolicyViolation):
        curator.ask(screen())


def test_of_two_who_find_no_account_the_first_opens_it_and_both_spend_from_it(data: Path) -> None:
    with wc.Curator.open(data, card=CARD) as one, wc.Curator.open(data, card=CARD) as other:
        first, second = one.ask(screen("3/4")), other.ask(screen("3/4"))
        assert (first.charged, second.charged) == (True, False)
        assert first.answer == second.answer
        with pytest.raises(wc.BudgetExhausted):
            other.ask(screen("1/2", age=51))
        assert other.remaining() == one.remaining()


def test_an_account_that_others_opened_and_advanced_meanwhile_is_not_charged_blindly(
    data: Path,
) -> None:
    with wc.Curator.open(data, card=CARD) as early:
        with wc.Curator.open(data, card=CARD) as other:
            other.ask(screen())
        parquet.write_table(ROWS.slice(1), data)
        wc.Curator.open(data, card=CARD, advance="one left").close()
        assert early.ask(screen()).charged is False  # of the records that it holds, the first ones
    parquet.write_table(ROWS, data)


def test_records_that_are_not_the_accounts_are_refused_at_the_first_spend(data: Path) -> None:
    with wc.Curator.open(data, card=CARD) as early:
        parquet.write_table(ROWS.slice(2), data)
        with wc.Curator.open(data, card=CARD) as other:
            other.ask(screen())
        with pytest.raises(wc.DataChanged):
            early.ask(screen("1/8"))
    with Ledger(data.with_name("ages.whitecrow.db")) as ledger:
        assert len(ledger.entries("ages", kind="reserve")) == 1


def test_another_budget_is_refused_with_the_way_to_amend_it(data: Path) -> None:
    wc.Curator.open(data, card=CARD, budget="2").close()
    with pytest.raises(wc.PolicyViolation, match=r"ε = 2, δ = 0.*whitecrow ledger amend"):
        wc.Curator.open(data, card=CARD, budget="3")
    with pytest.raises(wc.InvalidInput, match="with the first spend"):
        wc.Curator.open(data, card=CARD, account="later")
