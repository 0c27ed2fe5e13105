"""Where the accounts and publications of a ledger stand, and which are older than their marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select

from whitecrow.ledger.database import Session
from whitecrow.ledger.schema import LOST, OWN_STATES, datasets, entries, publishers
from whitecrow.ledger.witness.statement import Mark

_HEADS = select(datasets.c.id, datasets.c.name, datasets.c.seq, datasets.c.head, datasets.c.closure)
_HEAD = _HEADS.where(datasets.c.name == bindparam("named"))
# Publications go on from a state that is no entry; going back would draw their noise twice. Its
# version and a random fingerprint are told, and nothing of what it holds.
_STATES = select(
    datasets.c.name,
    publishers.c.name.label("state"),
    publishers.c.version,
    publishers.c.fingerprints,
    (publishers.c.state == LOST).label("over"),
).join(publishers, publishers.c.dataset == datasets.c.id)
_ENTRY = select(entries.c.hash).where(
    entries.c.dataset == bindparam("account"), entries.c.seq == bindparam("at_seq")
)


@dataclass(frozen=True)
class Head:
    """Where an account, or a publication, stands in the ledger."""

    # seq, head: The newest entry and its hash; of a publication its version from 1 and a
    # fingerprint.
    seq: int = 0
    head: str = ""
    account: int = 0  # whose entries; 0 for a publication
    before: str = ""  # of a publication the fingerprint of the version before
    closed: bool = False  # whether it is closed for good

    def bears_out(self, session: Session, mark: Mark) -> bool:
        """Whether the entry that a mark names is there, and what lost entries is closed."""
        if self.seq < mark.seq or (mark.era and not self.closed):
            return False
        if not mark.head or (self.seq, self.head) == (mark.seq, mark.head):
            return True
        if self.account:
            entry = session.one(_ENTRY, account=self.account, at_seq=mark.seq)
            return entry is not None and bool(entry.hash == mark.head)
        # A version is told before the next one is written, unless that is done at intervals.
        return self.seq > mark.seq + 1 or (self.seq, self.before) == (mark.seq + 1, mark.head)


def heads(session: Session) -> dict[str, Head]:
    """All there are, by the names that the witness knows."""
    found = {row.name: _account(row) for row in session.rows(_HEADS)}
    for row in session.rows(_STATES):
        if row.state not in OWN_STATES:
            before, _, now = row.fingerprints.rpartition(" ")
            head = Head(row.version + 1, now, before=before, closed=bool(row.over))
            found[state_name(row.name, row.state)] = head
    return found


def head_of(session: Session, name: str) -> Head:
    """Where one account, or one publication, stands."""
    dataset, _, key = name.partition("\n")
    if key:
        return heads(session).get(name, Head())
    row = session.one(_HEAD, named=dataset)
    return Head() if row is None else _account(row)


def _account(row: Any) -> Head:
    return Head(row.seq, row.head, row.id, closed=bool(row.closure))


def state_name(dataset: str, key: str) -> str:
    """What the witness calls the state of a publication."""
    return f"{dataset}\n{key}"


def missing(
    session: Session, there: Mapping[str, Head], marks: Mapping[str, Mark]
) -> dict[str, tuple[Mark, int]]:
    """What is older than its mark says, or another one: the mark, and where it ends now."""
    return {
        name: (mark, there.get(name, Head()).seq)
        for name, mark in marks.items()
        if name.partition("\n")[2] not in OWN_STATES
        and not there.get(name, Head()).bears_out(session, mark)
    }
