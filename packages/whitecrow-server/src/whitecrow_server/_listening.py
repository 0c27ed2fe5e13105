"""Listening: a socket, the workers behind it, what they share, and the limits on headers.

Connections that send their headers slowly, or too much of them, are closed: uvicorn waits for ever
for the end of a request's headers and keeps whatever comes. Bodies are bounded later, in
:mod:`whitecrow_server._security`, where it is known what they are for.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uvicorn import Config, Server
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from whitecrow.errors import InvalidInput

_GRACE_SECONDS = 3
_NOT_STARTED = 3


@contextlib.contextmanager
def shared_folder(workers: int) -> Iterator[Path | None]:
    """Give several workers one folder in which their metrics and their rate limits add up."""
    if workers == 1:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="whitecrow-workers-") as folder:
        numbers = Path(folder) / "metrics"
        numbers.mkdir()
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(numbers)
        try:
            yield Path(folder)
        finally:
            del os.environ["PROMETHEUS_MULTIPROC_DIR"]


def bound(host: str, port: int, workers: int = 1) -> list[socket.socket]:
    """Sockets that listen already, one for each worker: nothing is announced that does not answer.

    The kernel spreads connections over the sockets, by a hash of their addresses. From one socket
    for all, the worker that wakes first would take every connection that waits, and keep those
    clients for as long as they stay connected.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening: list[socket.socket] = []
    try:
        for _ in range(workers):
            listening.append(listener := socket.socket(family, socket.SOCK_STREAM))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if len(listening) > 1:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind((host, port))
            port = listener.getsockname()[1]
            if workers > 1:  # the first only now: its port must have been nobody else's
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        for listener in listening:
            listener.listen(2048)
            listener.set_inheritable(True)
    except OSError as error:
        for listener in listening:
            listener.close()
        taken = error.errno == errno.EADDRINUSE
        why = "something else listens there" if taken else os.strerror(error.errno or 0).lower()
        raise InvalidInput(
            f"Cannot listen on {host}:{port}: {why}. Choose another with --host and --port."
        ) from None
    return listening


def run(listening: list[socket.socket], certificate: str | None, key: str | None) -> None:
    """Run a worker behind each socket until the service is told to end."""
    config = Config(
        "whitecrow_server.commands.serve:application",
        factory=True,
        workers=len(listening),
        ssl_certfile=certificate,
        ssl_keyfile=key,
        proxy_headers=False,  # whom to believe is our own business: _proxies.py
        http=GuardedProtocol,
        access_log=False,  # our own line says more, and no query strings
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = Server(config)
    # A single worker has nobody who would start it anew: it ends as if it were told to, with grace.
    signal.signal(signal.SIGHUP, lambda number, frame: signal.raise_signal(signal.SIGTERM))
    with contextlib.suppress(KeyboardInterrupt):
        if len(listening) > 1:
            Workers(config, listening).run()
        else:
            server.run(sockets=listening)
    if len(listening) == 1 and not server.started:
        sys.exit(_NOT_STARTED)


_LOG = logging.getLogger("uvicorn.error")
_START_SECONDS = 600.0
_HUNG_SECONDS = 30
"""A worker that does not answer for so long hangs; on a busy machine some take seconds."""


class Workers(Multiprocess):
    """uvicorn's supervisor, with one socket a worker instead of one for all.

    It holds the sockets too: who connects while a worker is started anew waits, and is not refused.
    A worker that is still being started is given time: to import everything takes long on a machine
    that does other things as well.
    """

    def __init__(self, config: Config, listening: list[socket.socket]) -> None:
        self._listening = listening
        self._starting: dict[int, float] = {}
        self._served = False
        super().__init__(config, listening)

    def init_processes(self) -> None:
        self.processes = [self._started(number) for number in range(len(self._listening))]

    def _started(self, number: int) -> Process:
        """Start the worker of one socket, whose own it stays."""
        worker = Process(self.config, [self._listening[number]])
        worker.start()
        self._starting[number] = time.monotonic() + _START_SECONDS
        return worker

    def keep_subprocess_alive(self) -> None:
        """Start workers anew that have ended or hang, each on its own socket."""
        for number, worker in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            if not self._hangs(number, worker):
                continue
            ended = worker.process.exitcode
            worker.kill()
            worker.join()
            if ended == STARTUP_FAILURE and not self._served:  # it would fail each time
                _LOG.error("Worker %s could not start; the service ends.", worker.pid)
                self.should_exit.set()
                return
            why = "does not answer" if ended is None else f"ended with status {ended}"
            _LOG.warning("Worker %s %s; it is restarted.", worker.pid, why)
            self.processes[number] = self._started(number)

    def _hangs(self, number: int, worker: Process) -> bool:
        """Whether a worker has ended, or has answered before and does not any more."""
        if not worker.process.is_alive():
            return True
        until = self._starting.get(number)
        if until is None:
            return not worker.ping(_HUNG_SECONDS)
        if worker.is_ready(timeout=0.1):
            del self._starting[number]
            self._served = True
            return False
        return time.monotonic() > until

    def restart_all(self) -> None:
        """End the workers one after the other; each is started anew on its socket."""
        for number, worker in enumerate(self.processes):
            worker.terminate()
            worker.join()
            self.processes[number] = self._started(number)

    def handle_ttin(self) -> None:
        """Ignore a request for one more worker: there is no socket for it."""

    def handle_ttou(self) -> None:
        """Ignore a request for one worker less: nobody would answer on its socket."""


HEADER_SECONDS = 10.0
"""How long the line and the headers of a request may take to arrive."""

HEADER_BYTES = 65_536
"""How large they may be."""

_Protocol: Any = AutoHTTPProtocol  # one of two classes, by what is installed


class GuardedProtocol(_Protocol):  # type: ignore[misc]
    """uvicorn's protocol with a limit on the time and size of headers."""

    _timer: asyncio.TimerHandle | None = None
    _waiting_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        if self._timer is None and self._idle():
            self._expect()
        before = self.cycle
        super().data_received(data)
        if self._timer is None:
            return
        self._waiting_bytes += len(data)
        if self.cycle is not before:  # the headers are complete
            self._stop_timer()
        elif self._waiting_bytes > HEADER_BYTES:
            self._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _idle(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _expect(self) -> None:
        self._waiting_bytes = 0
        self._timer = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.transport.close()
