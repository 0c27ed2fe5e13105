"""People, their roles, their tokens, and the trail of what administrators did about them."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, insert, or_, select, update

from whitecrow.errors import Forbidden, InvalidInput, NotKnown, NotSignedIn, Taken, invalid
from whitecrow_server._store import Store, VersionedCache
from whitecrow_server._tables import (
    access,
    identities,
    invitations,
    people,
    recovery,
    sessions,
    tokens,
    trail,
)

ROLES = ("custodian", "analyst", "auditor")
"""Who may do what: the custodian governs, the analyst asks, the auditor reads the ledger."""

SCOPES = ("metrics", "witness")
"""What a token may be confined to."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", re.ASCII)
_DAY = 86_400.0
SIGN_IN = "Sign in with a token: it is missing, unknown, expired or revoked."


@dataclass(frozen=True)
class Credential:
    """What identifies somebody in a request."""

    token: str | None  # the token's id; None for a session at a browser, which a password began
    expires: float  # when it ends
    # Who else has had it in hands: the custodian who made the token, or who set the password. Empty
    # if nobody but its owner has.
    acting: str = ""
    scope: str = ""  # what it is good for; empty: all that its owner may do


@dataclass(frozen=True)
class Person:
    """A person whom the service knows."""

    name: str
    role: str
    disabled: bool = False
    credential: Credential | None = field(default=None, compare=False, repr=False)

    @property
    def acting(self) -> str:
        """Who else could be acting in this person's name; empty if nobody."""
        return "" if self.credential is None else self.credential.acting

    @property
    def signature(self) -> str:
        """Who did it, for the chain: the name, and who may have acted in it."""
        return f"{self.name}, acting: {self.acting}" if self.acting else self.name

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "role": self.role, "disabled": self.disabled}


