"""Opening records: recognising them, and finding the account that belongs to them.

What is noticed, and when:

===========================  ====================================  ==============================
source                       recognised by                         looked at
===========================  ====================================  ==============================
file, folder of Parquet      its bytes                             at opening; with the engine
                                                                   ``spark`` its size and times
                                                                   before each question
frame, query                 the multiset of its rows              at opening; then it is a copy
a table of Spark             the multiset of its rows              at opening only, so questions
                                                                   there get no discount for
                                                                   places that do not meet
===========================  ====================================  ==============================
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from whitecrow.curator.execution import Elsewhere
from whitecrow.custodian import CUSTODIAN_LOG
from whitecrow.data import Card, Records, is_lake
from whitecrow.data.fingerprints import (
    FileStates,
    RowFingerprint,
    file_chunks,
    file_states,
    files_fingerprint,
)
from whitecrow.data.sources import open_source
from whitecrow.data.warehouse import RemoteDataset
from whitecrow.errors import AccountConflict, DataChanged, InvalidInput, NotReady, invalid
from whitecrow.ledger import Ledger
from whitecrow.ledger.engine import parsed, sqlite_file
from whitecrow.ledger.revisions import Chunks, bind, checked_growth, first_records
from whitecrow.ledger.states import States
from whitecrow.limits import Limits
from whitecrow.neighbours import READ_AGAIN, REMOTE, Engine, current_name, open_data
from whitecrow.place.balls import BALLS
from whitecrow.question import Progress
from whitecrow.report import UNIT
from whitecrow.terms import Budget, Policy

DEFAULT_BUDGET = "1, 1e-6"
"""Of an account that is opened without one; the delta is what ``learn`` and ``screening`` need."""

_DIGESTS = "file digests"
_MOVING = "The file was written while it was being read; open it again when that is done."


def beside(source: object) -> Path | None:
    """Return the ledger file beside a data file; None for data that are not in a file."""
    path = _file(source)
    return None if path is None else path.with_name(f"{_called(path)}.whitecrow.db")


def custodian_file(ledger: Ledger | str | Path) -> Path | None:
    """Return the file beside a ledger that holds the causes of failures; None if it is no file."""
    path = ledger.database.path if isinstance(ledger, Ledger) else sqlite_file(parsed(ledger))
    return None if path is None else path.with_name(f"{path.name}-custodian.log")


class Opening(TypedDict, total=False):
    """How a dataset is opened, beside what it is and what is promised; nothing is required.

    Parameters
    ----------
    name : str
        Whose account it is in the ledger; by default the name of the data's file. The account
        belongs to the data, not to the card: a second card does not get a second budget. Data
        without a file need a name where the ledger is not their own.
    analyst : str, default="owner"
        Who asks, unless a question says otherwise.
    advance : str
        Why records that the account does not know are to be its next revision: they grew, or
        were corrected. Spends go on adding up. Without it such records are refused.
    growth : {"insert-only", "any"}
        Declare that records are only ever added at the end; see :mod:`whitecrow.ledger.revisions`.
    limits : Limits
        What is lent to a question: one that may need more, for the worst records within the
        card's ``records_at_most``, is refused when it is priced.
    spark_master : str
        For the engine ``spark``: ``local[2]``, ``spark://host:7077``, ``yarn``, ``sc://host``, ...
    progress : callable
        Told how far the load is; it sees the number of rows, so it is for the custodian.
    account : {"now", "with the first spend"}
        When a new account is written: by default now if a budget or a policy is given, else with
        the first spend, so that looking around leaves nothing behind.
    """

    name: str | None
    analyst: str
    advance: str | None
    growth: str | None
    limits: Limits | None
    spark_master: str | None
    progress: Progress | None
    account: str


@dataclass(frozen=True)
class Identity:
    """The records that a curator holds."""

    # Of the account; 0 where nobody else can open the account, so that no other records can.
    revision: int = 0
    # The first revision of its run: from there on records were only added, as declared and checked
    # (:mod:`whitecrow.ledger.revisions`).
    since: int = 0
    # path, files: The file or folder and its state at opening, where questions go to the files
    # themselves.
    path: Path | None = None
    files: FileStates | None = field(default=None, repr=False)
    steady: bool = True  # false for records that may change unseen between two questions
    in_memory: bool = True  # false where an engine counts records on disk, or elsewhere

    def check(self) -> None:
        """Raise :class:`~whitecrow.errors.DataChanged` if the file changed since it was opened."""
        assert self.path is not None
        try:
            same = file_states(self.path) == self.files
        except OSError:
            same = False
        if not same:
            raise DataChanged(
                "The records changed while they were open; nothing was asked or spent. The "
                "custodian records the new revision and says why ('whitecrow data advance DATA "
                "--reason ...', or Curator.open(..., advance='...'))."
            )


class Recognition:
    """Looks at a source while it is opened, and recognises it in a ledger.

    ``engine`` says whether questions go to the source itself, ``recording`` whether this may become
    a revision, whose growth has to be checked.
    """

    def __init__(self, source: object, *, engine: str, recording: bool = False) -> None:
        path = _file(source)
        self._remote = engine in READ_AGAIN
        self._in_memory = current_name(engine) not in REMOTE
        self._path = path.absolute() if path is not None and path.exists() else None
        self.files = None if self._path is None else file_states(self._path)
        """The state of the file that they are recognised by; they need not be read for it."""
        by_rows = self.files is None and not self._remote
        self.rows = RowFingerprint(keep=recording) if by_rows else None
        """Takes in the rows as they are read, where they come from no file."""

    def identity(self, revision: int = 0, since: int = 0) -> Identity:
        """The records as a revision; of an account that nobody else can open there is none."""
        if not self._remote:
            return Identity(revision, since, in_memory=self._in_memory)
        steady = self._path is not None
        return Identity(revision, since, self._path, self.files, steady=steady, in_memory=False)

    def bound(
        self,
        ledger: Ledger,
        account: str,
        fingerprint: str,
        *,
        card: Card | None = None,
        advance: str | None = None,
        growth: str | None = None,
        actor: str = "",
    ) -> Identity:
        """Recognise the records as a revision of an account; see :func:`bind`."""
        chunks = self._chunks(card)
        revision = bind(
            ledger, account, fingerprint, reason=advance, actor=actor, growth=growth, chunks=chunks
        )
        return self.identity(revision.number, revision.since)

    def _chunks(self, card: Card | None) -> Chunks | None:
        """Return what reads the chunks of the records; None where nothing can."""
        path, files = self._path, self.files
        if path is None or files is None:
            return None if self.rows is None else self.rows.chunks

        def read(labels: Iterable[str]) -> Mapping[str, str]:
            if path.is_dir() and not is_lake(path):
                chunks = file_chunks(files, path)
            else:
                rows, opened = RowFingerprint(keep=True), open_source(path, card)
                for batch in opened.batches(list(opened.schema.names), lambda: None):
                    rows.add(batch)
                chunks = rows.chunks(labels)
            if file_states(path) != files:
                raise NotReady(_MOVING)
            return chunks

        return read

    def fingerprint(
        self, dataset: Records | None, ledger: Ledger | None = None, account: str = ""
    ) -> str:
        """Return what the records are recognised by; a ledger keeps the digests of files."""
        if self.rows is not None:
            return self.rows.text()
        if self.files is None or self._path is None:
            assert isinstance(dataset, RemoteDataset)
            return dataset.fingerprint()
        states = None
        if ledger is not None and account in ledger.datasets():
            states = States(ledger, account, released=False)
        version, before = (states and states.load(_DIGESTS)) or (-1, {})
        fingerprint, digests = files_fingerprint(self.files, before)
        if file_states(self._path) != self.files:
            raise NotReady(_MOVING)
        if states is not None and digests != before:
            states.save(_DIGESTS, version + 1, digests)
        return fingerprint


def keep_unit(ledger: Ledger, account: str, card: Card) -> None:
    """See that an account is about persons, or about records, from its first question to its last.

    Promises to persons and promises to single records do not add up: removing one record of a
    person may let another of theirs in, and a person may have many. So their sum would bound
    neither.
    """
    unit = {"unit": card.unit, "user_column": card.user_column}
    states = States(ledger, account, released=False)
    if states.load(UNIT) is None:
        states.save(UNIT, 0, unit)  # whoever is first
    stored = states.load(UNIT)
    if stored is not None and stored[1] == unit:
        return
    asked = ledger.entries(account, kind="reserve", limit=1)
    if asked or stored is None or not states.save(UNIT, stored[0] + 1, unit):
        raise AccountConflict(
            "The account adds up promises to another unit of privacy (record, or user by a user "
            "column) than this card protects, and the two do not add up. Keep 'unit' and "
            "'user_column' as they were, or give the data an account of their own with "
            "name='...' (--name)."
        )


@dataclass(frozen=True)
class Opened:
    """What a curator is made of: records or their public facts, and their account."""

    dataset: Records | Elsewhere
    ledger: Ledger  # of an account that is not there yet, its terms in memory
    name: str  # what the account is called there
    engine: Engine | None = None  # who counts neighbours; None where another process does
    identity: Identity = field(default_factory=Identity)  # which revision of the records it is
    # Who has to have left before the ledger is closed; None if it is not closed here.
    users: LedgerUsers | None = None
    # Opens an account that is not there yet, in the ledger where it belongs.
    register: Callable[[], Opened] | None = None
    log: Path | None = None  # the file for the causes of failures


class LedgerUsers:
    """Counts the curators that use a ledger; the last one to leave closes it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._number = ledger, 1
        self._lock = threading.Lock()

    def joined(self) -> LedgerUsers:
        with self._lock:
            self._number += 1
        return self

    def leave(self) -> None:
        with self._lock:
            self._number -= 1
            last = self._number == 0
        if last:
            self._ledger.close()


