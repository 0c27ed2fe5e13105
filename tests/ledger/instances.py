"""Another instance of the service, in a thread: the witness of a ledger."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from whitecrow_server import Service, Settings, create_app
from whitecrow_server._listening import GuardedProtocol

__all__ = ["Instance", "instance"]


@dataclass(frozen=True)
class Instance:
    """Where it is, and what an operator holds in hands there."""

    url: str
    service: Service
    token: str


@contextmanager
def instance(folder: Path, port: int = 0) -> Iterator[Instance]:
    """Run one while the block lasts; its custodian has made a token of scope witness."""
    app = create_app(Settings(database=f"sqlite:///{folder / 'instance.db'}"))
    service: Service = app.state.service
    known = [one.name for one in service.people.all()]
    who = service.people.get("keeper") if known else service.people.add("keeper", "custodian")
    token = service.members.issue(who, "keeper", scope="witness")[0]
    config = uvicorn.Config(
        app, host="127.0.0.1", port=port, log_config=None, lifespan="off", http=GuardedProtocol
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Instance(f"http://127.0.0.1:{port}", service, token)
    finally:
        server.should_exit = True
        thread.join(timeout=20)
        service.close()
