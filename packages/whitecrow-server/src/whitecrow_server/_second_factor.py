"""The second factor of local accounts: setting it up, checking it, doing without it once."""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from whitecrow.errors import InvalidInput
from whitecrow_server import _totp as totp
from whitecrow_server._attempts import forget_codes
from whitecrow_server._people import lock
from whitecrow_server._store import Store
from whitecrow_server._tables import people, recovery
from whitecrow_server._trail import Act, record

_CODES = 10


@dataclass(frozen=True)
class SecondFactor:
    """Codes from an application, and codes on paper for the day it is lost."""

    _store: Store

    def held(self, name: str) -> bool:
        query = select(people.c.totp).where(people.c.name == name)
        row = self._store.row(query)
        return row is not None and row.totp is not None

    def begin(self, name: str) -> tuple[str, str]:
        """A new key and its address; nothing is kept until a code of it was typed."""
        key = totp.new_key()
        return key, totp.address(name, key)

    def remove(self, name: str, *, by: str) -> None:
        """Take away the second factor of somebody who lost it; for custodians and operators."""
        with self._store.transaction() as connection:
            turn_off(connection, name, by=by)


def first_step(key: str, code: str) -> int:
    """The half minute of the first code of a new key, which shows that its owner has it."""
    try:
        step = totp.fitting_step(key, code, time.time(), after=None)
    except ValueError:
        step = None
    if step is None or len(key) != 32:
        raise InvalidInput("The code does not fit the key; compare the clock of your device.")
    return step


def turn_on(connection: Connection, name: str, key: str, step: int) -> list[str]:
    """Put a key in force, after a code of it; returns the recovery codes, shown once."""
    made = [f"{secrets.token_hex(4)}-{secrets.token_hex(4)}" for _ in range(_CODES)]
    lock(connection, name)
    connection.execute(update(people).where(people.c.name == name).values(totp=key, totp_step=step))
    connection.execute(recovery.delete().where(recovery.c.person == name))
    for one in made:
        connection.execute(insert(recovery).values(hash=_hash(name, one), person=name))
    record(connection, Act(name, "second-factor-on", name))
    return made


def turn_off(connection: Connection, name: str, *, by: str) -> None:
    """Take a second factor away, and say so in the trail."""
    forget(connection, name)
    record(connection, Act(by, "second-factor-off", name))


def forget(connection: Connection, name: str) -> None:
    """Take a second factor away, in an open transaction."""
    lock(connection, name)
    off = {"totp": None, "totp_step": None}
    connection.execute(update(people).where(people.c.name == name).values(off))
    connection.execute(recovery.delete().where(recovery.c.person == name))
    forget_codes(connection, name)


def passes(connection: Connection, row: Row[Any], given: str) -> bool:
    """Whether a code fits the factor of somebody whose row is locked; each counts once."""
    if row.totp is None:
        return True
    step = totp.fitting_step(row.totp, given, time.time(), after=row.totp_step)
    if step is not None:
        mine = people.c.name == row.name
        connection.execute(update(people).where(mine).values(totp_step=step))
        return True
    key = _hash(row.name, "".join(given.split()).lower())
    return connection.execute(recovery.delete().where(recovery.c.hash == key)).rowcount == 1


def _hash(name: str, code: str) -> str:
    return hashlib.sha256(f"{name} {code}".encode("utf-8", "replace")).hexdigest()
