"""A model of the account, and a machine that compares it with the ledger step by step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import whitecrow as wc
from whitecrow.ledger import Budget, ChargeRequest, Ledger, RecordedOutcome, Reservation
from whitecrow.ledger.account import admit
from whitecrow.ledger.failures import review
from whitecrow.ledger.verification import verify

PRICES = st.sampled_from(["1/3", "1/7", "2/5", "1/10"])
ANALYSTS = st.sampled_from(["ana", "bo", "cy"])
NUMBERS = st.integers(0, 11)


class CheckedOutside(Ledger):
    """The planted bug: the budget is checked in one transaction and spent in another."""

    between: Callable[[], None] = staticmethod(lambda: None)

    def _reserve(self, dataset: str, order: ChargeRequest, rule: Any, known: Any) -> Any:
        def check(account: Any) -> None:
            share = account.share(order.analyst)
            if account.outcome(order.digest) is None:
                admit(account.spent, account.budget, order.price, None, whose="The dataset")
                if share is not None and share.budget is not None:
                    admit(share.spent, share.budget, order.price, None, whose="The analyst")

        self.read(dataset, check)
        race, self.between = self.between, lambda: None
        race()
        with mock.patch("whitecrow.ledger.store.admit", _unchecked):
            return super()._reserve(dataset, order, rule, known)


def _unchecked(account: Any, budget: Any, price: Any, extra: Any, *, whose: str) -> Any:
    return account.with_release(price, extra)


class Accounts(RuleBasedStateMachine):
    """Ask, repeat, crash, recover, fail, review, void, raise caps, add analysts, race."""

    ledger_class: type[Ledger] = Ledger

    def __init__(self) -> None:
        super().__init__()
        self.ledger = self.ledger_class("sqlite://")
        self.cap = Fraction(1)
        self.shares: dict[str, Fraction] = {}
        self.charges: dict[int, tuple[str, Fraction]] = {}
        self.state: dict[int, str] = {}
        self.answers: dict[int, Any] = {}
        self.held: dict[int, Reservation] = {}
        self.answered = 0
        self.unreviewed: set[int] = set()

    @initialize()
    def open(self) -> None:
        self.ledger.open("d", budget=Budget.of(self.cap))

    def teardown(self) -> None:
        self.ledger.close()

    # The model

    def spent(self, analyst: str | None = None) -> Fraction:
        mine = (p for who, p in self.charges.values() if analyst in (None, who))
        return sum(mine, Fraction(0))

    def admitted(self, analyst: str, price: Fraction) -> bool:
        share = self.shares.get(analyst)
        return self.spent() + price <= self.cap and (
            share is None or self.spent(analyst) + price <= share
        )

    def order(self, number: int, price: str, analyst: str) -> ChargeRequest:
        known = self.charges.get(number)
        amount = Fraction(price) if known is None else known[1]
        return ChargeRequest(analyst, f"question {number}", {}, wc.DifferentialPrivacy(amount))

    def reserve(
        self, number: int, price: str, analyst: str
    ) -> Reservation | RecordedOutcome | None:
        """Reserve, and check that the ledger decides as the model does."""
        order = self.order(number, price, analyst)
        amount = order.price.epsilon  # type: ignore[union-attr]
        try:
            found, _ = self.ledger.reserve("d", order)
        except wc.Unavailable:
            assert self.unreviewed
            assert self.state.get(number) in (None, "open")
            return None
        except wc.BudgetExhausted:
            assert number not in self.charges
            assert not self.admitted(analyst, amount)
            return None
        if isinstance(found, Reservation):
            assert not self.unreviewed, "a closed dataset took a question"
            found.release()
            assert found.fresh == (number not in self.charges)
            if found.fresh:
                assert self.admitted(analyst, amount)
                self.charges[number] = (analyst, amount)
            self.state[number] = "open"
            self.held[number] = found
        else:
            assert self.state[number] in ("answered", "failed")
            assert found.answer == self.answers.get(number)
        return found

    # The steps

    @rule(number=NUMBERS, price=PRICES, analyst=ANALYSTS)
    def ask(self, number: int, price: str, analyst: str) -> None:
        """Ask and answer; a question asked before gets its stored answer."""
        held = self.reserve(number, price, analyst)
        if isinstance(held, Reservation):
            self.answered += 1
            closed = self.ledger.settle("d", held, self.answered)
            assert closed.answer == self.answered
            self.state[number], self.answers[number] = "answered", self.answered

    @rule(number=NUMBERS, price=PRICES, analyst=ANALYSTS)
    def crash(self, number: int, price: str, analyst: str) -> None:
        """Reserve, and die before settling."""
        self.reserve(number, price, analyst)

    @rule(number=NUMBERS, price=PRICES, analyst=ANALYSTS)
    def fail(self, number: int, price: str, analyst: str) -> None:
        """Reserve, and have the computation fail."""
        held = self.reserve(number, price, analyst)
        if isinstance(held, Reservation):
            self.ledger.fail("d", held)
            self.state[number] = "failed"
            self.unreviewed.add(number)

    @rule(number=NUMBERS)
    def review(self, number: int) -> None:
        held = self.held.get(number)
        if held is None:
            return
        try:
            review(self.ledger, "d", held.seq, reason="a test")
        except wc.PolicyViolation:
            assert number not in self.unreviewed
        else:
            self.unreviewed.remove(number)

    @rule(number=NUMBERS)
    def settle_late(self, number: int) -> None:
        """A process that was thought dead comes back with an answer."""
        held = self.held.get(number)
        if held is None:
            return
        if self.state.get(number) is None:
            try:
                self.ledger.settle("d", held, "late")
            except wc.PolicyViolation:
                return
            raise AssertionError("an answer to a void reservation")
        closed = self.ledger.settle("d", held, "late")
        if self.state[number] == "open" and self.unreviewed:
            self.state[number] = "failed"
            self.unreviewed.add(number)
        elif self.state[number] == "open":
            self.state[number], self.answers[number] = "answered", "late"
        assert closed.answer == self.answers.get(number)

    @rule()
    def recover(self) -> None:
        """What has no answer is what crashed or failed."""
        waiting = {int(entry.digest.split()[1]) for entry in self.ledger.unsettled("d")}
        crashed = {n for n, state in self.state.items() if state == "open"}
        assert waiting == crashed | self.unreviewed

    @rule(number=NUMBERS)
    def void(self, number: int) -> None:
        held = self.held.get(number)
        if held is None:
            return
        try:
            self.ledger.void("d", held.seq, reason="a test")
        except wc.PolicyViolation:
            assert self.state.get(number) in (None, "answered")
        else:
            assert self.state.pop(number) in ("open", "failed")
            self.unreviewed.discard(number)
            del self.charges[number]

    @rule(more=PRICES)
    def raise_cap(self, more: str) -> None:
        self.cap += Fraction(more)
        self.ledger.amend("d", budget=Budget.of(self.cap), reason="a test")

    @rule(analyst=ANALYSTS, share=st.sampled_from([None, "1/3", "1/2", "2"]))
    def add_analyst(self, analyst: str, share: str | None) -> None:
        if share is None:
            self.shares.pop(analyst, None)
        else:
            self.shares[analyst] = Fraction(share)
        budget = None if share is None else Budget.of(share)
        self.ledger.allow("d", analyst, budget, reason="a test")

    @rule(numbers=st.tuples(NUMBERS, NUMBERS), prices=st.tuples(PRICES, PRICES))
    def race(self, numbers: tuple[int, int], prices: tuple[str, str]) -> None:
        """Two ask at the same moment."""
        if numbers[0] == numbers[1] or any(n in self.charges for n in numbers):
            return
        orders = [self.order(n, p, "di") for n, p in zip(numbers, prices, strict=True)]
        for number, held in zip(numbers, self.racing(*orders), strict=True):
            if held is not None:
                held.release()
                self.held[number], self.state[number] = held, "open"
                self.charges[number] = (
                    "di",
                    Fraction(dict(zip(numbers, prices, strict=True))[number]),
                )

    def racing(self, *orders: ChargeRequest) -> list[Reservation | None]:
        found: dict[str, Reservation | None] = {}
        barrier = threading.Barrier(len(orders))

        def ask(order: ChargeRequest) -> None:
            barrier.wait()
            found[order.digest] = self.attempt(order)

        threads = [threading.Thread(target=ask, args=(order,)) for order in orders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[order.digest] for order in orders]

    def attempt(self, order: ChargeRequest) -> Reservation | None:
        try:
            held, _ = self.ledger.reserve("d", order)
        except (wc.BudgetExhausted, wc.Unavailable):
            return None
        assert isinstance(held, Reservation)
        return held

    # What must always hold

    @invariant()
    def sums_are_right(self) -> None:
        standing = self.ledger.snapshot("d")
        assert standing.spent.epsilon == self.spent()
        assert self.spent() <= self.cap, "overspent"
        assert standing.budget.sensitive == self.cap
        assert standing.failures == len(self.unreviewed)
        for analyst, share in standing.shares.items():
            assert share.spent.epsilon == self.spent(analyst)

    @invariant()
    def chain_is_right(self) -> None:
        finding = verify(self.ledger, "d")
        assert finding.ok, finding


class Broken(Accounts):
    """The same machine over the planted bug; its race is the schedule that threads might have."""

    ledger_class = CheckedOutside

    def racing(self, *orders: ChargeRequest) -> list[Reservation | None]:
        second: list[Reservation | None] = []
        ledger: Any = self.ledger
        ledger.between = lambda: second.append(self.attempt(orders[1]))
        return [self.attempt(orders[0]), *(second or [self.attempt(orders[1])])]
