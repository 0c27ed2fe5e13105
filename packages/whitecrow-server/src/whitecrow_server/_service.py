"""What people may do, each act with its authorisation: the one place that decides.

The HTTP interface and the console both call these methods with the person who acts; neither decides
anything itself. An analyst sees only datasets that list them, and for everything else the answer is
the one for a thing that does not exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.card import Card
from whitecrow.curator import Curator
from whitecrow.curator.curator import Inquiry
from whitecrow.curator.opening import keep_unit
from whitecrow.data.dataset import Intake
from whitecrow.detector import Detector
from whitecrow.errors import InvalidInput, NotKnown, Taken
from whitecrow.ledger import AccountSnapshot, Budget, Entry, Ledger, failures, verification
from whitecrow.neighbours import current_name, engine_names
from whitecrow.place.balls import Balls
from whitecrow.question import Description, Question, Release
from whitecrow.terms import Policy
from whitecrow_server._aside import Aside
from whitecrow_server._catalogue import Catalogue, Listing, check_source
from whitecrow_server._curator_pool import CHANGED, CuratorPool, Dummies, State
from whitecrow_server._hashing import Hasher
from whitecrow_server._history import History, counted
from whitecrow_server._logs import LOG, Events, sinks_of, told
from whitecrow_server._members import Members
from whitecrow_server._onboarding import Onboarding, Undescribed
from whitecrow_server._people import People, Person, Trail, need
from whitecrow_server._scheduling import deadline_of, deadlines_over, reply_moment
from whitecrow_server._sessions import Sessions
from whitecrow_server._settings import Settings
from whitecrow_server._single_sign_on import SingleSignOn
from whitecrow_server._sketching import check_columns
from whitecrow_server._store import Store
from whitecrow_server._tables import migrate
from whitecrow_server._told import Told
from whitecrow_server._untrusted_input import (
    batch_in,
    card_from,
    policy_from,
    priced_question,
    question_from,
    well_formed,
)
from whitecrow_server._witnessing import Witnessing

MOST_ENTRIES = 1000
"""How many entries of a ledger, or questions of an analyst, are told at once."""

_SHORT_PLAN = 2048
"""A plan of so few bytes is quick: it needs no other process."""

_CLOCKS_SECONDS = 1.0
"""How much the clocks of several machines may differ."""

_MANY_ENTRIES = 10_000  # after so many a check is worth a checkpoint


@dataclass(frozen=True)
class Asking:
    """One question over HTTP, read, looked up and priced once."""

    # who, listing, curator: Who asks, and of whom.
    who: Person
    listing: Listing
    curator: Curator
    inquiry: Inquiry  # the question, its code and its price
    deadline: float | None  # its published reply time; None where replies are not padded
    version: int  # of the service's tables when all this was found out


class Service:
    """A curator for many people."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._geometry = Balls(few=1)
        self.ledger = Ledger(settings.database, geometry=self._geometry)
        if self.ledger.witness is not None:  # a restored backup is refused before anybody can ask
            self.ledger.witness.check()
        self.ledger.database.label = "of this service"  # analysts do not read where it lies
        self.store = Store(settings.database)
        migrate(self.store)
        self.told = Told(self.ledger)
        self.events = Events(sinks_of(settings.events))
        self.people = People(self.store, longest=settings.longest_token_days)
        self.hasher = Hasher()
        self.sessions = Sessions(self.store, settings, self.hasher)
        self.members = Members(self.people, self.sessions, Trail(self.store), settings, self.events)
        self.single_sign_on = SingleSignOn(self.store, settings, self.people, self.sessions)
        self.catalogue = Catalogue(self.store, settings)
        self.onboarding, self.history = Onboarding(self), History(self)
        self.undescribed = Undescribed(self)
        self.witnessing = Witnessing(self.store)
        self.pool = CuratorPool(self.catalogue, self.ledger, settings)
        self.dummies, self.aside = Dummies(self.ledger, settings), Aside(settings)

    def start(self) -> None:
        """Load what is compiled; begin to load the datasets in the background."""
        self._geometry.load()
        for name in self.catalogue.remove_unaccounted():
            LOG.warning("listing without an account removed", dataset=name)
        self.onboarding.clean_uploads()
        self.hasher.begin()
        self.pool.start()

    def close(self) -> None:
        self.pool.close()
        self.dummies.close()
        self.aside.close()
        self.hasher.close()
        self.store.close()
        self.ledger.close()
        self.events.close()

    def bearer(self, token: str, *, scope: str = "") -> Person:
        """Whose token this is: one of ours, or one that the provider made for a program."""
        if not token.startswith("wc_") and self.single_sign_on.offered and not scope:
            return self.single_sign_on.program(token)
        return self.people.bearer(token, scope=scope)

    # Looking at datasets

    def datasets(self, who: Person) -> list[dict[str, Any]]:
        """The datasets a person may know of."""
        listed = self.catalogue.all(analyst=who.name if who.role == "analyst" else "")
        return [_summary(listing, self.pool.state(listing)) for listing in listed]

    def dataset(self, who: Person, name: str) -> dict[str, Any]:
        """One dataset: card, policy, what remains; for the custodian also source and readers."""
        listing = self.listing(who, name)
        state, snapshot = self.pool.state(listing), self.ledger.snapshot(name)
        card = self._known_card(listing)
        shown: dict[str, Any] = {
            **_summary(listing, state),
            "card": None if card is None else card.to_json(),
            "policy": _policy(snapshot.rules, who),
            "deadlines": deadlines_over(self.settings, card),
            **_balance(snapshot, who.name),
        }
        if shown["unbounded"]:
            shown["ended"] = self.history.ended(who, name)
        if who.role == "custodian":
            shown |= {
                "source": dict(listing.source),
                "engine": listing.engine,
                "readers": self.people.may_see(name),
                "progress": state.to_json(),
                "overruns": counted(self.store, name),
            }
        return shown

    def listing(self, who: Person, name: str, *roles: str) -> Listing:
        """The catalogue's entry of a dataset, if this person may know of it and has such a role."""
        if roles:
            need(who, *roles)
        return self.catalogue.get(name, analyst=who.name if who.role == "analyst" else "")

    def curator(self, who: Person, name: str, *roles: str) -> Curator:
        """The curator of a dataset; for code inside the service, never given to an analyst."""
        return self.pool.curator(self.listing(who, name, *roles))

    def _known_card(self, listing: Listing) -> Card | None:
        """The public facts: those written down, else those of the schema once it is read."""
        if listing.card is not None:
            return listing.card
        curator = self.pool.state(listing).curator
        return None if curator is None else curator.card

    # Asking

    def alone(self, who: Person, name: str) -> bool:
        """Whether a custodian is the only person there is: nobody else could learn from time."""
        others = any(person.name != who.name for person in self.people.all())
        return who.role == "custodian" and not others and not self.people.may_see(name)

    def prepare(
        self,
        who: Person,
        name: str,
        written: Mapping[str, Any] | Question,
        *,
        at_once: bool = False,
    ) -> Asking:
        """Read, look up and price a question, once for its whole way to the answer.

        ``at_once`` is the wish of a custodian who is alone here not to have the reply held back.
        What public facts refuse is refused here: it needs no slot, and its time tells nothing.
        """
        need(who, "analyst", "custodian")
        version = self.store.version()  # first: what is read afterwards is at least as new
        listing, question = self.listing(who, name), question_from(written)
        curator = self.pool.curator(listing)
        inquiry = well_formed(lambda: curator.inquire(question, analyst=who.name))
        deadline = well_formed(
            lambda: deadline_of(self.settings, question.kind, curator.card, question)
        )
        if at_once and self.alone(who, name):
            deadline = None
        return Asking(who, listing, curator, inquiry, deadline, version)

    def renewed(self, asking: Asking, who: Callable[[], Person]) -> Asking:
        """Check again after a question has waited: its token, access or data may have changed.

        Nothing is read anew unless something has changed; ``who`` says then who asks.
        """

        def again(asker: Person) -> Asking:
            name, at_once = asking.listing.name, asking.deadline is None
            return self.prepare(asker, name, asking.inquiry.question, at_once=at_once)

        credential = asking.who.credential
        ended = credential is not None and credential.expires <= time.time()
        if ended or self.store.version() != asking.version:
            return again(who())
        if self.pool.curator(asking.listing) is not asking.curator:  # the records are loaded anew
            return again(asking.who)
        return asking

    def stored(self, asking: Asking) -> Release | None:
        """Return an answer that is out already, or refuse what public facts refuse.

        Neither needs a slot, and neither need be hidden by a reply that waits.
        """
        return asking.curator.stored(asking.inquiry)

    def answer(self, asking: Asking, *, began: datetime | None = None) -> Release:
        """Answer a question, or refuse it; the chain names whoever asked, custodians too.

        ``began`` is when its slot did; its reply, and all that comes of it, is due from then on.
        """
        told_at = None
        if asking.deadline is not None:
            # An SQLite file is read on one machine only, by one clock.
            margin = _CLOCKS_SECONDS if self.settings.ledger_file is None else 0.0
            told_at = reply_moment(began or datetime.now(UTC), asking.deadline, margin)
        return asking.curator.ask(asking.inquiry, actor=asking.who.acting, told_at=told_at)

    def ask(self, who: Person, name: str, written: Mapping[str, Any] | Question) -> Release:
        """Answer a question that comes without a slot, from code inside the service."""
        return self.answer(self.prepare(who, name, written))

    def price(
        self, who: Person, name: str, written: Mapping[str, Any], public: Mapping[str, Any]
    ) -> Description:
        """Say what a question would cost and how accurate it would be."""
        curator = self.curator(who, name, "analyst", "custodian")
        return well_formed(lambda: curator.describe(question_from(written), **public))

    def plan(self, who: Person, name: str, batch: bytes) -> dict[str, Any]:
        """Say what a batch would cost together, by the body of a request."""
        curator = self.curator(who, name, "analyst", "custodian")
        if len(batch) > _SHORT_PLAN:
            return self.aside.done("plan", curator, who.name, batch=batch.decode("latin-1"))
        questions = [priced_question(curator, entry) for entry in batch_in(batch)]
        return curator.plan(questions, analyst=who.name).to_json()

    def deadline(
        self, who: Person, name: str, written: Mapping[str, Any] | Question
    ) -> float | None:
        """The published reply time of a question about a dataset."""
        card, question = self._known_card(self.listing(who, name)), question_from(written)
        return well_formed(lambda: deadline_of(self.settings, question.kind, card, question))

    def dummy(self, who: Person, name: str, written: Mapping[str, Any]) -> Release:
        """Answer a question about synthetic records: free, and without any record of the data."""
        listing = self.listing(who, name, "analyst", "custodian")
        return self.dummies.answer(listing, self._known_card(listing), written)

    def detector(self, who: Person, name: str, entry: str) -> Detector:
        """A detector that this person learned, by its entry; public since it was released."""
        self.listing(who, name, "analyst", "custodian")
        analyst, answer = self.told.answer(name, entry) or ("", None)
        if analyst == who.name and isinstance(answer, dict) and "detector" in answer:
            return Detector.from_json(answer)
        raise NotKnown(f"You learned no detector {entry[:80]!r} from this dataset.")

    def privacy_map(
        self,
        who: Person,
        name: str,
        columns: Sequence[str],
        model: DistanceAnomaly,
        *,
        most: int,
        **question: Any,
    ) -> Mapping[str, Any]:
        """What every record would lose and gain by ``identify``: counts, and up to ``most`` points.

        Facts, for the custodian's eyes only; the process that holds the records draws it.
        """
        asked = {"columns": list(columns), "model": model.to_json(), "question": question}
        return self._facts(who, name, "map", **asked, most=most)

    def own_scores(
        self, who: Person, name: str, detector: Detector, *, top: int, whole: bool = False
    ) -> Mapping[str, Any]:
        """How strange the records themselves are by a detector; facts, for the custodian alone."""
        return self._facts(who, name, "scores", detector=detector.to_json(), top=top, whole=whole)

    def _facts(self, who: Person, name: str, what: str, **asked: Any) -> Mapping[str, Any]:
        need(who, "custodian")
        self.events.tell("facts.view", actor=who.name, acting=who.acting, dataset=name)
        return self.pool.process(self.listing(who, name)).facts(what, **asked)

    @told("facts.view", "dataset")
    def intake(self, who: Person, name: str) -> Intake | None:
        """What became of the rows when the records were loaded; None while they are not.

        Facts, for the custodian's eyes only.
        """
        return self.pool.intake(self.listing(who, name, "custodian"))

    # The account

    def account(
        self,
        who: Person,
        name: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = MOST_ENTRIES,
        skip: int = 0,
        newest_first: bool = False,
    ) -> dict[str, Any]:
        """A page of the ledger: entries for custodians and auditors, an analyst's own questions.

        ``after``, ``before`` and ``newest_first`` choose among entries; ``skip`` leaves out that
        many of an analyst's newest questions, and the others come the oldest first.
        """
        self.listing(who, name)
        snapshot = self.ledger.snapshot(name)
        limit = max(1, min(limit, MOST_ENTRIES))
        shown = {"dataset": name, **_balance(snapshot, who.name)}
        if who.role == "analyst":
            return {**shown, "questions": self.asked(who, name, limit=limit, skip=skip)}
        self.events.tell("ledger.export", actor=who.name, acting=who.acting, dataset=name)
        total, head = self.told.end(name)
        entries = self.told.entries(
            name, after=after, before=before, limit=limit, newest_first=newest_first
        )
        return {
            **shown,
            "head": head,
            "total": total,
            "analysts": _shares(snapshot),
            "unsettled": [entry.seq for entry in self.told.unsettled(name)],
            "failures": [entry.seq for entry in self.told.failures(name)],
            "entries": [entry.to_json() for entry in entries],
        }

    def asked(
        self, who: Person, name: str, *, limit: int = MOST_ENTRIES, skip: int = 0
    ) -> list[dict[str, Any]]:
        """A person's own newest questions and what became of them, the oldest of them first."""
        self.listing(who, name)
        return _own(self.told.history(name, who.name, limit=limit, skip=skip)[::-1])

    def verify(self, who: Person, name: str, *, full: bool = False) -> dict[str, Any]:
        """Check the account's chain and sums, since the newest checkpoint or from the beginning.

        An account that has grown by thousands of entries gets a new checkpoint if all is right.
        """
        self.listing(who, name, "custodian", "auditor")
        verified = verification.checkpoint(
            self.ledger,
            name,
            geometry=self._geometry,
            full=full,
            actor=who.name,
            least=_MANY_ENTRIES,
        )
        if not verified.ok:
            return verified.to_json()
        total, head = self.told.end(name)
        return {**verified.to_json(), "entries": total, "head": head}

    def unsettled(self, who: Person, name: str) -> list[dict[str, Any]]:
        """The spends without an answer and the failures nobody has reviewed, in their order."""
        self.listing(who, name, "custodian", "auditor")
        waiting = [*self.told.unsettled(name), *self.told.failures(name)]
        return [entry.to_json() for entry in sorted(waiting, key=lambda entry: entry.seq)]

    @told("spend.void", "dataset")
    def void(self, who: Person, name: str, seq: int, *, reason: str) -> None:
        """Give back a spend that never led to an answer."""
        self.listing(who, name, "custodian")
        self.told.refuse_early(name, seq)
        self.ledger.void(name, seq, reason=reason, actor=who.signature)

    @told("failure.review", "dataset")
    def review(self, who: Person, name: str, seq: int, *, reason: str) -> None:
        """Say that a failure was looked at; after the last one the dataset is open again."""
        self.listing(who, name, "custodian")
        self.told.refuse_early(name, seq)
        failures.review(self.ledger, name, seq, reason=reason, actor=who.signature)

    @told("allowance.change", "dataset")
    def allow(self, who: Person, name: str, analyst: str, budget: Any, *, reason: str) -> None:
        """Cap what one analyst may spend; None lifts the cap."""
        self.listing(who, name, "custodian")
        if self.people.get(analyst).role != "analyst":
            raise InvalidInput(f"{analyst!r} is not an analyst.")
        cap = None if budget is None else Budget.of(budget)
        self.ledger.allow(name, analyst, cap, reason=reason, actor=who.signature)

    # The custodian's datasets

    @told("dataset.register", "dataset")
    def register(
        self,
        who: Person,
        name: str,
        source: Mapping[str, Any],
        *,
        card: Mapping[str, Any] | str | None = None,
        policy: Mapping[str, Any] | None = None,
        budget: Any = "1",
        engine: str = "local",
        readers: Iterable[str] = (),
        indexes: Sequence[Sequence[str]] = (),
    ) -> dict[str, Any]:
        """List a dataset and open its account; the records are read in the background."""
        need(who, "custodian")
        rules, cap, readers = policy_from(policy), Budget.of(budget), tuple(readers)
        facts = None if card is None else card_from(card)
        if name in self.ledger.datasets():
            raise Taken(f"The ledger has an account called {name!r} already.")
        engine = current_name(engine)
        if engine not in (engines := engine_names()):
            raise InvalidInput(f"There is no engine {engine!r}; there are {', '.join(engines)}.")
        records = self.catalogue.records(source)
        check_source(records, facts)
        if facts is not None and isinstance(records, Path):
            check_columns(records, facts)
        # One transaction: a dataset without an account could be neither asked about nor mended.
        with self.store.transaction() as connection:
            listing = Listing(name, source, facts, engine, indexes=tuple(map(tuple, indexes)))
            self.catalogue.add(connection, listing, readers)
            self.ledger.open(
                name,
                budget=cap,
                policy=rules.to_json(),
                unit=rules.unit,
                actor=who.signature,
                card=None if facts is None else facts.to_json(),
                readers=readers,
                connection=connection,
            )
        return self.dataset(who, name)

    def amend(
        self,
        who: Person,
        name: str,
        *,
        reason: str,
        budget: Any = None,
        policy: Mapping[str, Any] | None = None,
        card: Mapping[str, Any] | str | None = None,
        readers: Iterable[str] | None = None,
    ) -> dict[str, Any]:
        """Change what is promised, to whom, or the card; the chain keeps the reason."""
        changes = {"budget": budget, "policy": policy, "card": card, "access": readers}
        names = [f"{what}.change" for what, value in changes.items() if value is not None]
        with self.events.during(*names, actor=who.name, acting=who.acting, dataset=name):
            self.listing(who, name, "custodian")
            rules = None if policy is None else policy_from(policy)
            facts = None if card is None else card_from(card)
            cap = None if budget is None else Budget.of(budget)
            if facts is not None:
                keep_unit(self.ledger, name, facts)
            readers = None if readers is None else tuple(readers)
            if rules is not None and rules.unit != self.ledger.snapshot(name).rules.unit:
                raise InvalidInput("The unit of an account is fixed when it is opened.")
            # One transaction: what holds is what the chain says, whenever we are interrupted.
            with self.store.transaction() as connection:
                if readers is not None:
                    self.catalogue.admit(connection, name, readers)
                if facts is not None:
                    self.catalogue.change(connection, name, card=facts)
                self.ledger.amend(
                    name,
                    reason=reason,
                    actor=who.signature,
                    budget=cap,
                    policy=None if rules is None else rules.to_json(),
                    card=None if facts is None else facts.to_json(),
                    readers=readers,
                    connection=connection,
                )
        return self.dataset(who, name)

    @told("dataset.remove", "dataset")
    def remove(self, who: Person, name: str, *, reason: str) -> None:
        """Take a dataset off the list: nobody can ask about it or see it any more.

        Its account stays, with what was promised and spent, and its name is never used again: the
        records were asked about, and what was learnt of them cannot be taken back.
        """
        self.listing(who, name, "custodian")
        why, by = f"removed: {reason}", who.signature
        with self.store.transaction() as connection:
            self.catalogue.remove(connection, name)
            self.ledger.amend(name, reason=why, actor=by, readers=(), connection=connection)


