"""A service over the bundled clinic, with people of every role."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from whitecrow.demo import CARD, DATA
from whitecrow_server import Person, Service, Settings, create_app
from whitecrow_server._listening import GuardedProtocol
from whitecrow_server._processes import DatasetProcess

ROLES = {"custodian": "custodian", "auditor": "auditor", "ana": "analyst", "bob": "analyst"}
"""Who there is. The dataset 'clinic' is listed for ana alone."""


def identify(i: int = 0, epsilon: str = "1/100", **more: Any) -> dict[str, Any]:
    """A question about the clinic; another ``i`` is another question."""
    record = {"age": 20 + i % 70, "bmi": 15 + (i % 400) / 10, "systolic": 80 + i % 150}
    model = {"beta": 5, "radius": 4.0, "metric": "euclidean"}
    return {"kind": "identify", "record": record, "model": model, "epsilon": epsilon, **more}


@dataclass
class House:
    """A service with people in it."""

    settings: Settings
    app: FastAPI
    tokens: dict[str, str]

    @property
    def service(self) -> Service:
        found: Service = self.app.state.service
        return found

    def headers(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[who]}"} if who in self.tokens else {}


def settings_for(folder: Path, **changes: Any) -> Settings:
    database = f"sqlite:///{folder / 'service.db'}"
    basic = Settings(database=database, data=str(DATA.parent), rate=0, patience=60.0)
    return replace(basic, **changes)


def settle_in(service: Service, budget: str = "1000") -> dict[str, str]:
    """People of every role and the clinic; returns their tokens."""
    custodian = service.people.add("custodian", "custodian")
    for name, role in ROLES.items():
        if name != "custodian":
            service.members.invite(custodian, name, role)
    service.register(
        custodian,
        "clinic",
        {"file": "clinic.csv"},
        card=CARD.read_text(encoding="utf-8"),
        policy={"notions": ["differential", "concentrated", "sensitive", "conditional"]},
        budget=budget,
        readers=["ana"],
    )
    return {name: service.members.issue(custodian, name, label="test")[0] for name in ROLES}


@pytest.fixture(autouse=True, scope="session")
def few_records() -> Iterator[None]:
    """Computing processes load no kernels, which takes longer than most of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatasetProcess, "warmed", False)
        yield


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., House]]:
    """Open services; they are closed afterwards."""
    made: list[House] = []

    def make(*, budget: str = "1000", **changes: Any) -> House:
        settings = settings_for(tmp_path, **changes)
        app = create_app(settings)
        house = House(settings, app, settle_in(app.state.service, budget))
        app.state.service.start()
        made.append(house)
        return house

    yield make
    for house in made:
        house.service.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One service for all tests of a module that leave people and datasets as they are."""
    settings = settings_for(Path(tmp_path_factory.mktemp("service")))
    app = create_app(settings)
    house = House(settings, app, settle_in(app.state.service))
    house.service.start()
    yield house
    house.service.close()


class Caller:
    """Calls an application in this process, without a socket."""

    def __init__(self, house: House) -> None:
        self.house = house

    def __call__(self, who: str, method: str, path: str, **more: Any) -> httpx.Response:
        import anyio

        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.house.app)
            headers = {**self.house.headers(who), **more.pop("headers", {})}
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
                return await web.request(method, path, headers=headers, **more)

        return anyio.run(call)


@pytest.fixture
def call(house: House) -> Caller:
    return Caller(house)


@contextmanager
def listening(house: House) -> Iterator[str]:
    """Run an application on a free port of this machine, in a thread."""
    config = uvicorn.Config(
        house.app, host="127.0.0.1", port=0, log_config=None, lifespan="off", http=GuardedProtocol
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=20)


def person(name: str) -> Person:
    return Person(name, ROLES[name])
