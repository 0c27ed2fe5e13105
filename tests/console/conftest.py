"""A service with the console, people of every role, and visitors who are signed in."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from whitecrow.demo import CARD, DATA
from whitecrow_server import Person, Service, Settings, create_app
from whitecrow_server._hashing import Hasher
from whitecrow_server._processes import DatasetProcess
from whitecrow_server.console import mount

ROLES = {"custodian": "custodian", "auditor": "auditor", "ana": "analyst", "bob": "analyst"}
"""Who there is. 'clinic' is listed for ana, 'ward' for bob."""

PASSWORD = "correct horse battery staple"  # noqa: S105 - of made-up people
NOTIONS = ["differential", "concentrated", "sensitive", "conditional"]

MODEL = {"beta": "5", "radius": "4"}
RECORD = {"record.age": "74", "record.bmi": "44", "record.systolic": "222"}
QUESTIONS: dict[str, dict[str, Any]] = {
    "identify": {**RECORD, **MODEL, "k": "2", "epsilon": "1/4", "notion": "sensitive"},
    "screen": {**RECORD, **MODEL, "epsilon": "1/4"},
    "count": {**MODEL, "columns": ["age", "bmi"], "epsilon": "1/2"},
    "subspaces": {**MODEL, "size": "2", "top": "1", "epsilon": "1/2", "count_share": "1/2"},
    "explain": {
        "record.ward": "maternity",
        "record.insurance": "public",
        "record.cost": "14000",
        "metric": "cost",
        "detector": "distance",
        "beta": "20",
        "radius": "3000",
        "notion": "differential",
        "epsilon": "1/2",
    },
    "publish": {
        "statistic": "mean",
        "column": "cost",
        "time": "day",
        "start": "2024-01-01",
        "period": "week",
        "horizon": "8",
        "clip": "0,20000",
        "epsilon": "1/2",
    },
}
"""Each question as its form is filled in."""


@dataclass
class House:
    """A service with people in it."""

    app: FastAPI
    settings: Settings

    @property
    def service(self) -> Service:
        found: Service = self.app.state.service
        return found

    def person(self, name: str) -> Person:
        return Person(name, ROLES[name])

    def visitor(self, name: str) -> Visitor:
        """Somebody who has just signed in."""
        found = Visitor(self)
        if name:
            reply = found.sign_in(name, PASSWORD)
            assert reply.status_code == 303, reply.text
        return found


@dataclass
class Visitor:
    """A browser without scripts: keeps cookies, sends forms with what the page hid in them."""

    house: House
    cookies: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        import anyio

        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.house.app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost", cookies=self.cookies
            ) as web:
                return await web.request(method, path, **more)

        reply = anyio.run(call)
        self.cookies.update(dict(reply.cookies))
        return reply

    def get(self, path: str) -> httpx.Response:
        return self.send("GET", f"/console{path}")

    def post(self, path: str, fields: dict[str, Any] | None = None) -> httpx.Response:
        return self.send("POST", f"/console{path}", data={"csrf": self.csrf, **(fields or {})})

    @property
    def csrf(self) -> str:
        cookie = self.cookies.get("whitecrow")
        return self.house.service.sessions.visitor(cookie).csrf if cookie else ""

    def sign_in(self, name: str, password: str) -> httpx.Response:
        number = hidden(self.get("/sign-in").text, "number")
        fields = {"name": name, "password": password, "number": number}
        return self.send("POST", "/console/sign-in", data=fields)

    def priced(self, kind: str, dataset: str = "clinic", **changes: str) -> httpx.Response:
        return self.post(f"/datasets/{dataset}/ask/{kind}", {**QUESTIONS[kind], **changes})

    def asked(self, kind: str, dataset: str = "clinic", **changes: str) -> httpx.Response:
        """Price a question, press the button and follow to the answer."""
        priced = self.priced(kind, dataset, **changes)
        assert priced.status_code == 200, priced.text
        question = hidden(priced.text, "question")
        reply = self.post(f"/datasets/{dataset}/ask/{kind}/now", {"question": question})
        return self.send("GET", reply.headers["location"]) if reply.status_code == 303 else reply


def hidden(page: str, name: str) -> str:
    """The value that a page hides in a form."""
    found = re.search(rf'<input type="hidden" name="{name}" value="([^"]*)"', page)
    assert found, f"the page hides no {name}"
    return html.unescape(found[1])


def build(folder: Path, *, listed: bool = True, **changes: Any) -> House:
    """A house over the bundled clinic; hashes are cheap, their cost is argon2's business."""
    from argon2 import PasswordHasher

    data = folder / "files"  # a copy: pages write to the folder of data
    data.mkdir()
    shutil.copy(DATA, data)
    settings = replace(
        Settings(f"sqlite:///{folder / 'service.db'}", data=str(data), rate=0, patience=60.0),
        **changes,
    )
    house = House(create_app(settings, pages=mount), settings)
    service = house.service
    cheap = Hasher(PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
    service.sessions._hasher = cheap
    custodian = service.people.add("custodian", "custodian")
    for name, role in ROLES.items():
        if name != "custodian":
            service.members.invite(custodian, name, role)
        service.sessions.set_password(name, PASSWORD)
    for name, reader in (("clinic", "ana"), ("ward", "bob")) if listed else ():
        service.register(
            custodian,
            name,
            {"file": DATA.name},
            card=CARD.read_text(encoding="utf-8"),
            policy={"notions": NOTIONS},
            budget="100",
            readers=[reader],
        )
    return house


@pytest.fixture(autouse=True, scope="session")
def few_records() -> Iterator[None]:
    """Computing processes load no kernels, which takes longer than most of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatasetProcess, "warmed", False)
        yield


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One house for all tests of a module."""
    found = build(Path(tmp_path_factory.mktemp("console")))
    found.service.start()
    yield found
    found.service.close()


@pytest.fixture(scope="module")
def visitors(house: House) -> Callable[[str], Visitor]:
    """People of every role, each signed in once."""
    known: dict[str, Visitor] = {}

    def visitor(name: str) -> Visitor:
        if name not in known:
            known[name] = house.visitor(name)
        return known[name]

    return visitor
