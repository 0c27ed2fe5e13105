"""A small proxy in front of several services, for tests: what a load balancer does, in a page.

Requests go to the nodes in turns. Where a node cannot be reached, hangs up, or says 502 to 504,
the next one is asked. That is safe for every request of the service that reads, and for asks: a
question is charged once, and whoever asks again gets the stored answer.
"""

from __future__ import annotations

import http.client
import itertools
import threading
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Proxy", "proxied"]

_AGAIN = (502, 503, 504)
_PATIENCE_SECONDS = 60.0


class Proxy(ThreadingHTTPServer):
    """Listens on a free port of this machine."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, nodes: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.nodes = list(nodes)
        self.retried = 0
        self._turn = itertools.count()

    @property
    def url(self) -> str:
        """Where callers find it."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def order(self) -> list[str]:
        """The nodes, beginning with whose turn it is."""
        first = next(self._turn) % len(self.nodes)
        return self.nodes[first:] + self.nodes[:first]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        until = time.monotonic() + _PATIENCE_SECONDS
        status, headers, reply = 502, [], b""
        for node in itertools.cycle(self.server.order()):
            answered = _asked(node, self.command, self.path, dict(self.headers), body)
            if answered is not None:
                status, headers, reply = answered
                if status not in _AGAIN:
                    break
            if time.monotonic() > until:
                break
            self.server.retried += 1
            time.sleep(0.02)
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

    def log_message(self, format: str, *given: object) -> None:
        """Say nothing."""


def _asked(
    node: str, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, list[tuple[str, str]], bytes] | None:
    where = urllib.parse.urlsplit(node)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)
    try:
        connection.request(method, path, body, {**headers, "Host": where.netloc})
        reply = connection.getresponse()
        return reply.status, reply.getheaders(), reply.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


@contextmanager
def proxied(nodes: Sequence[str]) -> Iterator[Proxy]:
    """Run a proxy while the block lasts."""
    proxy = Proxy(nodes)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()
