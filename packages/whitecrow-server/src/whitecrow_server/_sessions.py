"""Sign-in for people at a browser: passwords, second factors, cookies, forms, lock-out.

The console uses this and nothing else for its visitors. A cookie carries a random session number,
signed; the session itself is a row that sign-out, a new password or the custodian ends.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import math
import secrets
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import Connection, Row, case, insert, select, update

from whitecrow.errors import Forbidden, InvalidInput, NotSignedIn, TooMany
from whitecrow_server._hashing import Hasher
from whitecrow_server._people import (
    Act,
    Credential,
    Person,
    end_credentials,
    hashed,
    is_name,
    lock,
    record,
)
from whitecrow_server._settings import Settings
from whitecrow_server._store import Store, VersionedCache, put
from whitecrow_server._tables import failures, invitations, people, recovery, sessions
from whitecrow_server._tables import secrets as keys

_WRONG = "The name or the password is wrong."
_NO_INVITATION = "This invitation was used already or has expired; ask for another."
_NO_LOCAL = "Local accounts are switched off here: sign in through your organisation."
_SHORTEST, _LONGEST = 12, 1000


@dataclass(frozen=True)
class Session:
    """A visitor who is signed in."""

    person: Person
    csrf: str  # what every form of this session must send back
    began_with: str = "password"  # or "provider", for single sign-on
    lacks_factor: bool = False  # whether a second factor is to be set up before anything else


class Sessions:
    def __init__(self, store: Store, settings: Settings, hasher: Hasher) -> None:
        self._store, self._settings = store, settings
        self._hasher = hasher
        self._nobody = ""
        self.attempts = Attempts(store, settings)
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
        made = secrets.token_urlsafe(15)
        self.set_password(name, made, by=by, act=act)
        return made

    def change_password(self, name: str, old: str, new: str, *, address: str = "") -> None:
        """Let a person change their own password; the old one is asked for, failures count."""
        verified = self._verified(name, old, address)
        self._replace(name, self._hashed(new), by="", instead_of=verified)
        self.attempts.forget(name, address)

    def password_set(self, name: str) -> tuple[str, float | None]:
        """Who knows a person's password beside its owner, and since when."""
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
        encoded: str,
        *,
        by: str,
        instead_of: str | None = None,
        act: Act | None = None,
    ) -> None:
        with self._store.transaction() as connection:
            row = lock(connection, name)
            if instead_of is not None:
                _still(row, instead_of)
            _put_password(connection, name, encoded, by)
            record(connection, act)

    def accept(self, code: str, password: str) -> str:
        """Let somebody who was invited choose their password; returns their name.

        The code is looked up before the password is hashed, which takes long: strangers have no
        code. That a refusal is quick tells nothing, for nobody guesses 256 random bits.
        """
        key, now = hashed(code), time.time()
        invited = select(invitations).where(invitations.c.hash == key, invitations.c.expires > now)
        if self._store.row(invited) is None:
            raise NotSignedIn(_NO_INVITATION)
        encoded = self._hashed(password)
        with self._store.transaction() as connection:
            invitation = connection.execute(invited).one_or_none()
            if invitation is None:
                raise NotSignedIn(_NO_INVITATION)
            name = str(invitation.person)
            row = lock(connection, name)
            # Taken away first, and only if it is there: of two who use it at once one succeeds.
            gone = connection.execute(invitations.delete().where(invitations.c.hash == key))
            if gone.rowcount != 1 or row is None or row.disabled:
                raise NotSignedIn(_NO_INVITATION)
            _put_password(connection, name, encoded, by="")
            record(connection, Act(name, "accept-invitation", name))
        return name

    def invitation(self, name: str, *, days: float, act: Act) -> str:
        """A code with which somebody chooses a password, once and within so many days."""
        code, now = secrets.token_urlsafe(32), time.time()
        row = {"hash": hashed(code), "person": name, "expires": now + days * 86_400}
        with self._store.transaction() as connection:
            lock(connection, name)
            over = (invitations.c.expires < now) | (invitations.c.person == name)
            connection.execute(invitations.delete().where(over))
            connection.execute(insert(invitations).values(**row, made_by=act.actor[:64]))
            record(connection, act)
        return code

    def has_second_factor(self, name: str) -> bool:
        row = self._store.row(select(people.c.totp).where(people.c.name == name))
        return row is not None and row.totp is not None

    def end_second_factor(self, name: str, *, by: str) -> None:
        """Take away the second factor of somebody who lost it; for custodians and operators."""
        with self._store.transaction() as connection:
            turn_off(connection, name, by=by)

    # Sessions

    def sign_in(
        self, name: str, password: str, *, code: str = "", address: str = ""
    ) -> tuple[Session, str]:
        """Check a password and begin a session; returns it and the cookie's value.

        Whoever has a second factor also gives its code, or one of their recovery codes. Whatever is
        wrong is refused in the same words and about the same time; after too many failures, for
        this name or from this address, whatever is right too.
        """
        if not self._settings.local_accounts:
            raise Forbidden(_NO_LOCAL)
        with self.proved(name, password, code, address=address) as (connection, row):
            session, number = self.begin(connection, row, acting=row.password_by)
        return session, self.keys.signed(number)

    @contextmanager
    def proved(
        self, name: str, password: str, code: str, *, address: str = ""
    ) -> Iterator[tuple[Connection, Row[Any]]]:
        """A transaction for somebody who gave their password and, if they have one, factor."""
        verified = self._verified(name, password, address)
        self.attempts.count_code(name)
        with self._store.transaction() as connection:
            # Locked and looked at again: whoever was shut out, or had the password replaced, while
            # it was being checked must not be left with a session.
            row = _still(lock(connection, name), verified)
            if not passes(connection, row, code):
                raise NotSignedIn(_WRONG)
            _take_back(connection, [_codes(name)])
            yield connection, row
        # Only now: a right password does not make up for wrong codes.
        self.attempts.forget(name, address)

    def begin(
        self, connection: Connection, row: Row[Any], *, acting: str = "", with_: str = "password"
    ) -> tuple[Session, str]:
        """Begin a session for somebody whose row is locked; returns it and its number."""
        number, now = secrets.token_urlsafe(32), time.time()
        expires = now + self._settings.session_hours * 3600
        connection.execute(sessions.delete().where(sessions.c.expires < now))
        connection.execute(
            insert(sessions).values(
                hash=hashed(number),
                person=row.name,
                created=now,
                expires=expires,
                acting=acting,
                began_with=with_,
            )
        )
        person = Person(row.name, row.role, credential=Credential(None, expires, acting))
        return Session(person, _csrf(number), with_), number

    def visitor(self, cookie: str | None) -> Session:
        number = self._number(cookie)
        query = (
            select(people.c.name, people.c.role, people.c.totp, sessions)
            .join(sessions, sessions.c.person == people.c.name)
            .where(
                sessions.c.hash == hashed(number),
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
            connection.execute(sessions.delete().where(sessions.c.hash == hashed(number)))

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
        return hashed(self._number(cookie))[:16]

    def end(self, name: str, session: str = "", *, act: Act | None = None) -> None:
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

    def cookie(self, **instead: Any) -> dict[str, Any]:
        """How a cookie is set: the arguments of ``Response.set_cookie``, without its value."""
        secure = self._settings.secure
        return {
            # The prefix makes browsers refuse the cookie from anywhere but this very host.
            "key": "__Host-whitecrow" if secure else "whitecrow",
            "max_age": self._settings.session_hours * 3600,
            "path": "/",
            "secure": secure,
            "httponly": True,
            "samesite": "strict",
            **instead,
        }

    # Inside

    def _verified(self, name: str, password: str, address: str) -> str:
        """Check a password and return the hash it fits."""
        self.attempts.count(name, address)
        row = None
        if is_name(name) and len(password) <= _LONGEST:
            query = select(people).where(people.c.name == name, people.c.disabled.is_(False))
            row = self._store.row(query)
        stored = "" if row is None or row.password is None else str(row.password)
        # Strangers cost as much time as anybody: the clock does not say who exists.
        if not self._hasher.fits(stored or self._stranger(), password) or not stored:
            raise NotSignedIn(_WRONG)
        return stored

    def _stranger(self) -> str:
        if not self._nobody:
            self._nobody = self._hasher.hash(secrets.token_hex(16))
        return self._nobody

    def _number(self, cookie: str | None) -> str:
        number = self.keys.read(cookie or "")
        if number is None:
            raise NotSignedIn("Please sign in.")
        return number


def _still(row: Row[Any] | None, verified: str) -> Row[Any]:
    """A person's row, if the password that was verified is theirs yet and they may come in."""
    if row is None or row.disabled or row.password != verified:
        raise NotSignedIn(_WRONG)
    return row


def _csrf(number: str) -> str:
    """The CSRF token of a session: made from its number, which nobody else has."""
    return hmac.new(number.encode(), b"form", hashlib.sha256).hexdigest()


def _put_password(connection: Connection, name: str, encoded: str, by: str) -> None:
    """Change a password, whose owner's row is locked; all they hold ends with the old one."""
    values = {"password": encoded, "password_by": by, "password_at": time.time()}
    connection.execute(update(people).where(people.c.name == name).values(values))
    end_credentials(connection, name)


# The ring of keys that sign cookies

_COOKIES = "cookies"


class KeyRing:
    """Signs and reads short texts with the keys of all workers: the newest signs.

    A key that may have leaked is replaced without signing anybody out; it stops counting when the
    longest session that it could have signed is over. Tokens need no key: they are random.
    """

    def __init__(self, store: Store, *, seconds: int) -> None:
        self._store, self._seconds = store, seconds
        self._signers: VersionedCache[str, URLSafeTimedSerializer] = VersionedCache(store.version)

    def signed(self, text: str) -> str:
        return str(self._signer().dumps(text))

    def read(self, signed: str) -> str | None:
        try:
            text = self._signer().loads(signed, max_age=self._seconds)
        except (BadSignature, UnicodeError):
            return None
        return text if isinstance(text, str) else None

    def rotate(self, *, by: str) -> None:
        """Sign with a new key from now on; keys whose time is over are forgotten."""
        with self._store.transaction() as connection:
            ring = list(connection.execute(_RING))
            # A key signed until the next one was made: it counts for one session's time longer.
            for old, newer in itertools.pairwise(ring):
                if newer.created < time.time() - self._seconds:
                    connection.execute(keys.delete().where(keys.c.name == old.name))
            _add_key(connection)
            record(connection, Act(by, "rotate-keys", ""))

    def _signer(self) -> URLSafeTimedSerializer:
        return self._signers.get(_COOKIES, self._made)

    def _made(self) -> URLSafeTimedSerializer:
        values = [row.value for row in self._store.rows(_RING)]
        if not values:  # made by the first that needs it
            # Not counted: nothing that anybody remembers depends on it.
            with self._store.transaction(counted=False) as connection:
                if connection.execute(_RING).first() is None:
                    _add_key(connection)
                values = [row.value for row in connection.execute(_RING)]
        return URLSafeTimedSerializer(
            values, salt="whitecrow.session", signer_kwargs={"digest_method": hashlib.sha256}
        )


def _add_key(connection: Connection) -> None:
    there = connection.execute(_RING).all()
    newest = 0 if not there else int(there[-1].name.partition("-")[2] or 0)
    name = _COOKIES if not there else f"{_COOKIES}-{newest + 1}"
    values = {"name": name, "value": secrets.token_hex(32), "created": time.time()}
    connection.execute(insert(keys).values(values))


_RING = select(keys).where(keys.c.name.startswith(_COOKIES)).order_by(keys.c.created)


# How often somebody may try: attempts, counted before they are looked at

_ADDRESS_FACTOR = 10  # an address may serve many people


class _Counter(NamedTuple):
    """How many attempts may be counted under a name within so many seconds.

    With ``begins_anew`` the time runs from the newest attempt, else from the first.
    """

    who: str
    most: int
    window: float
    begins_anew: bool = True


class Attempts:
    """The counters of all workers, in one table."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings

    def count(self, name: str, address: str) -> None:
        """Count an attempt before its password is looked at, or refuse it.

        Were only failures counted, after the hash, any number of guesses sent at once would all be
        looked at. Workers count in one row, which the database adds to.
        """
        self._count(self._counters(name, address))

    def count_code(self, name: str) -> None:
        """Count an attempt with the right password before its code is looked at, or refuse it."""
        self._count([_codes(name)])

    def forget(self, name: str, address: str) -> None:
        """Take back what a right password was counted as; a name starts anew."""
        mine, *others = self._counters(name, address)
        with self._store.transaction(counted=False) as connection:
            connection.execute(failures.delete().where(failures.c.who == mine.who))
            _take_back(connection, others)

    def unlock(self, name: str) -> None:
        """Let somebody try again at once, whose sign-in was locked."""
        mine = [counter.who for counter in (*self._counters(name, ""), _codes(name))]
        with self._store.transaction(counted=False) as connection:
            connection.execute(failures.delete().where(failures.c.who.in_(mine)))

    def _count(self, counters: Sequence[_Counter]) -> None:
        now = time.time()
        # Read first: whoever is locked out already has nobody else wait for the place to write.
        with self._store.transaction(write=False) as connection:
            for who, most, window, _ in counters:
                locked = (failures.c.who == who, failures.c.since >= now - window)
                row = connection.execute(select(failures).where(*locked)).one_or_none()
                if row is not None and row.number >= most:
                    raise TooMany(after=max(1, math.ceil(row.since + window - now)))
        with self._store.transaction(counted=False) as connection:
            for who, most, window, begins_anew in counters:
                same = failures.c.who.startswith(f"{who.split()[0]} ", autoescape=True)
                connection.execute(failures.delete().where(same, failures.c.since < now - window))
                changes = {"number": failures.c.number + 1}
                if begins_anew:
                    # A refusal does not make the lock last longer.
                    since = case((failures.c.number < most, now), else_=failures.c.since)
                    changes["since"] = since
                put(connection, failures, {"who": who, "number": 1, "since": now}, changes)
                row = connection.execute(select(failures).where(failures.c.who == who)).one()
                if row.number > most:  # undone with the transaction
                    raise TooMany(after=max(1, math.ceil(row.since + window - now)))

    def _counters(self, name: str, address: str) -> list[_Counter]:
        most, window = self._settings.lock_after, self._settings.lock_minutes * 60
        counters = [_Counter(f"name {name}"[:100], most, window)]
        if address:
            counters.append(_Counter(f"address {address}"[:100], most * _ADDRESS_FACTOR, window))
        return counters


def _codes(name: str) -> _Counter:
    """Codes that were tried after the right password: whoever tries many knows the password.

    A guess is right with probability 3 in a million. Five in a quarter of an hour, for ever, would
    find a code within a year or two; fifty a month take 500 years.
    """
    return _Counter(f"code {name}"[:100], 50, 30 * 86_400.0, begins_anew=False)


def _take_back(connection: Connection, counters: Sequence[_Counter]) -> None:
    mine = failures.c.who.in_([counter.who for counter in counters])
    fewer = {"number": failures.c.number - 1}
    connection.execute(update(failures).where(mine, failures.c.number > 0).values(fewer))


# The second factor: codes of an application, and codes on paper for the day it is lost

_CODES = 10


def first_step(key: str, code: str) -> int:
    """The half minute of the first code of a new key, which shows that its owner has it."""
    try:
        step = fitting_step(key, code, time.time(), after=None)
    except ValueError:
        step = None
    if step is None or len(key) != 32:
        raise InvalidInput("The code is wrong for this key; check the clock of your device.")
    return step


def turn_on(connection: Connection, name: str, key: str, step: int) -> list[str]:
    """Use a new key, after a code of it; returns the recovery codes, shown once."""
    made = [f"{secrets.token_hex(4)}-{secrets.token_hex(4)}" for _ in range(_CODES)]
    lock(connection, name)
    connection.execute(update(people).where(people.c.name == name).values(totp=key, totp_step=step))
    connection.execute(recovery.delete().where(recovery.c.person == name))
    for code in made:
        connection.execute(insert(recovery).values(hash=_hash(name, code), person=name))
    record(connection, Act(name, "second-factor-on", name))
    return made


def turn_off(connection: Connection, name: str, *, by: str) -> None:
    """Take a second factor away, and say so in the trail."""
    lock(connection, name)
    off = {"totp": None, "totp_step": None}
    connection.execute(update(people).where(people.c.name == name).values(off))
    connection.execute(recovery.delete().where(recovery.c.person == name))
    # They begin anew: a factor that comes later is another one.
    connection.execute(failures.delete().where(failures.c.who == _codes(name).who))
    record(connection, Act(by, "second-factor-off", name))


def passes(connection: Connection, row: Row[Any], given: str) -> bool:
    """Whether a code fits the factor of somebody whose row is locked; each counts once."""
    if row.totp is None:
        return True
    step = fitting_step(row.totp, given, time.time(), after=row.totp_step)
    if step is not None:
        mine = people.c.name == row.name
        connection.execute(update(people).where(mine).values(totp_step=step))
        return True
    key = _hash(row.name, "".join(given.split()).lower())
    return connection.execute(recovery.delete().where(recovery.c.hash == key)).rowcount == 1


def _hash(name: str, code: str) -> str:
    return hashlib.sha256(f"{name} {code}".encode("utf-8", "replace")).hexdigest()


# The codes, which change every half minute (RFC 6238)

_SECONDS, _DIGITS = 30, 6
_AROUND = 1  # clocks differ: the codes before and after count too


def new_key() -> str:
    """A new key, as people type it into an application.

    Examples
    --------
    >>> len(new_key())
    32
    """
    return base64.b32encode(secrets.token_bytes(20)).decode()


def step_at(moment: float) -> int:
    return int(moment // _SECONDS)


def code_at(key: str, step: int, *, digits: int = _DIGITS) -> str:
    """The code of one half minute (RFC 4226, section 5.3, with HMAC-SHA-1).

    Examples
    --------
    >>> code_at(base64.b32encode(b"12345678901234567890").decode(), 59 // 30, digits=8)
    '94287082'
    """
    mac = hmac.digest(base64.b32decode(key), struct.pack(">Q", step), "sha1")
    offset = mac[-1] & 15
    number = int.from_bytes(mac[offset : offset + 4], "big") & 0x7FFFFFFF
    return str(number % 10**digits).zfill(digits)


def fitting_step(key: str, given: str, moment: float, *, after: int | None) -> int | None:
    """The half minute whose code was given, later than the last one that was taken; or None.

    A code counts once: whoever looks over a shoulder cannot use it again.
    """
    typed = "".join(given.split())
    newest = None
    for step in range(step_at(moment) - _AROUND, step_at(moment) + _AROUND + 1):
        fits = hmac.compare_digest(code_at(key, step).encode(), typed.encode("utf-8", "replace"))
        if fits and (after is None or step > after):
            newest = step
    return newest
