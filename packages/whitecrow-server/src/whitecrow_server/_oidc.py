"""OpenID Connect, as a client of one provider: discovery, keys, tokens.

A token is believed if a key of the provider signed it with an algorithm of two keys (a public one
cannot sign), for this service, now. Everything else is refused with the reason, which never quotes
the token.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
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

from whitecrow.errors import NotReady, NotSignedIn
from whitecrow_server._provider import Provider, is_safe

_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Of two keys each. With one of one key, whoever reads the public key could sign."""

_HOLDS_SECONDS = 3600.0
_KEYS_APART = 10.0  # an unknown key makes us look again, and strangers make up keys
_TIMEOUT, _LARGEST = 5.0, 2**20
_AWAY = "The provider of single sign-on cannot be reached at the moment; try again in a while."

Key = RSAKey | ECKey | OKPKey


class OpenId:
    """One provider."""

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
        self._found: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, dict[str, Key]] | None = None

    # Where things are

    def configuration(self) -> dict[str, Any]:
        """What the provider says of itself, an hour old at the most."""
        with self._lock:
            if self._found is not None and time.monotonic() - self._found[0] < _HOLDS_SECONDS:
                return self._found[1]
            issuer = self.provider.issuer
            status, found = self._call(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if status != 200 or found.get("issuer") != issuer:
                raise NotReady(
                    "The provider of single sign-on says it is another issuer than the one this "
                    "service is set up with."
                    if status == 200
                    else _AWAY
                )
            self._found = (time.monotonic(), found)
            return found

    def endpoint(self, name: str) -> str:
        """The address of one of the provider's endpoints; empty if it has none."""
        found = self.configuration().get(name, "")
        return found if isinstance(found, str) and is_safe(found) else ""

    # Signing in

    def authorization(self, *, state: str, nonce: str, verifier: str) -> str:
        """The address at the provider to which a browser is sent."""
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
        """Exchange the code that a browser brought for the claims of whoever signed in."""
        said = self._token(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": self.provider.redirect,
                "code_verifier": verifier,
            }
        )
        return self._person(said, nonce=nonce)

    def device(self) -> dict[str, Any]:
        """Begin a sign-in for a terminal: a code to type at another screen."""
        endpoint = self.endpoint("device_authorization_endpoint")
        if not endpoint:
            raise NotReady("The provider of single sign-on offers no sign-in for terminals.")
        status, found = self._post(endpoint, {"scope": " ".join(self.provider.scopes)})
        if status != 200 or not isinstance(found.get("device_code"), str):
            raise NotReady("The provider of single sign-on refused to begin a sign-in.")
        return found

    def device_person(self, device_code: str) -> dict[str, Any] | str:
        """The claims of whoever approved a terminal; ``"pending"`` or ``"slow"`` until then."""
        said = self._token(
            {
                "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
                "device_code": device_code,
            },
            waits={"authorization_pending": "pending", "slow_down": "slow"},
        )
        return said if isinstance(said, str) else self._person(said, nonce=None)

    def sign_out(self) -> str:
        """Where a browser ends its session at the provider too; empty if it offers that nowhere."""
        endpoint = self.endpoint("end_session_endpoint")
        if not endpoint:
            return ""
        back = f"{self.provider.url}/console/sign-in"
        query = {"client_id": self.provider.client_id, "post_logout_redirect_uri": back}
        return _with(endpoint, query)

    def program(self, written: str) -> dict[str, Any]:
        """The claims of a program's own access token."""
        claims = self._verified(written)
        self._check_times(claims)
        if self.provider.audience not in _audiences(claims):
            raise _refused("it was made for another service")
        return claims

    # Inside

    def _person(self, said: Any, *, nonce: str | None) -> dict[str, Any]:
        """Read the token that says who signed in, and their groups from wherever they are."""
        written = said.get("id_token") if isinstance(said, dict) else None
        if not isinstance(written, str):
            raise _refused("it sent no identity")
        claims = self._verified(written)
        client, audiences = self.provider.client_id, _audiences(claims)
        if client not in audiences or claims.get("azp", client) != client:
            raise _refused("it was made for another service")
        if len(audiences) > 1 and "azp" not in claims:
            raise _refused("it was made for several services and says for none in particular")
        self._check_times(claims)
        # hmac: the same time whatever is wrong.
        if nonce is not None and not hmac.compare_digest(
            str(claims.get("nonce", "")).encode(), nonce.encode()
        ):
            raise _refused("it belongs to another sign-in")
        if self.provider.groups not in claims or self.provider.name not in claims:
            claims = {**self._more(said, str(claims["sub"])), **claims}
        return claims

    def _more(self, said: Mapping[str, Any], subject: str) -> dict[str, Any]:
        """What the provider tells of a person beside their token."""
        endpoint, token = self.endpoint("userinfo_endpoint"), said.get("access_token")
        if not endpoint or not isinstance(token, str):
            return {}
        status, found = self._call(endpoint, headers={"Authorization": f"Bearer {token}"})
        return found if status == 200 and found.get("sub") == subject else {}

    def _verified(self, written: str) -> dict[str, Any]:
        """The claims of a token that a key of the provider signed.

        What no known key signed is tried again with the provider's newest keys.
        """
        claims = self._decoded(written, fresh=False) or self._decoded(written, fresh=True)
        if claims is None:
            raise _refused("no key of the provider signed it")
        if claims.get("iss") != self.provider.issuer:
            raise _refused("another issuer made it")
        if not isinstance(claims.get("sub"), str) or not claims["sub"]:
            raise _refused("it says of nobody")
        return claims

    def _decoded(self, written: str, *, fresh: bool) -> dict[str, Any] | None:
        keys = self._key_set(fresh=fresh)
        try:
            found = jwt.decode(written, partial(_named, keys), algorithms=list(_ALGORITHMS))
        except (JoseError, ValueError, TypeError, KeyError):  # their words may quote the token
            return None
        return dict(found.claims)

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now, skew = time.time(), self.provider.skew
        ends, begins = claims.get("exp"), claims.get("nbf", claims.get("iat"))
        if _seconds(ends, 0.0) <= now - skew:
            raise _refused("it has expired")
        if begins is not None and _seconds(begins, math.inf) > now + skew:
            raise _refused("it is of the future; compare the clocks")

    def _key_set(self, *, fresh: bool) -> dict[str, Key]:
        address = self._needed("jwks_uri")
        with self._lock:
            age = float("inf") if self._keys is None else time.monotonic() - self._keys[0]
            if self._keys is not None and age < (_KEYS_APART if fresh else _HOLDS_SECONDS):
                return self._keys[1]
            status, found = self._call(address)
            if status != 200:
                raise NotReady(_AWAY)
            self._keys = (time.monotonic(), _signing_keys(found))
            return self._keys[1]

    def _token(self, fields: Mapping[str, str], waits: Mapping[str, str] | None = None) -> Any:
        status, found = self._post(self._needed("token_endpoint"), fields)
        if status == 200:
            return found
        waiting = (waits or {}).get(str(found.get("error")))
        if waiting is not None:
            return waiting
        if status >= 500:
            raise NotReady(_AWAY)
        raise NotSignedIn("The provider of single sign-on refused this sign-in; begin again.")

    def _post(self, endpoint: str, fields: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """Send a form, as the client that this service is."""
        one = self.provider
        offered = self.configuration().get(
            "token_endpoint_auth_methods_supported", ["client_secret_basic"]
        )
        headers, sent = {}, {**fields, "client_id": one.client_id}
        if one.client_secret and "client_secret_basic" in offered:
            quoted = [urllib.parse.quote(part, "") for part in (one.client_id, one.client_secret)]
            pair = ":".join(quoted)
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        elif one.client_secret:
            sent["client_secret"] = one.client_secret
        return self._call(endpoint, headers=headers, body=urllib.parse.urlencode(sent).encode())

    def _needed(self, name: str) -> str:
        found = self.endpoint(name)
        if not found:
            raise NotReady(f"The provider of single sign-on names no {name} that is safe to use.")
        return found

    def _call(
        self, url: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, dict[str, Any]]:
        asked = urllib.request.Request(url, body, {"Accept": "application/json", **(headers or {})})
        try:
            with self._web.open(asked, timeout=_TIMEOUT) as reply:
                status, read = int(reply.status), reply.read(_LARGEST + 1)
            found = json.loads(read) if len(read) <= _LARGEST else None
        except OSError:
            status, found = 0, None
        except ValueError:  # a page for people, from a proxy perhaps
            found = {}
        if status == 0:  # outside the handler: the address stays behind
            raise NotReady(_AWAY, after=5)
        return status, found if isinstance(found, dict) else {}


def challenge(verifier: str) -> str:
    """What a browser carries of a secret that stays here (PKCE, RFC 7636).

    Examples
    --------
    >>> challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    """
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _signing_keys(found: Mapping[str, Any]) -> dict[str, Key]:
    """The public keys of a set that may have signed something; secrets among them do not count."""
    listed = found.get("keys")
    kept = {}
    for number, one in enumerate(listed if isinstance(listed, list) else []):
        if not isinstance(one, dict) or one.get("use", "sig") != "sig":
            continue
        try:
            key = KeySet.import_key_set({"keys": [one]}).keys[0]
        except (JoseError, ValueError, TypeError, KeyError):
            continue
        if not isinstance(key, OctKey):
            kept[str(one.get("kid", f"without a name, {number}"))] = key
    return kept


def _named(keys: Mapping[str, Key], token: Any) -> Key:
    """The key that a token names, if it fits the token's algorithm."""
    header = token.headers()
    kid, kind = header.get("kid"), _kind(str(header.get("alg")))
    fitting = [key for key in keys.values() if key.key_type == kind]
    found = keys.get(str(kid)) if kid is not None else fitting[0] if len(fitting) == 1 else None
    if found is None or found not in fitting:
        raise ValueError("no such key")
    return found


def _kind(algorithm: str) -> str:
    """The type of key that an algorithm needs."""
    return {"R": "RSA", "P": "RSA"}.get(algorithm[:1], "OKP" if algorithm[:2] == "Ed" else "EC")


def _audiences(claims: Mapping[str, Any]) -> list[Any]:
    found = claims.get("aud")
    return found if isinstance(found, list) else [found]


def _seconds(value: object, otherwise: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number else otherwise  # type: ignore[arg-type]


def _refused(why: str) -> NotSignedIn:
    return NotSignedIn(f"The provider's token is refused: {why}.")


def _with(url: str, query: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urllib.parse.urlencode(query)}"
