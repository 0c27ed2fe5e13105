"""Single sign-on: from what the provider says of somebody to a person of this service.

A person is known by the provider's issuer and subject, bound to a name at the first sign-in; a
name that another account has is not taken over unless the operator said so. The role comes from
their groups at every sign-in. A sign-in under way is a row that is used once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import secrets
import ssl
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from functools import partial
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey
from sqlalchemy import Connection, Row, insert, select, update

from whitecrow.errors import Forbidden, NotKnown, NotReady, NotSignedIn
from whitecrow_server._people import (
    SIGN_IN,
    Credential,
    People,
    Person,
    end_credentials,
    hashed,
    is_name,
    lock,
)
from whitecrow_server._sessions import Session, Sessions
from whitecrow_server._settings import Provider, Settings, is_safe
from whitecrow_server._store import Store, VersionedCache
from whitecrow_server._tables import flows, identities, people

_MINUTES = 10
_OVER = "This sign-in was used already, has expired or began elsewhere; begin again."


class SingleSignOn:
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

    def begin(self) -> tuple[str, str]:
        """Begin a sign-in: where the browser goes, and the state that it brings back."""
        openid = self._configured()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        url = openid.authorization(state=state, nonce=nonce, verifier=verifier)
        self._keep("browser", state, verifier, nonce, _MINUTES * 60)
        return url, state

    def finish(self, *, state: str, held: str, code: str, error: str) -> tuple[Session, str]:
        """End a sign-in at a browser: what it brought from the provider, and what it held."""
        openid = self._configured()
        # The browser that comes back must be the one that left: otherwise a stranger could sign
        # somebody in under the stranger's name.
        if not state or not secrets.compare_digest(state.encode(), held.encode()):
            raise NotSignedIn(_OVER)
        flow = self._take("browser", state)
        if error or not code:
            raise NotSignedIn("The provider of single sign-on did not sign you in.")
        claims = openid.exchange(code, verifier=flow.secret, nonce=flow.nonce)
        with self._store.transaction() as connection:
            row = self._row(connection, claims, *_role_and_name(openid.provider, claims))
            session, number = self._sessions.begin(connection, row, with_="provider")
        return session, self._sessions.keys.signed(number)

    def sign_out(self, session: Session) -> str:
        """Where a browser goes to end its session at the provider; empty if nowhere."""
        if session.began_with != "provider" or self._openid is None:
            return ""
        return self._openid.sign_out()

    # At a terminal

    def begin_device(self) -> dict[str, Any]:
        offered = self._configured().device()
        handle = secrets.token_urlsafe(32)
        seconds = min(max(_whole(offered.get("expires_in"), 600), 60), 1800)
        self._keep("device", handle, offered["device_code"], "", seconds)
        return {
            "device": handle,
            "code": str(offered.get("user_code", "")),
            "url": str(offered.get("verification_uri", "")),
            "url_complete": str(offered.get("verification_uri_complete", "")),
            "interval": min(max(_whole(offered.get("interval"), 5), 1), 60),
            "seconds": seconds,
        }

    def finish_device(self, handle: str) -> dict[str, Any]:
        """The token of a terminal that was approved; until then what it waits for."""
        openid = self._configured()
        with self._store.transaction(write=False) as connection:
            flow = _flow(connection, "device", handle)
        claims = openid.device_person(flow.secret)
        if isinstance(claims, str):
            return {"state": claims}
        self._take("device", handle)
        with self._store.transaction() as connection:
            row = self._row(connection, claims, *_role_and_name(openid.provider, claims))
        # It ends when a browser's session would: whoever leaves the organisation is out by then.
        text, made = self._people.issue(
            row.name, days=1, label="single sign-on", hours=self._settings.session_hours
        )
        return {"state": "done", "token": text, "name": row.name, "expires": made.expires}

    # Programs

    def program(self, token: str) -> Person:
        """Whose access token this is, which the provider made for a program."""
        provider = self._settings.provider
        if provider is None or not provider.programs or token.count(".") != 2:
            raise NotSignedIn(SIGN_IN)
        ends, person = self._programs.get(hashed(token), lambda: self._known_program(token))
        if ends <= time.time():
            raise NotSignedIn("The provider's token is refused: it has expired.")
        return person

    def _known_program(self, token: str) -> tuple[float, Person]:
        openid = self._configured()
        claims, provider = openid.program(token), openid.provider
        name = str(claims.get("client_id") or claims.get("azp") or "")
        role = provider.programs.get(name)
        if role is None or not is_name(name):
            raise Forbidden("This program has no role here; ask the operator for one.")
        if not _own(claims, name, provider.subjects.get(name)):
            raise Forbidden("This token is a person's; a program needs its own.")
        row = self._program_row(name, role)
        ends = float(claims["exp"]) + provider.skew
        return ends, Person(row.name, row.role, credential=Credential(None, ends))

    # Inside

    def _configured(self) -> OpenId:
        if self._openid is None:
            raise NotKnown("This service has no single sign-on.")
        return self._openid

    def _row(
        self, connection: Connection, claims: Mapping[str, Any], role: str, name: str
    ) -> Row[Any]:
        """The row of whoever these claims speak of, locked; made at their first sign-in."""
        key = self._key(claims)
        bound = select(identities.c.person).where(identities.c.hash == key)
        name_bound = connection.execute(bound).scalar_one_or_none()
        row = lock(connection, name_bound or name)
        now = time.time()
        if name_bound is None:
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
            query = (
                select(people)
                .join(identities, identities.c.person == people.c.name)
                .where(identities.c.hash == self._key(subject), people.c.disabled.is_(False))
            )
            row = connection.execute(query).one_or_none()
        if row is not None and row.role == role and row.removed is None:
            return row
        with self._store.transaction() as connection:
            return self._row(connection, subject, role, name)

    def _key(self, claims: Mapping[str, Any]) -> str:
        """The key of a person: issuer and subject together."""
        return hashed(json.dumps([self._configured().provider.issuer, claims["sub"]]))

    def _may_adopt(self, connection: Connection, row: Row[Any]) -> bool:
        """Whether an account that is there may become that of somebody at the provider."""
        held = select(identities.c.person).where(identities.c.person == row.name)
        adopts = self._configured().provider.adopt and row.removed is None
        return adopts and connection.execute(held).first() is None

    def _keep(self, kind: str, handle: str, secret: str, nonce: str, seconds: float) -> None:
        now = time.time()
        row = {"kind": kind, "hash": hashed(handle), "secret": secret, "nonce": nonce}
        with self._store.transaction(counted=False) as connection:
            connection.execute(flows.delete().where(flows.c.expires < now))
            connection.execute(insert(flows).values(**row, expires=now + seconds))

    def _take(self, kind: str, handle: str) -> Row[Any]:
        """Return a sign-in that is under way; it cannot be used again."""
        with self._store.transaction(counted=False) as connection:
            flow = _flow(connection, kind, handle)
            gone = connection.execute(flows.delete().where(flows.c.hash == flow.hash))
            if gone.rowcount != 1:  # another request was faster
                raise NotSignedIn(_OVER)
        return flow


def _role_and_name(provider: Provider, claims: Mapping[str, Any]) -> tuple[str, str]:
    """The role of somebody's groups, and their name here."""
    role, name = provider.role_of(claims.get(provider.groups)), claims.get(provider.name)
    if role is None:
        raise Forbidden("None of your groups has a role here; ask the operator.")
    if not isinstance(name, str) or not is_name(name):
        raise Forbidden(
            f"The provider gives you no name that can be used here (claim {provider.name!r}): "
            "1 to 64 letters, digits and . _ @ -."
        )
    return role, name


