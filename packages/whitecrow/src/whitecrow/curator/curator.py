"""The curator: the one place where data, ledger and mechanisms meet."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from whitecrow.asks import Asks
from whitecrow.curator.beforehand import known_answer
from whitecrow.curator.custody import Custody
from whitecrow.curator.execution import Answer, Elsewhere, Execution, InProcess, behind, failure
from whitecrow.curator.identity import Identity
from whitecrow.curator.opening import custodian_file, opened
from whitecrow.curator.preview import Rehearsal
from whitecrow.curator.publications import opened_publication
from whitecrow.curator.series import next_step, series_order
from whitecrow.data import Card, Records
from whitecrow.errors import InvalidInput, NotAllowed, PolicyViolation
from whitecrow.ledger import AccountSnapshot, ChargeRequest, Ledger, RecordedOutcome, Reservation
from whitecrow.ledger.values import ToldAt
from whitecrow.limits import UNLIMITED, Limits
from whitecrow.neighbours import Engine
from whitecrow.plan import Plan
from whitecrow.privacy import Guarantee, Totals, of_revision, reading
from whitecrow.question import (
    Description,
    Progress,
    Question,
    Release,
    Wording,
    coin_warning,
    digest,
    error_words,
    released,
)
from whitecrow.questions import type_of
from whitecrow.rendering import notebook
from whitecrow.terms import Policy, Remaining, policy_of

if TYPE_CHECKING:
    from whitecrow.publish import Publish, Publisher


class Curator(Asks, Custody, Rehearsal):
    """Answers questions about one dataset, within a budget, under a policy.

    Made by :meth:`open`. What it guarantees: the spend is committed before the first private value
    is read, and the answer before it is sent; a repeated question gets the stored answer, free; two
    caps rule, the dataset's and the analyst's; what is seen depends on data by mechanisms only.

    Examples
    --------
    >>> import pyarrow
    >>> import whitecrow as wc
    >>> rows = pyarrow.table({"age": [30.0, 31.0, 32.0, 90.0]})
    >>> curator = Curator.open(rows, budget="1")
    >>> model = wc.DistanceAnomaly(beta=1, radius=5.0)
    >>> release = curator.identify({"age": 90.0}, model=model, epsilon="1/10")
    >>> release.guarantee.epsilon
    Fraction(1, 10)
    >>> print(curator.remaining())
    differential 0.9, sensitive 0.9
    """

    def __init__(
        self,
        dataset: Records | Elsewhere,
        engine: Engine | None,
        ledger: Ledger,
        *,
        name: str,
        analyst: str,
        execution: Execution | None = None,
        lent: Limits = UNLIMITED,
        records_at_most: int | None = None,
        identity: Identity | None = None,
    ) -> None:
        self._dataset = dataset
        self._identity = identity or Identity()
        self._opening: dict[str, Any] | None = None
        self._wording = Wording()
        self._ledger = ledger
        if execution is None:
            assert engine is not None
            assert not isinstance(dataset, Elsewhere)
            execution = InProcess(dataset, engine, log=custodian_file(ledger))
        self._execution, self._log = execution, custodian_file(ledger)
        self._lent, self._records_at_most = lent, records_at_most
        self.name = name
        self.analyst = analyst

    @classmethod
    def open(
        cls,
        source: object,
        *,
        card: Card | str | Path | None = None,
        policy: Policy | Mapping[str, Any] | str | Path | None = None,
        budget: object = None,
        ledger: Ledger | str | Path | None = None,
        engine: str = "local",
        spark_master: str | None = None,
        analyst: str = "owner",
        name: str | None = None,
        advance: str | None = None,
        growth: str | None = None,
        progress: Progress | None = None,
        most_seconds: float = math.inf,
        most_bytes: float = math.inf,
    ) -> Curator:
        """Open a dataset and its account.

        Parameters
        ----------
        source : path, data frame, Arrow table, SqlQuery or text ``URL::SELECT ...``
            The records.
        card : Card or path, optional
            The public facts. Without one, names and types come from the schema.
        policy : Policy, mapping or path of a TOML file, optional
            What may be asked; recorded when the account is opened, in force until amended.
        budget : number, text, mapping or Budget, optional
            The dataset's cap, 1 for a new account. ``"1, 1e-6"`` adds a delta. See
            :class:`whitecrow.ledger.Budget` for what it caps.
        ledger : str, Path or Ledger, optional
            Where the account is kept: a database URL or a file, or a ledger that is open. By
            default a file beside the data (``patients.whitecrow.db``); for data without a file,
            memory.
        engine : {"local", "gpu", "disk", "spark"}
            Who counts neighbours. ``disk`` is for records that memory does not hold, ``spark`` for
            a cluster: see :func:`whitecrow.data.warehouse.open_remote` for their sources.
        spark_master : str, optional
            For ``spark``: ``local[2]``, ``spark://host:7077``, ``yarn``, ``sc://host``, ...
        analyst : str
            Who asks, unless a question says otherwise.
        name : str, optional
            Whose account it is in the ledger; by default the name of the data's file. The account
            belongs to the data, not to the card: a second card does not get a second budget. Data
            without a file need a name where the ledger is not their own.
        advance : str, optional
            Why records that the account does not know are to be its next revision: they grew, or
            were corrected. Spends go on adding up. Without it such records are refused.
        growth : {"insert-only", "any"}, optional
            Declare that records are only ever added at the end; see :mod:`whitecrow.ledger.growth`.
        progress : callable, optional
            Told how far the load is; it sees the number of rows, so it is for the custodian.
        most_seconds, most_bytes : float, default=inf
            A question that may need more, for the worst records within the card's
            ``records_at_most``, is refused when it is priced.

        Raises
        ------
        PolicyViolation
            If an account exists and promises something else than the given budget or policy: a
            promise is changed by ``amend``, never by opening.
        DataChanged
            If the account is bound to other records, and ``advance`` says nothing of it; or if
            records that were declared insert-only were not only added to.
        """
        if not isinstance(analyst, str) or not analyst:
            raise InvalidInput("The analyst must have a name that is not empty.")
        how: dict[str, Any] = {"card": card, "engine": engine, "spark_master": spark_master}
        account: dict[str, Any] = {"ledger": ledger, "budget": budget, "policy": policy}
        account |= {"name": name, "advance": advance, "growth": growth}
        found = opened(source, **how, **account, progress=progress)
        lent = Limits(most_seconds, most_bytes)
        curator = cls(**vars(found), analyst=analyst, lent=lent)
        curator._opening = {"source": source, **how, "analyst": analyst}
        return curator

    def __repr__(self) -> str:
        return f"<Curator of {self.name!r} for {self.analyst!r}>"

    def _repr_html_(self) -> str:
        left = self.remaining()
        rows = [("budget left", left.text(self._ledger.snapshot(self.name).budget))]
        rows += [
            ("may be asked", ", ".join(self.policy.questions or ("every question",))),
            ("columns", ", ".join(column.name for column in self.card.columns)),
            ("unit of privacy", f"one {self.card.unit}"),
        ]
        return notebook(f"{self.name}, asked by {self.analyst}", rows)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a curator is never pickled: it holds private records")

    @property
    def card(self) -> Card:
        """The dataset's public facts."""
        return self._dataset.card

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._ledger.snapshot(self.name).rules

    @property
    def ledger(self) -> Ledger:
        """The account's store."""
        return self._ledger

    # Before asking: public facts only

    def price(self, question: Question) -> Guarantee:
        """Return what a question will promise, hence cost. Touches no data."""
        self._check(question)
        return of_revision(question.price(self.card), self._identity.revision)

    def limits(self, question: Question) -> Limits:
        """Say how much time and memory a question may take, from public facts. Touches no data.

        Infinite where nothing bounds the number of records: neither the card (``size``,
        ``records_at_most``) nor the operator.

        Raises
        ------
        PolicyViolation
            If that is more than is lent to a question.
        """
        found = type_of(question).limits(question, self.card, self._records_at_most)
        return found.within(self._lent, question.kind)

    def describe(self, question: Question, **public: object) -> Description:
        """Say what a question will cost and how accurate it will be, from public facts."""
        price = self.price(question)
        found = question.describe(self.card, **public)
        words = found.words.removesuffix(found.price.statement())
        if words != found.words:
            words += price.statement()
        warning = coin_warning(question, found.figures)
        return replace(
            found,
            words=f"{warning} {words}" if warning else words,
            price=price,
            error=error_words(question, found.figures),
            warning=warning,
            labels=question.figures,
        )

    def plan(self, questions: Sequence[Question], *, analyst: str | None = None) -> Plan:
        """What a batch would cost together, and what of it would be refused to whoever asks."""
        who, policy, refused = analyst or self.analyst, self.policy, {}
        orders: dict[int, ChargeRequest] = {}
        for number, question in enumerate(questions, start=1):
            price = self.price(question)
            try:
                policy.check(question.kind, price, who)
                orders[number] = series_order(self._order(question, price, who), question, self)
            except PolicyViolation as error:
                refused[number] = str(error)
        allowed = list(orders.values())
        return self._ledger.quote(self.name, allowed).plan(allowed).refusing(refused, list(orders))

    def _check(self, question: Question) -> None:
        """Refuse what cannot be asked, or may need more than is lent; from public facts only."""
        type_of(question)
        _refuse_missing(question, self.card)
        question.check(self.card)
        if self._lent != UNLIMITED:
            self.limits(question)

    # Asking

    def ask(
        self,
        question: Question,
        *,
        analyst: str | None = None,
        actor: str = "",
        progress: Progress | None = None,
        told_at: ToldAt | None = None,
    ) -> Release:
        """Answer a question, or refuse it; the chain keeps ``actor``, who acts for the analyst.

        ``told_at``, where a reply is held back, says from when on what is written may be told.

        Raises
        ------
        InvalidInput, PolicyViolation, BudgetExhausted
            Before anything is spent or any record read.
        Unavailable
            If the computation or the store failed: nothing was released.
        """
        who = analyst or self.analyst
        price = self.price(question)
        if question.retired:
            known = self.stored(question, analyst=who)
            if known is None:
                raise InvalidInput(question.retired)
            return known
        order = replace(self._order(question, price, who), actor=actor, told_at=told_at)
        if type_of(question).series is None:
            found, snapshot = self._reserve(order)
            charged = isinstance(found, Reservation)
            if isinstance(found, Reservation):
                found = self._answer(question, found, progress)
            if not found.answered:
                raise failure()
            answer = found.answer
        else:
            answer, snapshot, charged = next_step(self, question, order, progress)
        said = self._wording.said(question, price, self.card, self._identity.revision)
        return released(question, price, who, answer, snapshot, said, charged=charged)

    def stored(self, question: Question, *, analyst: str | None = None) -> Release | None:
        """Return an answer that may be told already, free; None if the question has to be asked.

        Nothing is computed or written; what asking would refuse from public facts is refused.
        """
        return known_answer(self, question, analyst=analyst or self.analyst)

    def publisher(self, question: Publish, *, analyst: str | None = None) -> Publisher:
        """Open a publication that is kept current: its price is paid once, updates are free.

        Its state, which is private, is kept in the ledger's store; opening it again goes on where
        it was. The same question asked as a finished series (:meth:`ask`) is a spend of its own.
        """
        if question.retired:
            raise InvalidInput(question.retired)
        order = self._order(question, self.price(question), analyst or self.analyst)
        return opened_publication(
            question, self.card, order, self._ledger, self.name, self._reserve
        )

    def _order(self, question: Question, price: Guarantee, who: str) -> ChargeRequest:
        if self._identity.path is not None:  # questions go to a file, not to a copy of it
            self._identity.check()
        return ChargeRequest(
            analyst=who,
            digest=digest(question, self.card, self._identity.revision),
            question=json.loads(question.canonical),
            price=price,
            location=self._location(question, price),
        )

    def _location(self, question: Question, price: Guarantee) -> dict[str, Any] | None:
        """Return the ball a question looks at, or None.

        Only pure releases are located: the filter per place holds for pure epsilon
        (docs/mechanisms.md 10.2). And only balls in one database: a person whose record changes
        between two questions may lie in both. So a ball carries the revision of the data (or the
        first of a run of mere additions), and records that may change unseen have none.
        """
        ball = getattr(question, "location", None)
        pure = getattr(price, "delta", None) == 0 and self._identity.steady
        found: dict[str, Any] | None = ball(self.card) if ball is not None and pure else None
        if found is None:
            return None
        # Of a person with several records the card may keep others once one was added.
        held = self._identity
        revision = held.since if self.card.unit == "record" else held.revision
        return {**found, "card": reading(self.card.fingerprint(), revision)}

    def _reserve(
        self, order: ChargeRequest
    ) -> tuple[Reservation | RecordedOutcome, AccountSnapshot]:
        """Check the policy in force and commit the spend, in one transaction."""
        return self._ledger.reserve(self.name, order, rule=self._rule(order))

    def _rule(self, order: ChargeRequest) -> Callable[[str], None]:
        """Refuse what a policy, given as its text, does not allow."""
        kind = order.question["kind"]
        return lambda rules: policy_of(rules).check(kind, order.price, order.analyst)

    def _answer(
        self, question: Question, held: Reservation, progress: Progress | None
    ) -> RecordedOutcome:
        """Compute behind the boundary, and store what came of it before anybody sees it."""

        def compute() -> Answer | None:
            limits = partial(self.limits, question)
            released = self._execution.answer(question, limits=limits, progress=progress)
            return released and Answer.of(question.entered(released.value, held.digest))

        try:
            found = behind(question.kind, self._log, compute)
            if found is not None:
                return self._ledger.settle(self.name, held, found.value)
            return self._ledger.fail(self.name, held)
        finally:
            held.release()

    # The account

    def remaining(self, analyst: str | None = None) -> Remaining:
        """What is left for one more question, by notion: the tighter of both caps."""
        return self._ledger.snapshot(self.name).remaining(analyst or self.analyst)

    def totals(self) -> Totals:
        """What all releases of the dataset promise together, one promise a notion."""
        snapshot = self._ledger.snapshot(self.name)
        return snapshot.spent.totals(snapshot.budget.delta)

    def statement(self) -> str:
        """What a data officer can sign: the joint promise of everything released so far."""
        return " ".join(self.totals().statements())

    # Revisions

    @property
    def revision(self) -> int:
        """Which revision of the account's records this curator holds; 0 if there is no other."""
        return self._identity.revision

    def advance(self, source: object = None, *, reason: str, growth: str | None = None) -> Curator:
        """Open the records as they are now, as the account's next revision, and return its curator.

        Stored answers and the discount for places that do not meet belong to a revision; spends
        go on adding up. This curator goes on answering from the records it holds.

        Parameters
        ----------
        source, reason, growth : object, str, str
            Where the records are now (by default where they were), why they changed (the chain
            keeps it), and what is declared of them, see :meth:`open`.
        """
        if self._opening is None:
            raise NotAllowed("This curator's records are opened by a service; advance there.")
        how = {**self._opening, "source": self._opening["source"] if source is None else source}
        how |= {"ledger": self._ledger, "name": self.name, "growth": growth}
        return Curator.open(**how, advance=reason)

    def close(self) -> None:
        """Give the connections back: the store's, and those to records that are elsewhere."""
        self._ledger.close()
        self._dataset.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _refuse_missing(question: Question, card: Card) -> None:
    """Refuse a question that would take what stands for a missing value for a value."""
    kept = next((column.name for column in card.columns if column.missing == "value"), None)
    if kept is not None and not question.takes_missing:
        raise InvalidInput(
            f"The card keeps missing values of {kept!r} as a value of their own, which only learn "
            "can tell from others. For other questions the card must reject or fill them."
        )
