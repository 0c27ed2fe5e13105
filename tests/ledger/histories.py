"""Random histories of a ledger that is asked, copied, restored, forked, and watched by a witness.

An oracle beside it knows what ever left. Whenever any copy of the ledger draws and releases, it
must know all that was released before by any copy, except in accounts that are closed for good:
then no question was drawn twice, no spend is forgotten, and no fork goes unnoticed. An answer that
was stored while its witness was away may leave later, if its own account has forgotten nothing.
What was released before may be shown again, as it was, unless the account is closed.
"""

from __future__ import annotations

import itertools
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from charges import order

from whitecrow.errors import LedgerOutdated, WhitecrowError
from whitecrow.ledger import Budget, Ledger, RecordedOutcome, Reservation
from whitecrow.ledger.states import States
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.verification import verify
from whitecrow.ledger.witness import accept, appoint, dismiss, setup_of
from whitecrow.place.balls import BALLS

__all__ = ["PostgresStores", "SqliteStores", "World"]

ACCOUNTS = ("first", "second")
QUESTIONS = 4
MOST_COPIES = 3
STEPS = 24


class Stores(Protocol):
    """Where copies of a ledger lie."""

    def url(self, name: str) -> str:
        """The address of a copy."""

    def copy(self, name: str, source: str) -> None:
        """Make a copy of another one, or put it in the place of what is there."""

    def remove(self, name: str) -> None:
        """Remove a copy."""


