"""The service, audited: answers drawn through HTTP, on this machine's loopback.

Every draw is a request that a client could send: socket, sign-in, schema, policy, ledger, private
execution and back. A repeated question would be answered from the store, so each draw asks another
question with the same law (another ``error_floor``, which no count of this pair comes near). The
tester looks at the answer and at whether anything else in the reply differs from the first reply.
"""

from __future__ import annotations

import http.client
import importlib.util
import itertools
import json
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.audit.case import Case, Draw, Laws, claim_of
from whitecrow.data import Card, Column
from whitecrow.errors import NotReady
from whitecrow.screen import Screen

if TYPE_CHECKING:
    from fastapi import FastAPI

    from whitecrow.server import Service

__all__ = ["cases"]

CARD = Card("places", (Column("x", "integer", 0, 9),))
DATABASES = {"one": (0, 0, 0), "two": (0, 0, 0, 1)}
BETA = 4
EPSILON = Fraction(3)
_CHANGING = {"content-length", "date", "etag", "x-request-id"}
"""Headers that no two replies share, whatever the data."""
_QUESTIONS = itertools.count(1_000_000)


def _question(epsilon: Fraction, floor: int = 1_000_000) -> Screen:
    model = DistanceAnomaly(BETA, 1)
    return Screen({"x": 0}, model=model, epsilon=epsilon, error_floor=Fraction(1, floor))


def _laws(tells: bool, factor: Fraction) -> Laws:
    found = []
    for name, values in DATABASES.items():
        wrong = _question(EPSILON * factor).wrong(len(values))
        yes = 1 - wrong if len(values) < BETA else wrong
        same = not tells or name == "one"
        found.append({(True, same): yes, (False, same): 1 - yes})
    return found[0], found[1]


class _Running:
    """A service with two datasets, listening on a free port of this machine until it is let go."""

    def __init__(self, adds: Callable[[FastAPI], None] | None) -> None:
        import structlog
        import uvicorn

        from whitecrow.server import Settings, create_app
        from whitecrow.server._logs import configure
        from whitecrow.server._protocol import GuardedProtocol

        folder = Path(tempfile.mkdtemp(prefix="whitecrow-audit-"))
        before = structlog.get_config() if structlog.is_configured() else None
        configure(level="critical")
        settings = Settings(
            database=f"sqlite:///{folder / 'service.db'}", data=str(folder), rate=0, patience=600.0
        )
        app = create_app(settings)
        if adds is not None:
            adds(app)
        self._token = _settled(app.state.service, folder)
        config = uvicorn.Config(
            app, host="127.0.0.1", port=0, log_config=None, lifespan="off", http=GuardedProtocol
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        weakref.finalize(self, _stopped, server, thread, app.state.service, folder, before)
        until = time.monotonic() + 60
        while not server.started:
            if time.monotonic() > until:
                raise NotReady("The service to be audited did not start.")
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=660)
        self._first: Any = None

    def ask(self, name: str) -> Hashable:
        """Ask one dataset; return the answer and whether all else is as in the first reply."""
        question = _question(EPSILON, next(_QUESTIONS))
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        body = json.dumps({"kind": "screen", **question.to_json()})
        self._connection.request("POST", f"/v1/datasets/{name}/ask", body, headers)
        reply = self._connection.getresponse()
        said = json.loads(reply.read())
        if reply.status != 200:
            raise NotReady(f"The service to be audited answered {reply.status}.")
        named = sorted((key.lower(), value) for key, value in reply.getheaders())
        shown = (
            [pair for pair in named if pair[0] not in _CHANGING],
            sorted(said),
            *(said[key] for key in ("guarantee", "error", "warning", "charged")),
        )
        if self._first is None:
            self._first = shown
        return bool(said["answer"]), shown == self._first


def _settled(service: Service, folder: Path) -> str:
    """Register both databases; return an analyst's token."""
    custodian = service.people.add("custodian", "custodian")
    service.members.invite(custodian, "ana", "analyst")
    for name, values in DATABASES.items():
        (folder / f"{name}.csv").write_text("\n".join(["x", *map(str, values), ""]), "utf-8")
        service.register(
            custodian,
            name,
            {"file": f"{name}.csv"},
            card=CARD.to_json(),
            budget="1000000000",
            readers=["ana"],
        )
    token, _ = service.members.issue(custodian, "ana", label="audit")
    service.start()
    return token


def _stopped(server: Any, thread: Any, service: Service, folder: Path, logs: Any) -> None:
    import structlog

    server.should_exit = True
    thread.join(timeout=20)
    service.close()
    shutil.rmtree(folder, ignore_errors=True)
    structlog.reset_defaults()
    if logs is not None:
        structlog.configure(**logs)


def _draws(adds: Callable[[FastAPI], None] | None) -> tuple[Draw, Draw]:
    """Start a service; it ends when nobody can draw from it any more."""
    running = _Running(adds)
    return partial(running.ask, "one"), partial(running.ask, "two")


def _tells(app: FastAPI) -> None:
    """A broken twin: a header, added for operators, that says how many records there are."""

    @app.middleware("http")
    async def counted(request: Any, call_next: Callable[[Any], Any]) -> Any:
        reply = await call_next(request)
        name = request.url.path.split("/")[3]
        reply.headers["x-records"] = str(len(DATABASES[name]))
        return reply


def cases() -> Iterator[Case]:
    """Yield the rows of the audit; none where the service is not installed."""
    if importlib.util.find_spec("fastapi") is None:
        return
    claim = claim_of(_question(EPSILON).price(CARD))
    where = f"x = {DATABASES['one']} ~ {DATABASES['two']}, asked at 0"
    for name, adds in (("a screen", None), ("broken twin: a header that tells", _tells)):
        yield Case(
            "service",
            name,
            claim,
            where,
            partial(_laws, adds is not None),
            partial(_draws, adds),
            most=300,
            full=12_000,
            twin=adds is not None,
            note="Every draw is a request to a service on this machine.",
        )
