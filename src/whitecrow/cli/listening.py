"""Listening: a socket, the workers behind it, and what they share."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from whitecrow.errors import InvalidInput, MissingExtra

__all__ = ["bound", "run", "shared_folder"]

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


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens already: nothing is announced that does not answer."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(2048)
        found.set_inheritable(True)
    except OSError as error:
        found.close()
        taken = error.errno == errno.EADDRINUSE
        why = "something else listens there" if taken else os.strerror(error.errno or 0).lower()
        raise InvalidInput(
            f"Cannot listen on {host}:{port}: {why}. Choose another with --host and --port."
        ) from None
    return found


def run(listening: socket.socket, workers: int, certificate: str | None, key: str | None) -> None:
    try:
        import uvicorn
        from uvicorn.supervisors import Multiprocess

        from whitecrow.server._protocol import GuardedProtocol
    except ImportError:
        raise MissingExtra(
            "The server is not installed: pip install 'whitecrow[server]'."
        ) from None
    config = uvicorn.Config(
        "whitecrow.cli.serve:application",
        factory=True,
        workers=workers,
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
    with contextlib.suppress(KeyboardInterrupt):
        if workers > 1:
            Multiprocess(config, sockets=[listening]).run()
        else:
            server.run(sockets=[listening])
    if workers == 1 and not server.started:
        sys.exit(_NOT_STARTED)