@dataclass(frozen=True)
class Token:
    """What is known of a token; its text is shown once and never stored.

    ``made_by`` read its text when it was made. It ends with ``parent``, if it was made with one.
    """

    id: str
    label: str
    created: float
    expires: float
    revoked: bool
    made_by: str
    parent: str | None = None
    scope: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; moments as seconds since 1970."""
        return dict(vars(self))


def need(who: Person, *roles: str) -> None:
    """Refuse whoever has none of these roles."""
    if who.role not in roles:
        raise Forbidden(f"This needs the role {' or '.join(roles)}; yours is {who.role}.")


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
    def __init__(self, store: Store, *, longest: int = 365) -> None:
        self._store, self._longest = store, longest
        self._people: VersionedCache[str, Person] = VersionedCache(store.version)

    # People

    def add(self, name: str, role: str, *, act: Act | None = None) -> Person:
        good_name(name, "a person")
        if role not in ROLES:
            raise invalid("a person", "role", f"one of {', '.join(ROLES)}", role)
        with self._store.transaction() as connection:
            if connection.execute(select(people.c.name).where(people.c.name == name)).first():
                raise Taken(f"There is somebody called {name!r} already.", parameter="name")
            row = {"name": name, "role": role, "disabled": False, "created": time.time()}
            connection.execute(insert(people).values(row))
            record(connection, act)
        return Person(name, role)

    def all(self) -> list[Person]:
        there = select(people).where(people.c.removed.is_(None)).order_by("name")
        return [_person(row) for row in self._store.rows(there)]

    def get(self, name: str) -> Person:
        if not is_name(name):
            raise unknown(name)
        row = self._store.row(select(people).where(people.c.name == name))
        return _person(_there(row, name))

    def disable(self, name: str, disabled: bool, *, act: Act | None = None) -> Person:
        """Deactivate a person, which ends their tokens and sessions, or activate them again."""
        if not is_name(name):
            raise unknown(name)
        with self._store.transaction() as connection:
            row = _there(lock(connection, name), name)
            connection.execute(
                update(people).where(people.c.name == name).values(disabled=disabled)
            )
            if disabled:
                end_credentials(connection, name)
            record(connection, act)
        return Person(name, row.role, disabled)

    def remove(self, name: str, *, act: Act) -> None:
        """Remove a person: all by which they could act, and what is known of them.

        The name stays, and is nobody's: the accounts keep under it what was asked and spent, and
        whoever got it next would be taken for its former owner.
        """
        with self._store.transaction() as connection:
            _there(lock(connection, name), name)
            end_credentials(connection, name)
            for table in (tokens, identities, invitations, recovery, access):
                connection.execute(table.delete().where(table.c.person == name))
            nothing = dict.fromkeys(("password", "password_at", "totp", "totp_step"))
            gone = {**nothing, "password_by": "", "disabled": True, "removed": time.time()}
            connection.execute(update(people).where(people.c.name == name).values(gone))
            record(connection, act)

    # Tokens

    def issue(
        self,
        name: str,
        *,
        days: int,
        label: str = "",
        by: Person | None = None,
        hours: float | None = None,
        scope: str = "",
        act: str = "",
    ) -> tuple[str, Token]:
        """Make a token and return its text, which is shown once, and what is known of it."""
        if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= self._longest:
            raise invalid("a token", "days", f"a whole number from 1 to {self._longest}", days)
        if not isinstance(label, str) or len(label) > 100:
            raise InvalidInput(
                "A token's label is a text of at most 100 characters.", parameter="label"
            )
        if scope not in ("", *SCOPES):
            raise invalid("a token", "scope", f"one of {', '.join(SCOPES)}, or empty", scope)
        text = f"wc_{secrets.token_urlsafe(32)}"
        now = time.time()
        held = None if by is None else by.credential
        parent = None if held is None else held.token
        lives = days * _DAY if hours is None else hours * 3600
        ends = now + lives if parent is None or held is None else held.expires
        maker = name if by is None else by.acting or by.name
        made = Token(
            secrets.token_hex(8), label, now, min(ends, now + lives), False, maker, parent, scope
        )
        with self._store.transaction() as connection:
            # Locked and looked at again: it may have been revoked since the request came in, and
            # what ends a token must find all that were made with it.
            if lock(connection, name) is None:
                raise unknown(name)
            alive = select(tokens.c.id).where(tokens.c.id == parent, tokens.c.revoked.is_(False))
            if parent and connection.execute(alive.with_for_update()).first() is None:
                raise NotSignedIn(SIGN_IN)
            connection.execute(insert(tokens).values(**vars(made), hash=hashed(text), person=name))
            detail = {"token": made.id, "scope": scope, "expires": made.expires}
            record(connection, Act(act, "issue-token", name, detail) if act else None)
        return text, made

    def tokens(self, name: str) -> list[Token]:
        query = select(tokens).where(tokens.c.person == name).order_by("created")
        names = [field.name for field in fields(Token)]
        rows = (row._mapping for row in self._store.rows(query))
        return [Token(**{name: row[name] for name in names}) for row in rows]

    def revoke(self, name: str, token: str, *, act: Act | None = None) -> None:
        """End a token's life, and that of all that were made with it."""
        if not is_name(token):
            raise NotKnown("There is no such token.")
        with self._store.transaction() as connection:
            mine = (tokens.c.id == token) & (tokens.c.person == name)
            if connection.execute(select(tokens.c.id).where(mine)).first() is None:
                raise NotKnown("There is no such token.")
            _revoke(connection, mine)
            record(connection, act)

    def revoke_all(self, name: str, *, act: Act | None = None) -> None:
        """Revoke all tokens of a person, and all that were made by them or with those."""
        with self._store.transaction() as connection:
            lock(connection, name)
            end_credentials(connection, name, signed_in=False)
            record(connection, act)

    def bearer(self, token: str, *, scope: str = "") -> Person:
        """Return whose token this is, if it is good for everything, or for this scope.

        Tokens carry 256 random bits, so a plain hash keeps them: there is nothing to guess, and
        nothing is gained by a slow one.
        """
        key = hashed(token)
        person = self._people.get(key, lambda: self._look_up(key))
        if person.credential is None or person.credential.expires <= time.time():
            raise NotSignedIn(SIGN_IN)
        if person.credential.scope not in ("", scope):
            raise Forbidden(f"This token is good for {person.credential.scope} and nothing else.")
        return person

    def _look_up(self, key: str) -> Person:
        query = (
            select(people.c.name, people.c.role, tokens)
            .join(tokens, tokens.c.person == people.c.name)
            .where(tokens.c.hash == key, tokens.c.revoked.is_(False), people.c.disabled.is_(False))
        )
        row = self._store.row(query)
        if row is None:
            raise NotSignedIn(SIGN_IN)
        acting = row.made_by if row.made_by != row.name else ""
        credential = Credential(row.id, row.expires, acting, row.scope)
        return Person(row.name, row.role, credential=credential)

    # Access

    def may_see(self, dataset: str) -> list[str]:
        """Who may ask about a dataset; ``"*"`` stands for every analyst."""
        query = select(access.c.person).where(access.c.dataset == dataset).order_by("person")
        return [row.person for row in self._store.rows(query)]


