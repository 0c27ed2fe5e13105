"""A real provider of OpenID Connect, from Debian's packages, on loopback with its own database."""

from __future__ import annotations

import http.cookiejar
import json
import shutil
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joserfc.jwk import RSAKey

SCHEMA = Path("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3")
CLIENT, SECRET = "crow", "hush-hush"
PROGRAM, PROGRAM_SECRET = "nightly", "hush-program"
PERSON, PASSWORD = "olga", "a long password of olga"
AUDIENCE = "https://crow.example.org/v1"


def missing() -> bool:
    return shutil.which("glewlwyd") is None or not SCHEMA.exists()


class Browser:
    """Keeps cookies, follows nothing by itself."""

    def __init__(self) -> None:
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                return None

        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._web = urllib.request.build_opener(Stay, jar)

    def __call__(
        self, method: str, url: str, body: Any = None, **headers: str
    ) -> tuple[int, Any, str]:
        data = None if body is None else json.dumps(body).encode()
        if isinstance(body, str):
            data = body.encode()
        sent = urllib.request.Request(
            url, data, {"Content-Type": "application/json", **headers}, method=method
        )
        try:
            reply = self._web.open(sent, timeout=10)
        except urllib.error.HTTPError as error:
            reply = error
        with reply:
            said = reply.read().decode()
            return reply.status, _json(said), reply.headers.get("Location", "")


def _json(said: str) -> Any:
    try:
        return json.loads(said)
    except ValueError:
        return said


