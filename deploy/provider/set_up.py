"""Sets up and starts glewlwyd, a provider of OpenID Connect from Debian's packages.

The image of the compose file and the tests use the same: a service that signs people in by code and
by device, one person with groups, and tokens that carry them. Standard library and openssl alone.
"""

from __future__ import annotations

import argparse
import http.cookiejar
import json
import os
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SCHEMA = Path("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3")
CLIENT, PERSON = "crow", "olga"
_FIRST = {"username": "admin", "password": "password"}  # the package's own; changed in the image

_CONFIGURATION = """
port={port}
bind_address="{host}"
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
static_files_path="/usr/share/glewlwyd/webapp"
static_files_mime_types =
(
  {{ extension = ".html" mime_type = "text/html" compress = 1 }},
  {{ extension = ".css" mime_type = "text/css" compress = 1 }},
  {{ extension = ".js" mime_type = "application/javascript" compress = 1 }},
  {{ extension = ".json" mime_type = "application/json" compress = 1 }},
  {{ extension = ".png" mime_type = "image/png" compress = 0 }},
  {{ extension = ".ttf" mime_type = "font/ttf" compress = 0 }},
  {{ extension = ".woff" mime_type = "font/woff" compress = 0 }},
  {{ extension = ".woff2" mime_type = "font/woff2" compress = 0 }}
)
database = {{ type="sqlite3"; path="{folder}/provider.db"; }};
"""


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


def started(folder: Path, host: str, port: int, url: str) -> tuple[subprocess.Popen[bytes], bool]:
    """Start the provider; also returns whether its database is new."""
    new = not (folder / "provider.db").exists()
    if new:
        database = sqlite3.connect(folder / "provider.db")
        database.executescript(SCHEMA.read_text(encoding="utf-8"))
        database.close()
    written = _CONFIGURATION.format(port=port, host=host, url=url, folder=folder)
    (folder / "configuration").write_text(written, encoding="utf-8")
    process = subprocess.Popen(
        ["glewlwyd", "--config-file", str(folder / "configuration")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            Browser()("GET", f"http://127.0.0.1:{port}/config")
            break
        except OSError:
            time.sleep(0.1)
    return process, new


class Administrator:
    """Whoever is signed in as the administrator of a new provider.

    Parameters
    ----------
    url : str
        Where the provider is reached from here.
    """

    def __init__(self, url: str) -> None:
        self._browser, self._api = Browser(), f"{url}/api"
        self.call("POST", "auth/", _FIRST)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Ask for something that must be agreed to."""
        status, said, _ = self._browser(method, f"{self._api}/{path}", body)
        if status != 200:
            raise SystemExit(f"the provider refuses {method} {path}: {said}")
        return said

    def set_up(
        self,
        issuer: str,
        redirect: str,
        *,
        secret: str,
        password: str,
        groups: Sequence[str],
        resources: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Make the service known, and one person, and how tokens are made."""
        backend = self.call("GET", "mod/user/database")
        backend["parameters"]["data-format"]["groups"] = {
            "multiple": True,
            "read": True,
            "write": True,
            "profile-read": True,
            "profile-write": False,
        }
        self.call("PUT", "mod/user/database", backend)
        self.call("PUT", "mod/user/database/reset", {})
        service = {
            "redirect_uri": [redirect],
            "scope": ["openid"],
            "authorization_type": ["code", "device_authorization"],
        }
        self.client(CLIENT, secret, **service)
        person = {
            "username": PERSON,
            "password": password,
            "enabled": True,
            "scope": ["openid", "g_profile"],
            "groups": list(groups),
        }
        self.call("POST", "user/", person)
        self.call("POST", "mod/plugin/", _plugin(issuer, resources or {}))

    def client(self, name: str, secret: str, **more: Any) -> None:
        """Make a service or a program known."""
        about = {
            "client_id": name,
            "password": secret,
            "client_secret": secret,
            "enabled": True,
            "confidential": True,
            "token_endpoint_auth_method": ["client_secret_basic"],
        }
        self.call("POST", "client/", {**about, **more})

    def change_password(self, new: str) -> None:
        """Replace the password that every installation begins with."""
        changed = {"old_password": _FIRST["password"], "password": new}
        self.call("PUT", "profile/password", changed)


def _openssl(*words: str, given: str = "") -> str:
    return subprocess.run(
        ["openssl", *words], input=given, capture_output=True, check=True, text=True
    ).stdout


def _plugin(issuer: str, resources: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    key = _openssl("genrsa", "2048")
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
        "iss": issuer,
        "jwt-type": "rsa",
        "jwt-key-size": "256",
        "key": key,
        "cert": _openssl("rsa", "-pubout", given=key),
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
        "resource-scope": {scope: list(found) for scope, found in resources.items()},
        "claims": [
            {**claim, "name": "groups", "user-property": "groups"},
            {**claim, "name": "preferred_username", "user-property": "username"},
        ],
    }
    about = {"module": "oidc", "name": "oidc", "display_name": "OpenID Connect"}
    return {**about, "enabled": True, "parameters": parameters}


def main() -> int:
    """Start the provider of the compose file, and set it up the first time."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--folder", type=Path, required=True, help="where its database is")
    given.add_argument("--host", default="0.0.0.0", help="the address to listen on")
    given.add_argument("--port", type=int, default=4593)
    given.add_argument("--redirect", required=True, help="where people are sent back to")
    for name, what in (
        ("--secret", "of the service"),
        ("--admin", "for the administrator"),
        ("--password", "of the person"),
    ):
        given.add_argument(name, type=Path, required=True, help=f"file with a secret {what}")
    said = given.parse_args()
    os.umask(0o077)
    url = f"http://127.0.0.1:{said.port}"
    process, new = started(said.folder, said.host, said.port, url)
    if new:
        secret, admin, password = (
            path.read_text(encoding="utf-8").strip()
            for path in (said.secret, said.admin, said.password)
        )
        administrator = Administrator(url)
        groups = ("researchers", "dp-officers")
        administrator.set_up(
            f"{url}/api/oidc", said.redirect, secret=secret, password=password, groups=groups
        )
        administrator.change_password(admin)
    for number in (signal.SIGTERM, signal.SIGINT):  # the first process of a container has no others
        signal.signal(number, lambda *_: process.terminate())
    return process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