def opened(
    source: object,
    card: Card | str | Path | None,
    engine: str,
    ledger: Ledger | str | Path | None,
    budget: object,
    policy: Policy | Mapping[str, Any] | str | Path | None,
    settings: Opening,
) -> Opened:
    """Open records and their account, and see that they belong together.

    See :meth:`whitecrow.Curator.open` for the parameters.
    """
    where = ledger or beside(source) or "sqlite://"
    advance, growth = settings.get("advance"), settings.get("growth")
    checked_growth(growth)
    usual = "with the first spend" if budget is None and policy is None else "now"
    when = settings.get("account", usual)
    if when not in ("now", "with the first spend"):
        raise invalid("Curator.open", "account", "'now' or 'with the first spend'", when)
    recording = advance is not None or growth is not None
    private = is_private(where) and not recording
    account = settings.get("name") or account_name(source, private=private)
    seen = Recognition(source, engine=engine, recording=recording)
    dataset, counting = open_data(
        source,
        card,
        engine,
        spark_master=settings.get("spark_master"),
        progress=settings.get("progress"),
        watch=None if private or seen.rows is None else seen.rows.add,
    )
    account = account or dataset.card.name

    def register(store: Ledger) -> Opened:
        with ExitStack() as failing:
            users = None if store is where else LedgerUsers(store)
            if users is not None:
                failing.callback(users.leave)
            # With a declaration the first revision is an entry of its own, which keeps its chunks.
            opened_account(store, account, budget, policy, None if growth else fingerprint)
            keep_unit(store, account, dataset.card)
            identity = seen.identity()
            if fingerprint is not None:
                identity = seen.bound(
                    store, account, fingerprint, card=dataset.card, advance=advance, growth=growth
                )
            failing.pop_all()
        log = custodian_file(where)
        return Opened(dataset, store, account, counting, identity, users, log=log)

    with ExitStack() as failing:
        failing.callback(dataset.close)
        store = None if _missing(where) else _ledger(where)
        fingerprint = None if private else seen.fingerprint(dataset, store, account)
        exists = store is not None and account in store.datasets()
        if private or exists or recording or when == "now":
            holding = register(store or _ledger(where))
        else:
            if store is not None and store is not where:
                store.close()
            # Until something is reserved the account is one in memory, on the same terms.
            provisional = register(_ledger("sqlite://"))
            holding = replace(provisional, register=lambda: register(_ledger(where)))
        failing.pop_all()
    return holding


