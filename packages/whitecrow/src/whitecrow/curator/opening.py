"""Finding the account that belongs to a dataset."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from whitecrow.curator.execution import Elsewhere
from whitecrow.curator.identity import Identity, Recognition, keep_unit
from whitecrow.custodian import CUSTODIAN_LOG
from whitecrow.data import Card, Records
from whitecrow.errors import AccountConflict, InvalidInput, invalid
from whitecrow.ledger import AccountSnapshot, Ledger
from whitecrow.ledger.engine import parsed, sqlite_file
from whitecrow.ledger.growth import checked
from whitecrow.ledger.revisions import first_records
from whitecrow.limits import Limits
from whitecrow.neighbours import Engine, open_data
from whitecrow.place.balls import BALLS
from whitecrow.question import Progress
from whitecrow.terms import Budget, Policy

DEFAULT_BUDGET = "1, 1e-6"
"""Of an account that is opened without one; the delta is what ``learn`` and ``screening`` need."""


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
        Declare that records are only ever added at the end; see :mod:`whitecrow.ledger.growth`.
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
    *,
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
    checked(growth)
    at_once = _at_once(budget, policy, settings)
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
    try:
        store = None if _missing(where) else _ledger(where)
        mark = None if private else seen.mark(dataset, store, account)
    except BaseException:
        dataset.close()
        raise

    def register(store: Ledger) -> Opened:
        users = None if store is where else LedgerUsers(store)
        try:
            # With a declaration the first revision is an entry of its own, which keeps its chunks.
            opened_account(store, account, budget, policy, None if growth else mark)
            keep_unit(store, account, dataset.card)
            if mark is None:
                identity = seen.unbound()
            else:
                identity = seen.bound(
                    store, account, mark, card=dataset.card, advance=advance, growth=growth
                )
        except BaseException:
            if users is not None:
                users.leave()
            raise
        log = custodian_file(where)
        return Opened(dataset, store, account, counting, identity, users, log=log)

    try:
        known = store is not None and account in store.datasets()
        if private or known or recording or at_once:
            return register(store or _ledger(where))
        if store is not None and store is not where:
            store.close()
        # Until something is reserved the account is one in memory, on the same terms.
        provisional = register(_ledger("sqlite://"))
        return replace(provisional, register=lambda: register(_ledger(where)))
    except BaseException:
        dataset.close()
        raise


def _at_once(budget: object, policy: object, settings: Opening) -> bool:
    """Whether a new account is written before anything is spent."""
    usual = "with the first spend" if budget is None and policy is None else "now"
    when = settings.get("account", usual)
    if when not in ("now", "with the first spend"):
        raise invalid("Curator.open", "account", "'now' or 'with the first spend'", when)
    return when == "now"


def _ledger(where: Ledger | str | Path) -> Ledger:
    return where if isinstance(where, Ledger) else Ledger(where, geometry=BALLS)


def _missing(where: Ledger | str | Path) -> bool:
    """Whether a ledger is a file that is not there."""
    file = None if isinstance(where, Ledger) else sqlite_file(parsed(where))
    # Of a folder that may not be looked into nothing is known: the ledger says what is wrong.
    return file is not None and not os.path.exists(file) and os.path.isdir(file.absolute().parent)  # noqa: PTH110, PTH112 - they do not raise


def advanced(
    source: object,
    *,
    card: Card | None,
    engine: str,
    ledger: Ledger,
    account: str,
    reason: str,
    growth: str | None = None,
    actor: str = "",
) -> int:
    """Look at records and record them as the next revision of an account, without opening it.

    For a service, whose workers open the records themselves when told to. A file is only hashed;
    the rows of a query are read here once.
    """
    seen = Recognition(source, engine=engine, recording=True)
    dataset = None
    if not seen.by_file:
        watch = None if seen.rows is None else seen.rows.add
        dataset, _ = open_data(source, card, engine, watch=watch)
    try:
        mark = seen.mark(dataset, ledger, account)
    finally:
        if dataset is not None:
            dataset.close()
    return seen.bound(
        ledger, account, mark, card=card, advance=reason, growth=growth, actor=actor
    ).revision


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
    mark: str | None,
) -> None:
    """Open an account, a new one for the records with this mark; promises stay as they are."""
    wanted = None if budget is None else Budget.of(budget)
    rules = None if policy is None else Policy.of(policy)
    snapshot = store.open(
        account,
        budget=wanted or Budget.of(DEFAULT_BUDGET),
        policy=(rules or Policy()).to_json(),
        unit=(rules or Policy()).unit,
        records=None if mark is None else first_records(mark),
    )
    _same_promise(snapshot, wanted, rules)
    waiting = len(store.unsettled(account))
    if waiting:
        CUSTODIAN_LOG.warning(
            "%d spends of %s have no answer; they are kept (see: whitecrow ledger show)",
            waiting,
            account,
        )


def _file(source: object) -> Path | None:
    if isinstance(source, Path):
        return source
    return Path(source) if isinstance(source, str) and "://" not in source else None


def _called(path: Path) -> str:
    """A file without its ending; of a folder or a table the whole name, which tells it apart."""
    a_file = path.suffix.lower() in (".parquet", ".pq", ".csv", ".tsv", ".duckdb")
    a_file = a_file and not path.is_dir()
    return path.stem if a_file else path.name


def _same_promise(snapshot: AccountSnapshot, budget: Budget | None, policy: Policy | None) -> None:
    known = snapshot.budget.text(), json.dumps(snapshot.rules.to_json())
    for option, promised, same in (
        ("budget 'EPSILON, DELTA'", known[0], budget in (None, snapshot.budget)),
        ("policy FILE", known[1], policy in (None, snapshot.rules)),
    ):
        if not same:
            what = option.partition(" ")[0]
            raise AccountConflict(
                f"This dataset's account already promises another {what}: {promised}. Opening does "
                f"not change a promise: leave the {what} out, or amend it: whitecrow ledger amend "
                f"DATA --{option} --reason '...' (in Python Curator.amend)."
            )
