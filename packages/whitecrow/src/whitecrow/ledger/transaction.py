"""One dataset's account, open inside one transaction.

All SQL that touches entries and accounts is here. An account that may be written is opened by
locking the dataset's row, so whatever it reads is the newest there is and stays so until the
transaction ends.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from whitecrow.errors import AccountConflict, InvalidInput, LedgerCorrupt
from whitecrow.ledger import statements as sql
from whitecrow.ledger.account import (
    GENESIS,
    LONGEST_WAIT,
    Account,
    AccountSnapshot,
    AnalystAccount,
    Entry,
    RecordedOutcome,
    Records,
    Reservation,
    ToldAt,
)
from whitecrow.ledger.database import Session
from whitecrow.privacy import ConditionalPrivacy, Guarantee, SensitivePrivacy, Unit, Zone, intersect
from whitecrow.terms import Budget, canonical


class AccountTransaction:
    """A dataset's account inside a transaction; without a lock it may not be written."""

    def __init__(
        self,
        session: Session,
        dataset: str,
        *,
        lock: bool = True,
        foresee: Callable[[], None] | None = None,
    ) -> None:
        self.session = session
        if foresee is not None and session.pipelined:
            session.ahead(sql.LOCK if lock else sql.READ, name=dataset)
            foresee()
        row = session.one(sql.LOCK if lock else sql.READ, name=dataset)
        if row is None:
            raise InvalidInput(f"The ledger knows no dataset {dataset!r}.")
        self.name = dataset
        self.id: int = row.id
        self.seq: int = row.seq
        self.head: str = row.head
        self.policy: str = row.policy
        self._budget: str = row.budget
        self._spent: str = row.spent
        self.failures: int = row.failures
        self.closure: int = row.closure
        self.appointed: str | None = row.appointed

    @classmethod
    def register(
        cls,
        session: Session,
        dataset: str,
        budget: Budget,
        policy: str,
        unit: Unit,
        act: Mapping[str, Any],
        records: Records | None = None,
    ) -> None:
        """Open a new account, unless another process was first; ``act`` says who did and why."""
        if session.one(sql.READ, name=dataset) is not None:
            return
        session.run(
            sql.REGISTER,
            name=dataset,
            seq=0,
            head=GENESIS,
            budget=canonical(budget.to_json()),
            policy=policy,
            spent=Account(unit=unit).counting(budget, 1).text,
        )
        body = {**act, "budget": budget.to_json(), "policy": json.loads(policy), "unit": unit}
        account = cls(session, dataset)
        if account.seq:  # another process was first
            return
        if records is not None:
            body["data"] = {"revision": 1, "fingerprint": records.fingerprint}
            account.keep(records.state, records.key)
        account.append("open", body=body)

    @property
    def budget(self) -> Budget:
        """The dataset's cap."""
        return _budget(self._budget)

    @budget.setter
    def budget(self, new: Budget) -> None:
        self._budget = canonical(new.to_json())

    @property
    def spent(self) -> Account:
        """What all analysts together have spent."""
        return _account(self._spent)

    @spent.setter
    def spent(self, new: Account) -> None:
        self._spent = _text(new)

    def must_be_open(self) -> None:
        """Refuse what would answer, or let something be answered, once the account is closed."""
        if self.closure:
            raise AccountConflict(
                f"The account {self.name!r} lost entries in a restore, and is closed for good: "
                "what was answered then would be answered again, differently."
            )

    # Writing

    def append(
        self,
        kind: str,
        *,
        body: Mapping[str, Any],
        analyst: str = "",
        digest: str = "",
        closes: int | None = None,
        told_at: ToldAt | None = None,
    ) -> Entry:
        """Write one entry, move the end of the chain, and write its sums and promise."""
        now = datetime.now(UTC)
        at = now if told_at is None else told_at(now)
        entry = Entry.sealed(
            dataset=self.name,
            seq=self.seq + 1,
            kind=kind,
            at=_moment(at),
            analyst=analyst,
            digest=digest,
            closes=closes,
            body=canonical(body),
            previous=self.head,
        )
        self.session.run(sql.APPEND, **{**vars(entry), "dataset": self.id})
        self.seq, self.head = entry.seq, entry.hash
        self.write_sums()
        return entry

    def write_sums(self) -> None:
        """Write the end of the chain, its sums and its promise."""
        self.session.run(
            sql.MOVE,
            dataset=self.id,
            seq=self.seq,
            head=self.head,
            budget=self._budget,
            policy=self.policy,
            spent=self._spent,
            failures=self.failures,
            closure=self.closure,
        )

    def write_share(self, analyst: str, share: AnalystAccount) -> None:
        budget = None if share.budget is None else canonical(share.budget.to_json())
        row = {"analyst": analyst, "budget": budget, "spent": _text(share.spent)}
        self.session.run(sql.WRITE_SHARE, dataset=self.id, **row)

    # States of publications and of the account itself, which are no part of the chain

    def state(self, name: str) -> Any | None:
        """The version of a state, its text, and the fingerprints of the last version and this."""
        return self.session.one(sql.STATE, dataset=self.id, name=name)

    def keep(self, name: str, state: str) -> None:
        """Write the next version of a state, whatever stood there."""
        row = self.state(name)
        version, before = 0, ""
        if row is not None:
            version, before = row.version + 1, row.fingerprints.rpartition(" ")[2]
        fingerprints = f"{before} {secrets.token_hex(32)}"
        new = {"version": version, "state": state, "fingerprints": fingerprints}
        self.session.run(sql.WRITE_STATE, dataset=self.id, name=name, **new)

    # What is open, and on which terms: derived from the entries, kept up to date with them

    def open_reservation(self, seq: int, holder: str = "") -> None:
        """Note that a reservation has no answer yet, and who computes it."""
        self.session.run(sql.OPENED, dataset=self.id, seq=seq, holder=holder)

    def close_reservation(self, seq: int) -> None:
        """Note that a reservation was answered or given back."""
        self.session.run(sql.SETTLED, dataset=self.id, seq=seq)

    def claim_of(self, seq: int) -> tuple[int, str]:
        """How often a reservation was taken up, and by whom last; zero times if it is not open."""
        row = self.session.one(sql.CLAIMED, dataset=self.id, seq=seq)
        return (0, "") if row is None else (int(row.epoch), str(row.holder))

    def claim(self, held: Reservation, holder: str) -> int:
        """Count that somebody begins to compute an answer; whoever did before lost the right."""
        if not held.epoch:
            raise LedgerCorrupt(
                "A reservation is missing from those that wait; run 'whitecrow ledger verify'."
            )
        epoch = held.epoch + 1
        self.session.run(sql.CLAIM, dataset=self.id, seq=held.seq, epoch=epoch, holder=holder)
        return epoch

    def add_terms(self, analyst: str, price: Guarantee) -> None:
        """Count the zones and conditions of a release."""
        for digest, term in terms_of(price):
            named = {"digest": digest, "term": term}
            self.session.run(sql.ADD_TERM, dataset=self.id, analyst=analyst, **named)

    def remove_terms(self, analyst: str, price: Guarantee) -> None:
        """Count the zones and conditions of a release that was given back."""
        for digest, _ in terms_of(price):
            self.session.run(sql.LESS_TERM, dataset=self.id, analyst=analyst, digest=digest)
        self.session.run(sql.NO_TERM, dataset=self.id, analyst=analyst)

    def all_terms(self) -> dict[str, dict[str, int]]:
        """How many standing releases of each analyst have a term."""
        terms: dict[str, dict[str, int]] = {}
        for row in self.session.rows(sql.ALL_TERMS, dataset=self.id):
            terms.setdefault(row.analyst, {})[row.term] = row.number
        return terms

    def open_reservations(self) -> set[int]:
        """The reservations that have no answer."""
        return {row.seq for row in self.session.rows(sql.ALL_OPEN, dataset=self.id)}

    def terms(self, analyst: str | None = None) -> tuple[tuple[Zone, ...], tuple[str, ...]]:
        """The zones and conditions of all standing releases, or of one analyst's."""
        if analyst is None:
            rows = self.session.rows(sql.TERMS, dataset=self.id)
        else:
            rows = self.session.rows(sql.OWN_TERMS, dataset=self.id, analyst=analyst)
        return joint_terms(row.term for row in rows)

    # Reading

    def share(self, analyst: str) -> AnalystAccount | None:
        row = self.session.one(sql.SHARE, dataset=self.id, analyst=analyst)
        return None if row is None else _share(row)

    def shares(self) -> dict[str, AnalystAccount]:
        rows = self.session.rows(sql.SHARES, dataset=self.id)
        return {row.analyst: _share(row) for row in rows}

    def snapshot(self, shares: Mapping[str, AnalystAccount]) -> AccountSnapshot:
        """Where the dataset stands, with these analysts' accounts."""
        return AccountSnapshot(
            *(self.budget, self.policy, self.spent, shares, self.seq, self.head),
            failures=self.failures,
            closure=self.closure,
        )

    def outcome(
        self, digest: str, former: str = "", *, before: int | None = None
    ) -> Reservation | RecordedOutcome | None:
        """What became of a question: open, closed, or never asked (or void).

        Where it was never asked, an answer under its ``former`` name is its answer. With
        ``before``, as it was before that entry, but for an answer.
        """
        asked = {"asked": digest, "former": former or sql.NO_NAME}
        rows = self.session.rows(sql.BY_QUESTION, dataset=self.id, **asked)
        if not rows:  # a new question
            return None
        rows.sort(key=lambda row: row.seq)
        if before is not None:
            rows = [row for row in rows if row.seq < before]
        outcome = _became([row for row in rows if row.digest == digest])
        if outcome is None and former:
            earlier = _became([row for row in rows if row.digest == former])
            if isinstance(earlier, RecordedOutcome) and earlier.answered:
                return earlier
        return outcome

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Entries in order, read in portions."""
        while True:
            entries = self.some_entries(after=after, limit=_AT_ONCE)
            yield from entries
            if len(entries) < _AT_ONCE:
                return
            after = entries[-1].seq

    def some_entries(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        skip: int | None = None,
        newest_first: bool = False,
        analyst: str | None = None,
        kind: str | None = None,
        holding: str | None = None,
    ) -> list[Entry]:
        """Entries between two others, some of them, one analyst's, one kind, or with a word.

        An analyst's that are of a kind, but for answers, are found by an index.
        """
        limits = {
            "before": before,
            "limit": limit,
            "skip": skip,
            "analyst": analyst,
            "kind": kind,
            "holding": holding,
        }
        given = {name: value for name, value in limits.items() if value is not None}
        indexed = () if kind in (None, "settle") else ("no answer",)
        query = sql.some_entries(frozenset((*given, *indexed)), newest_first)
        rows = self.session.rows(query, dataset=self.id, after=after, **given)
        return [_entry(row, self.name) for row in rows]

    def closing(self, seqs: Sequence[int]) -> dict[int, Entry]:
        """What closed these entries, by the entry that was closed."""
        if not seqs:
            return {}
        closed = {f"closed{number}": seq for number, seq in enumerate(seqs)}
        rows = self.session.rows(sql.closing_of(len(seqs)), dataset=self.id, **closed)
        return {row.closes: _entry(row, self.name) for row in rows}

    def last_words(self, asked: Sequence[Entry]) -> list[Entry | None]:
        """What became of these reservations: a failure may be reviewed, and either given back."""
        last: dict[int, Entry] = {}
        open_at = {reservation.seq: reservation.seq for reservation in asked}
        while open_at:
            closed = self.closing(list(open_at))
            last |= {open_at[seq]: entry for seq, entry in closed.items() if entry.kind != "review"}
            open_at = {entry.seq: open_at[seq] for seq, entry in closed.items()}
        return [last.get(reservation.seq) for reservation in asked]

    def unsettled(self) -> list[Entry]:
        """Reservations that nothing has closed, or only a failure that nobody has reviewed."""
        rows = self.session.rows(sql.UNSETTLED, dataset=self.id)
        return [_entry(row, self.name) for row in rows]

    def unreviewed(self) -> list[Entry]:
        """Failures that nobody has reviewed."""
        if not self.failures:  # almost always
            return []
        rows = self.session.rows(sql.UNREVIEWED, dataset=self.id)
        return [_entry(row, self.name) for row in rows]

    def closed_by(self, moment: datetime) -> bool:
        """Whether a failure closes the account to new answers; one that is told later does not yet.

        Whoever was refused earlier would learn when a computation failed, not when it is told.
        """
        return any(failed.told_by(moment) for failed in self.unreviewed())

    def told_end(self, after: int) -> tuple[int, str]:
        """Number and hash of the last entry that may be told by now, as may all before it.

        All up to ``after`` may: the search begins there.
        """
        now = datetime.now(UTC)
        window = {"now": _moment(now), "latest": _moment(now + LONGEST_WAIT)}
        first = self.session.one(sql.NOT_TOLD, dataset=self.id, after=after, **window)
        return (self.seq, self.head) if first is None else (first.seq - 1, first.previous)

    def entry(self, seq: int) -> Entry | None:
        row = self.session.one(sql.ONE, dataset=self.id, seq=seq)
        return None if row is None else _entry(row, self.name)


def _became(rows: Iterable[Any]) -> Reservation | RecordedOutcome | None:
    """What became of a question, from its entries in order."""
    outcome: Reservation | RecordedOutcome | None = None
    for row in rows:
        if row.kind == "reserve" and row.answered_by is not None:
            answer = _parsed(row.answer)["answer"]
            outcome = RecordedOutcome(row.seq, row.answered_by, answered=True, answer=answer)
        elif row.kind == "reserve":
            asked = row.seq, row.digest, row.analyst
            outcome = Reservation(*asked, epoch=row.epoch or 0, holder=row.holder or "")
        elif row.kind == "fail":
            outcome = RecordedOutcome(row.closes, row.seq, answered=False)
        elif row.kind == "review" and isinstance(outcome, RecordedOutcome):
            # The failure is closed; what gives the spend back closes the review.
            outcome = replace(outcome, by=row.seq, reviewed=True)
        else:
            outcome = None
    return outcome


def names(session: Session) -> tuple[str, ...]:
    return tuple(row.name for row in session.rows(sql.NAMES))


def _moment(at: datetime) -> str:
    """Write a moment so that the order of texts is that of moments."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise LedgerCorrupt(
            "The ledger holds a text that is not JSON; run 'whitecrow ledger verify'."
        ) from None


