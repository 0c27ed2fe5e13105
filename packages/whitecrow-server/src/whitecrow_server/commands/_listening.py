"""Listening: a socket, the workers behind it, and what they share."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from whitecrow.errors import InvalidInput, MissingExtra

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
    found: list[socket.socket] = []
    try:
        for _ in range(workers):
            found.append(one := socket.socket(family, socket.SOCK_STREAM))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if len(found) > 1:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind((host, port))
            port = one.getsockname()[1]
            if workers > 1:  # the first only now: its port must have been nobody else's
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        for one in found:
            one.listen(2048)
            one.set_inheritable(True)
    except OSError as error:
        for one in found:
            one.close()
        taken = error.errno == errno.EADDRINUSE
        why = "something else listens there" if taken else os.strerror(error.errno or 0).lower()
        raise InvalidInput(
            f"Cannot listen on {host}:{port}: {why}. Choose another with --host and --port."
        ) from None
    return found


def run(listening: list[socket.socket], certificate: str | None, key: str | None) -> None:
    """Run a worker behind each socket until the service is told to end."""
    try:
        import uvicorn

        from whitecrow_server._protocol import GuardedProtocol
        from whitecrow_server.commands._workers import Workers
    except ImportError:
        raise MissingExtra(
            "The server is not installed: pip install 'whitecrow[server]'."
        ) from None
    config = uvicorn.Config(
        "whitecrow_server.commands.serve:application",
        factory=True,
        workers=len(listening),
        ssl_certfile=certificate,
        ssl_keyfile=key,
        proxy_headers=False,  # whom to believe is our own business: server/_proxies.py
        http=GuardedProtocol,
        access_log=False,  # our own line says more, and no query strings
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = uvicorn.Server(config)
    # A single worker has nobody who would start it anew: it ends as if it were told to, with grace.
    signal.signal(signal.SIGHUP, lambda number, frame: signal.raise_signal(signal.SIGTERM))
    with contextlib.suppress(KeyboardInterrupt):
        if len(listening) > 1:
            Workers(config, listening).run()
        else:
            server.run(sockets=listening)
    if len(listening) == 1 and not server.started:
        sys.exit(_NOT_STARTED)