def _ledger(where: Ledger | str | Path) -> Ledger:
    return where if isinstance(where, Ledger) else Ledger(where, geometry=BALLS)


def _missing(where: Ledger | str | Path) -> bool:
    """Whether a ledger is a file that is not there."""
    file = None if isinstance(where, Ledger) else sqlite_file(parsed(where))
    # Of a folder that may not be looked into nothing is known: the ledger says what is wrong.
    return file is not None and not os.path.exists(file) and os.path.isdir(file.absolute().parent)  # noqa: PTH110, PTH112 - they do not raise


def is_private(ledger: Ledger | str | Path) -> bool:
    """Whether nobody else can open the accounts: a new ledger in memory, not yet in any hands."""
    return isinstance(ledger, str) and ledger in ("sqlite://", "sqlite:///:memory:")


def account_name(source: object, *, private: bool) -> str | None:
    """Return the name of the account: the data file's, or None for the card's.

    The account belongs to the data. A second card for the same file gets no second budget. For data
    without a file, and a ledger that others may open, the name must be given.
    """
    path = _file(source)
    if path is not None:
        return _called(path)
    if not private:
        raise InvalidInput(
            "Data without a file have no name of their own, and this ledger may hold the accounts "
            "of other data: say whose account it is with name='...' (--name)."
        )
    return None


