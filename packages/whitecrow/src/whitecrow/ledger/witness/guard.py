"""Holds answers back until the witness covers them, and a ledger that has forgotten some."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from whitecrow.errors import LedgerBusy, LedgerOutdated, LedgerUnusable, WhitecrowError
from whitecrow.ledger.account import Entry
from whitecrow.ledger.database import Database, GroupCommit, Job, Session
from whitecrow.ledger.witness.heads import Head, head_of, heads, missing
from whitecrow.ledger.witness.places import Place
from whitecrow.ledger.witness.setup import Setup, setup_of
from whitecrow.ledger.witness.statement import Evidence, Mark, SigningKey

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


def guard_of(database: Database) -> Guard | None:
    """Watch over a ledger as it says itself; None if it has no witness."""
    found = setup_of(database)
    return None if found is None else Guard(database, found)


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
        known = self._held.marks.get(dataset)
        if fresh or known is None or seq > known.seq:
            self._line.run(lambda _: None)
            return
        self._database.read(
            lambda session: self._compare(
                session, {dataset: head_of(session, dataset)}, {dataset: known}, OUTDATED
            )
        )

    def tell(self, dataset: str, told: E) -> E:
        """Return entries that somebody is shown, when the witness knows them.

        Whoever only looks at a copy of a ledger, and answers nothing, needs no witness for it.
        """
        newest = max((one.seq for one in told if one is not None), default=0)
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

        def look(session: Session) -> dict[str, Mark]:
            there, known = heads(session), self._held.marks
            self._compare(session, there, known, OUTDATED)
            marks = marks_of(there, known)
            return {name: mark for name, mark in marks.items() if mark != known.get(name)}

        return self._database.read(look)

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
        self,
        session: Session,
        there: Mapping[str, Head],
        marks: Mapping[str, Mark],
        otherwise: str,
    ) -> None:
        if missing(session, there, marks):
            self._refuse(otherwise)

    def _refuse(self, why: str) -> None:
        self._refusal = why
        raise LedgerOutdated(why)


def marks_of(there: Mapping[str, Head], known: Mapping[str, Mark]) -> dict[str, Mark]:
    """The marks of all accounts and publications, each in the era that is known."""
    none = Mark(0, 0, "")
    return {
        name: Mark(known.get(name, none).era, head.seq, head.head) for name, head in there.items()
    }
