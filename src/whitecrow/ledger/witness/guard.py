"""Holds answers back until the witness covers them, and a ledger that has forgotten some."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sqlalchemy import bindparam, delete, insert, select

from whitecrow.errors import AccountConflict, InvalidInput, LedgerOutdated, WhitecrowError
from whitecrow.ledger.database import Database, GroupCommit, Job, Session
from whitecrow.ledger.schema import witness
from whitecrow.ledger.values import Entry
from whitecrow.ledger.witness.heads import Head, heads, missing
from whitecrow.ledger.witness.opening import place_of
from whitecrow.ledger.witness.places import Place
from whitecrow.ledger.witness.statement import Mark, SigningKey
from whitecrow.terms import Budget

__all__ = [
    "Guard",
    "Setup",
    "appoint",
    "dismiss",
    "guard_of",
    "refuse_lost",
    "setup_of",
]

E = TypeVar("E", bound=Sequence[Entry | None])

KEY_FILE = "WHITECROW_WITNESS_KEY_FILE"
"""The environment variable that says where the key is on this machine."""

_PATIENCE_SECONDS = 60.0

OUTDATED = (
    "This ledger is older than its witness: it was restored from a backup, or replaced, and has "
    "forgotten answers that have left. So that no budget is spent twice, it answers nothing. The "
    "operator restores a newer copy, or runs 'whitecrow ledger witness SOURCE --accept-loss "
    "--reason ...', which closes for good what lost entries and lets the rest go on."
)
"""All that anybody learns of it."""

_SETUP = select(witness)
_APPOINT = insert(witness).values(
    {name: bindparam(name) for name in ("ledger", "address", "key", "public", "seconds")}
)


@dataclass(frozen=True)
class Setup:
    """Which witness a ledger has; kept in the ledger, so that a copy of it knows its witness.

    Parameters
    ----------
    ledger : str
        The ledger's own random name.
    address : str
        Where the witness is kept: a file, a database URL, or an instance of the service.
    key : str
        The file with the key that signs; the environment may name another.
    public : str
        The public key.
    seconds : int
        0: the witness is written before an answer leaves. Else in this interval: what was
        answered since may be forgotten by a restore.
    """

    ledger: str
    address: str
    key: str
    public: str
    seconds: int = 0

    def signing_key(self) -> SigningKey:
        """Read the key, which must be the one that the ledger knows."""
        found = SigningKey(Path(os.environ.get(KEY_FILE) or self.key))
        if found.public != self.public:
            raise InvalidInput("The key that was given is not the one that this ledger signs with.")
        return found

    def place(self) -> Place:
        """Open the place."""
        return place_of(self.address, self.ledger, self.public)

    def read(self) -> dict[str, Mark]:
        """What the witness says."""
        with closing(self.place()) as place:
            return place.read()


def setup_of(database: Database) -> Setup | None:
    """Which witness a ledger has."""
    row = database.read(lambda session: session.one(_SETUP))
    return None if row is None else Setup(**row._asdict())


def guard_of(database: Database) -> Guard | None:
    """Watch over a ledger as it says itself; None if it has no witness."""
    found = setup_of(database)
    return None if found is None else Guard(database, found)


class Guard:
    """Compares a ledger with its witness and keeps the witness current.

    Parameters
    ----------
    database : Database
        The ledger's.
    setup : Setup
        Its witness.
    """

    def __init__(self, database: Database, setup: Setup) -> None:
        self._database, self._setup = database, setup
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._marks: dict[str, Mark] = {}
        self._opened: tuple[Place, SigningKey] | None = None
        self._opening = threading.Lock()
        self._outdated = False
        self._line: GroupCommit[None] = GroupCommit(self._write, _PATIENCE_SECONDS)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self, *, afresh: bool = False) -> None:
        """Open the witness and compare, once or ``afresh``; raise if answers were forgotten.

        Raises
        ------
        LedgerOutdated
            If an account ends before its mark, or has another entry there.
        """
        if os.getpid() != self._process:
            self._start()
        if self._outdated:
            raise LedgerOutdated(OUTDATED)
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    self._open()
        if afresh:
            self._line.run(lambda _: None)

    def _open(self) -> None:
        key, place = self._setup.signing_key(), self._setup.place()
        try:
            self._hold(place.read())
        except WhitecrowError:
            place.close()
            raise
        self._opened = place, key
        if self._setup.seconds:
            self._thread = threading.Thread(
                target=self._again_and_again, name="whitecrow-witness", daemon=True
            )
            self._thread.start()

    def cover(self, dataset: str, seq: int, *, fresh: bool = False) -> None:
        """Return when the witness knows an entry.

        What was written just now is always compared: the store may have been restored under us,
        and its numbers begun anew.
        """
        self.check()
        known = self._marks.get(dataset)
        if self._setup.seconds or (not fresh and known is not None and seq <= known.seq):
            return
        self._line.run(lambda _: None)

    def tell(self, dataset: str, told: E) -> E:
        """Return entries that somebody is shown, when the witness knows them.

        Whoever only looks at a copy of a ledger, and answers nothing, needs no witness for it.
        """
        newest = max((one.seq for one in told if one is not None), default=0)
        if newest and self._opened is not None:
            self.cover(dataset, newest)
        return told

    def era(self, dataset: str) -> int:
        """How often the custodian has accepted that an account lost entries."""
        self.check()
        known = self._marks.get(dataset)
        return 0 if known is None else known.era

    def close(self) -> None:
        """Write what is left to write, where that is done in intervals."""
        if self._opened is None or os.getpid() != self._process:
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._line.run(lambda _: None)
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
        assert self._opened is not None
        place, key = self._opened
        fetch()  # before the heads are read: whoever joined has stored their answer
        new = self._ahead()
        if not new:
            return
        kept = place.keep(key.signed(self._setup.ledger, new))
        # Another process may have told more, of the same ledger: then it is there to be read.
        self._hold({name: mark for name, mark in kept.items() if new.get(name) != mark})
        self._marks.update(kept)

    def _ahead(self) -> dict[str, Mark]:
        """The accounts that have grown, after a look at where they grew from."""

        def look(session: Session) -> dict[str, Mark]:
            there, none = heads(session), Mark(0, 0, "")
            self._compare(session, there, self._marks)
            known = {name: self._marks.get(name, none) for name in there}
            return {
                name: Mark(known[name].era, one.seq, one.head)
                for name, one in there.items()
                if one.seq > known[name].seq
            }

        return self._database.read(look)

    def _hold(self, marks: Mapping[str, Mark]) -> None:
        """Take over what the witness says, if the ledger bears it out."""
        if marks:
            self._database.read(lambda session: self._compare(session, heads(session), marks))
        self._marks.update(marks)

    def _compare(
        self, session: Session, there: Mapping[str, Head], marks: Mapping[str, Mark]
    ) -> None:
        if missing(session, there, marks):
            self._outdated = True
            raise LedgerOutdated(OUTDATED)


def refuse_lost(guard: Guard | None, dataset: str, budget: Budget | None) -> None:
    """Refuse to give a budget to an account that has lost entries: their answers have left."""
    if guard is None or budget is None or budget == Budget.of("0"):
        return
    if guard.era(dataset):
        raise AccountConflict(
            f"The account {dataset!r} lost entries in a restore, and stays closed: what was "
            "answered then would be answered again, differently."
        )


def appoint(database: Database, address: str, key: Path, *, seconds: int = 0) -> Setup:
    """Give a ledger a witness, and tell it where all accounts stand.

    Parameters
    ----------
    database : Database
        The ledger's.
    address : str
        Where the witness is kept.
    key : Path
        The file with the key; made if there is none.
    seconds : int, default=0
        0: before an answer leaves. Else in this interval.
    """
    if setup_of(database) is not None:
        raise InvalidInput("The ledger has a witness already; dismiss it first (--dismiss).")
    if seconds < 0:
        raise InvalidInput("The interval of a witness is a number of seconds from 0 on.")
    signing = SigningKey(key) if key.exists() else SigningKey.made(key)
    name = secrets.token_hex(16)
    address = address if "://" in address else str(Path(address).resolve())
    setup = Setup(name, address, str(key.resolve()), signing.public, seconds)
    guard = Guard(database, setup)
    guard.check(afresh=True)
    guard.close()
    # Only now: a place that cannot be written would have left a ledger that answers nothing.
    database.write(lambda session: session.run(_APPOINT, **vars(setup)))
    return setup


def dismiss(database: Database) -> None:
    """Take a ledger's witness away; a deliberate act."""
    database.write(lambda session: session.run(delete(witness)))
