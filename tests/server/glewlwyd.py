"""A real provider of OpenID Connect, from Debian's packages, on loopback with its own database.

Set up as the image of the compose file is, by the same code.
"""

from __future__ import annotations

import base64
import importlib.util
import shutil
import socket
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "deploy" / "provider" / "set_up.py"
_found = importlib.util.spec_from_file_location("provider_set_up", _FILE)
assert _found is not None
assert _found.loader is not None
set_up = importlib.util.module_from_spec(_found)
_found.loader.exec_module(set_up)

Browser, CLIENT, PERSON = set_up.Browser, set_up.CLIENT, set_up.PERSON
SECRET = "hush-hush"  # noqa: S105 - of a made-up service
PROGRAM, PROGRAM_SECRET = "nightly", "hush-program"
PASSWORD = "a long password of olga"  # noqa: S105 - of a made-up person
AUDIENCE = "https://crow.example.org/v1"


def missing() -> bool:
    return shutil.which("glewlwyd") is None or not set_up.SCHEMA.exists()


class Glewlwyd:
    """A running provider with one person, one service and one program."""

    def __init__(self, url: str) -> None:
        self.url, self.issuer = url, f"{url}/api/oidc"

    def sign_in(self) -> set_up.Browser:
        """The browser of a person who has signed in at the provider and agreed."""
        browser = Browser()
        said = {"username": PERSON, "password": PASSWORD}
        assert browser("POST", f"{self.url}/api/auth/", said)[0] == 200
        granted = browser("PUT", f"{self.url}/api/auth/grant/{CLIENT}", {"scope": "openid"})
        assert granted[0] == 200
        return browser

    def follow(self, browser: set_up.Browser, url: str) -> str:
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


@contextmanager
def glewlwyd(folder: Path, redirect: str) -> Iterator[Glewlwyd]:
    """Start the provider on a free port, with a database made of the package's own schema."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = Glewlwyd(f"http://127.0.0.1:{port}")
    process, _ = set_up.started(folder, "127.0.0.1", port, found.url)
    try:
        admin = set_up.Administrator(found.url)
        admin.call("POST", "scope/", {"name": "crow", "password_required": False, "scheme": {}})
        admin.set_up(
            found.issuer,
            redirect,
            secret=SECRET,
            password=PASSWORD,
            groups=("staff", "researchers"),
            resources={"crow": [AUDIENCE]},
        )
        program = {"scope": ["crow"], "resource": [AUDIENCE], "redirect_uri": [redirect]}
        flow = {"authorization_type": ["client_credentials"]}
        admin.client(PROGRAM, PROGRAM_SECRET, **program, **flow)
        yield found
    finally:
        process.terminate()
        process.wait(timeout=20)