def _flow(connection: Connection, kind: str, handle: str) -> Row[Any]:
    query = select(flows).where(
        flows.c.hash == hashed(handle), flows.c.kind == kind, flows.c.expires > time.time()
    )
    flow = connection.execute(query).one_or_none()
    if flow is None:
        raise NotSignedIn(_OVER)
    return flow


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
    grants = [claims[claim] == value for claim, value in _GRANTS.items() if claim in claims]
    if grants:
        return all(grants)
    own = claims["sub"] == name or claims.get("type") == "client_token"
    return own and not any(claim in claims for claim in _OF_PEOPLE)


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


# OpenID Connect, as a client of provider: a token is believed if a key of the provider signed
# it with an algorithm of two keys (a public one cannot sign), for this service, now. Everything
# else is refused with the reason, which never quotes the token.

_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Of two keys each. With one of one key, whoever reads the public key could sign."""

_HOLDS_SECONDS = 3600.0
_KEY_REFRESH_SECONDS = 10.0  # an unknown key makes us look again, and anyone can name one
_TIMEOUT, _LARGEST = 5.0, 2**20
_AWAY = "The provider of single sign-on cannot be reached at the moment; try again in a while."

_WAITS = {"authorization_pending": "pending", "slow_down": "slow"}

Key = RSAKey | ECKey | OKPKey


class OpenId:
    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        context = ssl.create_default_context(cafile=provider.authority or None)
        # No redirects, no files: only the two handlers that are meant.
        self._web = urllib.request.OpenerDirector()
        for handler in (
            urllib.request.ProxyHandler(),
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(context=context),
        ):
            self._web.add_handler(handler)
        self._lock = threading.Lock()
        self._config: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, dict[str, Key]] | None = None

    # Where things are

    def configuration(self) -> dict[str, Any]:
        """What the provider says of itself, an hour old at the most."""
        with self._lock:
            if self._config is not None and time.monotonic() - self._config[0] < _HOLDS_SECONDS:
                return self._config[1]
            issuer = self.provider.issuer
            status, configuration = self._call(
                f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            )
            if status != 200:
                raise NotReady(_AWAY)
            if configuration.get("issuer") != issuer:
                raise NotReady(
                    "The provider of single sign-on says it is another issuer than the one this "
                    "service is set up with."
                )
            self._config = (time.monotonic(), configuration)
            return configuration

    def endpoint(self, name: str) -> str:
        """The address of one of the provider's endpoints; empty if it has none."""
        endpoint = self.configuration().get(name, "")
        return endpoint if isinstance(endpoint, str) and is_safe(endpoint) else ""

    # Signing in

    def authorization(self, *, state: str, nonce: str, verifier: str) -> str:
        query = {
            "response_type": "code",
            "client_id": self.provider.client_id,
            "redirect_uri": self.provider.redirect,
            "scope": " ".join(self.provider.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge(verifier),
            "code_challenge_method": "S256",
        }
        return _with(self._needed("authorization_endpoint"), query)

    def exchange(self, code: str, *, verifier: str, nonce: str) -> dict[str, Any]:
        fields = {"code": code, "redirect_uri": self.provider.redirect, "code_verifier": verifier}
        return self._person(self._token("authorization_code", fields), nonce=nonce)

    def device(self) -> dict[str, Any]:
        """Begin a sign-in for a terminal: a code to type at another screen."""
        endpoint = self.endpoint("device_authorization_endpoint")
        if not endpoint:
            raise NotReady("The provider of single sign-on offers no sign-in for terminals.")
        status, reply = self._post(endpoint, {"scope": " ".join(self.provider.scopes)})
        if status != 200 or not isinstance(reply.get("device_code"), str):
            raise NotReady("The provider of single sign-on refused to begin a sign-in.")
        return reply

    def device_person(self, device_code: str) -> dict[str, Any] | str:
        """The claims of whoever approved a terminal; ``"pending"`` or ``"slow"`` until then."""
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        reply = self._token(grant, {"device_code": device_code})
        return reply if isinstance(reply, str) else self._person(reply, nonce=None)

    def sign_out(self) -> str:
        """Where a browser ends its session at the provider too; empty if it offers that nowhere."""
        endpoint = self.endpoint("end_session_endpoint")
        back = f"{self.provider.url}/console/sign-in"
        query = {"client_id": self.provider.client_id, "post_logout_redirect_uri": back}
        return _with(endpoint, query) if endpoint else ""

    def program(self, token: str) -> dict[str, Any]:
        claims = self._verified(token)
        self._check_times(claims)
        if self.provider.audience not in _audiences(claims):
            raise _refused("it was made for another service")
        return claims

    # Inside

    def _person(self, reply: Any, *, nonce: str | None) -> dict[str, Any]:
        """Read the token that says who signed in, and their groups from wherever they are."""
        identity = reply.get("id_token") if isinstance(reply, dict) else None
        if not isinstance(identity, str):
            raise _refused("it sent no identity")
        claims = self._verified(identity)
        client, audiences = self.provider.client_id, _audiences(claims)
        if client not in audiences or claims.get("azp", client) != client:
            raise _refused("it was made for another service")
        if len(audiences) > 1 and "azp" not in claims:
            raise _refused("it has several audiences and names no authorized party")
        self._check_times(claims)
        # hmac: the same time whatever is wrong.
        if nonce is not None and not hmac.compare_digest(
            str(claims.get("nonce", "")).encode(), nonce.encode()
        ):
            raise _refused("it belongs to another sign-in")
        if self.provider.groups not in claims or self.provider.name not in claims:
            claims = {**self._more(reply, str(claims["sub"])), **claims}
        return claims

    def _more(self, reply: Mapping[str, Any], subject: str) -> dict[str, Any]:
        """What the provider tells of a person beside their token."""
        endpoint, token = self.endpoint("userinfo_endpoint"), reply.get("access_token")
        if not endpoint or not isinstance(token, str):
            return {}
        status, claims = self._call(endpoint, headers={"Authorization": f"Bearer {token}"})
        return claims if status == 200 and claims.get("sub") == subject else {}

    def _verified(self, token: str) -> dict[str, Any]:
        """The claims of a token that a key of the provider signed.

        What no known key signed is tried again with the provider's newest keys.
        """
        claims = self._decoded(token, fresh=False) or self._decoded(token, fresh=True)
        if claims is None:
            raise _refused("no key of the provider signed it")
        if claims.get("iss") != self.provider.issuer:
            raise _refused("another issuer made it")
        if not isinstance(claims.get("sub"), str) or not claims["sub"]:
            raise _refused("it says of nobody")
        return claims

    def _decoded(self, token_text: str, *, fresh: bool) -> dict[str, Any] | None:
        keys = self._key_set(fresh=fresh)
        try:
            token = jwt.decode(token_text, partial(_named, keys), algorithms=list(_ALGORITHMS))
        except (JoseError, ValueError, TypeError, KeyError):  # their words may quote the token
            return None
        return dict(token.claims)

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now, skew = time.time(), self.provider.skew
        ends, begins = claims.get("exp"), claims.get("nbf", claims.get("iat"))
        if _seconds(ends, 0.0) <= now - skew:
            raise _refused("it has expired")
        if begins is not None and _seconds(begins, math.inf) > now + skew:
            raise _refused("it was issued in the future; compare the clocks")

    def _key_set(self, *, fresh: bool) -> dict[str, Key]:
        address = self._needed("jwks_uri")
        with self._lock:
            age = float("inf") if self._keys is None else time.monotonic() - self._keys[0]
            if self._keys is not None and age < (_KEY_REFRESH_SECONDS if fresh else _HOLDS_SECONDS):
                return self._keys[1]
            status, keys = self._call(address)
            if status != 200:
                raise NotReady(_AWAY)
            self._keys = (time.monotonic(), _signing_keys(keys))
            return self._keys[1]

    def _token(self, grant: str, fields: Mapping[str, str]) -> Any:
        sent = {"grant_type": grant, **fields}
        status, reply = self._post(self._needed("token_endpoint"), sent)
        if status == 200:
            return reply
        if "device_code" in fields and str(reply.get("error")) in _WAITS:
            return _WAITS[reply["error"]]
        if status >= 500:
            raise NotReady(_AWAY)
        raise NotSignedIn("The provider of single sign-on refused this sign-in; begin again.")

    def _post(self, endpoint: str, fields: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """Send a form, authenticated as this client."""
        idp = self.provider
        offered = self.configuration().get(
            "token_endpoint_auth_methods_supported", ["client_secret_basic"]
        )
        headers, sent = {}, {**fields, "client_id": idp.client_id}
        if idp.client_secret and "client_secret_basic" in offered:
            quoted = [urllib.parse.quote(part, "") for part in (idp.client_id, idp.client_secret)]
            pair = ":".join(quoted)
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        elif idp.client_secret:
            sent["client_secret"] = idp.client_secret
        return self._call(endpoint, headers=headers, body=urllib.parse.urlencode(sent).encode())

    def _needed(self, name: str) -> str:
        endpoint = self.endpoint(name)
        if not endpoint:
            raise NotReady(f"The provider of single sign-on names no {name} that is safe to use.")
        return endpoint

    def _call(
        self, url: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, dict[str, Any]]:
        asked = urllib.request.Request(url, body, {"Accept": "application/json", **(headers or {})})
        try:
            with self._web.open(asked, timeout=_TIMEOUT) as reply:
                status, read = int(reply.status), reply.read(_LARGEST + 1)
            body_of_reply = json.loads(read) if len(read) <= _LARGEST else None
        except OSError:
            status, body_of_reply = 0, None
        except ValueError:  # a page for people, from a proxy perhaps
            body_of_reply = {}
        if status == 0:  # outside the handler: the address stays behind
            raise NotReady(_AWAY, after=5)
        return status, body_of_reply if isinstance(body_of_reply, dict) else {}


def challenge(verifier: str) -> str:
    """The challenge of a code verifier that stays here (PKCE, RFC 7636).

    Examples
    --------
    >>> challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    """
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _signing_keys(key_set: Mapping[str, Any]) -> dict[str, Key]:
    """The public keys of a set that may have signed something; secrets among them do not count."""
    listed = key_set.get("keys")
    keys = {}
    for number, entry in enumerate(listed if isinstance(listed, list) else []):
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
            continue
        try:
            key = KeySet.import_key_set({"keys": [entry]}).keys[0]
        except (JoseError, ValueError, TypeError, KeyError):
            continue
        if not isinstance(key, OctKey):
            keys[str(entry.get("kid", f"without a name, {number}"))] = key
    return keys


def _named(keys: Mapping[str, Key], token: Any) -> Key:
    """The key that a token names, if it fits the token's algorithm."""
    header = token.headers()
    kid, kind = header.get("kid"), _kind(str(header.get("alg")))
    fitting = [key for key in keys.values() if key.key_type == kind]
    key = keys.get(str(kid)) if kid is not None else fitting[0] if len(fitting) == 1 else None
    if key is None or key not in fitting:
        raise ValueError("no such key")
    return key


def _kind(algorithm: str) -> str:
    """The type of key that an algorithm needs."""
    return {"R": "RSA", "P": "RSA"}.get(algorithm[:1], "OKP" if algorithm[:2] == "Ed" else "EC")


def _audiences(claims: Mapping[str, Any]) -> list[Any]:
    audiences = claims.get("aud")
    return audiences if isinstance(audiences, list) else [audiences]


def _seconds(value: object, otherwise: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number else otherwise  # type: ignore[arg-type]


def _refused(why: str) -> NotSignedIn:
    return NotSignedIn(f"The provider's token is refused: {why}.")


def _with(url: str, query: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urllib.parse.urlencode(query)}"
