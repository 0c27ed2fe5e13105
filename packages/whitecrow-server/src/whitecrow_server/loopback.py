"""A service on this machine's loopback, for the audit of the way through HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from fastapi import FastAPI

from whitecrow.data import Card
from whitecrow.errors import NotReady
from whitecrow.question import Question
from whitecrow_server import Service, Settings, create_app
from whitecrow_server._listening import GuardedProtocol
from whitecrow_server._logs import configure

_CHANGING = {"content-length", "date", "etag", "x-request-id"}
"""Headers that no two replies share, whatever the data."""


class Running:
    """A service with two datasets, listening on a free port of this machine until it is let go."""

    def __init__(
        self,
        card: Card,
        databases: Mapping[str, Sequence[int]],
        adds: Callable[[FastAPI], None] | None = None,
    ) -> None:
        ends = contextlib.ExitStack()
        weakref.finalize(self, ends.close)
        if structlog.is_configured():
            ends.callback(structlog.configure, **structlog.get_config())
        ends.callback(structlog.reset_defaults)
        configure(level="critical")
        folder = Path(tempfile.mkdtemp(prefix="whitecrow-audit-"))
        ends.callback(shutil.rmtree, folder, ignore_errors=True)
        settings = Settings(
            database=f"sqlite:///{folder / 'service.db'}", data=str(folder), rate=0, patience=600.0
        )
        app = create_app(settings)
        if adds is not None:
            adds(app)
        ends.callback(app.state.service.close)
        self._token = _settled(app.state.service, folder, card, databases)
        config = uvicorn.Config(
            app, host="127.0.0.1", port=0, log_config=None, lifespan="off", http=GuardedProtocol
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        ends.callback(thread.join, timeout=20)
        ends.callback(setattr, server, "should_exit", True)
        until = time.monotonic() + 60
        while not server.started:
            if time.monotonic() > until:
                raise NotReady("The service to be audited did not start.")
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=660)
        ends.callback(self._connection.close)
        self._first: Any = None

    def ask(self, name: str, question: Question) -> tuple[Any, bool]:
        """Ask one dataset; return the answer and whether all else is as in the first reply."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        body = json.dumps({"kind": question.kind, **question.to_json()})
        self._connection.request("POST", f"/v1/datasets/{name}/ask", body, headers)
        reply = self._connection.getresponse()
        release = json.loads(reply.read())
        if reply.status != 200:
            raise NotReady(f"The service to be audited answered {reply.status}.")
        named = sorted((key.lower(), value) for key, value in reply.getheaders())
        shown = (
            [pair for pair in named if pair[0] not in _CHANGING],
            sorted(release),
            *(release[key] for key in ("guarantee", "error", "warning", "charged")),
        )
        if self._first is None:
            self._first = shown
        return release["answer"], shown == self._first


def _settled(
    service: Service, folder: Path, card: Card, databases: Mapping[str, Sequence[int]]
) -> str:
    """Register both databases; return an analyst's token."""
    custodian = service.people.add("custodian", "custodian")
    service.members.invite(custodian, "ana", "analyst")
    column = card.columns[0].name
    for name, values in databases.items():
        (folder / f"{name}.csv").write_text("\n".join([column, *map(str, values), ""]), "utf-8")
        service.register(
            custodian,
            name,
            {"file": f"{name}.csv"},
            card=card.to_json(),
            budget="1000000000",
            readers=["ana"],
        )
    token, _ = service.members.issue(custodian, "ana", label="audit")
    service.start()
    return token