@lru_cache(maxsize=64)  # a cap hardly ever changes
def _budget(text: str) -> Budget:
    return Budget.of(_parsed(text))


_ACCOUNTS: dict[str, Account] = {}
"""The sums that were written or read last, by their text: the next ask begins with them."""

_MOST_ACCOUNTS = 256


def _account(text: str) -> Account:
    account = _ACCOUNTS.get(text)
    if account is not None:
        return account
    try:
        return _remembered(text, Account.from_json(_parsed(text)))
    except (KeyError, ValueError, TypeError):
        raise LedgerCorrupt(
            "The ledger holds sums that cannot be read; run 'whitecrow ledger verify'."
        ) from None


def _remembered(text: str, account: Account) -> Account:
    if len(_ACCOUNTS) >= _MOST_ACCOUNTS:
        _ACCOUNTS.clear()
    _ACCOUNTS[text] = account
    return account


def _text(account: Account) -> str:
    """Write sums, which the next ask begins with."""
    _remembered(account.text, account)
    return account.text


def _share(row: Any) -> AnalystAccount:
    return AnalystAccount(_account(row.spent), None if row.budget is None else _budget(row.budget))


def _entry(row: Any, dataset: str) -> Entry:
    return Entry(**{**row._asdict(), "dataset": dataset})


def joint_terms(texts: Iterable[str]) -> tuple[tuple[Zone, ...], tuple[str, ...]]:
    """The zones and conditions that several releases have together."""
    terms = [_parsed(term) for term in texts]
    zones = intersect(Zone.from_json(term["zone"]) for term in terms if "zone" in term)
    return zones, tuple(sorted({term["condition"] for term in terms if "condition" in term}))


@lru_cache(maxsize=256)  # many questions have one promise
def terms_of(price: Guarantee) -> tuple[tuple[str, str], ...]:
    """The zones and conditions of a promise, each with a short name."""
    listed: list[dict[str, Any]] = []
    if isinstance(price, SensitivePrivacy | ConditionalPrivacy):
        listed += [{"zone": zone.to_json()} for zone in price.zones if not zone.everyone]
    if isinstance(price, ConditionalPrivacy):
        listed += [{"condition": condition} for condition in price.conditions]
    texts = dict.fromkeys(canonical(term) for term in listed)
    return tuple((hashlib.sha256(text.encode("ascii")).hexdigest(), text) for text in texts)


_AT_ONCE = 2000  # how many entries are read at once
