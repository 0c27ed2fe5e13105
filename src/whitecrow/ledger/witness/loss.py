"""After a restore: what was forgotten, and how the rest of a ledger goes on without it.

What lost entries must never answer again: its answers have left, and would be given a second time,
differently. So its account is closed for good, a publication that lost its state is over, and the
witness remembers both by a new era.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from sqlalchemy import bindparam, insert, select, update

from whitecrow.ledger.database import Database, Session
from whitecrow.ledger.schema import LOST, datasets, publishers
from whitecrow.ledger.witness.guard import Setup
from whitecrow.ledger.witness.heads import Head, heads, missing
from whitecrow.ledger.witness.statement import Mark

__all__ = ["accept", "lost"]

_ACCOUNT = select(datasets.c.id).where(datasets.c.name == bindparam("named"))
_OWN = (publishers.c.dataset == bindparam("account"), publishers.c.name == bindparam("key"))
_END = update(publishers).where(*_OWN).values(version=bindparam("newest"), state=LOST)
_ADD = insert(publishers).values(
    dataset=bindparam("account"), name=bindparam("key"), version=bindparam("newest"), state=LOST
)


def lost(database: Database, setup: Setup) -> dict[str, tuple[Mark, int]]:
    """What is older than the witness says: the mark, and where it ends now."""
    marks = setup.read()
    return database.read(lambda session: missing(session, heads(session), marks))


def accept(database: Database, setup: Setup, names: Mapping[str, tuple[Mark, int]]) -> None:
    """End the publications among these, and tell the witness that a new era begins."""
    database.write(lambda session: _end_publications(session, names))
    there, nothing = database.read(heads), Head(0, 0, "")
    marks = {}
    for name, (mark, _) in names.items():
        now = there.get(name, nothing)
        marks[name] = Mark(mark.era + 1, now.seq, now.head)
    with closing(setup.place()) as place:
        place.keep(setup.signing_key().signed(setup.ledger, marks))


def _end_publications(session: Session, names: Mapping[str, tuple[Mark, int]]) -> None:
    known = heads(session)
    for name, (mark, _) in names.items():
        dataset, _, key = name.partition("\n")
        account = session.one(_ACCOUNT, named=dataset) if key else None
        if account is not None:  # else the account itself is gone, and its name is barred
            newest = max(mark.seq - 1, 0)
            session.run(_END if name in known else _ADD, account=account.id, key=key, newest=newest)
