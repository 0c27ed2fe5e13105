"""The store: one charge a question, two caps, voids, spatial accounting, the chain."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

import whitecrow as wc
from whitecrow.ledger import Budget, ChargeRequest, Ledger, RecordedOutcome, Reservation
from whitecrow.ledger.export import to_csv, to_json
from whitecrow.ledger.failures import failures, halt, review
from whitecrow.ledger.states import States
from whitecrow.ledger.store import CLOSED
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.verification import checkpoint, verify
from whitecrow.place.balls import BALLS
from whitecrow.privacy import Guarantee

QUARTER = wc.DifferentialPrivacy("1/4")


@pytest.fixture
def ledger() -> Any:
    with Ledger("sqlite://", atlas=BALLS) as made:
        made.open("clinic", budget=Budget.of("1"))
        yield made


def order(
    digest: str, price: Guarantee = QUARTER, *, analyst: str = "ana", place: float | None = None
) -> ChargeRequest:
    ball = None
    if place is not None:
        ball = {"columns": ["x"], "metric": "euclidean", "center": [place], "radius": 1.0}
    return ChargeRequest(analyst, digest, {"number": digest}, price, ball)


def charge(ledger: Ledger, one: ChargeRequest) -> Reservation:
    found, _ = ledger.reserve("clinic", one)
    assert isinstance(found, Reservation)
    assert found.fresh
    found.release()
    return found


def spent(ledger: Ledger, line: str = "conditional") -> Fraction:
    standing = ledger.snapshot("clinic")
    found = standing.spent.spent(line, standing.budget.delta)
    assert found is not None
    return found


def test_budgets_are_met_exactly_and_not_exceeded_by_anything(ledger: Ledger) -> None:
    for digest in "abc":
        charge(ledger, order(digest))
    with pytest.raises(wc.BudgetExhausted, match="short by 1/1000000000000"):
        charge(ledger, order("d", wc.DifferentialPrivacy("0.250000000001")))
    charge(ledger, order("d"))
    assert spent(ledger) == 1
    with pytest.raises(wc.BudgetExhausted) as refused:
        charge(ledger, order("e", wc.DifferentialPrivacy("1e-50")))
    assert refused.value.remaining == "0"


def test_thirds_and_sevenths_add_up_without_rounding(ledger: Ledger) -> None:
    for place, price in enumerate(["1/3", "1/7", "1/7", "8/21"]):
        charge(ledger, order(str(place), wc.DifferentialPrivacy(price)))
    assert spent(ledger) == 1


def test_sums_stay_exact_and_short_whatever_fractions_an_analyst_chooses(ledger: Ledger) -> None:
    ledger.amend("clinic", budget=Budget.of("10"), reason="room")
    true, far = Fraction(0), Fraction(0)
    for number in range(1, 1000, 2):
        price = Fraction(1, 1001 - number)
        place = None if number % 4 == 1 else float(10 * number)
        true, far = (true, max(far, price)) if place else (true + price, far)
        charge(ledger, order(str(number), wc.DifferentialPrivacy(price), place=place))
    standing = ledger.snapshot("clinic").spent
    assert (standing.epsilon, standing.located.differential) == (true, far)
    assert len(str(standing.to_json())) < 2000


def test_a_batch_that_exactly_fits_is_never_refused(ledger: Ledger) -> None:
    for number in range(997):
        charge(ledger, order(str(number), wc.DifferentialPrivacy(Fraction(1, 997))))
    assert spent(ledger) == 1


def test_a_fraction_whose_sums_would_grow_is_refused_before_anything_is_spent(
    ledger: Ledger,
) -> None:
    before = ledger.snapshot("clinic")
    odd = order("a", wc.DifferentialPrivacy(Fraction(1, 10_007)))
    for ask in (lambda: ledger.reserve("clinic", odd), lambda: ledger.quote("clinic", [odd])):
        with pytest.raises(wc.InvalidInput, match=r"up to 5000\. Got 1/10007; write 999300489657"):
            ask()
    assert ledger.snapshot("clinic") == before


def test_the_tighter_of_two_caps_rules(ledger: Ledger) -> None:
    ledger.allow("clinic", "ana", Budget.of("1/4"), reason="a share")
    charge(ledger, order("a"))
    with pytest.raises(wc.BudgetExhausted, match="Analyst 'ana'"):
        charge(ledger, order("b"))
    for digest in "bcd":
        charge(ledger, order(digest, analyst="bo"))
    with pytest.raises(wc.BudgetExhausted, match="The dataset"):
        charge(ledger, order("e", analyst="bo"))
    ledger.allow("clinic", "ana", None, reason="lifted")
    ledger.amend("clinic", budget=Budget.of("2"), reason="voted")
    charge(ledger, order("e"))
    assert ledger.snapshot("clinic").shares["ana"].spent.epsilon == Fraction(1, 2)


def test_a_refused_question_leaves_nothing_behind(ledger: Ledger) -> None:
    before = ledger.snapshot("clinic")
    with pytest.raises(wc.BudgetExhausted):
        charge(ledger, order("a", wc.DifferentialPrivacy("2")))
    with pytest.raises(wc.PolicyViolation):
        ledger.reserve("clinic", order("a"), rule=_refuse)
    assert ledger.snapshot("clinic") == before


def _refuse(policy: str) -> None:
    raise wc.PolicyViolation("no")


def test_an_interrupted_question_is_taken_up_and_not_charged_twice(ledger: Ledger) -> None:
    first = charge(ledger, order("a"))
    assert [entry.seq for entry in ledger.unsettled("clinic")] == [first.seq]
    again, _ = ledger.reserve("clinic", order("a", analyst="bo"))
    assert isinstance(again, Reservation)
    assert (again.seq, again.fresh) == (first.seq, False)
    assert ledger.unsettled("clinic") == []  # somebody is computing it
    assert ledger.settle("clinic", again, [1, {"b": None}]).answered
    again.release()
    assert ledger.settle("clinic", first, "another").answer == [1, {"b": None}]
    assert spent(ledger) == Fraction(1, 4)


def test_threads_share_commits_and_nothing_else(tmp_path: Path) -> None:
    """Eight threads, each with some that are refused and some that break; only those are undone."""
    with Ledger(tmp_path / "l.db", atlas=BALLS) as ledger:
        ledger.open("clinic", budget=Budget.of("1"))

        def ask(thread: int) -> list[str]:
            ends = []
            for i in range(20):
                digest = f"{thread}.{i}"
                try:
                    if i % 5 == 4:
                        ledger.write("clinic", lambda account: _broken_act(account))
                    held, _ = ledger.reserve(
                        "clinic", order(digest, wc.DifferentialPrivacy("0.01"))
                    )
                    assert isinstance(held, Reservation)
                    ends.append(ledger.settle("clinic", held, digest).answer)
                    held.release()
                except wc.WhitecrowError as error:
                    ends.append(type(error).__name__)
            return ends

        with ThreadPoolExecutor(8) as pool:
            ends = [end for job in pool.map(ask, range(8)) for end in job]
        counted = Counter(end for end in ends if "." not in end)
        assert counted == {"LedgerUnusable": 32, "BudgetExhausted": 28}
        assert spent(ledger) == 1
        assert verify(ledger, "clinic").ok


def _broken_act(account: AccountTransaction) -> None:
    account.append("gift", body={})
    account.append("gift", body={}, closes=1)
    account.append("gift", body={}, closes=1)


def test_only_one_computes_at_a_time(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whitecrow.ledger.store.PATIENCE_SECONDS", 0.05)
    held, _ = ledger.reserve("clinic", order("a"))
    with pytest.raises(wc.Unavailable, match="being answered"):
        ledger.reserve("clinic", order("a"))
    with pytest.raises(wc.PolicyViolation, match="at this moment"):
        ledger.void("clinic", held.seq, reason="too early")
    held.release()  # type: ignore[union-attr]
    assert isinstance(ledger.reserve("clinic", order("a"))[0], Reservation)


def test_a_void_gives_back_what_was_never_answered(ledger: Ledger) -> None:
    held = charge(ledger, order("a"))
    charge(ledger, order("b", analyst="bo"))
    ledger.void("clinic", held.seq, reason="power cut")
    assert spent(ledger) == Fraction(1, 4)
    assert ledger.snapshot("clinic").shares["ana"].spent.epsilon == 0
    with pytest.raises(wc.PolicyViolation, match="already void"):
        ledger.void("clinic", held.seq, reason="again")
    with pytest.raises(wc.PolicyViolation, match="given back"):
        ledger.settle("clinic", held, "too late")
    assert charge(ledger, order("a")).seq != held.seq
    assert verify(ledger, "clinic", atlas=BALLS).ok


def test_what_was_answered_stays_spent(ledger: Ledger) -> None:
    held = charge(ledger, order("a"))
    ledger.settle("clinic", held, True)
    for seq, words in ((held.seq, "stays spent"), (held.seq + 1, "not a reservation"), (99, "not")):
        with pytest.raises(wc.PolicyViolation, match=words):
            ledger.void("clinic", seq, reason="please")


def test_a_failure_keeps_its_spend_until_it_is_voided(ledger: Ledger) -> None:
    held = charge(ledger, order("a"))
    ledger.fail("clinic", held)
    again, _ = ledger.reserve("clinic", order("a"))
    assert isinstance(again, RecordedOutcome)
    assert not again.answered
    assert [entry.seq for entry in ledger.unsettled("clinic")] == [held.seq]
    ledger.void("clinic", held.seq, reason="a bug, mended")
    assert (spent(ledger), ledger.unsettled("clinic")) == (0, [])
    ledger.settle("clinic", charge(ledger, order("a")), True)
    assert verify(ledger, "clinic", atlas=BALLS).ok


def test_a_failure_closes_the_dataset_until_the_custodian_has_looked(ledger: Ledger) -> None:
    ledger.settle("clinic", charge(ledger, order("stored")), 17)
    running, interrupted, held = (charge(ledger, order(name)) for name in "rif")
    ledger.fail("clinic", held)
    for asked in ("new", "i"):  # an interrupted one was paid for, but would compute now
        with pytest.raises(wc.Unavailable) as refused:
            ledger.reserve("clinic", order(asked))
        assert str(refused.value) == CLOSED
    with pytest.raises(wc.Unavailable, match="takes no new questions"):
        States(ledger, "clinic").save("publication", 0, {})
    assert ledger.reserve("clinic", order("stored"))[0].answer == 17  # type: ignore[union-attr]
    # An answer that was under way is not released either: which of several fail is told of none.
    late = ledger.settle("clinic", running, "under way")
    assert (late.answered, late.answer) == (False, None)
    first, second = failures(ledger, "clinic")
    assert (first.closes, second.closes) == (held.seq, running.seq)
    review(ledger, "clinic", held.seq, reason="a full disk")
    with pytest.raises(wc.PolicyViolation, match="waits for a review"):
        review(ledger, "clinic", first.seq, reason="again")
    with pytest.raises(wc.Unavailable):
        charge(ledger, order("new"))
    ledger.void("clinic", running.seq, reason="the same disk")  # giving back is a review as well
    assert ledger.snapshot("clinic").failures == 0
    ledger.settle("clinic", charge(ledger, order("new")), 18)
    ledger.settle("clinic", interrupted, 19)
    before = spent(ledger)
    ledger.void("clinic", held.seq, reason="after all")  # a reviewed spend may still be given back
    assert spent(ledger) < before
    assert verify(ledger, "clinic", atlas=BALLS).ok


def test_a_failure_that_is_hidden_from_the_account_is_found(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.db", atlas=BALLS) as ledger:
        ledger.open("clinic", budget=Budget.of("10"))
        ledger.fail("clinic", charge(ledger, order("a")))
        with ledger.database.connection() as connection:
            connection.execute(sa.text("UPDATE datasets SET failures = 0"))
        assert "failures to review" in verify(ledger, "clinic").reason


def test_the_custodians_acts_need_a_reason(ledger: Ledger) -> None:
    for reason in ("", "  "):
        with pytest.raises(wc.InvalidInput, match="reason"):
            ledger.amend("clinic", budget=Budget.of("2"), reason=reason)
        with pytest.raises(wc.InvalidInput, match="reason"):
            ledger.void("clinic", 1, reason=reason)
    with pytest.raises(wc.InvalidInput, match="not empty"):
        ledger.allow("clinic", "", None, reason="nobody")
    with pytest.raises(wc.InvalidInput, match="no dataset"):
        ledger.snapshot("nowhere")


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
    assert verify(ledger, "clinic", atlas=BALLS).ok


def test_located_and_other_questions_add_up_and_analysts_have_their_own_map(
    ledger: Ledger,
) -> None:
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
        ledgers = [Ledger(Path(folder) / "l.db", atlas=BALLS) for _ in range(2)]
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
        finding = verify(ledgers[0], "clinic", atlas=BALLS)
        assert finding.ok, finding
        for ledger in ledgers:
            ledger.close()


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
)
def test_a_quote_is_what_asking_the_batch_one_by_one_costs(
    asked: list[tuple[str, int, bool]], already: int
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
    with Ledger("sqlite://", atlas=BALLS) as ledger:
        ledger.open("clinic", budget=Budget.of("100"))
        for one in batch[:already]:
            ledger.settle("clinic", charge(ledger, one), True)
        quote = ledger.quote("clinic", batch)
        for one in batch[already:]:
            charge(ledger, one)
        for line in ("differential", "conditional", "sensitive"):
            assert quote.after.spent(line, Fraction(0)) == spent(ledger, line)


def test_delta_and_rho_have_their_caps(ledger: Ledger) -> None:
    with pytest.raises(wc.BudgetExhausted, match="delta") as refused:
        charge(ledger, order("a", wc.DifferentialPrivacy("1/10", "1e-7")))
    assert "1, 1e-6" in str(refused.value)
    with pytest.raises(wc.BudgetExhausted, match="no delta left"):
        charge(ledger, order("a", wc.ZeroConcentrated("1/1000")))
    ledger.amend("clinic", budget=Budget.of("1, 1e-6"), reason="a little delta")
    charge(ledger, order("a", wc.DifferentialPrivacy("1/10", "1e-7")))
    charge(ledger, order("b", wc.ZeroConcentrated("1/1000")))
    before = spent(ledger)
    charge(ledger, order("c", wc.ZeroConcentrated("1/1000")))
    # Concentrated releases are read once, as a sum: the second costs less than the first.
    assert 0 < spent(ledger) - before < before - Fraction(1, 10)
    with pytest.raises(wc.BudgetExhausted, match="short by"):
        charge(ledger, order("d", wc.ZeroConcentrated("1")))
    with pytest.raises(wc.BudgetExhausted):  # would leave no delta to read the others at
        charge(ledger, order("d", wc.DifferentialPrivacy("1/1000", "9e-7")))


def test_caps_of_single_lines_hold() -> None:
    with Ledger("sqlite://") as ledger:
        ledger.open("clinic", budget=Budget.of({"epsilon": "1", "differential": "1/4"}))
        charge(ledger, order("a"))
        with pytest.raises(wc.BudgetExhausted, match="differential budget"):
            charge(ledger, order("b"))
        charge(ledger, order("b", wc.SensitivePrivacy("3/4", 5, 1.0)))
        assert ledger.snapshot("clinic").spent.unbounded("differential")


def test_units_do_not_mix_by_accident() -> None:
    replace_one = wc.DifferentialPrivacy("1/4", unit="replace_one")
    with Ledger("sqlite://") as ledger:
        ledger.open("clinic", budget=Budget.of("1"))
        with pytest.raises(wc.PolicyViolation, match="adding or removing"):
            charge(ledger, order("a", replace_one))
    with Ledger("sqlite://") as ledger:
        ledger.open("clinic", budget=Budget.of("1"), unit="replace_one")
        charge(ledger, order("a", replace_one))
        charge(ledger, order("b"))  # a quarter for coming or going is a half for replacing
        assert spent(ledger) == Fraction(3, 4)
        with pytest.raises(wc.PolicyViolation):
            charge(ledger, order("c", wc.SensitivePrivacy("1/10", 5, 1.0)))


def test_bad_budgets_are_named() -> None:
    for bad, words in (
        ("-1", "Got '-1'"),
        ("one", "Got 'one'"),
        (("1", "2", "3"), "an epsilon"),
        ({"sensitive": 1}, "for each line"),
        ({"epsilon": 1, "rho": 2}, "'rho'"),
        ("1, 2", "below 1"),
    ):
        with pytest.raises(wc.InvalidInput, match=words):
            Budget.of(bad)


# The chain


def busy(path: Path) -> Ledger:
    """A ledger with an entry of every kind."""
    ledger = Ledger(path, atlas=BALLS)
    ledger.open("clinic", budget=Budget.of("10"))
    ledger.allow("clinic", "ana", Budget.of("5"), reason="a share")
    ledger.amend("clinic", budget=Budget.of("20"), reason="voted")
    ledger.settle("clinic", charge(ledger, order("a", place=0.0)), 1)
    ledger.void("clinic", charge(ledger, order("b", place=0.5)).seq, reason="power cut")
    failed = charge(ledger, order("c"))
    ledger.fail("clinic", failed)
    review(ledger, "clinic", failed.seq, reason="looked")
    halt(ledger, "clinic")
    review(ledger, "clinic", ledger.snapshot("clinic").seq, reason="looked")
    ledger.settle("clinic", charge(ledger, order("d", analyst="bo")), 2)
    charge(ledger, order("e"))
    return ledger


def test_an_honest_ledger_verifies_with_and_without_an_atlas(tmp_path: Path) -> None:
    with busy(tmp_path / "l.db") as ledger:
        for atlas in (None, BALLS):
            finding = verify(ledger, "clinic", atlas=atlas)
            assert finding.ok, finding
            assert finding.entries == len(ledger.entries("clinic"))


def test_pages_of_entries_come_from_the_store_and_not_from_the_whole_account(
    tmp_path: Path,
) -> None:
    with busy(tmp_path / "l.db") as ledger:
        written = ledger.entries("clinic")
        newest = ledger.entries("clinic", limit=3, newest_first=True)
        assert newest == written[-3:][::-1]
        older = ledger.entries("clinic", limit=3, newest_first=True, before=newest[-1].seq)
        assert older == written[-6:-3][::-1]
        assert ledger.entries("clinic", after=10) == written[10:]
        own = [entry for entry in written if entry.analyst == "bo"]
        assert ledger.entries("clinic", analyst="bo") == own
        told = [
            (reserved.digest, None if closed is None else closed.kind)
            for reserved, closed in ledger.history("clinic", "ana")
        ]
        assert told == [("e", None), ("c", "fail"), ("b", "void"), ("a", "settle")]
        assert [one.digest for one, _ in ledger.history("clinic", "ana", limit=2, skip=1)] == [
            "c",
            "b",
        ]


# Checkpoints


def test_a_check_goes_on_from_a_checkpoint_and_a_full_one_finds_what_lies_before(
    tmp_path: Path,
) -> None:
    with busy(tmp_path / "l.db") as ledger:
        assert checkpoint(ledger, "clinic", atlas=BALLS, actor="cleo", least=5).ok
        assert checkpoint(ledger, "clinic", least=5).since == 16  # too soon for another
        ledger.allow("clinic", "bo", Budget.of("3"), reason="a share")
        finding = verify(ledger, "clinic", atlas=BALLS)
        assert (finding.ok, finding.since, finding.entries) == (True, 16, 17)
        assert verify(ledger, "clinic", atlas=BALLS, full=True).since == 0
        tamper(ledger, "UPDATE entries SET at = '1999' WHERE seq = 6")
        assert verify(ledger, "clinic").ok
        found = verify(ledger, "clinic", full=True)
        assert (found.bad, found.ok) == (6, False)


@pytest.mark.parametrize(
    ("statement", "full", "bad"),
    [
        ("UPDATE entries SET body = replace(body, '20', '30') WHERE seq = 16", False, 16),
        ("UPDATE entries SET analyst = 'di' WHERE seq = 17", False, 17),
        ("DELETE FROM entries WHERE seq = 17", False, 18),
        ("DELETE FROM entries WHERE seq = 9", True, 10),
    ],
)
def test_tampering_with_a_checkpoint_or_after_it_is_found(
    tmp_path: Path, statement: str, full: bool, bad: int
) -> None:
    with busy(tmp_path / "l.db") as ledger:
        checkpoint(ledger, "clinic", least=5)
        waiting = ledger.unsettled("clinic")[-1]
        ledger.void("clinic", waiting.seq, reason="never answered")
        ledger.allow("clinic", "bo", Budget.of("3"), reason="a share")
        assert verify(ledger, "clinic").ok
        tamper(ledger, statement)
        assert verify(ledger, "clinic", full=full).bad == bad


def test_a_forged_checkpoint_is_found_by_a_full_check(tmp_path: Path) -> None:
    with busy(tmp_path / "l.db") as ledger:
        checkpoint(ledger, "clinic", least=5)
        state = dict(ledger.entries("clinic")[-1].content["state"])
        state["budget"] = Budget.of("99").to_json()
        ledger.write("clinic", lambda account: account.append("checkpoint", body={"state": state}))
        found = verify(ledger, "clinic", full=True)
        assert (found.bad, "state it keeps" in found.reason) == (17, True)


def tamper(ledger: Ledger, statement: str) -> None:
    with ledger.database.connection() as connection:
        assert connection.execute(sa.text(statement)).rowcount, "the tampering changed nothing"


INDEX_TAMPERINGS = {
    "DELETE FROM balls WHERE seq = 4": "the balls in the spatial index",
    "UPDATE balls SET epsilon = '1/5' WHERE seq = 4": "the balls in the spatial index",
    "UPDATE balls SET u = 7 WHERE seq = 4": "is not where it should be",
    "UPDATE sheets SET differential = '5', sensitive = '5'": "less than their places say",
    "DELETE FROM unsettled": "spends without an answer",
    "UPDATE terms SET number = 9": "terms of the promises",
}


@pytest.mark.parametrize("statement", INDEX_TAMPERINGS)
def test_tampering_with_what_is_derived_from_the_entries_is_found(
    tmp_path: Path, statement: str
) -> None:
    with busy(tmp_path / "l.db") as ledger:
        held = charge(ledger, order("s", wc.SensitivePrivacy("1/4", 5, 1.0)))
        ledger.settle("clinic", held, 1)
        tamper(ledger, statement)
        finding = verify(ledger, "clinic", atlas=BALLS)
        assert INDEX_TAMPERINGS[statement] in finding.reason, finding


TAMPERINGS: dict[str, tuple[str, int | None]] = {
    "UPDATE entries SET body = replace(body, '1/4', '1/5') WHERE seq = 4": ("not match", 4),
    "UPDATE entries SET analyst = 'bo' WHERE seq = 5": ("not match", 5),
    "UPDATE entries SET at = '1999' WHERE seq = 6": ("not match", 6),
    "UPDATE entries SET closes = 99 WHERE seq = 5": ("not match", 5),
    "UPDATE entries SET hash = previous WHERE seq = 7": ("not match", 7),
    "UPDATE entries SET previous = hash WHERE seq = 7": ("does not follow", 7),
    "DELETE FROM entries WHERE seq = 5": ("entry 5 is missing", 6),
    "DELETE FROM entries WHERE seq = 15": ("ends at", None),
    "UPDATE entries SET body = 'x' WHERE seq = 15": ("not match", 15),
    "UPDATE datasets SET spent = replace(spent, '3/4', '1/2')": ("dataset's stored sums", None),
    "UPDATE datasets SET budget = replace(budget, '20', '30')": ("stored promise", None),
    "UPDATE datasets SET seq = 14": ("ends at", None),
    "UPDATE accounts SET spent = replace(spent, '1/2', '0')": ("analyst 'ana'", None),
    "DELETE FROM accounts WHERE analyst = 'bo'": ("analyst 'bo'", None),
}


@pytest.mark.parametrize("statement", TAMPERINGS)
def test_tampering_is_found_and_the_first_bad_entry_named(tmp_path: Path, statement: str) -> None:
    with busy(tmp_path / "l.db") as ledger:
        with ledger.database.connection() as connection:
            changed = connection.execute(sa.text(statement)).rowcount
        assert changed, "the tampering changed nothing"
        finding = verify(ledger, "clinic")
        words, bad = TAMPERINGS[statement]
        assert not finding.ok
        assert (finding.bad, words in finding.reason) == (bad, True), finding


FORGERIES: dict[str, tuple[dict[str, Any], str]] = {
    "an overspend": (
        {
            "kind": "reserve",
            "digest": "z",
            "body": {"price": wc.DifferentialPrivacy("99").to_json(), "location": None},
        },
        "not there",
    ),
    "a second charge": (
        {
            "kind": "reserve",
            "digest": "a",
            "body": {"price": QUARTER.to_json(), "location": None},
        },
        "charged before, by entry 4",
    ),
    "an answer to nothing": (
        {"kind": "settle", "digest": "z", "closes": 2, "body": {"answer": 0}},
        "not open",
    ),
    "a void of an answer": (
        {"kind": "void", "digest": "a", "closes": 5, "body": {"reserve": 4, "reason": "greed"}},
        "not open",
    ),
    "a review of nothing": (
        {"kind": "review", "digest": "a", "closes": 5, "body": {"reason": "haste"}},
        "waits for none",
    ),
    "another beginning": ({"kind": "open", "body": {}}, "cannot stand here"),
    "another kind": ({"kind": "gift", "body": {}}, "cannot stand here"),
    "no content": ({"kind": "reserve", "digest": "y", "body": {}}, "not readable"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_entry_with_the_right_hash_is_held_to_the_rules(tmp_path: Path, name: str) -> None:
    fields, words = FORGERIES[name]
    with busy(tmp_path / "l.db") as ledger:
        ledger.write("clinic", lambda account: account.append(**fields))
        finding = verify(ledger, "clinic")
        assert finding.bad == 16
        assert words in finding.reason


def test_the_store_itself_refuses_a_second_answer(ledger: Ledger) -> None:
    held = charge(ledger, order("a"))
    ledger.settle("clinic", held, 1)
    second = {"kind": "settle", "digest": "a", "closes": held.seq, "body": {"answer": 2}}
    with pytest.raises(wc.Unavailable):
        ledger.write("clinic", lambda account: account.append(**second))


def test_export_is_whole_and_harmless_to_spreadsheets(tmp_path: Path) -> None:
    with busy(tmp_path / "l.db") as ledger:
        ledger.settle("clinic", charge(ledger, order("f", analyst="=1+1")), 2)
        exported = to_json(ledger, "clinic")
        assert json.loads(json.dumps(exported)) == exported
        assert [e["seq"] for e in exported["entries"]] == list(range(1, 18))
        table = to_csv(ledger, "clinic").splitlines()
        assert len(table) == 18
        assert ",'=1+1," in table[16]


# Publishers' states


def test_states_are_swapped_only_in_order(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.db") as ledger, Ledger(tmp_path / "l.db") as other:
        ledger.open("clinic", budget=Budget.of("1"))
        states, others = States(ledger, "clinic"), States(other, "clinic")
        assert states.load("mean") is None
        assert not states.save("mean", 1, {})
        assert states.save("mean", 0, {"sum": 10**40})
        assert not others.save("mean", 0, {"sum": 0})
        assert others.save("mean", 1, {"sum": 2})
        assert not states.save("mean", 1, {"sum": 3})
        assert states.load("mean") == (1, {"sum": 2})
        assert "sum" not in repr(states)
        assert "10000" not in json.dumps(to_json(ledger, "clinic"))


def test_prices_that_people_write_are_plain_and_their_sums_stay_writable(ledger: Ledger) -> None:
    """A share of a budget among a file of records has a denominator of some thousands."""
    ledger.open("wide", budget=Budget.of("1"))
    for number, parts in enumerate((3000, 1132, 4999, 4993, 4987, 4973)):
        price = wc.DifferentialPrivacy(Fraction(1, parts))
        ledger.reserve("wide", ChargeRequest("ana", f"wide {number}", {}, price))
    spent = ledger.snapshot("wide").spent.epsilon
    assert spent == sum(Fraction(1, parts) for parts in (3000, 1132, 4999, 4993, 4987, 4973))
    odd = wc.DifferentialPrivacy(Fraction(1, 5003))
    with pytest.raises(wc.InvalidInput, match="denominator up to 5000"):
        ledger.reserve("wide", ChargeRequest("ana", "odd", {}, odd))