def opened_account(
    store: Ledger,
    account: str,
    budget: object,
    policy: Policy | Mapping[str, Any] | str | Path | None,
    fingerprint: str | None,
) -> None:
    """Open an account, a new one for records with this fingerprint; promises stay as they are."""
    wanted = None if budget is None else Budget.of(budget)
    rules = None if policy is None else Policy.of(policy)
    snapshot = store.open(
        account,
        budget=wanted or Budget.of(DEFAULT_BUDGET),
        policy=(rules or Policy()).to_json(),
        unit=(rules or Policy()).unit,
        records=None if fingerprint is None else first_records(fingerprint),
    )
    budget_text, policy_text = snapshot.budget.text(), json.dumps(snapshot.rules.to_json())
    for option, promised, same in (
        ("budget 'EPSILON, DELTA'", budget_text, wanted in (None, snapshot.budget)),
        ("policy FILE", policy_text, rules in (None, snapshot.rules)),
    ):
        if not same:
            what = option.partition(" ")[0]
            raise AccountConflict(
                f"This dataset's account already promises another {what}: {promised}. Opening does "
                f"not change a promise: leave the {what} out, or amend it: whitecrow ledger amend "
                f"DATA --{option} --reason '...' (in Python Curator.amend)."
            )
    if waiting := len(store.unsettled(account)):
        words = "%d spends of %s have no answer; they are kept (see: whitecrow ledger show)"
        CUSTODIAN_LOG.warning(words, waiting, account)


def _file(source: object) -> Path | None:
    if isinstance(source, Path):
        return source
    return Path(source) if isinstance(source, str) and "://" not in source else None


def _called(path: Path) -> str:
    """A file without its ending; of a folder or a table the whole name, which tells it apart."""
    endings = (".parquet", ".pq", ".csv", ".tsv", ".duckdb")
    return path.stem if path.suffix.lower() in endings and not path.is_dir() else path.name
