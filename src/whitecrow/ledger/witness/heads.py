"""Where the accounts and publications of a ledger stand, and which are older than their marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import bindparam, select

from whitecrow.ledger.database import Session
from whitecrow.ledger.schema import OWN_STATES, datasets, entries, publishers
from whitecrow.ledger.witness.statement import Mark

__all__ = ["Head", "heads", "missing", "state_name"]

_HEADS = select(datasets.c.id, datasets.c.name, datasets.c.seq, datasets.c.head)
# Publications go on from a state that is no entry; going back would draw their noise twice. Its
# version is told, and nothing of what it holds.
_STATES = select(datasets.c.name, publishers.c.name.label("state"), publishers.c.version).join(
    publishers, publishers.c.dataset == datasets.c.id
)
_ENTRY = select(entries.c.hash).where(
    entries.c.dataset == bindparam("account"), entries.c.seq == bindparam("at_seq")
)


@dataclass(frozen=True)
class Head:
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


def heads(session: Session) -> dict[str, Head]:
    """All there are, by the names that the witness knows."""
    found = {row.name: Head(row.id, row.seq, row.head) for row in session.rows(_HEADS)}
    for row in session.rows(_STATES):
        if row.state not in OWN_STATES:
            found[state_name(row.name, row.state)] = Head(0, row.version + 1, "")
    return found


def state_name(dataset: str, key: str) -> str:
    """What the witness calls the state of a publication."""
    return f"{dataset}\n{key}"


def missing(
    session: Session, there: Mapping[str, Head], marks: Mapping[str, Mark]
) -> dict[str, tuple[Mark, int]]:
    """What is older than its mark says: the mark, and where it ends now."""
    nothing = Head(0, 0, "")
    return {
        name: (mark, there.get(name, nothing).seq)
        for name, mark in marks.items()
        if name.partition("\n")[2] not in OWN_STATES
        and not there.get(name, nothing).bears_out(session, mark)
    }
