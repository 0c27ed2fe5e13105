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

from whitecrow.errors import InvalidInput, LedgerOutdated, WhitecrowError
from whitecrow.ledger.database import Database, GroupCommit, Job, Session
from whitecrow.ledger.schema import datasets, entries, publishers, witness
from whitecrow.ledger.values import Entry
from whitecrow.ledger.witness.places import Place, place_of
from whitecrow.ledger.witness.statement import Mark, SigningKey

__all__ = [
    "Guard",
    "Setup",
    "accept",
    "appoint",
    "dismiss",
    "guard_of",
    "lost",
    "setup_of",
    "state_name",
]

E = TypeVar("E", bound=Sequence[Entry | None])

KEY_FILE = "WHITECROW_WITNESS_KEY_FILE"
"""The environment variable that says where the key is on this machine."""

_PATIENCE_SECONDS = 60.0

OUTDATED = (
    "This ledger is older than its witness: it was restored from a backup, or replaced, and has "
    "forgotten answers that have left. So that no budget is spent twice, it answers nothing. The "
    "operator restores a newer copy, or runs 'whitecrow ledger witness SOURCE --accept-loss "
    "--reason ...', which closes the accounts that lost entries and lets the others go on."
)
"""All that anybody learns of it."""

_HEADS = select(datasets.c.id, datasets.c.name, datasets.c.seq, datasets.c.head)
# Publications go on from a state that is no entry; going back would draw their noise twice. Its
# version is told, and nothing of what it holds.
_STATES = select(datasets.c.name, publishers.c.name.label("state"), publishers.c.version).join(
    publishers, publishers.c.dataset == datasets.c.id
)
_ENTRY = select(entries.c.hash).where(
    entries.c.dataset == bindparam("account"), entries.c.seq == bindparam("at_seq")
)
_SETUP = select(witness)
_APPOINT = insert(witness).values(
    {name: bindparam(name) for name in ("ledger", "address", "key", "public", "seconds")}
)


@dataclass(frozen=True)
class _Head:
    """Where an account, or a publication, stands in the ledger."""

    id: int
    seq: int
    head: str

    def bears_out(self, session: Session, mark: Mark) -> bool:
        """Whether the entry that a mark names is there."""
        if self.seq < mark.seq:
            return False
        if not mark.head or self.head == mark.head:
            return True
        found = session.one(_ENTRY, account=self.id, at_seq=mark.seq)
        return found is not None and bool(found.hash == mark.head)


def _heads(session: Session) -> dict[str, _Head]:
    found = {row.name: _Head(row.id, row.seq, row.head) for row in session.rows(_HEADS)}
    for row in session.rows(_STATES):
        found[state_name(row.name, row.state)] = _Head(0, row.version + 1, "")
    return found


def state_name(dataset: str, key: str) -> str:
    """What the witness calls the state of a publication."""
    return f"{dataset}\n{key}"


@dataclass(frozen=True)
class Setup:
    """Which witness a ledger has; kept in the ledger, so that a copy of it knows its witness.

    Parameters
    ----------
    ledger : str
        The ledger's own random name.
    address : str
        Where the witness is kept: a file, or a database URL.
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
        self._hold(place.read())
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
            there, none = _heads(session), Mark(0, 0, "")
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
            self._database.read(lambda session: self._compare(session, _heads(session), marks))
        self._marks.update(marks)

    def _compare(
        self, session: Session, there: Mapping[str, _Head], marks: Mapping[str, Mark]
    ) -> None:
        if _missing(session, there, marks):
            self._outdated = True
            raise LedgerOutdated(OUTDATED)


def _missing(
    session: Session, there: Mapping[str, _Head], marks: Mapping[str, Mark]
) -> dict[str, tuple[Mark, int]]:
    nothing = _Head(0, 0, "")
    return {
        name: (mark, there.get(name, nothing).seq)
        for name, mark in marks.items()
        if not there.get(name, nothing).bears_out(session, mark)
    }


def lost(database: Database, setup: Setup) -> dict[str, tuple[Mark, int]]:
    """The accounts that are older than the witness says: the mark, and where they end now."""
    marks = setup.read()
    return database.read(lambda session: _missing(session, _heads(session), marks))


def accept(database: Database, setup: Setup, names: Mapping[str, tuple[Mark, int]]) -> None:
    """Tell the witness that these accounts go on from where they are: a new era begins."""
    heads, nothing = database.read(_heads), _Head(0, 0, "")
    marks = {}
    for name, (mark, _) in names.items():
        now = heads.get(name, nothing)
        marks[name] = Mark(mark.era + 1, now.seq, now.head)
    with closing(setup.place()) as place:
        place.keep(setup.signing_key().signed(setup.ledger, marks))


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
