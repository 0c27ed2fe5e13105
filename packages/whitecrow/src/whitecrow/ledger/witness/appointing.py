"""Giving a ledger a witness, taking it away, and going on after a restore that forgot entries.

What lost entries must never answer again: its answers have left, and would be given a second time,
differently. So an entry of its chain closes the account for good, a publication that lost its state
is over, and the witness remembers both by a new era.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from whitecrow.errors import (
    InvalidInput,
    LedgerBusy,
    LedgerOutdated,
    LedgerUnusable,
    WhitecrowError,
)
from whitecrow.ledger.account import canonical
from whitecrow.ledger.acts import close, custodian_act
from whitecrow.ledger.database import Database, Session
from whitecrow.ledger.schema import LOST, datasets, publishers, witness
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.witness.guard import DISMISSED, NOTHING_THERE, OUTDATED, TRIES, marks_of
from whitecrow.ledger.witness.heads import Head, heads, missing
from whitecrow.ledger.witness.setup import Setup, setup_of
from whitecrow.ledger.witness.statement import Evidence, Mark, SigningKey
from whitecrow.terms import Budget

_UNCONFIRMED = (
    "The witness does not confirm that this ledger is the newest, and is not dismissed: {why} If "
    "it is gone for good, and this ledger was neither restored nor copied, say so: --dismiss "
    "--not-restored --reason ..."
)

_APPOINT = insert(witness).values(
    {name: bindparam(name) for name in ("ledger", "address", "key", "public", "seconds")}
)


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
    database.write(lambda session: session.run(delete(witness)))


_ACCOUNT = select(datasets.c.id).where(datasets.c.name == bindparam("named"))
_OWN = (publishers.c.dataset == bindparam("account"), publishers.c.name == bindparam("key"))
_OVER = {"version": bindparam("newest"), "state": LOST, "fingerprints": ""}
_END = update(publishers).where(*_OWN).values(_OVER)
_ADD = insert(publishers).values(dataset=bindparam("account"), name=bindparam("key"), **_OVER)


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
    account = session.one(_ACCOUNT, named=dataset)
    assert account is not None
    newest = max(head.seq, mark.seq, 1) - 1
    session.run(_END if head.seq else _ADD, account=account.id, key=key, newest=newest)
