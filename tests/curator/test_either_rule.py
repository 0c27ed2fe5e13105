"""What a user is told of a budget that counts by either rule."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.ledger.timeline import timeline
from whitecrow.report import account_page

CARD = wc.Card("ages", (wc.Column("age", lower=0, upper=120),))
ROWS = pa.table({"age": [30.0, 31.0, 32.0, 90.0]})
MODEL = wc.DistanceAnomaly(beta=2, radius=5.0)
BUDGET = "1/2, 1e-6, either"


def screens(many: int) -> list[wc.Screen]:
    """Questions about one place, of nearly one price."""
    return [wc.Screen({"age": 30 + n / 1000}, model=MODEL, epsilon="1/100") for n in range(many)]


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[wc.Curator]:
    where = tmp_path / "a.whitecrow.db"
    with wc.Curator.open(ROWS, card=CARD, name="ages", ledger=where, budget=BUDGET) as found:
        yield found


def test_plan_remaining_refusal_and_statement_follow_the_rule_that_says_less(
    curator: wc.Curator,
) -> None:
    batch = screens(130)
    plan = curator.plan(batch)
    assert (plan.fits, plan.fitting, plan.apart) == (False, 117, Fraction("1.3"))
    assert curator.plan(batch[:60]).more == 57
    assert "They fit, and 57 more like the last would." in str(curator.plan(batch[:60]))
    for question in batch[:117]:
        curator.ask(question)
    with pytest.raises(wc.BudgetExhausted, match="differential budget") as refused:
        curator.ask(batch[117])
    left = curator.remaining()["differential"]
    assert 0 < Fraction(refused.value.remaining) < Fraction(refused.value.requested)
    assert 0 < left < Fraction(1, 100)
    total = curator.totals().differential
    assert Fraction("0.49") < total.epsilon < Fraction(1, 2)
    assert total.delta == Fraction(1, 10**6)
    assert "δ = 0.000001" in curator.statement()
    last = timeline(curator.ledger, "ages").spent[-1]
    assert last.amounts["differential"] == total.epsilon
    page = account_page(curator.ledger, "ages")
    assert "Left is the largest ε of one more question" in page


def test_the_terminal_begins_to_count_by_either_rule(tmp_path: Path) -> None:
    where = tmp_path / "a.whitecrow.db"
    with wc.Curator.open(ROWS, card=CARD, name="ages", ledger=where, budget="1/2, 1e-6") as before:
        for question in screens(10):
            before.ask(question)
    words = [
        "ledger",
        "amend",
        str(where),
        "--dataset",
        "ages",
        "--budget",
        BUDGET,
        "--reason",
        "more",
    ]
    amended = CliRunner().invoke(whitecrow, words)
    assert amended.exit_code == 0, amended.output
    assert "counts by either rule" in amended.output
    with wc.Curator.open(ROWS, card=CARD, name="ages", ledger=where) as after:
        assert after.plan(screens(60)[10:]).fits
        assert not after.plan(screens(117)[10:]).fits
