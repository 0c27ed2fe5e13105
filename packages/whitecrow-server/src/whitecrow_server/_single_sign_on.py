"""Single sign-on: from what the provider says of somebody to a person of this service.

A person is known by the provider's issuer and subject, bound to a name at the first sign-in; a
name that another account has is not taken over unless the operator said so. The role comes from
their groups at every sign-in. A sign-in under way is a row that is used once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from whitecrow.errors import Forbidden, NotKnown, NotSignedIn
from whitecrow_server._oidc import OpenId
from whitecrow_server._people import Credential, People, Person, end_credentials, is_name, lock
from whitecrow_server._sessions import Session, Sessions
from whitecrow_server._settings import Settings
from whitecrow_server._store import Store, VersionedCache
from whitecrow_server._tables import flows, identities, people

_MINUTES = 10
_OVER = "This sign-in was used already, has expired or began elsewhere; begin again."
_OFF = "This service has no single sign-on."


@dataclass(frozen=True)
class Begun:
    """A sign-in under way: where the browser goes, and what it brings back."""

    url: str
    state: str


class SingleSignOn:
    """Signs people in by the word of a provider."""

    def __init__(
        self, store: Store, settings: Settings, people: People, sessions: Sessions
    ) -> None:
        self._store, self._settings = store, settings
        self._people, self._sessions = people, sessions
        self._openid = None if settings.provider is None else OpenId(settings.provider)
        self._programs: VersionedCache[str, tuple[float, Person]] = VersionedCache(store.version)

    @property
    def offered(self) -> bool:
        return self._openid is not None

    # At a browser

    def begin(self) -> Begun:
        openid = self._provider()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        url = openid.authorization(state=state, nonce=nonce, verifier=verifier)
        self._keep("browser", state, verifier, nonce, _MINUTES * 60)
        return Begun(url, state)

    def finish(self, *, state: str, held: str, code: str, error: str) -> tuple[Session, str]:
        """End a sign-in at a browser: what it brought from the provider, and what it held.

        Raises
        ------
        NotSignedIn
            With the reason, if anything does not fit.
        """
        openid = self._provider()
        # The browser that comes back must be the one that left: otherwise a stranger could sign
        # somebody in under the stranger's name.
        if not state or not secrets.compare_digest(state.encode(), held.encode()):
            raise NotSignedIn(_OVER)
        flow = self._take("browser", state)
        if error or not code:
            raise NotSignedIn("The provider of single sign-on did not sign you in.")
        claims = openid.exchange(code, verifier=flow.secret, nonce=flow.nonce)
        with self._store.transaction() as connection:
            row = self._row(connection, claims, self._role(claims), self._named(claims))
            session, number = self._sessions.begin(connection, row, with_="provider")
        return session, self._sessions.sealed(number)

    def sign_out(self, session: Session) -> str:
        """Where a browser goes to end its session at the provider; empty if nowhere."""
        if session.began_with != "provider" or self._openid is None:
            return ""
        return self._openid.sign_out()

    # At a terminal

    def begin_device(self) -> dict[str, Any]:
        """Begin a sign-in at a terminal: a code to be typed at another screen."""
        said = self._provider().device()
        handle = secrets.token_urlsafe(32)
        seconds = min(max(_whole(said.get("expires_in"), 600), 60), 1800)
        self._keep("device", handle, said["device_code"], "", seconds)
        return {
            "device": handle,
            "code": str(said.get("user_code", "")),
            "url": str(said.get("verification_uri", "")),
            "url_complete": str(said.get("verification_uri_complete", "")),
            "interval": min(max(_whole(said.get("interval"), 5), 1), 60),
            "seconds": seconds,
        }

    def finish_device(self, handle: str) -> dict[str, Any]:
        """The token of a terminal that was approved; until then what it waits for."""
        openid = self._provider()
        flow = self._peek("device", handle)
        claims = openid.device_person(flow.secret)
        if isinstance(claims, str):
            return {"state": claims}
        self._take("device", handle)
        role, name = self._role(claims), self._named(claims)
        with self._store.transaction() as connection:
            row = self._row(connection, claims, role, name)
        # It ends when a browser's session would: whoever leaves the organisation is out by then.
        written, made = self._people.issue(
            row.name, days=1, label="single sign-on", hours=self._settings.session_hours
        )
        return {"state": "done", "token": written, "name": row.name, "expires": made.expires}

    # Programs

    def program(self, written: str) -> Person:
        """Whose access token this is, which the provider made for a program."""
        provider = self._settings.provider
        if provider is None or not provider.programs or written.count(".") != 2:
            raise NotSignedIn("Sign in with a token: it is missing, unknown, expired or revoked.")
        key = hashlib.sha256(written.encode("utf-8", "replace")).hexdigest()
        ends, person = self._programs.get(key, lambda: self._known_program(written))
        if ends <= time.time():
            raise NotSignedIn("The provider's token is refused: it has expired.")
        return person

    def _known_program(self, written: str) -> tuple[float, Person]:
        claims = self._provider().program(written)
        provider = self._settings.provider
        assert provider is not None
        name = str(claims.get("client_id") or claims.get("azp") or "")
        role = provider.programs.get(name)
        if role is None or not is_name(name):
            raise Forbidden("This program has no role here; the operator lists those that have.")
        if not _own(claims, name, provider.subjects.get(name)):
            raise Forbidden("This token is a person's; programs come with their own.")
        row = self._program_row(name, role)
        ends = float(claims["exp"]) + provider.skew
        return ends, Person(row.name, row.role, credential=Credential(None, ends))

    # Inside

    def _provider(self) -> OpenId:
        if self._openid is None:
            raise NotKnown(_OFF)
        return self._openid

    def _role(self, claims: Mapping[str, Any]) -> str:
        provider = self._settings.provider
        assert provider is not None
        found = provider.role_of(claims.get(provider.groups))
        if found is None:
            raise Forbidden(
                "None of your groups has a role here. Ask the operator, who sets which have."
            )
        return found

    def _named(self, claims: Mapping[str, Any]) -> str:
        provider = self._settings.provider
        assert provider is not None
        found = claims.get(provider.name)
        if not isinstance(found, str) or not is_name(found):
            raise Forbidden(
                f"The provider gives you no name that can be used here (claim {provider.name!r}): "
                "1 to 64 letters, digits and . _ @ -."
            )
        return found

    def _row(
        self, connection: Connection, claims: Mapping[str, Any], role: str, name: str
    ) -> Row[Any]:
        """The row of whoever these claims speak of, locked; made at their first sign-in."""
        key = self._key(claims)
        bound = select(identities.c.person).where(identities.c.hash == key)
        known = connection.execute(bound).scalar_one_or_none()
        row = lock(connection, known or name)
        now = time.time()
        if known is None:
            if row is None:
                values = {"name": name, "role": role, "disabled": False, "created": now}
                connection.execute(insert(people).values(values))
            elif not self._may_adopt(connection, row):
                raise Forbidden(
                    f"There is an account called {name!r} already that is not yours by the "
                    "provider. The operator may let single sign-on take it over (adopt)."
                )
            connection.execute(insert(identities).values(hash=key, person=name, created=now))
            row = lock(connection, name)
        if row is None or row.disabled or row.removed is not None:
            raise NotSignedIn("This account is deactivated; ask a custodian.")
        if row.role != role:
            # What was made in another role is not carried over.
            connection.execute(update(people).where(people.c.name == row.name).values(role=role))
            end_credentials(connection, row.name)
            row = lock(connection, row.name)
            assert row is not None
        return row

    def _program_row(self, name: str, role: str) -> Row[Any]:
        """The row of a program; written at its first call only, or nothing would stay cached."""
        subject = {"sub": f"program {name}"}
        with self._store.transaction(write=False) as connection:
            known = (
                select(people)
                .join(identities, identities.c.person == people.c.name)
                .where(identities.c.hash == self._key(subject), people.c.disabled.is_(False))
            )
            row = connection.execute(known).one_or_none()
        if row is not None and row.role == role and row.removed is None:
            return row
        with self._store.transaction() as connection:
            return self._row(connection, subject, role, name)

    def _key(self, claims: Mapping[str, Any]) -> str:
        """By what a person is known: issuer and subject together."""
        provider = self._settings.provider
        assert provider is not None
        return _hash(json.dumps([provider.issuer, claims["sub"]]))

    def _may_adopt(self, connection: Connection, row: Row[Any]) -> bool:
        """Whether an account that is there may become that of somebody at the provider."""
        provider = self._settings.provider
        held = select(identities.c.person).where(identities.c.person == row.name)
        return (
            provider is not None
            and provider.adopt
            and row.removed is None
            and connection.execute(held).first() is None
        )

    def _keep(self, kind: str, handle: str, secret: str, nonce: str, seconds: float) -> None:
        now = time.time()
        row = {"kind": kind, "hash": _hash(handle), "secret": secret, "nonce": nonce}
        with self._store.transaction(counted=False) as connection:
            connection.execute(flows.delete().where(flows.c.expires < now))
            connection.execute(insert(flows).values(**row, expires=now + seconds))

    def _peek(self, kind: str, handle: str) -> Row[Any]:
        with self._store.transaction(write=False) as connection:
            return _flow(connection, kind, handle)

    def _take(self, kind: str, handle: str) -> Row[Any]:
        """Return a sign-in that is under way; it cannot be used again."""
        with self._store.transaction(counted=False) as connection:
            found = _flow(connection, kind, handle)
            gone = connection.execute(flows.delete().where(flows.c.hash == found.hash))
            if gone.rowcount != 1:  # another request was faster
                raise NotSignedIn(_OVER)
        return found


def _flow(connection: Connection, kind: str, handle: str) -> Row[Any]:
    query = select(flows).where(
        flows.c.hash == _hash(handle), flows.c.kind == kind, flows.c.expires > time.time()
    )
    found = connection.execute(query).one_or_none()
    if found is None:
        raise NotSignedIn(_OVER)
    return found


_GRANTS = {"gty": "client-credentials", "idtyp": "app"}
"""Claims by which some providers say to whom a token was given, and what they say for programs."""

_OF_PEOPLE = (
    *("auth_time", "acr", "amr", "sid", "session_state", "nonce"),
    *("email", "name", "username"),
)
"""Claims that speak of somebody who signed in (RFC 9068, 2.2.1, and OpenID Connect)."""


def _own(claims: Mapping[str, Any], name: str, subject: str | None) -> bool:
    """Whether an access token is a program's own, rather than a person's who uses the program.

    By the subject that the operator has written down; else the provider must say so, by a claim of
    its own or by the program's id as the subject (RFC 9068). What people choose for themselves,
    such as ``preferred_username``, says nothing.
    """
    if subject is not None:
        return hmac.compare_digest(str(claims["sub"]).encode(), subject.encode())
    said = [claims[claim] == value for claim, value in _GRANTS.items() if claim in claims]
    if said:
        return all(said)
    own = claims["sub"] == name or claims.get("type") == "client_token"
    return own and not any(claim in claims for claim in _OF_PEOPLE)


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _hash(written: str) -> str:
    return hashlib.sha256(written.encode("utf-8", "replace")).hexdigest()