class SqliteStores:
    """Files of a folder; a copy that is in use is overwritten while it is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, name: str) -> str:
        return f"sqlite:///{self._folder / name}.db"

    def copy(self, name: str, source: str) -> None:
        paths = (self._folder / f"{one}.db" for one in (source, name))
        old, new = (sqlite3.connect(path) for path in paths)
        with closing(old), closing(new):
            old.backup(new)

    def remove(self, name: str) -> None:
        for file in self._folder.glob(f"{name}.db*"):
            file.unlink()


class PostgresStores:
    """Databases of a server; whoever is connected to one that is overwritten is cut off."""

    def __init__(self, url: str, prefix: str) -> None:
        self._url, self._prefix = sa.make_url(url), prefix
        self._engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        self._made: set[str] = set()

    def url(self, name: str) -> str:
        if name not in self._made:
            self._run(f"CREATE DATABASE {self._prefix}{name}")
            self._made.add(name)
        named = self._url.set(database=f"{self._prefix}{name}")
        return named.render_as_string(hide_password=False)

    def copy(self, name: str, source: str) -> None:
        self._cut_off(source)
        self.remove(name)
        self._run(f"CREATE DATABASE {self._prefix}{name} TEMPLATE {self._prefix}{source}")
        self._made.add(name)

    def remove(self, name: str) -> None:
        self._run(f"DROP DATABASE IF EXISTS {self._prefix}{name} WITH (FORCE)")
        self._made.discard(name)

    def close(self) -> None:
        """Remove all of them."""
        for name in list(self._made):
            self.remove(name)
        self._engine.dispose()

    def _cut_off(self, name: str) -> None:
        pids = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        self._run(f"{pids} WHERE datname = '{self._prefix}{name}'")

    def _run(self, statement: str) -> None:
        with self._engine.connect() as connection:
            connection.execute(sa.text(statement))


@dataclass
class Copy:
    """A copy of the ledger that is in use, by two processes."""

    name: str
    processes: list[Ledger]
    witnessed: bool = True

    def close(self) -> None:
        for ledger in self.processes:
            try:
                ledger.close()
            except WhitecrowError:  # the place is away
                ledger.database.close()


@dataclass
class Released:
    """What ever left: by question and by charge one value, and what publications drew."""

    answers: dict[tuple[str, str], int] = field(default_factory=dict)
    charges: dict[str, int] = field(default_factory=dict)
    published: dict[str, list[int]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)


class World:
    """One history.

    Parameters
    ----------
    seed : int
        Which history.
    stores : Stores
        Where copies lie.
    folder : Path
        For the witness and its key.
    address : callable, optional
        Where the witness of a number is kept; by default a file.
    """

    def __init__(
        self, seed: int, stores: Stores, folder: Path, address: Callable[[int], str] | None = None
    ) -> None:
        self.draw = random.Random(seed)
        self.stores, self.folder = stores, folder
        self.address = address or (lambda number: str(folder / f"witness{number}"))
        self.values, self.names = itertools.count(1), itertools.count(1)
        self.witness, self.away, self.destroyed = 0, False, False
        self.released = Released()
        self.backups: list[str] = []
        self.holder: Copy | None = None
        self.told: list[str] = []
        self.seen: Counter[str] = Counter()
        with Ledger(stores.url("c0"), geometry=BALLS) as ledger:
            for account in ACCOUNTS:
                ledger.open(account, budget=Budget.of("5"))
            self._appoint(ledger)
        self.copies = [self._opened("c0")]

    # What happens

    def run(self, steps: int = STEPS) -> None:
        """Live through a history; raise AssertionError where the oracle is contradicted."""
        acts: dict[Callable[[], None], int] = {
            self.ask: 40,
            self.everywhere: 8,
            self.reserve_alone: 6,
            self.look: 6,
            self.publish: 8,
            self.amend: 3,
            self.give_back: 3,
            self.open_younger: 2,
            self.back_up: 8,
            self.restore: 9,
            self.fork: 6,
            self.discard: 2,
            self.reopen: 6,
            self.accept_loss: 5,
            self.dismiss: 2,
            self.appoint_anew: 6,
            self.lose_sight: 3,
            self.come_back: 9,
            self.destroy: 1,
            self.vouch: 3,
        }
        try:
            for act in self.draw.choices(list(acts), list(acts.values()), k=steps):
                self.told.append(act.__name__)
                try:
                    act()
                except WhitecrowError as refused:
                    kind = type(refused).__name__
                    self.told[-1] += f" -> {kind}"
                    self.seen[kind] += 1
            self.check_chains()
        finally:
            for copy in self.copies:
                copy.close()

    def ask(self) -> None:
        """Ask a question, perhaps about a place, of a copy; the answer is a new number."""
        copy, ledger = self._some()
        self._ask(copy, ledger, self._account(ledger), self.draw.randrange(QUESTIONS))

    def everywhere(self) -> None:
        """The same request reaches every process of every copy, one after the other."""
        question, publishes = self.draw.randrange(QUESTIONS), self.draw.random() < 0.4
        processes = [(copy, ledger) for copy in self.copies for ledger in copy.processes]
        self.draw.shuffle(processes)
        account = self._account(processes[0][1])
        for copy, ledger in processes:
            try:
                if publishes:
                    self._publish(copy, ledger, account)
                else:
                    self._ask(copy, ledger, account, question)
            except WhitecrowError as refused:
                self.seen[type(refused).__name__] += 1

    def _ask(self, copy: Copy, ledger: Ledger, account: str, question: int) -> None:
        digest = f"question {question}"
        place = 10.0 * question if question else None
        sound = copy is self.holder and not self.away
        try:
            outcome, _ = ledger.reserve(account, order(digest, place=place))
            drawn = isinstance(outcome, Reservation)
            if isinstance(outcome, Reservation):
                held = outcome
                try:
                    outcome = ledger.settle(account, held, next(self.values))
                finally:
                    held.release()
        except LedgerOutdated:
            assert not sound, "the copy that its witness knows was refused"
            raise
        self._answered(copy, ledger, account, digest, outcome, drawn=drawn)

    def reserve_alone(self) -> None:
        """Reserve, and die before settling."""
        _, ledger = self._some()
        digest = f"question {self.draw.randrange(QUESTIONS)}"
        held, _ = ledger.reserve(self._account(ledger), order(digest))
        if isinstance(held, Reservation):
            held.release()

    def look(self) -> None:
        """Look at stored answers, one or all."""
        copy, ledger = self._some()
        account = self._account(ledger)
        digest = f"question {self.draw.randrange(QUESTIONS)}"
        if self.draw.random() < 0.5:
            outcome, _ = ledger.stored(account, order(digest), rule=lambda _: None)
            if outcome is not None:
                self._answered(copy, ledger, account, digest, outcome)
            return
        if ledger.witness is not None:
            ledger.witness.check()  # as a service does before it shows anything
        for asked, closed in ledger.history(account, "ana"):
            if closed is not None and closed.kind == "settle":
                value = closed.content["answer"]
                outcome = RecordedOutcome(asked.seq, closed.seq, True, value)
                self._answered(copy, ledger, account, asked.digest, outcome)

    def publish(self) -> None:
        """Continue a publication: each version draws a number."""
        copy, ledger = self._some()
        self._publish(copy, ledger, self._account(ledger))

    def _publish(self, copy: Copy, ledger: Ledger, account: str) -> None:
        states = States(ledger, account)
        version, state = states.load("mean") or (-1, {"draws": []})
        self._shown(copy, ledger, account, state["draws"], drawn=False)
        draws = [*state["draws"], next(self.values)]
        if states.save("mean", version + 1, {"draws": draws}):
            self._shown(copy, ledger, account, draws, drawn=True)

    def _shown(
        self, copy: Copy, ledger: Ledger, account: str, draws: list[int], *, drawn: bool
    ) -> None:
        """What a publication drew was shown, just now or before."""
        published = self.released.published.setdefault(account, [])
        new = [draw for draw in draws if draw not in published]
        if new:
            self._check(copy, ledger, account, drawn=drawn)
            published += new
            self.seen["published"] += len(new)

    def amend(self) -> None:
        """Raise a budget: nobody can where the account is closed."""
        _, ledger = self._some()
        account = self._account(ledger)
        ledger.amend(account, reason="a vote", budget=Budget.of("9"))

    def give_back(self) -> None:
        """Void a reservation without an answer."""
        _, ledger = self._some()
        account = self._account(ledger)
        waiting = ledger.unsettled(account)
        if waiting:
            ledger.void(account, self.draw.choice(waiting).seq, reason="interrupted")

    def open_younger(self) -> None:
        """Open an account that older copies do not know."""
        _, ledger = self._some()
        ledger.open("younger", budget=Budget.of("5"))

    def back_up(self) -> None:
        copy = self.draw.choice(self.copies)
        if copy.witnessed:  # a copy that knows no witness is thrown away when one is appointed
            name = f"b{next(self.names)}"
            self.stores.copy(name, copy.name)
            self.backups.append(name)

    def restore(self) -> None:
        """Put a backup in the place of a copy: while it is in use, or not."""
        if not self.backups:
            return
        copy, name = self.draw.choice(self.copies), self.draw.choice(self.backups[-4:])
        running = self.draw.random() < 0.5
        if not running:
            copy.close()
        self.stores.copy(copy.name, name)
        copy.witnessed = True
        if not running:
            copy.processes = self._opened(copy.name).processes
        if self.holder is copy:
            self.holder = None

    def fork(self) -> None:
        """Use a second copy beside the first: of a backup, or of one that is in use."""
        source = self.draw.choice([copy.name for copy in self.copies if copy.witnessed] or [""])
        if self.backups and self.draw.random() < 0.5:
            source = self.draw.choice(self.backups)
        if source and len(self.copies) < MOST_COPIES:
            name = f"c{next(self.names)}"
            self.stores.copy(name, source)
            self.copies.append(self._opened(name))

    def discard(self) -> None:
        """Stop using a copy."""
        if len(self.copies) > 1:
            copy = self.copies.pop(self.draw.randrange(len(self.copies)))
            copy.close()
            self.stores.remove(copy.name)

    def reopen(self) -> None:
        """The processes of a copy end, and begin again."""
        copy = self.draw.choice(self.copies)
        copy.close()
        copy.processes = self._opened(copy.name).processes

    def accept_loss(self) -> None:
        copy, ledger = self._some()
        setup = setup_of(ledger.database)
        if setup is not None:
            names = accept(ledger.database, setup, reason="fire")
            self.released.closed.update(name for name in names if "\n" not in name)
            self.holder = copy if names else self.holder
            self.seen["closed"] += len(names)
            self._reopened(copy)

    def dismiss(self) -> None:
        """Dismiss the witness, which may refuse."""
        copy, ledger = self._some()
        if copy.witnessed:
            dismiss(ledger.database)
            self._unwitnessed(copy)

    def vouch(self) -> None:
        """An honest operator: nobody has another copy, the ledger is whole, the place is gone."""
        copy, ledger = self._some()
        if copy.witnessed and self.destroyed and len(self.copies) == 1 and self._whole(ledger):
            dismiss(ledger.database, not_restored=True)
            self._unwitnessed(copy)

    def appoint_anew(self) -> None:
        copy, ledger = self._some()
        if not copy.witnessed:
            self._appoint(ledger)
            copy.witnessed = True
            self._reopened(copy)
            self.holder = copy

    def lose_sight(self) -> None:
        """The place of the witness is away for a while."""
        if not self.away and not self.destroyed:
            self._move("", "_away")
            self.away = True

    def come_back(self) -> None:
        if self.away:
            self._move("_away", "")
            self.away = False

    def destroy(self) -> None:
        """The place of the witness is lost for good."""
        if not self.away and not self.destroyed:
            self._move("", f"_gone{next(self.names)}")
            self.destroyed = True

    # The oracle

    def _answered(
        self,
        copy: Copy,
        ledger: Ledger,
        account: str,
        digest: str,
        outcome: RecordedOutcome,
        *,
        drawn: bool = False,
    ) -> None:
        """An answer was shown to somebody."""
        if not outcome.answered:
            return
        assert not ledger.snapshot(account).closure, f"{account} is closed, and answers"
        if (account, digest) not in self.released.answers:
            self._check(copy, ledger, account, drawn=drawn)
        reserved = ledger.read(account, lambda one: one.entry(outcome.seq))
        assert reserved is not None
        value = int(outcome.answer)
        known = self.released.answers.setdefault((account, digest), value)
        assert known == value, f"{digest} of {account} was drawn twice: {known} and {value}"
        charged = self.released.charges.setdefault(reserved.hash, value)
        assert charged == value, f"one charge, two draws: {charged} and {value}"
        self.seen["answered"] += 1

    def _check(self, copy: Copy, ledger: Ledger, account: str, *, drawn: bool) -> None:
        """A copy releases something: it must know all that ever left, or all of the account."""
        assert account not in self.released.closed, f"{account} is closed, and answers"
        whole = self._whole(ledger, None if drawn else account)
        assert whole, "a copy answers that has forgotten answers, or is a fork"
        if copy.witnessed and drawn:
            self.holder = copy

    def _whole(self, ledger: Ledger, only: str | None = None) -> bool:
        """Whether a copy knows all that ever left (of one account), but for what is closed."""

        def look(account: AccountTransaction) -> tuple[set[int], bool]:
            settled = account.some_entries(kind="settle")
            return {entry.content["answer"] for entry in settled}, account.closure != 0

        known: dict[str, tuple[set[int], bool]] = {}
        for name in ledger.datasets():
            known[name] = ledger.read(name, look)
        for (account, _), value in self.released.answers.items():
            if only not in (None, account):
                continue
            values, is_closed = known.get(account, (set(), False))
            if value not in values and not is_closed:
                return False
        for account, draws in self.released.published.items():
            if only not in (None, account):
                continue
            if not known.get(account, (set(), False))[1] and not _kept(ledger, account, draws):
                return False
        return True

    def check_chains(self) -> None:
        """Every copy in use has a chain and sums that are right."""
        for copy in self.copies:
            for name in copy.processes[0].datasets():
                finding = verify(copy.processes[0], name, geometry=BALLS, full=True)
                assert finding.ok, finding

    # Small things

    def _account(self, ledger: Ledger) -> str:
        return self.draw.choice(ledger.datasets())

    def _some(self) -> tuple[Copy, Ledger]:
        copy = self.draw.choice(self.copies)
        return copy, self.draw.choice(copy.processes)

    def _opened(self, name: str) -> Copy:
        url = self.stores.url(name)
        processes = [Ledger(url, geometry=BALLS) for _ in range(2)]
        return Copy(name, processes, processes[0].witness is not None)

    def _reopened(self, copy: Copy) -> None:
        """What a running process knows of its witness it has read when it began."""
        copy.close()
        copy.processes = self._opened(copy.name).processes

    def _unwitnessed(self, copy: Copy) -> None:
        copy.witnessed = False
        self.holder = None
        self._reopened(copy)
        self.seen["dismissed"] += 1

    def _appoint(self, ledger: Ledger) -> None:
        self.witness += 1
        self.away = self.destroyed = False
        appoint(ledger.database, self.address(self.witness), self.folder / "key")

    def _move(self, old: str, new: str) -> None:
        """Take what the place holds away, or bring it back: a file, or a table of a database."""
        address = self.address(self.witness)
        path = address.removeprefix("sqlite:///")
        if path == address:
            shutil.move(f"{path}{old}", f"{path}{new}")
            return
        with closing(sqlite3.connect(path)) as database:
            database.execute(f"DROP TABLE IF EXISTS {_TABLE}{new}")
            database.execute(f"ALTER TABLE {_TABLE}{old} RENAME TO {_TABLE}{new}")
            database.commit()


def _kept(ledger: Ledger, account: str, draws: list[int]) -> bool:
    """Whether a copy keeps what a publication drew, or knows that it is over."""

    def look(one: AccountTransaction) -> Any:
        rows = one.session.rows(_STATE, account=one.id)
        return rows[0].state if rows else "{}"

    state = ledger.read(account, look) if account in ledger.datasets() else "{}"
    return '"lost"' in state or all(f"{draw}" in state for draw in draws)


_TABLE = "whitecrow_witness"
_STATE = "SELECT state FROM publishers WHERE dataset = :account AND name = 'mean'"
