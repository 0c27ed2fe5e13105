"""Holds answers back until the witness covers them, and a ledger that has forgotten some.

Also how a ledger gets a witness and loses it, and how it goes on after a restore that forgot
entries. What lost entries must never answer again: its answers have left, and would be given a
second time, differently. So an entry of its chain closes the account for good, a publication that
lost its state is over, and the witness remembers both by a new era.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from whitecrow.errors import (
    InvalidInput,
    LedgerBusy,
    LedgerOutdated,
    LedgerUnusable,
    WhitecrowError,
)
from whitecrow.ledger.account import Entry
from whitecrow.ledger.acts import close, custodian_act
from whitecrow.ledger.database import Database, GroupCommit, Job, Session
from whitecrow.ledger.schema import LOST, OWN_STATES
from whitecrow.ledger.statements import ONE, WRITE_STATE
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.witness.places import Place, Setup, setup_of
from whitecrow.ledger.witness.statement import Evidence, Mark, SigningKey
from whitecrow.terms import Budget, canonical

E = TypeVar("E", bound=Sequence[Entry | None])

_PATIENCE_SECONDS = 60.0

TRIES = 1000
"""How often another process of the same ledger may be faster to tell the witness something."""

_WHAT_TO_DO = (
    "So that no budget is spent twice, it answers nothing. The operator restores a newer copy, or "
    "runs 'whitecrow ledger witness SOURCE --accept-loss --reason ...', which closes for good what "
    "lost entries and lets the rest go on."
)
OUTDATED = (
    "This ledger is older than its witness: it was restored from a backup, or replaced, and has "
    f"forgotten answers that have left. {_WHAT_TO_DO}"
)
FORKED = (
    "Two copies of this ledger are in use (a fork): its witness was told of answers that this copy "
    f"does not have. Stop the other copy, or this one. {_WHAT_TO_DO}"
)
DISMISSED = (
    "This ledger is a copy from before its witness was dismissed, and may have forgotten answers "
    "that left since. So that no budget is spent twice, it answers nothing. The operator restores "
    "a copy that was made after the dismissal."
)
NOTHING_THERE = (
    "The witness of this ledger holds nothing of it: its file is away, its database is empty or "
    "another one, or the instance does not know the ledger (or this token). No answer leaves "
    "without it; nothing is lost. The operator brings back the place that 'whitecrow ledger "
    "witness SOURCE' names. If that is gone for good, and this ledger was neither restored nor "
    "copied, 'whitecrow ledger witness SOURCE --dismiss --not-restored --reason ...' says so, and "
    "another witness can be appointed."
)


# Where the accounts and publications of a ledger stand

_HEADS = "SELECT id, name, seq, head, closure FROM datasets"
_HEAD = f"{_HEADS} WHERE name = :name"
# Publications go on from a state that is no entry; going back would draw their noise twice. Its
# version and a random fingerprint are told, and nothing of what it holds.
_STATES = """
SELECT datasets.name, publishers.name AS state, version, fingerprints, state = :lost AS over
FROM publishers JOIN datasets ON datasets.id = publishers.dataset
"""


@dataclass(frozen=True)
class Head:
    """Where an account, or a publication, stands in the ledger."""

    # seq, head: The newest entry and its hash; of a publication its version from 1 and a
    # fingerprint.
    seq: int = 0
    head: str = ""
    account: int = 0  # whose entries; 0 for a publication
    before: str = ""  # of a publication the fingerprint of the version before
    closed: bool = False  # whether it is closed for good

    def bears_out(self, session: Session, mark: Mark) -> bool:
        """Whether the entry that a mark names is there, and what lost entries is closed."""
        if self.seq < mark.seq or (mark.era and not self.closed):
            return False
        if not mark.head or (self.seq, self.head) == (mark.seq, mark.head):
            return True
        if self.account:
            entry = session.one(ONE, dataset=self.account, seq=mark.seq)
            return entry is not None and bool(entry.hash == mark.head)
        # A version is told before the next one is written, unless that is done at intervals.
        return self.seq > mark.seq + 1 or (self.seq, self.before) == (mark.seq + 1, mark.head)


def heads(session: Session) -> dict[str, Head]:
    """All there are, by the names that the witness knows."""
    there = {row.name: _account(row) for row in session.rows(_HEADS)}
    for row in session.rows(_STATES, lost=LOST):
        if row.state not in OWN_STATES:
            before, _, now = row.fingerprints.rpartition(" ")
            head = Head(row.version + 1, now, before=before, closed=bool(row.over))
            there[state_name(row.name, row.state)] = head
    return there


def head_of(session: Session, name: str) -> Head:
    dataset, _, key = name.partition("\n")
    if key:
        return heads(session).get(name, Head())
    row = session.one(_HEAD, name=dataset)
    return Head() if row is None else _account(row)


def _account(row: Any) -> Head:
    return Head(row.seq, row.head, row.id, closed=bool(row.closure))


def state_name(dataset: str, key: str) -> str:
    """What the witness calls the state of a publication."""
    return f"{dataset}\n{key}"


def missing(
    session: Session, there: Mapping[str, Head], marks: Mapping[str, Mark]
) -> dict[str, tuple[Mark, int]]:
    """What is older than its mark says, or another one: the mark, and where it ends now."""
    return {
        name: (mark, there.get(name, Head()).seq)
        for name, mark in marks.items()
        if name.partition("\n")[2] not in OWN_STATES
        and not there.get(name, Head()).bears_out(session, mark)
    }


def marks_of(there: Mapping[str, Head], known: Mapping[str, Mark]) -> dict[str, Mark]:
    """The marks of all accounts and publications, each in the era that is known."""
    none = Mark(0, 0, "")
    return {
        name: Mark(known.get(name, none).era, head.seq, head.head) for name, head in there.items()
    }


# The guard


def guard_of(database: Database) -> Guard | None:
    """Watch over a ledger as it says itself; None if it has no witness."""
    setup = setup_of(database)
    return None if setup is None else Guard(database, setup)


class Guard:
    """Compares a ledger with its witness and keeps the witness current."""

    def __init__(self, database: Database, setup: Setup) -> None:
        self._database, self._setup = database, setup
        self._start()

    @property
    def ledger(self) -> str:
        """The name under which the witness knows the ledger."""
        return self._setup.ledger

    def _start(self) -> None:
        self._process = os.getpid()
        self._held = Evidence({})
        self._opened: tuple[Place, SigningKey] | None = None
        self._opening = threading.Lock()
        self._refusal = ""
        self._told_at = 0.0
        self._line: GroupCommit[None] = GroupCommit(self._write, _PATIENCE_SECONDS)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self, *, afresh: bool = False) -> None:
        """Open the witness and compare, once or ``afresh``.

        Raises if an account ends before its mark, or has another entry there; and if the witness is
        away, or holds nothing of this ledger: only ``appoint`` begins one.
        """
        if os.getpid() != self._process:
            self._start()
        if self._refusal:
            raise LedgerOutdated(self._refusal)
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    self._open()
        if afresh:
            self._line.run(lambda _: None)

    def _open(self) -> None:
        key, place = self._setup.signing_key(), self._setup.place()
        try:
            self._adopt(place.read(), OUTDATED)
        except WhitecrowError:
            place.close()
            raise
        self._opened, self._told_at = (place, key), time.monotonic()
        if self._setup.seconds:
            self._thread = threading.Thread(
                target=self._again_and_again, name="whitecrow-witness", daemon=True
            )
            self._thread.start()

    def cover(self, dataset: str, seq: int, *, fresh: bool = False) -> None:
        """Return when the witness knows an entry.

        What was written just now is always told: the store may have been restored under us, and
        its numbers begun anew. What was stored before must still follow from what was told.
        """
        self.check()
        # While the place is away at two intervals, answers wait as they do without any.
        if self._setup.seconds and time.monotonic() - self._told_at <= 2 * self._setup.seconds:
            return
        mark = self._held.marks.get(dataset)
        if fresh or mark is None or seq > mark.seq:
            self._line.run(lambda _: None)
            return
        marks = {dataset: mark}
        self._database.read(
            lambda session: self._compare(
                session, {dataset: head_of(session, dataset)}, marks, OUTDATED
            )
        )

    def tell(self, dataset: str, told: E) -> E:
        """Return entries that somebody is shown, when the witness knows them.

        Whoever only looks at a copy of a ledger, and answers nothing, needs no witness for it.
        """
        newest = max((entry.seq for entry in told if entry is not None), default=0)
        if newest and self._opened is not None:
            self.cover(dataset, newest)
        return told

    def close(self) -> None:
        """Write what is left to write, where that is done in intervals."""
        if self._opened is None or os.getpid() != self._process:
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._line.run(lambda _: None)
        self.retire()

    def retire(self) -> None:
        """Give the place back without a word: the ledger has another witness."""
        self._stop.set()
        if self._opened is not None and os.getpid() == self._process:
            self._opened[0].close()
            self._opened = None

    def _again_and_again(self) -> None:
        while not self._stop.wait(self._setup.seconds):
            try:
                self._line.run(lambda _: None)
            except WhitecrowError:  # the place is away: the next round tells it all
                continue

    def _write(self, fetch: Callable[[], list[Job[None]]]) -> None:
        """Tell the witness all that is new, for everybody who waits."""
        if self._opened is None:  # retired while somebody waited
            raise LedgerBusy("The ledger has got another witness at this moment; ask again.")
        place, key = self._opened
        fetch()  # before the heads are read: whoever joined has stored their answer
        for _ in range(TRIES):
            new = self._ahead()
            if not new:
                break
            statement = key.signed(self._setup.ledger, new, self._held)
            if place.keep(statement):
                self._held = Evidence.up_to(statement, {**self._held.marks, **new})
                break
            # Another process has told more. If it writes this ledger, its entries are here to be
            # read; if it writes a copy, they are not.
            self._adopt(place.read(), FORKED)
        else:
            raise LedgerBusy(
                "Many processes tell this ledger's witness something at once. Nothing was "
                "released; ask again: a question that was already charged is not charged twice."
            )
        self._told_at = time.monotonic()

    def _ahead(self) -> dict[str, Mark]:
        """The accounts that have grown, after a look at where they grew from."""

        def peek(session: Session) -> dict[str, Mark]:
            there, held = heads(session), self._held.marks
            self._compare(session, there, held, OUTDATED)
            marks = marks_of(there, held)
            return {name: mark for name, mark in marks.items() if mark != held.get(name)}

        return self._database.read(peek)

    def _adopt(self, held: Evidence, otherwise: str) -> None:
        """Take over what the witness says, if the ledger bears it out."""
        if not held.fingerprint:
            raise LedgerUnusable(NOTHING_THERE)
        if held.last:
            self._refuse(DISMISSED)
        self._database.read(
            lambda session: self._compare(session, heads(session), held.marks, otherwise)
        )
        self._held = held

    def _compare(
        self, session: Session, there: Mapping[str, Head], marks: Mapping[str, Mark], otherwise: str
    ) -> None:
        if missing(session, there, marks):
            self._refuse(otherwise)

    def _refuse(self, why: str) -> None:
        self._refusal = why
        raise LedgerOutdated(why)


# A witness is appointed and dismissed, and a loss is accepted

_UNCONFIRMED = (
    "The witness does not confirm that this ledger is the newest, and is not dismissed: {why} If "
    "it is gone for good, and this ledger was neither restored nor copied, say so: --dismiss "
    "--not-restored --reason ..."
)

_APPOINT = """
INSERT INTO witness (ledger, address, key, public, seconds)
VALUES (:ledger, :address, :key, :public, :seconds)
"""


def appoint(database: Database, address: str, key: Path, *, seconds: int = 0) -> Setup:
    """Give a ledger a witness, and tell it where all accounts stand.

    The key is made if its file does not exist. The witness is told before an answer leaves, or
    every so many seconds.
    """
    if setup_of(database) is not None:
        raise InvalidInput("The ledger has a witness already; dismiss it first (--dismiss).")
    if seconds < 0:
        raise InvalidInput("The interval of a witness is a number of seconds from 0 on.")
    signing = SigningKey(key) if key.exists() else SigningKey.made(key)
    name = secrets.token_hex(16)
    address = address if "://" in address else str(Path(address).resolve())
    setup = Setup(name, address, str(key.resolve()), signing.public, seconds)
    first = signing.signed(name, marks_of(database.read(heads), {}), Evidence({}))
    with closing(setup.place()) as place:
        if not place.keep(first):
            raise LedgerUnusable("The place does not take the first statement of a witness.")
    # Only now: a place that cannot be written would have left a ledger that answers nothing.
    database.write(lambda session: session.run(_APPOINT, **vars(setup)))
    return setup


def dismiss(database: Database, *, not_restored: bool = False) -> None:
    """Take a ledger's witness away; a deliberate act.

    The witness is told, so that no copy which still names it goes on. Where it cannot be asked, the
    operator may vouch that this ledger was neither restored nor copied. A ledger that has forgotten
    answers keeps its witness: the loss must be accepted first.
    """
    setup = setup_of(database)
    if setup is None:
        return
    why = ""
    try:
        with closing(setup.place()) as place:
            held = place.read()
            there = database.read(heads)
            if database.read(lambda session: missing(session, there, held.marks)):
                raise LedgerOutdated(OUTDATED)
            marks = marks_of(there, held.marks)
            last = setup.signing_key().signed(setup.ledger, marks, held, last=True)
            if not held.fingerprint or held.last or not place.keep(last):
                why = "it holds nothing of this ledger, was dismissed, or is being written."
    except LedgerOutdated:
        raise
    except WhitecrowError as failure:
        why = str(failure)
    if why and not not_restored:
        raise LedgerUnusable(_UNCONFIRMED.format(why=why))
    database.write(lambda session: session.run("DELETE FROM witness"))


def lost(database: Database, setup: Setup) -> dict[str, tuple[Mark, int]]:
    """What is older than the witness says, or another one: the mark, and where it ends now."""
    held = _confirmed(setup.read())
    return database.read(lambda session: missing(session, heads(session), held.marks))


def accept(database: Database, setup: Setup, *, reason: str, actor: str = "") -> tuple[str, ...]:
    """Close what lost entries, end publications that lost their state, and tell the witness.

    Return what was closed, by the names that the witness knows. The chain keeps reason and actor.
    """
    body = custodian_act(reason=f"entries were lost: {reason}", actor=actor)
    with closing(setup.place()) as place:
        for _ in range(TRIES):
            held = _confirmed(place.read())
            closed = database.write(partial(_close, marks=held.marks, body=body))
            if not closed or place.keep(setup.signing_key().signed(setup.ledger, closed, held)):
                return tuple(closed)
    raise LedgerBusy("Other processes write this ledger; stop them, then accept the loss.")


def _confirmed(held: Evidence) -> Evidence:
    """What a witness says that knows the ledger and was not dismissed."""
    if not held.fingerprint:
        raise LedgerUnusable(NOTHING_THERE)
    if held.last:
        raise LedgerOutdated(DISMISSED)
    return held


def _close(session: Session, marks: Mapping[str, Mark], body: Mapping[str, Any]) -> dict[str, Mark]:
    """Close what is not as its mark says, in one transaction; return where it stands then."""
    there = heads(session)
    names = sorted(missing(session, there, marks))
    for name in names:
        dataset, _, key = name.partition("\n")
        if dataset not in there:  # so that nobody opens another account of this name
            AccountTransaction.register(
                session, dataset, Budget.of("0"), canonical({}), "add_remove", body
            )
        if not key or dataset not in there:
            close(AccountTransaction(session, dataset), body)
        if key:
            _end_publication(session, dataset, key, there.get(name, Head()), marks[name])
    now = marks_of(heads(session), marks)
    return {name: replace(now[name], era=marks[name].era + 1) for name in names}


def _end_publication(session: Session, dataset: str, key: str, head: Head, mark: Mark) -> None:
    account = AccountTransaction(session, dataset)
    over = {"version": max(head.seq, mark.seq, 1) - 1, "state": LOST, "fingerprints": ""}
    session.run(WRITE_STATE, dataset=account.id, name=key, **over)
