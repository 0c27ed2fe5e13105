"""Sign-in for people at a browser: passwords, cookies, protection of forms, lock-out.

The console uses this and nothing else for its visitors. A cookie carries a random session number,
signed; the session itself is a row that sign-out, a new password or the custodian ends.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets as randomness
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from whitecrow.errors import Forbidden, InvalidInput, NotSignedIn
from whitecrow_server._attempts import Attempts, take_back_code
from whitecrow_server._hashing import Hasher
from whitecrow_server._keys import KeyRing
from whitecrow_server._people import Credential, Person, end_credentials, is_name, lock
from whitecrow_server._second_factor import passes
from whitecrow_server._settings import Settings
from whitecrow_server._store import Store
from whitecrow_server._tables import invitations, people, sessions
from whitecrow_server._trail import Act, record

_WRONG = "The name or the password is wrong."
_NO_INVITATION = "This invitation was used already or has expired; ask for another."
_NO_LOCAL = "Local accounts are switched off here: sign in through your organisation."
_SHORTEST, _LONGEST = 12, 1000


@dataclass(frozen=True)
class Session:
    """A visitor who is signed in.

    Parameters
    ----------
    person : Person
        Who it is.
    csrf : str
        What every form of this session must send back.
    began_with : str
        ``"password"``, or ``"provider"`` for single sign-on.
    lacks_factor : bool
        Whether a second factor is to be set up before anything else.
    """

    person: Person
    csrf: str
    began_with: str = "password"
    lacks_factor: bool = False


class Sessions:
    """The register of passwords and sessions."""

    def __init__(self, store: Store, settings: Settings, hasher: Hasher) -> None:
        self._store, self._settings = store, settings
        self._hasher = hasher
        self._nobody = ""
        self._attempts = Attempts(store, settings)
        self.keys = KeyRing(store, seconds=settings.session_hours * 3600)

    # Passwords

    def set_password(
        self, name: str, password: str, *, by: str = "", act: Act | None = None
    ) -> None:
        """Give a person a password; it ends their sessions and their tokens.

        ``by`` is whoever knows it beside its owner, empty if nobody does: until the owner chooses
        another, what is done in a session that it began is recorded as acted by either.
        """
        self._replace(name, self._hashed(password), by=by, act=act)

    def new_password(self, name: str, *, by: str = "", act: Act | None = None) -> str:
        """Give a person a random password and return it, to be shown once."""
        made = randomness.token_urlsafe(15)
        self.set_password(name, made, by=by, act=act)
        return made

    def change_password(self, name: str, old: str, new: str, *, address: str = "") -> None:
        """Let a person change their own password; the old one is asked for, failures count."""
        verified = self._verified(name, old, address)
        self._replace(name, self._hashed(new), by="", instead_of=verified)
        self._attempts.forget(name, address)

    def password_set(self, name: str) -> tuple[str, float | None]:
        """Who knows a person's password beside its owner, and since when it is in force."""
        query = select(people.c.password_by, people.c.password_at).where(people.c.name == name)
        row = self._store.row(query)
        return ("", None) if row is None else (row.password_by, row.password_at)

    def _hashed(self, password: str) -> str:
        if not isinstance(password, str) or not _SHORTEST <= len(password) <= _LONGEST:
            raise InvalidInput(
                f"A password has {_SHORTEST} to {_LONGEST} characters.", parameter="new"
            )
        return self._hasher.hash(password)

    def _replace(
        self,
        name: str,
        hashed: str,
        *,
        by: str,
        instead_of: str | None = None,
        act: Act | None = None,
    ) -> None:
        with self._store.transaction() as connection:
            row = lock(connection, name)
            if instead_of is not None:
                _still(row, instead_of)
            now = time.time()
            connection.execute(
                update(people)
                .where(people.c.name == name)
                .values(password=hashed, password_by=by, password_at=now)
            )
            end_credentials(connection, name)
            record(connection, act)

    def accept(self, code: str, password: str) -> str:
        """Let somebody who was invited choose their password; returns their name.

        The code is looked up before the password is hashed, which takes long: strangers have no
        code. That a refusal is quick tells nothing, for nobody guesses 256 random bits.
        """
        key, now = _hash(code), time.time()
        invited = select(invitations).where(invitations.c.hash == key, invitations.c.expires > now)
        if self._store.row(invited) is None:
            raise NotSignedIn(_NO_INVITATION)
        hashed = self._hashed(password)
        with self._store.transaction() as connection:
            found = connection.execute(invited).one_or_none()
            if found is None:
                raise NotSignedIn(_NO_INVITATION)
            row = lock(connection, found.person)
            # Taken away first, and only if it is there: of two who use it at once one succeeds.
            gone = connection.execute(invitations.delete().where(invitations.c.hash == key))
            if gone.rowcount != 1 or row is None or row.disabled:
                raise NotSignedIn(_NO_INVITATION)
            values = {"password": hashed, "password_by": "", "password_at": now}
            mine = people.c.name == found.person
            connection.execute(update(people).where(mine).values(values))
            end_credentials(connection, found.person)
            record(connection, Act(found.person, "accept-invitation", found.person))
        return str(found.person)

    def invitation(self, name: str, *, days: float, act: Act) -> str:
        """A code with which somebody chooses a password, once and within so many days."""
        code, now = randomness.token_urlsafe(32), time.time()
        row = {"hash": _hash(code), "person": name, "expires": now + days * 86_400}
        with self._store.transaction() as connection:
            lock(connection, name)
            over = (invitations.c.expires < now) | (invitations.c.person == name)
            connection.execute(invitations.delete().where(over))
            connection.execute(insert(invitations).values(**row, made_by=act.actor[:64]))
            record(connection, act)
        return code

    # Sessions

    def sign_in(
        self, name: str, password: str, *, code: str = "", address: str = ""
    ) -> tuple[Session, str]:
        """Check a password and begin a session; returns it and the cookie's value.

        Whoever has a second factor also gives its code, or one of their recovery codes.

        Raises
        ------
        NotSignedIn
            Whatever is wrong, in the same words and about the same time.
        TooMany
            After too many failures, for this name or from this address, right or wrong.
        """
        if not self._settings.local_accounts:
            raise Forbidden(_NO_LOCAL)
        with self.proved(name, password, code, address=address) as (connection, row):
            session, number = self.begin(connection, row, acting=row.password_by)
        return session, self.sealed(number)

    @contextmanager
    def proved(
        self, name: str, password: str, code: str, *, address: str = ""
    ) -> Iterator[tuple[Connection, Row[Any]]]:
        """A transaction for somebody who gave their password and, if they have one, their factor.

        Raises
        ------
        NotSignedIn, TooMany
            As for :meth:`sign_in`.
        """
        verified = self._verified(name, password, address)
        self._attempts.count_code(name)
        with self._store.transaction() as connection:
            # Locked and looked at again: whoever was shut out, or had the password replaced, while
            # it was being checked must not be left with a session.
            row = _still(lock(connection, name), verified)
            if not passes(connection, row, code):
                raise NotSignedIn(_WRONG)
            take_back_code(connection, name)
            yield connection, row
        # Only now: a right password does not make up for wrong codes.
        self._attempts.forget(name, address)

    def begin(
        self, connection: Connection, row: Row[Any], *, acting: str = "", with_: str = "password"
    ) -> tuple[Session, str]:
        """Begin a session for somebody whose row is locked; returns it and its number."""
        number, now = randomness.token_urlsafe(32), time.time()
        expires = now + self._settings.session_hours * 3600
        connection.execute(sessions.delete().where(sessions.c.expires < now))
        connection.execute(
            insert(sessions).values(
                hash=_hash(number),
                person=row.name,
                created=now,
                expires=expires,
                acting=acting,
                began_with=with_,
            )
        )
        person = Person(row.name, row.role, credential=Credential(None, expires, acting))
        return Session(person, _csrf(number), with_), number

    def sealed(self, number: str) -> str:
        """The value of the cookie that carries a session's number."""
        return self.keys.signed(number)

    def visitor(self, cookie: str | None) -> Session:
        """Return whose session a cookie belongs to.

        Raises
        ------
        NotSignedIn
            If there is none, or it is over.
        """
        number = self._number(cookie)
        query = (
            select(people.c.name, people.c.role, people.c.totp, sessions)
            .join(sessions, sessions.c.person == people.c.name)
            .where(
                sessions.c.hash == _hash(number),
                sessions.c.expires > time.time(),
                people.c.disabled.is_(False),
            )
        )
        row = self._store.row(query)
        if row is None:
            raise NotSignedIn("Please sign in.")
        credential = Credential(None, row.expires, row.acting)
        person = Person(row.name, row.role, credential=credential)
        needed = row.began_with == "password" and row.role in self._settings.second_factor
        return Session(person, _csrf(number), row.began_with, needed and row.totp is None)

    def sign_out(self, cookie: str | None) -> None:
        number = self._number(cookie)
        with self._store.transaction() as connection:
            connection.execute(sessions.delete().where(sessions.c.hash == _hash(number)))

    def listed(self, name: str) -> list[dict[str, Any]]:
        """What is known of somebody's sessions that are not over, the oldest first."""
        query = (
            select(sessions)
            .where(sessions.c.person == name, sessions.c.expires > time.time())
            .order_by(sessions.c.created)
        )
        keys = ("created", "expires", "acting", "began_with")
        return [
            {"id": row.hash[:16], **{key: row._mapping[key] for key in keys}}
            for row in self._store.rows(query)
        ]

    def known_as(self, cookie: str | None) -> str:
        """Which of the listed sessions a cookie belongs to."""
        return _hash(self._number(cookie))[:16]

    def end(self, name: str, session: str = "", *, act: Act | None = None) -> None:
        """End one of somebody's sessions, or all of them."""
        mine = sessions.c.person == name
        if session:
            mine &= sessions.c.hash.startswith(session, autoescape=True)
        with self._store.transaction() as connection:
            connection.execute(sessions.delete().where(mine))
            record(connection, act)

    def check_form(self, session: Session, given: object) -> None:
        """Refuse a form that does not come from a page of this session."""
        if not isinstance(given, str) or not hmac.compare_digest(
            session.csrf.encode(), given.encode("utf-8", "replace")
        ):
            raise Forbidden("The form is stale; load the page again.")

    def cookie(self) -> dict[str, Any]:
        """How the cookie is set: the arguments of ``Response.set_cookie``, without its value."""
        secure = self._settings.secure
        return {
            # The prefix makes browsers refuse the cookie from anywhere but this very host.
            "key": "__Host-whitecrow" if secure else "whitecrow",
            "max_age": self._settings.session_hours * 3600,
            "path": "/",
            "secure": secure,
            "httponly": True,
            "samesite": "strict",
        }

    # Inside

    def _verified(self, name: str, password: str, address: str) -> str:
        """Check a password and return the hash it fits."""
        self._attempts.count(name, address)
        row = None
        if is_name(name) and len(password) <= _LONGEST:
            query = select(people).where(people.c.name == name, people.c.disabled.is_(False))
            row = self._store.row(query)
        kept = "" if row is None or row.password is None else str(row.password)
        # Strangers cost as much time as anybody: the clock does not say who exists.
        if not self._hasher.fits(kept or self._stranger(), password) or not kept:
            raise NotSignedIn(_WRONG)
        return kept

    def _stranger(self) -> str:
        if not self._nobody:
            self._nobody = self._hasher.hash(randomness.token_hex(16))
        return self._nobody

    def unlock(self, name: str) -> None:
        """Let somebody try again at once, whose sign-in was locked."""
        self._attempts.unlock(name)

    def _number(self, cookie: str | None) -> str:
        found = self.keys.read(cookie or "")
        if found is None:
            raise NotSignedIn("Please sign in.")
        return found


def _still(row: Row[Any] | None, verified: str) -> Row[Any]:
    """A person's row, if the password that was verified is theirs yet and they may come in."""
    if row is None or row.disabled or row.password != verified:
        raise NotSignedIn(_WRONG)
    return row


def _csrf(number: str) -> str:
    """What the forms of a session send back: made from its number, which nobody else has."""
    return hmac.new(number.encode(), b"form", hashlib.sha256).hexdigest()


def _hash(number: str) -> str:
    return hashlib.sha256(number.encode()).hexdigest()
