"""The curator: the one place where data, ledger and mechanisms meet."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from whitecrow import asks
from whitecrow.card import Card
from whitecrow.curator.drafts import Accepted, accept_draft, drafts
from whitecrow.curator.execution import Answer, Elsewhere, Execution, InProcess, behind
from whitecrow.curator.opening import Opened, Opening, custodian_file, opened
from whitecrow.curator.series import next_step, series_order
from whitecrow.custodian import failure
from whitecrow.data.dataset import intake_of
from whitecrow.errors import (
    AccountConflict,
    InvalidInput,
    LedgerBusy,
    LedgerUnusable,
    NotAllowed,
    PolicyViolation,
    RecordsElsewhere,
)
from whitecrow.histogram.table import TableProfile
from whitecrow.ledger import (
    AccountSnapshot,
    ChargeRequest,
    Entry,
    Ledger,
    RecordedOutcome,
    Reservation,
)
from whitecrow.ledger.account import ToldAt
from whitecrow.ledger.failures import failures, review
from whitecrow.ledger.states import States
from whitecrow.limits import UNLIMITED, Limits
from whitecrow.privacy import Exactly, Guarantee, Totals, of_revision, reading
from whitecrow.question import (
    Description,
    Progress,
    Question,
    QuestionType,
    Release,
    Wording,
    coin_warning,
    digest,
    digest_of_values,
    error_words,
    released,
)
from whitecrow.questions import type_of
from whitecrow.rendering import notebook
from whitecrow.report import account_page
from whitecrow.terms import Budget, Plan, Policy, Remaining, policy_of

if TYPE_CHECKING:
    from whitecrow.curator.advice import Advice, ModelAdvice
    from whitecrow.publish import Publish, Publisher


@dataclass(frozen=True)
class Inquiry:
    """One question on its way: looked up, checked and priced once, from public facts."""

    question: Question
    code: QuestionType[Any, Any, Any]  # what answers it
    request: ChargeRequest  # what the ledger is asked to charge: the price, for whom


class Curator:
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
        holding: Opened,
        *,
        analyst: str = "owner",
        execution: Execution | None = None,
        lent: Limits = UNLIMITED,
        records_at_most: int | None = None,
    ) -> None:
        self._dataset, self._ledger = holding.dataset, holding.ledger
        self._identity = holding.identity
        self._users = [] if holding.users is None else [holding.users]
        self._wording = Wording()
        self._log = holding.log or custodian_file(self._ledger)
        self._register, self._registering = holding.register, threading.RLock()
        self._execution = execution or InProcess(holding.dataset, holding.engine, log=self._log)
        self._lent, self._records_at_most = lent, records_at_most
        self._reopen: Callable[..., Curator] | None = None  # of other records, or later ones
        self.name, self.analyst = holding.name, analyst

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
        **settings: Unpack[Opening],
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
            The dataset's cap; of a new account ``"1, 1e-6"``, an epsilon and a delta. ``"1"`` has
            no delta. See :class:`whitecrow.ledger.Budget` for what it caps.
        ledger : str, Path or Ledger, optional
            Where the account is kept: a database URL or a file, or a ledger that is open, which
            stays open when the curator is closed. By default a file next to the data
            (``patients.whitecrow.db``); for data without a file, memory.
        engine : {"local", "gpu", "disk", "spark"}
            Who counts neighbours. ``disk`` is for records that memory does not hold, ``spark`` for
            a cluster: see :func:`whitecrow.data.warehouse.open_remote` for their sources.
        **settings
            The rest, as :class:`~whitecrow.curator.opening.Opening` declares it: ``name``,
            ``analyst``, ``account``, ``advance``, ``growth``, ``limits``, ``spark_master``,
            ``progress``.

        Raises
        ------
        PolicyViolation
            If an account exists and promises something else than the given budget or policy: a
            promise is changed by ``amend``, never by opening.
        DataChanged
            If the account is bound to other records, and ``advance`` says nothing of it; or if
            records that were declared insert-only were not only added to.
        """
        settings = _declared(settings)
        analyst = settings.get("analyst", "owner")
        if not isinstance(analyst, str) or not analyst:
            raise InvalidInput("The analyst must have a name that is not empty.")
        holding = opened(source, card, engine, ledger, budget, policy, settings)
        curator = cls(holding, analyst=analyst, lent=settings.get("limits") or UNLIMITED)
        # The promise stands in the ledger; all else is as it was opened.
        again: dict[str, Any] = {"source": source, "card": card, "engine": engine, **settings}
        curator._reopen = partial(cls.open, **again)
        return curator

    ask_about, ask_all = asks.ask_about, asks.ask_all
    identify, screen, explain = asks.identify, asks.screen, asks.explain
    lookahead, count, subspaces = asks.lookahead, asks.count, asks.subspaces
    tune, profile, learn = asks.tune, asks.profile, asks.learn
    monitor, publish, screening = asks.monitor, asks.publish, asks.screening

    def __repr__(self) -> str:
        return f"<Curator of {self.name!r} for {self.analyst!r}>"

    def _repr_html_(self) -> str:
        left = self.remaining().text(self._ledger.snapshot(self.name).budget)
        rows = [
            ("budget left", left),
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
        """The account's store; an account that is not there yet is opened."""
        self._open_account()
        return self._ledger

    @property
    def has_account(self) -> bool:
        """Whether the account is in its ledger; it is written with the first spend."""
        return self._register is None

    def _open_account(self) -> None:
        """Open the account where it belongs, if so far there are only its terms."""
        with self._registering:
            if self._register is None:
                return
            holding, former = self._register(), self._identity
            self._ledger, self._identity, self._register = holding.ledger, holding.identity, None
            if holding.users is not None:
                self._users.append(holding.users)
        if former != self._identity:
            raise LedgerBusy(
                "Another process has opened this account meanwhile. Nothing was asked or spent "
                "here; ask again."
            )

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
        limits = type_of(question).limits(question, self.card, self._records_at_most)
        return limits.within(self._lent, question.kind)

    def describe(self, question: Question, **public: object) -> Description:
        """Say what a question will cost and how accurate it will be, from public facts."""
        price = self.price(question)
        described = question.describe(self.card, **public)
        words = described.words.removesuffix(described.price.statement())
        if words != described.words:
            words += price.statement()
        if question.stops_early and not isinstance(self._dataset, Elsewhere):
            words += " Response time can leak. Use the service if analysts can time answers."
        warning = coin_warning(question, described.figures)
        return replace(
            described,
            words=f"{warning} {words}" if warning else words,
            price=price,
            error=error_words(question, described.figures),
            warning=warning,
            labels=question.figures,
        )

    def plan(self, questions: Sequence[Question], *, analyst: str | None = None) -> Plan:
        """What a batch would cost together, and what of it would be refused to whoever asks."""
        policy, refused = self.policy, {}
        orders: dict[int, ChargeRequest] = {}
        for number, question in enumerate(questions, start=1):
            inquiry = self.inquire(question, analyst=analyst)
            try:
                policy.check(question.kind, inquiry.request.price, inquiry.request.analyst)
                orders[number] = series_order(self, inquiry)
            except PolicyViolation as error:
                refused[number] = str(error)
        allowed = list(orders.values())
        return self._ledger.quote(self.name, allowed).plan(allowed).refusing(refused, list(orders))

    def price_for(self, question: Question, *, error: float | None = None, **public: Any) -> Advice:
        """Say which price a wanted error has, or which error the question's price buys.

        Parameters
        ----------
        question : Question
            What would be asked.
        error : float, optional
            The wanted error, for instance 0.05 for a yes or no that is wrong once in twenty.
        **public
            Guesses for the question's ``describe``, such as ``typical_neighbours=3``.
        """
        from whitecrow.curator.advice import price_for

        self._check(question)
        return price_for(question, self.card, error=error, public=public)

    def advise(
        self, contamination: Exactly, *, columns: Sequence[str] | None = None, **how: Any
    ) -> ModelAdvice:
        """Find a model for a wanted share of outliers, from public facts; spends nothing.

        It comes with a priced question, :class:`whitecrow.Tune`, that has the radius chosen by the
        data. ``how`` is that of :func:`whitecrow.curator.advice.advised_model`: ``metric``,
        ``beta``, ``records``, ``epsilon``, ``profile`` (by default the newest of the account).
        """
        if isinstance(contamination, Question):
            _deprecated("Curator.advise of a question goes with the next release: use price_for.")
            return self.price_for(contamination, **how)  # type: ignore[return-value]
        from whitecrow.curator.advice import advised_model

        if "profile" not in how:
            bought = drafts(self._ledger, self.name, limit=1)
            how["profile"] = bought[0].profile if bought else None
        return advised_model(self.card, contamination, columns=columns, **how)

    def advise_model(self, contamination: Exactly, **how: Any) -> ModelAdvice:
        """Find a model; :meth:`advise` does, and this name goes."""
        _deprecated("Curator.advise_model goes with the next release: use advise.")
        return self.advise(contamination, **how)

    def dummy(self, question: Question, *, size: int | None = None, run: int = 0) -> Release:
        """Answer a question about made-up records: free, to develop code against.

        The records are drawn from the card, and from the profile by which it was accepted where
        there is one; the same question gets the same answer. The release says of itself that it is
        a dummy (``release.dummy``), in words, as JSON and on pages.

        Parameters
        ----------
        question : Question
            What would be asked.
        size : int, optional
            How many records are made up; by default 1000, or as many as the card allows.
        run : int, default=0
            Each run draws other noise, so that several show how far answers scatter.
        """
        from whitecrow.curator.dummy import DummyExecution, accepted_profile, dummy_records, marked

        if question.retired:
            raise InvalidInput(question.retired)
        self._check(question)
        card = self.card
        records = dummy_records(card, accepted_profile(card, self._ledger, self.name), size)
        execution = DummyExecution(records, run)
        answer = execution.answer(question, limits=lambda: UNLIMITED, progress=None)
        return marked(question, question.price(card), None if answer is None else answer.value)

    def preview(self, question: Question, *, size: int, runs: int = 10) -> tuple[Any, ...]:
        """Answer a question about made-up records; :meth:`dummy` does, and this name goes."""
        _deprecated("Curator.preview goes with the next release: use dummy(question, run=...).")
        return tuple(self.dummy(question, size=size, run=run).answer for run in range(runs))

    def _check(self, question: Question) -> QuestionType[Any, Any, Any]:
        """Refuse what cannot be asked, or may need more than is lent; from public facts only."""
        code = type_of(question)
        name = next(
            (column.name for column in self.card.columns if column.missing == "value"), None
        )
        if name is not None and not question.takes_missing:
            raise InvalidInput(
                f"The card keeps missing values of {name!r} as a value of their own, which only "
                "learn can tell from others. For other questions the card must reject or fill them."
            )
        question.check(self.card)
        if self._lent != UNLIMITED:
            self.limits(question)
        return code

    # Asking

    def ask(
        self,
        question: Question | Inquiry,
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
        inquiry = self.inquire(question, analyst=analyst)
        if inquiry.question.retired:
            stored = self.stored(inquiry)
            if stored is None:
                raise InvalidInput(inquiry.question.retired)
            return stored
        if actor or told_at is not None:
            request = replace(inquiry.request, actor=actor, told_at=told_at)
            inquiry = replace(inquiry, request=request)
        if inquiry.code.series is not None:
            answer, snapshot, charged = next_step(self, inquiry, progress)
            return self._release(inquiry, answer, snapshot, charged=charged)
        outcome, snapshot = self._reserve(inquiry.request)
        charged = isinstance(outcome, Reservation)
        if isinstance(outcome, Reservation):
            outcome = self._answer(inquiry.question, outcome, progress)
        if not outcome.answered:
            raise failure()
        return self._release(inquiry, outcome.answer, snapshot, charged=charged)

    def stored(self, question: Question | Inquiry, *, analyst: str | None = None) -> Release | None:
        """Return an answer that may be told already, free; None if the question has to be asked.

        Nothing is computed or written, and everything depends on public facts: the question, the
        card, the policy, the account, and answers that may be told already. So what asking would
        refuse is refused here, and a refusal or an answer of this kind may leave at once.
        """
        inquiry = self.inquire(question, analyst=analyst)
        request = series_order(self, inquiry)
        outcome, snapshot = self._ledger.stored(self.name, request, rule=self._rule(request))
        # What is kept of a series is shown by asking for a step of it.
        if outcome is None or inquiry.code.series is not None:
            return None
        if not outcome.answered:
            raise failure()
        return self._release(inquiry, outcome.answer, snapshot, charged=False)

    def inquire(self, question: Question | Inquiry, *, analyst: str | None = None) -> Inquiry:
        """Look a question up, check and price it, once for all that is done with it.

        Raises
        ------
        InvalidInput, PolicyViolation
            It cannot be asked here, or may need more than is lent to a question.
        """
        if self._identity.path is not None:  # questions go to a file, not to a copy of it
            self._identity.check()
        if isinstance(question, Inquiry):
            return question
        code = self._check(question)
        price = self._wording.price(question, self.card, self._identity.revision)
        name = digest(question, self.card, self._identity.revision)
        request = ChargeRequest(
            analyst=analyst or self.analyst,
            digest=name,
            question=json.loads(question.canonical),
            price=price,
            location=self._location(question, price),
            former=(name, digest_of_values(question, self.card, self._identity.revision)),
        )
        return Inquiry(question, code, request)

    def publisher(self, question: Publish, *, analyst: str | None = None) -> Publisher:
        """Open a publication that is kept current: its price is paid once, updates are free.

        Its state, which is private, is kept in the ledger's store; opening it again goes on where
        it was. The same question asked as a finished series (:meth:`ask`) is a spend of its own:
        it draws its own noise. Values are handed to a publication as they arrive, whichever
        revision the records are in by then, so it goes on over all revisions.
        """
        from whitecrow.publish import Publisher

        if question.retired:
            raise InvalidInput(question.retired)
        name = f"publication {digest_of_values(question, self.card)}"
        key = hashlib.sha256(name.encode()).hexdigest()
        request = replace(self.inquire(question, analyst=analyst).request, digest=key)
        self._paid_once(request, lambda _: name)
        return Publisher(question, self.card, store=States(self._ledger, self.name), key=key)

    def _release(
        self, inquiry: Inquiry, answer: Any, snapshot: AccountSnapshot, *, charged: bool
    ) -> Release:
        question, request = inquiry.question, inquiry.request
        words = self._wording.said(question, request.price, self.card, self._identity.revision)
        return released(question, request, answer, snapshot, words, charged=charged)

    def _location(self, question: Question, price: Guarantee) -> dict[str, Any] | None:
        """Return the ball a question looks at, or None.

        Only pure releases are located: the filter per place holds for pure epsilon
        (docs/mechanisms.md 10.2). And only balls in one database: a person whose record changes
        between two questions may lie in both. So a ball carries the revision of the data (or the
        first of a run of mere additions), and records that may change unseen have none.
        """
        ball = getattr(question, "location", None)
        pure = getattr(price, "delta", None) == 0 and self._identity.steady
        location: dict[str, Any] | None = ball(self.card) if ball is not None and pure else None
        if location is None:
            return None
        # Of a person with several records the card may keep others once one was added.
        held = self._identity
        revision = held.since if self.card.unit == "record" else held.revision
        return {**location, "card": reading(self.card.fingerprint(), revision)}

    def _reserve(
        self, order: ChargeRequest
    ) -> tuple[Reservation | RecordedOutcome, AccountSnapshot]:
        """Check the policy in force and commit the spend, in one transaction.

        What would be refused opens no account.
        """
        with self._registering:
            if self._register is not None:
                # A forked process cannot look into memory; what it opens refuses just as well.
                with contextlib.suppress(LedgerUnusable):
                    self._ledger.stored(self.name, order, rule=self._rule(order))
                self._open_account()
        return self._ledger.reserve(self.name, order, rule=self._rule(order))

    def _paid_once(
        self, order: ChargeRequest, opened: Callable[[Reservation], Any]
    ) -> tuple[RecordedOutcome, AccountSnapshot, bool]:
        """Charge an order unless it is paid, and enter what that opens; say whether it paid."""
        outcome, snapshot = self._reserve(order)
        if not isinstance(outcome, Reservation):
            return outcome, snapshot, False
        try:
            return self._ledger.settle(self.name, outcome, opened(outcome)), snapshot, True
        finally:
            outcome.release()

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
            if released is None:
                return None
            entered = question.entered(released.value, held.digest)
            return released if entered is released.value else Answer.of(entered)

        try:
            outcome = behind(question.kind, self._log, compute)
            if outcome is not None:
                return self._ledger.settle(self.name, held, outcome.value)
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
        if not self._ledger.entries(self.name, kind="reserve", limit=1):
            return "Nothing has been asked yet."
        return " ".join(self.totals().statements())

    def report(self, path: str | Path | None = None) -> str:
        """Return the account as one HTML page, and write it if a path is given; reads no record."""
        page = account_page(self._ledger, self.name)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    # The custodian's acts; the chain keeps each

    def intake(self) -> dict[str, Any]:
        """Say how many rows were read, kept, left out and mended, by reason: facts.

        For the custodian alone, who holds the data; an analyst must never see them.

        Raises
        ------
        RecordsElsewhere
            If another process holds the records: a service shows them to its custodians.
        """
        rows = intake_of(self._dataset)
        if rows is None:
            raise RecordsElsewhere(
                "What became of the rows is shown to the service's custodians alone."
            )
        return rows

    def amend(
        self,
        *,
        reason: str,
        budget: object = None,
        policy: Policy | Mapping[str, Any] | str | Path | None = None,
    ) -> None:
        """Change the promise: the budget, the policy, or both. The chain keeps the reason."""
        rules = None if policy is None else Policy.of(policy)
        if rules is not None and rules.unit != self.policy.unit:
            raise AccountConflict("The unit of an account is fixed when it is opened.")
        self.ledger.amend(
            self.name,
            reason=reason,
            budget=None if budget is None else Budget.of(budget),
            policy=None if rules is None else rules.to_json(),
        )

    def accept(
        self, draft: TableProfile | Mapping[str, Any] | str, *, reason: str = ""
    ) -> Accepted:
        """Accept the card that a profile of this account drafted, as it is or edited.

        The chain keeps the card and which lines were edited. Open the data with it from then on:
        ``Curator.open(data, card=curator.accept(profile).card)``.

        Parameters
        ----------
        draft : TableProfile, mapping or str
            The profile, or its draft as JSON (:meth:`whitecrow.TableProfile.draft`) or TOML; lines
            that were changed become the custodian's own word.
        reason : str, optional
            Why, in words.
        """
        return accept_draft(draft, self._ledger, self.name, reason=reason)

    def allow(self, analyst: str, budget: object, *, reason: str) -> None:
        """Cap what one analyst may spend, beside the dataset's own cap; None lifts the cap."""
        cap = None if budget is None else Budget.of(budget)
        self.ledger.allow(self.name, analyst, cap, reason=reason)

    def unsettled(self) -> list[Entry]:
        """Spends without an answer (interrupted or failed): kept, and voidable."""
        return self._ledger.unsettled(self.name)

    def void(self, seq: int, *, reason: str) -> None:
        """Give back a spend that never led to an answer."""
        self._ledger.void(self.name, seq, reason=reason)

    def failures(self) -> list[Entry]:
        """Failures that nobody has reviewed: while there are any, no new question is answered."""
        return failures(self._ledger, self.name)

    def review(self, seq: int, *, reason: str) -> None:
        """Say that a failure was looked at; after the last one, questions are answered again.

        The spend is kept. :meth:`void` gives it back and is a review as well. Look into the
        custodian's log first: a failure that depends on the records tells about them, and asked
        again it tells once more.
        """
        review(self._ledger, self.name, seq, reason=reason)

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
        if self._reopen is None:
            raise NotAllowed("This curator's records are opened by a service; advance there.")
        moved = {} if source is None else {"source": source}
        successor = self._reopen(
            **moved, ledger=self.ledger, name=self.name, advance=reason, growth=growth
        )
        # Both use the ledger that was opened for the first.
        successor._users = [users.joined() for users in self._users]
        return successor

    def public_facts(self) -> dict[str, Any]:
        """What another process must know to price questions as this curator does, as JSON."""
        held = self._identity
        facts = {"revision": held.revision, "since": held.since, "steady": held.steady}
        return {"name": self.name, "card": self.card.to_json(), **facts}

    def close(self) -> None:
        """Give the connections back: to records that are elsewhere, and to the ledger.

        A ledger that was handed to :meth:`open` stays open. One that was opened there is closed
        with the last curator that uses it: :meth:`advance` makes another.
        """
        while self._users:
            self._users.pop().leave()
        self._dataset.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _declared(settings: Opening) -> Opening:
    """Return the settings, former names understood; refuse what is none."""
    given: dict[str, Any] = {**settings}
    former = {
        key: given.pop(f"most_{key}") for key in ("seconds", "bytes") if f"most_{key}" in given
    }
    unknown = sorted(set(given) - set(Opening.__annotations__))
    if unknown:
        raise TypeError(
            f"Curator.open takes no {unknown[0]!r}; beside source, card, policy, budget, ledger "
            f"and engine it takes {', '.join(sorted(Opening.__annotations__))}."
        )
    if former:
        _deprecated(
            "most_seconds and most_bytes go with the next release: open with "
            "limits=Limits(seconds=..., bytes=...).",
            level=4,
        )
        given["limits"] = Limits(**former)
    return cast(Opening, given)


def _deprecated(text: str, level: int = 3) -> None:
    warnings.warn(text, DeprecationWarning, stacklevel=level)
