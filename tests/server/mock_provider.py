"""A provider of OpenID Connect on loopback that can do everything wrong."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey

from whitecrow_server._single_sign_on import challenge

CLIENT, SECRET = "crow", "made-up secret: +/%"  # of a made-up client
AUDIENCE = "https://crow.example.org/v1"


class MockProvider:
    """One provider, whose words a test may bend before they are signed."""

    def __init__(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.key, self.number = RSAKey.generate_key(2048), 1
        self.user: dict[str, Any] = {
            "sub": "u-1",
            "preferred_username": "olga",
            "groups": ["researchers"],
        }
        self.bend: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.fetched_keys, self.approved, self.away = 0, False, False
        self.codes: dict[str, dict[str, str]] = {}
        self.calls: list[str] = []

    # Tokens

    @property
    def kid(self) -> str:
        return f"key-{self.number}"

    def keys(self) -> dict[str, Any]:
        return {"keys": [{**self.key.as_dict(private=False), "kid": self.kid, "use": "sig"}]}

    def rotate(self, *, keep_name: bool = False) -> None:
        self.key = RSAKey.generate_key(2048)
        self.number += 0 if keep_name else 1

    def signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode({"alg": "RS256", "kid": self.kid}, claims, self.key)

    def unsigned(self, claims: dict[str, Any]) -> str:
        """``alg: none``, written by hand: no library should."""
        return f"{self._parts('none', claims)}."

    def with_public_key(self, claims: dict[str, Any]) -> str:
        """HS256, with the public key for a secret."""
        parts = self._parts("HS256", claims)
        signed = hmac.digest(self.key.as_pem(private=False), parts.encode(), "sha256")
        return f"{parts}.{base64.urlsafe_b64encode(signed).rstrip(b'=').decode()}"

    def _parts(self, algorithm: str, claims: dict[str, Any]) -> str:
        parts = ({"alg": algorithm, "typ": "JWT", "kid": self.kid}, claims)
        written = [base64.urlsafe_b64encode(json.dumps(one).encode()) for one in parts]
        return ".".join(one.rstrip(b"=").decode() for one in written)

    def claims(self, **more: Any) -> dict[str, Any]:
        now = int(time.time())
        return {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, **more}

    def program_token(self, name: str = "nightly", **more: Any) -> str:
        said = self.claims(sub=name, client_id=name, aud=AUDIENCE)
        return self.sign({**said, **more})

    # What a browser does there

    def authorize(self, url: str) -> dict[str, str]:
        """Sign in at the provider's page: the query with which it sends the browser back."""
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    # What the service calls

    def reply(self, path: str, form: dict[str, str], headers: Any) -> tuple[int, dict[str, Any]]:
        self.calls.append(path)
        base = self.issuer
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "jwks_uri": f"{base}/keys",
                "userinfo_endpoint": f"{base}/userinfo",
                "device_authorization_endpoint": f"{base}/device",
                "end_session_endpoint": f"{base}/end",
            }
        if path == "/keys":
            self.fetched_keys += 1
            return 200, self.keys()
        if path == "/userinfo":
            return 200, self.user
        pair = f"{CLIENT}:{urllib.parse.quote(SECRET, '')}"
        if headers["Authorization"] != f"Basic {base64.b64encode(pair.encode()).decode()}":
            return 401, {"error": "invalid_client"}
        if path == "/device":
            return 200, {
                "device_code": "device-1",
                "user_code": "WDJB-MJHT",
                "verification_uri": f"{base}/activate",
                "interval": 1,
                "expires_in": 300,
            }
        return self._token(form)

    def _token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        nonce = {}
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"], None)
            if asked is None or challenge(form["code_verifier"]) != asked["code_challenge"]:
                return 400, {"error": "invalid_grant"}
            nonce = {"nonce": asked["nonce"]}
        elif not self.approved:
            return 400, {"error": "authorization_pending"}
        said = self.bend(self.claims(**self.user, **nonce))
        return 200, {"access_token": "opaque", "token_type": "Bearer", "id_token": self.sign(said)}


def _handler(provider: MockProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
            if provider.away:
                self.connection.close()
                return
            status, said = provider.reply(self.path, form, self.headers)
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def mock_provider() -> Iterator[MockProvider]:
    found = MockProvider()
    thread = threading.Thread(target=found.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.server.shutdown()
        found.server.server_close()
        thread.join(timeout=10)