# What each role is shown of a dataset and its account


def _summary(listing: Listing, state: State) -> dict[str, Any]:
    changed = {"state": CHANGED} if state.stage == "changed" else {}
    return {"name": listing.name, "ready": state.stage == "ready", **changed}


def _policy(rules: Policy, who: Person) -> dict[str, Any]:
    """The policy; an analyst sees of its list of analysts only what concerns them."""
    policy = rules.to_json()
    if who.role == "analyst" and "analysts" in policy:
        mine = policy["analysts"].get(who.name, policy["analysts"].get("*", []))
        policy["analysts"] = {who.name: mine}
    return policy


def _balance(snapshot: AccountSnapshot, analyst: str) -> dict[str, Any]:
    """What was spent of the dataset's budget, and what remains for one more question."""
    mine, left = snapshot.shares.get(analyst), snapshot.remaining(analyst)
    return {
        "budget": snapshot.budget.to_json(),
        "allowance": None if mine is None or mine.budget is None else mine.budget.to_json(),
        "spent": snapshot.spent.shown(snapshot.budget),
        "remaining": left.to_json(),
        "unbounded": list(left.unbounded),
    }


def _shares(snapshot: AccountSnapshot) -> dict[str, Any]:
    """Every analyst's own account, for custodians and auditors."""
    return {
        analyst: {
            "allowance": None if share.budget is None else share.budget.to_json(),
            "spent": share.spent.shown(share.budget or snapshot.budget),
        }
        for analyst, share in snapshot.shares.items()
    }


def _own(history: Iterable[tuple[Entry, Entry | None]]) -> list[dict[str, Any]]:
    """An analyst's own questions and what became of them, in the order given.

    No entry numbers, hashes or located costs: numbers would count other people's questions, hashes
    would let a guess at them be checked, and located costs depend on where they lie.
    """
    outcomes = {"settle": "answered", "fail": "failed", "void": "void"}
    return [
        {
            "at": reserved.at,
            "question": {
                "kind": reserved.content["question"]["kind"],
                **reserved.content["question"]["question"],
            },
            "price": reserved.content["price"],
            "outcome": "open" if closed is None else outcomes[closed.kind],
            "answer": None if closed is None else closed.content.get("answer"),
            # Whoever else could have asked it in this analyst's name.
            "acting": reserved.content.get("actor", ""),
        }
        for reserved, closed in history
    ]
