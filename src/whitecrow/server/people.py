"""People, their roles and their tokens."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, insert, select, update

from whitecrow.errors import InvalidInput, invalid
from whitecrow.server.memory import Memory
from whitecrow.server.refusals import NotKnown, NotSignedIn, Taken
from whitecrow.server.store import Store
from whitecrow.server.tables import access, people, sessions, tokens

__all__ = ["ROLES", "People", "Person", "Token", "good_name", "is_name"]

ROLES = ("custodian", "analyst", "auditor")
"""Who may do what: the custodian governs, the analyst asks, the auditor reads the ledger."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", re.ASCII)
_DAY = 86_400.0
_SIGN_IN = "Sign in with a token: it is missing, unknown, expired or revoked."


@dataclass(frozen=True)
class Person:
    """Somebody known to the service."""

    name: str
    role: str
    disabled: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"name": self.name, "role": self.role, "disabled": self.disabled}


@dataclass(frozen=True)
class Token:
    """What is known of a token; its text is shown once and kept by nobody here."""

    id: str
    label: str
    created: float
    expires: float
    revoked: bool

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; moments as seconds since 1970."""
        return dict(vars(self))


def is_name(name: str) -> bool:
    """Whether a text may be the name of anything here."""
    return _NAME.fullmatch(name) is not None


def good_name(name: object, what: str) -> str:
    """Return a name that is safe in paths, headers and pages, or refuse it."""
    if not isinstance(name, str) or not is_name(name):
        raise invalid(
            what,
            "name",
            "have 1 to 64 letters, digits and . _ @ -, the first a letter or digit",
            name if isinstance(name, str) and len(name) < 100 else "something else",
        )
    return name


class People:
    """The register of people and tokens.

    Parameters
    ----------
    store : Store
        Where the tables are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Memory[str, tuple[Person, float]] = Memory(store.version)

    # People

    def add(self, name: str, role: str) -> Person:
        """Make somebody known."""
        good_name(name, "a person")
        if role not in ROLES:
            raise invalid("a person", "role", f"one of {', '.join(ROLES)}", role)
        with self._store.transaction() as connection:
            if connection.execute(select(people.c.name).where(people.c.name == name)).first():
                raise Taken(f"There is somebody called {name!r} already.")
            row = {"name": name, "role": role, "disabled": False, "created": time.time()}
            connection.execute(insert(people).values(row))
        return Person(name, role)

    def all(self) -> list[Person]:
        """Everybody, by name."""
        with self._store.transaction(write=False) as connection:
            return [_person(row) for row in connection.execute(select(people).order_by("name"))]

    def get(self, name: str) -> Person:
        """One person."""
        if not is_name(name):
            raise unknown(name)
        with self._store.transaction(write=False) as connection:
            row = connection.execute(select(people).where(people.c.name == name)).one_or_none()
        if row is None:
            raise unknown(name)
        return _person(row)

    def disable(self, name: str, disabled: bool) -> Person:
        """Shut somebody out, or let them in again."""
        self.get(name)
        with self._store.transaction() as connection:
            connection.execute(
                update(people).where(people.c.name == name).values(disabled=disabled)
            )
            if disabled:
                connection.execute(sessions.delete().where(sessions.c.person == name))
        return self.get(name)

    # Tokens

    def issue(self, name: str, *, days: int, label: str = "") -> tuple[str, Token]:
        """Make a token and return its text, which is shown once, and what is known of it."""
        self.get(name)
        if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= 3650:
            raise invalid("a token", "days", "a whole number from 1 to 3650", days)
        if not isinstance(label, str) or len(label) > 100:
            raise InvalidInput("A token's label is a text of at most 100 characters.")
        written = f"wc_{secrets.token_urlsafe(32)}"
        now = time.time()
        made = Token(secrets.token_hex(8), label, now, now + days * _DAY, revoked=False)
        with self._store.transaction() as connection:
            connection.execute(
                insert(tokens).values(**vars(made), hash=_hash(written), person=name)
            )
        return written, made

    def tokens(self, name: str) -> list[Token]:
        """What is known of somebody's tokens, the oldest first."""
        query = select(tokens).where(tokens.c.person == name).order_by("created")
        with self._store.transaction(write=False) as connection:
            return [
                Token(row.id, row.label, row.created, row.expires, row.revoked)
                for row in connection.execute(query)
            ]

    def revoke(self, name: str, token: str) -> None:
        """End a token's life."""
        if not is_name(token):
            raise NotKnown("There is no such token.")
        with self._store.transaction() as connection:
            done = connection.execute(
                update(tokens)
                .where(tokens.c.id == token, tokens.c.person == name)
                .values(revoked=True)
            )
            if done.rowcount == 0:
                raise NotKnown("There is no such token.")

    def bearer(self, written: str) -> Person:
        """Return whose token this is.

        Tokens carry 256 random bits, so a plain hash keeps them: there is nothing to guess, and
        nothing is gained by a slow one.
        """
        key = _hash(written)
        person, expires = self._known.get(key, lambda: self._look_up(key))
        if expires <= time.time():
            raise NotSignedIn(_SIGN_IN)
        return person

    def _look_up(self, key: str) -> tuple[Person, float]:
        query = (
            select(people.c.name, people.c.role, people.c.disabled, tokens.c.expires)
            .join(tokens, tokens.c.person == people.c.name)
            .where(tokens.c.hash == key, tokens.c.revoked.is_(False), people.c.disabled.is_(False))
        )
        with self._store.transaction(write=False) as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise NotSignedIn(_SIGN_IN)
        return Person(row.name, row.role), row.expires

    # Access

    def may_see(self, dataset: str) -> list[str]:
        """Who may ask about a dataset; ``"*"`` stands for every analyst."""
        query = select(access.c.person).where(access.c.dataset == dataset).order_by("person")
        with self._store.transaction(write=False) as connection:
            return list(connection.execute(query).scalars())


def unknown(name: str) -> NotKnown:
    """The one error for people who do not exist or may not be known."""
    return NotKnown(f"There is nobody called {name!r}.")


def _person(row: Row[Any]) -> Person:
    return Person(row.name, row.role, bool(row.disabled))


def _hash(written: str) -> str:
    return hashlib.sha256(written.encode("utf-8", "replace")).hexdigest()
