"""Spatial accounting: balls far apart share a price, and a quote says what a batch costs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from charges import QUARTER, charge, order, spent
from hypothesis import given, settings
from hypothesis import strategies as st

import whitecrow as wc
from whitecrow.ledger import Budget, Ledger, store
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS


def test_balls_far_apart_share_one_price_and_voids_count_again(ledger: Ledger) -> None:
    half = wc.DifferentialPrivacy("1/2")
    first = charge(ledger, order("a", half, place=0.0))
    for place in range(10, 60, 10):
        charge(ledger, order(f"far {place}", half, place=float(place)))
    assert spent(ledger) == Fraction(1, 2)
    charge(ledger, order("near", half, place=1.5))
    assert spent(ledger) == 1
    with pytest.raises(wc.BudgetExhausted, match="requested 1/100"):
        charge(ledger, order("here", wc.DifferentialPrivacy("1/100"), place=0.5))
    charge(ledger, order("there", half, place=100.0))
    ledger.void("clinic", first.seq, reason="never answered")
    assert spent(ledger) == Fraction(1, 2)
    charge(ledger, order("here", wc.DifferentialPrivacy("1/100"), place=0.5))
    assert spent(ledger) == Fraction(51, 100)
    assert verify(ledger, "clinic", geometry=BALLS).ok


def test_located_and_other_questions_add_up_and_analysts_have_their_own_map(ledger: Ledger) -> None:
    charge(ledger, order("a", place=0.0))
    charge(ledger, order("b", place=50.0, analyst="bo"))
    charge(ledger, order("c", place=0.0, analyst="bo"))
    charge(ledger, order("d"))
    standing = ledger.snapshot("clinic")
    assert spent(ledger) == Fraction(3, 4)
    own = {
        name: share.spent.spent("differential", Fraction(0))
        for name, share in standing.shares.items()
    }
    assert own == {"ana": Fraction(1, 2), "bo": Fraction(1, 4)}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ask", "ask", "ask", "void"]),
            st.sampled_from(["ana", "bo"]),
            st.integers(0, 6),
            st.booleans(),
        ),
        max_size=14,
    )
)
def test_what_places_cost_is_kept_up_to_date_whatever_happens(
    steps: list[tuple[str, str, int, bool]],
) -> None:
    """Two ledgers on one store, each with its own map; voids in between."""
    with TemporaryDirectory() as folder:
        ledgers = [Ledger(Path(folder) / "l.db", geometry=BALLS) for _ in range(2)]
        ledgers[0].open("clinic", budget=Budget.of("100"))
        held: list[int] = []
        for number, (step, analyst, place, sensitive) in enumerate(steps):
            ledger = ledgers[number % 2]
            if step == "void" and held:
                ledger.void("clinic", held.pop(place % len(held)), reason="a test")
            else:
                price = wc.SensitivePrivacy("1/3", 5, 1.0) if sensitive else QUARTER
                ball = None if place == 6 else float(place)
                charged = charge(ledger, order(str(number), price, analyst=analyst, place=ball))
                held.append(charged.seq)
        finding = verify(ledgers[0], "clinic", geometry=BALLS)
        assert finding.ok, finding
        for ledger in ledgers:
            ledger.close()


def test_a_long_quote_holds_no_transaction_for_long(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []
    look = store.Quoting.add

    def noted(self: store.Quoting, account: Any, orders: list[Any], geometry: Any) -> None:
        looked_at.append(len(orders))
        look(self, account, orders, geometry)

    monkeypatch.setattr(store.Quoting, "add", noted)
    assert ledger.quote("clinic", [order(f"q{i}") for i in range(120)]).charged == 120
    assert looked_at == [50, 50, 20]


def test_a_quote_says_what_a_batch_would_cost(ledger: Ledger) -> None:
    ledger.settle("clinic", charge(ledger, order("a", place=0.0)), True)
    batch = [order("a", place=0.0), *(order(f"q{i}", place=10.0 * i) for i in range(1, 5))]
    quote = ledger.quote("clinic", [*batch, batch[-1]])
    assert (quote.charged, quote.refusal) == (4, None)
    assert quote.after.spent("conditional", Fraction(0)) == Fraction(1, 4)
    too_much = ledger.quote("clinic", [order(f"s{i}") for i in range(5)])
    assert too_much.refusal is not None
    assert too_much.refusal.remaining == "0"
    assert spent(ledger) == Fraction(1, 4)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(("ana", "bob")), st.integers(0, 6), st.booleans()),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 4),
    st.sampled_from((1, 3, 50)),
)
def test_a_quote_is_what_asking_the_batch_one_by_one_costs(
    asked: list[tuple[str, int, bool]], already: int, at_once: int
) -> None:
    batch = [
        order(
            str(number),
            wc.SensitivePrivacy("1/3", 5, 1.0) if sensitive else QUARTER,
            analyst=analyst,
            place=None if place == 6 else float(place),
        )
        for number, (analyst, place, sensitive) in enumerate(asked)
    ]
    with Ledger("sqlite://", geometry=BALLS) as ledger:
        ledger.open("clinic", budget=Budget.of("100"))
        for one in batch[:already]:
            ledger.settle("clinic", charge(ledger, one), True)
        with patch.object(store, "_QUOTED_AT_ONCE", at_once):
            quote = ledger.quote("clinic", batch)
        for one in batch[already:]:
            charge(ledger, one)
        for line in ("differential", "conditional", "sensitive"):
            assert quote.after.spent(line, Fraction(0)) == spent(ledger, line)
