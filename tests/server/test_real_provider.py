"""Sign-in by a real provider of OpenID Connect: at the console, at the terminal, by a program."""

from __future__ import annotations

import stat
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow as terminal
from whitecrow_server import Provider, create_app
from whitecrow_server.console import mount

from . import glewlwyd as real
from .conftest import Caller, House, identify, listening, settings_for, settle_in

URL = "http://localhost"
BACK = f"{URL}/console/sign-in/provider/back"

pytestmark = pytest.mark.skipif(real.missing(), reason="apt-get install glewlwyd")


@pytest.fixture(scope="module")
def idp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[real.Glewlwyd]:
    with real.glewlwyd(tmp_path_factory.mktemp("provider"), BACK) as found:
        yield found


@pytest.fixture
def house(tmp_path: Path, idp: real.Glewlwyd) -> Iterator[House]:
    provider = Provider(
        idp.issuer,
        real.CLIENT,
        URL,
        {"researchers": "analyst"},
        real.SECRET,
        programs={real.PROGRAM: "analyst"},
        audience=real.AUDIENCE,
        scopes=("openid",),
    )
    settings = settings_for(tmp_path, provider=provider, patience=200.0)
    app = create_app(settings, pages=mount)
    found = House(settings, app, settle_in(app.state.service))
    found.service.start()
    yield found
    found.service.close()


def visit(house: House, cookies: dict[str, str]) -> Callable[..., httpx.Response]:
    """A browser at the console."""

    def send(method: str, path: str, **more: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(app=house.app)
            async with httpx.AsyncClient(transport=transport, base_url=URL, cookies=cookies) as web:
                return await web.request(method, path, **more)

        reply = anyio.run(call)
        cookies.update(dict(reply.cookies))
        return reply

    return send


def test_a_person_signs_in_at_the_console_and_out_again(house: House, idp: real.Glewlwyd) -> None:
    cookies: dict[str, str] = {}
    console = visit(house, cookies)
    assert "Sign in through your organisation" in console("GET", "/console/sign-in").text
    left = console("GET", "/console/sign-in/provider")
    assert left.status_code == 303
    back = idp.follow(idp.sign_in(), left.headers["location"])
    assert back.startswith(BACK)
    came = console("GET", back.removeprefix(URL))
    assert came.status_code == 200, came.text
    assert "olga" in console("GET", "/console/me").text
    # The same address again opens nothing.
    replayed = visit(house, {"whitecrow-state": cookies.get("whitecrow-state", "")})
    assert replayed("GET", back.removeprefix(URL)).status_code == 401
    session = house.service.sessions.visitor(cookies["whitecrow"])
    out = console("POST", "/console/sign-out", data={"csrf": session.csrf})
    assert out.headers["location"].startswith(f"{idp.issuer}/end_session?")
    assert idp.url in out.headers["content-security-policy"]
    assert console("GET", "/console/me").status_code == 303


# The terminal's connection ends with its process, and here it has none of its own.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_person_signs_in_at_the_terminal(
    house: House, idp: real.Glewlwyd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    custodian = house.service.people.get("custodian")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("WHITECROW_TOKEN", raising=False)

    def approve(url: str, code: str) -> None:
        query = urllib.parse.urlencode({"code": code})
        idp.follow(idp.sign_in(), f"{idp.issuer}/device?{query}")

    sso = house.service.single_sign_on
    begin = sso.begin_device

    def began() -> dict[str, Any]:
        said = begin()
        threading.Thread(target=approve, args=(said["url"], said["code"])).start()
        return said

    monkeypatch.setattr(sso, "begin_device", began)
    with listening(house) as url:
        done = CliRunner().invoke(terminal, ["sign-in", "--server", url])
        assert done.exit_code == 0, done.output
        assert "type the code" in done.output
        kept = tmp_path / "config" / "whitecrow" / "token"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        house.service.amend(custodian, "clinic", reason="Olga", readers=["olga"])
        asked = CliRunner().invoke(
            terminal,
            [
                *("screen", "clinic", "--record", '{"age": 74, "bmi": 44.0, "systolic": 222}'),
                *("--beta", "40"),
                *("--radius", "12", "--epsilon", "1/2", "--server", url),
            ],
        )
        assert asked.exit_code == 0, asked.output
        assert "answer" in asked.output


def test_a_program_asks_with_the_providers_own_token(house: House, idp: real.Glewlwyd) -> None:
    custodian = house.service.people.get("custodian")
    call, headers = Caller(house), {"Authorization": f"Bearer {idp.program_token()}"}
    assert call("", "GET", "/v1/me", headers=headers).json() == {
        "name": "nightly",
        "role": "analyst",
        "disabled": False,
    }
    house.service.amend(custodian, "clinic", reason="a program", readers=["nightly"])
    reply = call("", "POST", "/v1/datasets/clinic/ask", headers=headers, json=identify(3))
    assert reply.status_code == 200, reply.text
