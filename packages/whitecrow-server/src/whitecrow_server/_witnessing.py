"""Being the witness of other instances' ledgers: their heads are kept here, and never go back.

A ledger is known by its random name, and belongs to whoever told of it first, under the key that
signed then. What is kept is numbers, hashes and the names of datasets.
"""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from whitecrow.errors import Forbidden, InvalidInput, LedgerCorrupt, NotKnown, Taken
from whitecrow.ledger.witness import Evidence, Mark, Statement
from whitecrow_server._people import Person, need
from whitecrow_server._store import Store
from whitecrow_server._tables import statements, witnessed, witnessed_marks

_LEDGERS, _ACCOUNTS = 100, 20_000  # of one person, and of one ledger
_LARGEST = 2**31 - 1
_NAME = re.compile(r"[0-9a-f]{32}")
_KEY = re.compile(r"[0-9a-f]{64}")
_ACCOUNT = re.compile(r"[^\x00-\x09\x0b-\x1f]{1,300}")
_BACK = (
    "This ledger reported newer entries before: it was restored from a backup, or another of "
    "its processes was faster. Nothing was changed here."
)
_UNKNOWN = "No such ledger has reported here."


@dataclass(frozen=True)
class Witnessing:
    _store: Store

    def read(self, who: Person, ledger: str) -> dict[str, Any]:
        """The newest statements of a ledger about each of its accounts."""
        need(who, "custodian", "auditor")
        with self._store.transaction(write=False) as connection:
            if _NAME.fullmatch(ledger) is None or _owned(connection, who, ledger) is None:
                raise NotKnown(_UNKNOWN)
            return {"statements": _stored(connection, ledger)}

    def keep(self, who: Person, ledger: str, public: str, text: str) -> dict[str, Any]:
        """Keep a statement, if it is signed, extends the newest one, and nothing in it goes back.

        One that extends something is refused if its ledger has told nothing here: what it had told
        is lost.
        """
        need(who, "custodian", "auditor")
        statement = _statement(ledger, public, text)
        with self._store.transaction(counted=False) as connection:
            owned = _owned(connection, who, ledger, lock=True)
            if owned is None and statement.extends:
                raise NotKnown(_UNKNOWN)
            if owned is None:
                _welcome(connection, who, ledger, public)
            elif owned.public != public:
                raise Forbidden("This ledger signs with another key here.")
            held = Evidence.of(map(Statement.from_text, _stored(connection, ledger)))
            # An older version's ledger tells no numbers, until it has told the first one.
            if not held.takes(statement) and (statement.number or held.number):
                raise Taken(_BACK)
            _move(connection, statement)
            return {"statements": _stored(connection, ledger)}


def _statement(ledger: str, public: str, text: str) -> Statement:
    """Parse an untrusted statement; what is wrong with it is told to its sender."""
    try:
        statement = Statement.from_text(text)
    except LedgerCorrupt:
        raise InvalidInput("The body holds no statement of a ledger.") from None
    for name, position in statement.accounts.items():
        if not (
            _ACCOUNT.fullmatch(name)
            and 0 <= position.era <= _LARGEST
            and 0 <= position.seq <= _LARGEST
            and (not position.head or _KEY.fullmatch(position.head))
        ):
            raise InvalidInput("A mark has a name, two numbers and a hash, or none.")
    if _NAME.fullmatch(ledger) is None or _KEY.fullmatch(public) is None:
        raise InvalidInput("A ledger has a name of 32 hexadecimal digits, and a public key of 64.")
    number, extends = statement.number, statement.extends
    if not (0 <= number <= _LARGEST and (not extends or _KEY.fullmatch(extends))):
        raise InvalidInput("A statement has a number, and the fingerprint of the one it extends.")
    if statement.ledger != ledger or not statement.is_signed_by(public):
        raise InvalidInput("The statement is not signed by that key, or is another ledger's.")
    return statement


def _owned(
    connection: Connection, who: Person, ledger: str, *, lock: bool = False
) -> Row[Any] | None:
    """The row of a ledger, if it is this person's; the same as none for everybody else."""
    query = select(witnessed).where(witnessed.c.ledger == ledger)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is not None and row.person != who.name:
        raise NotKnown(_UNKNOWN)
    return row


def _welcome(connection: Connection, who: Person, ledger: str, public: str) -> None:
    """Write down a ledger that tells something for the first time."""
    mine = select(func.count()).select_from(witnessed).where(witnessed.c.person == who.name)
    if connection.execute(mine).scalar_one() >= _LEDGERS:
        raise Forbidden(f"One person keeps at most {_LEDGERS} ledgers here.")
    row = {"ledger": ledger, "public": public, "person": who.name, "created": time.time()}
    connection.execute(insert(witnessed).values(row))


def _move(connection: Connection, statement: Statement) -> None:
    """Move marks forward, all of them or none."""
    own = witnessed_marks.c.ledger == statement.ledger
    positions = {
        row.account: Mark(row.era, row.seq, row.head)
        for row in connection.execute(select(witnessed_marks).where(own))
    }
    if len(positions.keys() | statement.accounts.keys()) > _ACCOUNTS:
        raise Forbidden(f"A ledger has at most {_ACCOUNTS} accounts here.")
    text = statement.to_text()
    key = hashlib.sha256(text.encode()).hexdigest()
    there = select(statements.c.hash).where(statements.c.hash == key)
    if connection.execute(there).first() is None:
        connection.execute(
            insert(statements).values(hash=key, ledger=statement.ledger, written=text)
        )
    for name, end in sorted(statement.accounts.items()):
        before = positions.get(name)
        values: dict[str, Any] = {**vars(end), "statement": key}
        if before is None:
            row = {"ledger": statement.ledger, "account": name, **values}
            connection.execute(insert(witnessed_marks).values(row))
        elif (end.era, end.seq) < (before.era, before.seq) or (
            (end.era, end.seq) == (before.era, before.seq) and end.head != before.head
        ):
            raise Taken(_BACK)
        else:
            which = own & (witnessed_marks.c.account == name)
            connection.execute(update(witnessed_marks).where(which).values(values))
    used = select(witnessed_marks.c.statement).where(own)
    old = (statements.c.ledger == statement.ledger) & statements.c.hash.not_in(used)
    # The newest one stays even if no account rests on it: the next one extends it.
    connection.execute(statements.delete().where(old & (statements.c.hash != key)))


def _stored(connection: Connection, ledger: str) -> list[str]:
    query = select(statements.c.written).where(statements.c.ledger == ledger)
    return list(connection.execute(query).scalars())
