"""Sign-in for people at a browser: passwords, cookies, protection of forms, lock-out.

The console uses this and nothing else for its visitors. A cookie carries a random session number,
signed; the session itself is a row that sign-out, a new password or the custodian ends.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets as randomness
import threading
import time
from dataclasses import dataclass
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import insert, select, update

from whitecrow.errors import InvalidInput
from whitecrow.server.people import Person, is_name
from whitecrow.server.refusals import Forbidden, NotSignedIn, TooMany
from whitecrow.server.settings import Settings
from whitecrow.server.store import Store
from whitecrow.server.tables import failures, people, secrets, sessions

__all__ = ["Session", "Sessions"]

_WRONG = "The name or the password is wrong."
_SHORTEST, _LONGEST = 12, 1000
_ADDRESS_FACTOR = 10  # an address may serve many people


@dataclass(frozen=True)
class Session:
    """A visitor who is signed in.

    Parameters
    ----------
    person : Person
        Who it is.
    csrf : str
        What every form of this session must send back.
    """

    person: Person
    csrf: str


class Sessions:
    """The register of passwords and sessions.

    Parameters
    ----------
    store : Store
        Where the tables are.
    settings : Settings
        How long a session lasts, when sign-in is locked, whether cookies need TLS.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._hasher = PasswordHasher()  # argon2id
        # Each hash takes 64 MiB: strangers must not be able to make us take it many times over.
        self._hashing = threading.BoundedSemaphore(2)
        self._nobody = ""
        self._signer_made: URLSafeTimedSerializer | None = None

    # Passwords

    def set_password(self, name: str, password: str) -> None:
        """Give a person a password; it ends their sessions."""
        if not isinstance(password, str) or not _SHORTEST <= len(password) <= _LONGEST:
            raise InvalidInput(f"A password has {_SHORTEST} to {_LONGEST} characters.")
        with self._hashing:
            hashed = self._hasher.hash(password)
        with self._store.transaction() as connection:
            connection.execute(update(people).where(people.c.name == name).values(password=hashed))
            connection.execute(sessions.delete().where(sessions.c.person == name))

    def new_password(self, name: str) -> str:
        """Give a person a random password and return it, to be shown once."""
        made = randomness.token_urlsafe(15)
        self.set_password(name, made)
        return made

    def change_password(self, name: str, old: str, new: str, *, address: str = "") -> None:
        """Let a person change their own password; the old one is asked for, failures count."""
        self._verified(name, old, address)
        self.set_password(name, new)

    # Sessions

    def sign_in(self, name: str, password: str, *, address: str = "") -> tuple[Session, str]:
        """Check a password and begin a session; returns it and the cookie's value.

        Raises
        ------
        NotSignedIn
            Whatever is wrong, in the same words and about the same time.
        TooMany
            After too many failures, for this name or from this address, right or wrong.
        """
        person = self._verified(name, password, address)
        number, now = randomness.token_urlsafe(32), time.time()
        with self._store.transaction() as connection:
            connection.execute(sessions.delete().where(sessions.c.expires < now))
            connection.execute(
                insert(sessions).values(
                    hash=_hash(number),
                    person=person.name,
                    created=now,
                    expires=now + self._settings.session_hours * 3600,
                )
            )
        return Session(person, self._csrf(number)), str(self._signer().dumps(number))

    def visitor(self, cookie: str | None) -> Session:
        """Return whose session a cookie belongs to.

        Raises
        ------
        NotSignedIn
            If there is none, or it is over.
        """
        number = self._number(cookie)
        query = (
            select(people.c.name, people.c.role)
            .join(sessions, sessions.c.person == people.c.name)
            .where(
                sessions.c.hash == _hash(number),
                sessions.c.expires > time.time(),
                people.c.disabled.is_(False),
            )
        )
        with self._store.transaction(write=False) as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise NotSignedIn("Please sign in.")
        return Session(Person(row.name, row.role), self._csrf(number))

    def sign_out(self, cookie: str | None) -> None:
        """End a session."""
        number = self._number(cookie)
        with self._store.transaction() as connection:
            connection.execute(sessions.delete().where(sessions.c.hash == _hash(number)))

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

    def _verified(self, name: str, password: str, address: str) -> Person:
        tried = [(f"name {name}"[:100], self._settings.lock_after)]
        if address:
            tried.append((f"address {address}"[:100], self._settings.lock_after * _ADDRESS_FACTOR))
        for who, most in tried:
            self._check_lock(who, most)
        row = None
        if is_name(name) and len(password) <= _LONGEST:
            query = select(people).where(people.c.name == name, people.c.disabled.is_(False))
            with self._store.transaction(write=False) as connection:
                row = connection.execute(query).one_or_none()
        known = row is not None and row.password is not None
        # Strangers cost as much time as anybody: the clock does not say who exists.
        right = self._matches(str(row.password) if row and known else self._stranger(), password)
        if row is None or not known or not right:
            for who, _ in tried:
                self._count_failure(who)
            raise NotSignedIn(_WRONG)
        with self._store.transaction() as connection:
            connection.execute(failures.delete().where(failures.c.who == tried[0][0]))
        return Person(row.name, row.role)

    def _stranger(self) -> str:
        if not self._nobody:
            self._nobody = self._hasher.hash(randomness.token_hex(16))
        return self._nobody

    def _matches(self, hashed: str, password: str) -> bool:
        with self._hashing:
            try:
                return self._hasher.verify(hashed, password)
            except (VerificationError, InvalidHashError, UnicodeError):
                return False

    def _check_lock(self, who: str, most: int) -> None:
        with self._store.transaction(write=False) as connection:
            row = connection.execute(select(failures).where(failures.c.who == who)).one_or_none()
        if row is None or row.number < most:
            return
        left = row.since + self._settings.lock_minutes * 60 - time.time()
        if left > 0:
            raise TooMany(after=math.ceil(left))

    def _count_failure(self, who: str) -> None:
        now, window = time.time(), self._settings.lock_minutes * 60
        with self._store.transaction() as connection:
            connection.execute(failures.delete().where(failures.c.since < now - window))
            done = connection.execute(
                update(failures)
                .where(failures.c.who == who)
                .values(number=failures.c.number + 1, since=now)
            )
            if done.rowcount == 0:
                connection.execute(insert(failures).values(who=who, number=1, since=now))

    def _number(self, cookie: str | None) -> str:
        try:
            found = self._signer().loads(cookie or "", max_age=self._settings.session_hours * 3600)
        except (BadSignature, UnicodeError):
            found = None
        if not isinstance(found, str):
            raise NotSignedIn("Please sign in.")
        return found

    def _csrf(self, number: str) -> str:
        key = str(self._signer().secret_key)
        return hmac.new(key.encode(), f"form {number}".encode(), hashlib.sha256).hexdigest()

    def _signer(self) -> URLSafeTimedSerializer:
        if self._signer_made is None:
            self._signer_made = URLSafeTimedSerializer(
                self._secret(), salt="whitecrow.session", signer_kwargs={"digest_method": _sha256}
            )
        return self._signer_made

    def _secret(self) -> str:
        """The key of all workers: made by the first that needs it."""
        query = select(secrets.c.value).where(secrets.c.name == "cookies")
        with self._store.transaction(write=False) as connection:
            found = connection.execute(query).scalar_one_or_none()
        if found is None:
            with self._store.transaction() as connection:
                found = connection.execute(query).scalar_one_or_none()
                if found is None:
                    found = randomness.token_hex(32)
                    connection.execute(insert(secrets).values(name="cookies", value=found))
        return str(found)


def _sha256(data: bytes = b"") -> Any:
    return hashlib.sha256(data)


def _hash(number: str) -> str:
    return hashlib.sha256(number.encode()).hexdigest()