class Glewlwyd:
    """A running provider with one person, one service and one program."""

    def __init__(self, url: str) -> None:
        self.url, self.issuer = url, f"{url}/api/oidc"

    def sign_in(self) -> Browser:
        """The browser of a person who has signed in at the provider and agreed."""
        browser = Browser()
        said = {"username": PERSON, "password": PASSWORD}
        assert browser("POST", f"{self.url}/api/auth/", said)[0] == 200
        granted = browser("PUT", f"{self.url}/api/auth/grant/{CLIENT}", {"scope": "openid"})
        assert granted[0] == 200
        return browser

    def follow(self, browser: Browser, url: str) -> str:
        """Follow the provider's pages until it sends the browser elsewhere."""
        for _ in range(5):
            status, said, there = browser("GET", url)
            assert status == 302, (status, said)
            if "login.html" not in there:
                return there
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(there).query))
            if query.get("prompt") == "deviceComplete" or "callback_url" not in query:
                return there
            url = f"{query['callback_url']}&g_continue"
        raise AssertionError("the provider sends the browser in circles")

    def program_token(self) -> str:
        import base64

        pair = base64.b64encode(f"{PROGRAM}:{PROGRAM_SECRET}".encode()).decode()
        form = {"grant_type": "client_credentials", "scope": "crow", "resource": AUDIENCE}
        status, said, _ = Browser()(
            "POST",
            f"{self.issuer}/token",
            urllib.parse.urlencode(form),
            **{
                "Content-Type": "application/x-www-form-urlencoded",
                "Authorization": f"Basic {pair}",
            },
        )
        assert status == 200, said
        return str(said["access_token"])

    # How it is set up

    def set_up(self, redirect: str) -> None:
        admin = Browser()

        def call(method: str, path: str, body: Any) -> None:
            status, said, _ = admin(method, f"{self.url}/api/{path}", body)
            assert status == 200, (path, said)

        call("POST", "auth/", {"username": "admin", "password": "password"})
        backend = admin("GET", f"{self.url}/api/mod/user/database")[1]
        backend["parameters"]["data-format"]["groups"] = {
            "multiple": True,
            "read": True,
            "write": True,
            "profile-read": True,
            "profile-write": False,
        }
        call("PUT", "mod/user/database", backend)
        call("PUT", "mod/user/database/reset", {})
        call("POST", "scope/", {"name": "crow", "password_required": False, "scheme": {}})
        common = {"enabled": True, "confidential": True, "redirect_uri": [redirect]}
        call(
            "POST",
            "client/",
            {
                **common,
                "client_id": CLIENT,
                "password": SECRET,
                "client_secret": SECRET,
                "authorization_type": ["code", "device_authorization"],
                "token_endpoint_auth_method": ["client_secret_basic"],
                "scope": ["openid"],
            },
        )
        call(
            "POST",
            "client/",
            {
                **common,
                "client_id": PROGRAM,
                "password": PROGRAM_SECRET,
                "client_secret": PROGRAM_SECRET,
                "scope": ["crow"],
                "resource": [AUDIENCE],
                "authorization_type": ["client_credentials"],
                "token_endpoint_auth_method": ["client_secret_basic"],
            },
        )
        call(
            "POST",
            "user/",
            {
                "username": PERSON,
                "password": PASSWORD,
                "enabled": True,
                "scope": ["openid", "g_profile"],
                "groups": ["staff", "researchers"],
            },
        )
        call("POST", "mod/plugin/", self._plugin())

    def _plugin(self) -> dict[str, Any]:
        key = RSAKey.generate_key(2048)
        on = ("allow-non-oidc", "pkce-allowed", "jwks-show", "resource-allowed")
        on += ("session-management-allowed", "resource-change-allowed", "refresh-token-rolling")
        on += tuple(f"auth-type-{one}-enabled" for one in ("code", "client", "device"))
        off = ("pkce-method-plain-allowed", "introspection-revocation-allowed")
        off += ("register-client-allowed", "request-parameter-allow")
        off += ("resource-scope-and-client-property", "front-channel-logout-allowed")
        off += ("back-channel-logout-allowed",)
        off += tuple(f"auth-type-{one}-enabled" for one in ("token", "id-token", "password"))
        off += tuple(f"auth-type-{one}-enabled" for one in ("refresh", "none"))
        claim = {"type": "string", "mandatory": True}
        parameters = {
            **dict.fromkeys(on, True),
            **dict.fromkeys(off, False),
            **dict.fromkeys(("name-claim", "email-claim", "scope-claim"), "no"),
            "iss": self.issuer,
            "jwt-type": "rsa",
            "jwt-key-size": "256",
            "key": key.as_pem(private=True).decode(),
            "cert": key.as_pem(private=False).decode(),
            "access-token-duration": 600,
            "refresh-token-duration": 1200,
            "code-duration": 60,
            "device-authorization-expiration": 600,
            "device-authorization-interval": 1,
            "session-cookie-name": "GLEWLWYD2_OIDC_SID",
            "session-cookie-expiration": 3600,
            "subject-type": "public",
            "scope": [],
            "additional-parameters": [],
            "resource-client-property": "resource",
            "resource-scope": {"crow": [AUDIENCE]},
            "claims": [
                {**claim, "name": "groups", "user-property": "groups"},
                {**claim, "name": "preferred_username", "user-property": "username"},
            ],
        }
        about = {"module": "oidc", "name": "oidc", "display_name": "OpenID Connect"}
        return {**about, "enabled": True, "parameters": parameters}


_CONFIGURATION = """
port={port}
bind_address="127.0.0.1"
external_url="{url}"
login_url="login.html"
api_prefix="api"
log_mode="file"
log_level="WARNING"
log_file="{folder}/log"
cookie_secure=0
session_expiration=3600
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
use_secure_connection=false
secure_connection_key_file="{folder}/none.key"
secure_connection_pem_file="{folder}/none.pem"
secure_connection_ca_file="{folder}/none.crt"
hash_algorithm="SHA512"
database = {{ type="sqlite3"; path="{folder}/provider.db"; }};
"""


@contextmanager
def glewlwyd(folder: Path, redirect: str) -> Iterator[Glewlwyd]:
    """Start the provider on a free port, with a database made of the package's own schema."""
    with sqlite3.connect(folder / "provider.db") as database:
        database.executescript(SCHEMA.read_text(encoding="utf-8"))
    database.close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = Glewlwyd(f"http://127.0.0.1:{port}")
    written = _CONFIGURATION.format(port=port, url=found.url, folder=folder)
    (folder / "configuration").write_text(written, encoding="utf-8")
    process = subprocess.Popen(
        ["glewlwyd", "--config-file", str(folder / "configuration")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                Browser()("GET", f"{found.url}/config")
                break
            except OSError:
                time.sleep(0.1)
        found.set_up(redirect)
        yield found
    finally:
        process.terminate()
        process.wait(timeout=20)