def unknown(name: str) -> NotKnown:
    """The one error for people who do not exist or may not be known."""
    return NotKnown(f"There is nobody called {name!r}.")


def lock(connection: Connection, name: str) -> Row[Any] | None:
    """Select a person's row and lock it until the transaction ends."""
    query = select(people).where(people.c.name == name).with_for_update()
    return connection.execute(query).one_or_none()


def end_credentials(connection: Connection, name: str, *, signed_in: bool = True) -> None:
    """End all by which somebody could act: sessions, tokens, and what they made for others.

    The person's row must be locked: a token made at this moment would be missed otherwise.
    """
    if signed_in:
        connection.execute(sessions.delete().where(sessions.c.person == name))
    _revoke(connection, or_(tokens.c.person == name, tokens.c.made_by == name))


def _revoke(connection: Connection, which: ColumnElement[bool]) -> None:
    """Revoke tokens, then those made with them, and so on.

    A generation is revoked before the next is looked for: making a token locks the one it is made
    with, so none is made behind our back.
    """
    while True:
        connection.execute(update(tokens).where(which).values(revoked=True))
        ended = list(connection.execute(select(tokens.c.id).where(which)).scalars())
        children = tokens.c.parent.in_(ended) & tokens.c.revoked.is_(False)
        if connection.execute(select(tokens.c.id).where(children)).first() is None:
            return
        which = tokens.c.parent.in_(ended)


def _there(row: Row[Any] | None, name: str) -> Row[Any]:
    """The row of somebody who was not removed."""
    if row is None or row.removed is not None:
        raise unknown(name)
    return row


def _person(row: Row[Any]) -> Person:
    return Person(row.name, row.role, bool(row.disabled))


def hashed(text: str) -> str:
    """The hash stored for a random text: whoever reads the database cannot use it."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


# The trail: datasets have chains of their own, and what is done about people, tokens and keys
# stands here, in the transaction that does it. Each row's hash covers the row before it.

_LOCK = 748392017  # for PostgreSQL; SQLite lets one write at a time


@dataclass(frozen=True)
class Act:
    actor: str  # who, as signed: with whoever else could have acted in their name
    act: str  # what: a word such as ``invite``
    target: str  # about whom
    # More: a role, a token's id. Never a secret.
    detail: Mapping[str, Any] = field(default_factory=dict)


def record(connection: Connection, act: Act | None) -> None:
    """Record an act in the transaction that does it; None is not an administrator's act."""
    if act is None:
        return
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    newest = select(trail.c.seq, trail.c.hash).order_by(trail.c.seq.desc()).limit(1)
    last = connection.execute(newest).one_or_none()
    row = {
        "seq": 1 if last is None else last.seq + 1,
        "at": time.time(),
        "actor": act.actor[:160],
        "act": act.act,
        "target": act.target,
        "detail": json.dumps(dict(act.detail), sort_keys=True),
    }
    row["hash"] = _hash("" if last is None else last.hash, row)
    connection.execute(insert(trail).values(row))


@dataclass(frozen=True)
class Trail:
    _store: Store

    def page(self, *, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """The acts after a number, the oldest first."""
        query = select(trail).where(trail.c.seq > after).order_by(trail.c.seq).limit(limit)
        rows = (row._mapping for row in self._store.rows(query))
        return [{**row, "detail": json.loads(row["detail"])} for row in rows]

    def broken(self) -> int | None:
        """The first number whose hash does not fit what is there; None if all do."""
        before, last = "", 0
        with self._store.transaction(write=False) as connection:
            for entry in connection.execute(select(trail).order_by(trail.c.seq)):
                row = dict(entry._mapping)
                if row["seq"] != last + 1 or row.pop("hash") != _hash(before, row):
                    return int(entry.seq)
                before, last = entry.hash, entry.seq
        return None


def _hash(before: str, row: Mapping[str, Any]) -> str:
    # repr: the shortest text that reads back as the same float, in either database.
    parts = [before, *(repr(row[key]) for key in ("seq", "at", "actor", "act", "target", "detail"))]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
