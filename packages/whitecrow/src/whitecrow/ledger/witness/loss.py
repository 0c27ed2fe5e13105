"""After a restore: what was forgotten, and how the rest of a ledger goes on without it.

What lost entries must never answer again: its answers have left, and would be given a second time,
differently. So an entry of its chain closes the account for good, a publication that lost its state
is over, and the witness remembers both by a new era.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from whitecrow.errors import LedgerBusy, LedgerOutdated, LedgerUnusable
from whitecrow.ledger.account import canonical
from whitecrow.ledger.acts import close, custodian_act
from whitecrow.ledger.database import Database, Session
from whitecrow.ledger.schema import LOST, datasets, publishers
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.witness.guard import DISMISSED, NOTHING_THERE, TRIES, marks_of
from whitecrow.ledger.witness.heads import Head, heads, missing
from whitecrow.ledger.witness.setup import Setup
from whitecrow.ledger.witness.statement import Evidence, Mark
from whitecrow.terms import Budget

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

    Parameters
    ----------
    database, setup : Database, Setup
        The ledger's, and its witness.
    reason, actor : str
        Why, and who accepts it; the chain keeps both.

    Returns
    -------
    tuple of str
        What was closed, by the names that the witness knows.
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
