"""A witness at another instance of the service: statements travel over HTTP.

The instance keeps a statement durably before it replies, and refuses one that does not extend the
newest that it holds. Of two processes that write one ledger the slower is refused although it is
honest: it reads what the faster one told, and goes on from there.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
import urllib.parse
from pathlib import Path
from typing import Any

from whitecrow.errors import InvalidInput, LedgerUnusable
from whitecrow.ledger.witness.places import checked
from whitecrow.ledger.witness.statement import Evidence, Statement

TOKEN = "WHITECROW_WITNESS_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token for the instance; TOKEN_FILE names a file with it."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SECONDS = 20.0
_AWAY = (
    "The witness of this ledger cannot be reached, or does not take its statements{why}. No answer "
    "leaves without it; nothing is lost: ask again."
)


class InstancePlace:
    """Another instance of the service, ours or somebody else's.

    Plain ``http`` is for this machine alone: the token would travel in the open.
    """

    def __init__(self, address: str, ledger: str, public: str) -> None:
        found = urllib.parse.urlsplit(address)
        if not found.hostname or found.username or found.query or found.fragment:
            raise InvalidInput(
                "The address of a witness is one such as https://witness.example.org; its token "
                f"comes from {TOKEN} or the file that {TOKEN}_FILE names."
            )
        if found.scheme == "http" and found.hostname not in _LOOPBACK:
            raise InvalidInput(
                f"The token would travel to {found.hostname} in the open; use https."
            )
        self._where, self._ledger, self._public = found, ledger, public
        self._path = f"{found.path.rstrip('/')}/v1/witness/{ledger}"
        self._headers = _headers()
        self._turn = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None

    def read(self) -> Evidence:
        status, said = self._call("GET")
        if status == 404:  # it knows nothing of this ledger
            return Evidence({})
        _refuse_unless_ok(status, said)
        return Evidence.of(checked(map(str, said["statements"]), self._ledger, self._public))

    def keep(self, statement: Statement) -> bool:
        """Send a statement; return when the instance has it on disk, or something else."""
        body = {"public": self._public, "statement": statement.to_text()}
        status, said = self._call("PUT", json.dumps(body).encode("ascii"))
        if status in (404, 409):
            return False
        _refuse_unless_ok(status, said)
        return True

    def close(self) -> None:
        with self._turn:
            self._hang_up()

    def _call(self, method: str, body: bytes | None = None) -> tuple[int, Any]:
        with self._turn:
            for attempt in (1, 2):  # a connection that was kept may have ended meanwhile
                kept = self._connection is not None
                try:
                    return self._sent(method, body)
                except (OSError, http.client.HTTPException, ValueError):
                    self._hang_up()
                    if attempt == 2 or not kept:
                        break
        raise LedgerUnusable(_AWAY.format(why=""))

    def _sent(self, method: str, body: bytes | None) -> tuple[int, Any]:
        if self._connection is None:
            host, port = str(self._where.hostname), self._where.port
            if self._where.scheme == "https":
                trusted = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=_SECONDS, context=trusted
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
        self._connection.request(method, self._path, body, self._headers)
        reply = self._connection.getresponse()
        said = json.loads(reply.read())
        if reply.status == 401:  # the file with the token may hold a newer one by now
            self._headers = _headers()
        return reply.status, said

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _refuse_unless_ok(status: int, said: Any) -> None:
    """Tell what the instance says, where it is not that all is well."""
    if status != 200 or not isinstance(said, dict):
        words = said.get("error", said.get("refused")) if isinstance(said, dict) else None
        reason = words.get("reason") if isinstance(words, dict) else None
        why = f" (it says: {str(reason)[:200]})" if reason else f" (HTTP {status})"
        raise LedgerUnusable(_AWAY.format(why=why))


def _headers() -> dict[str, str]:
    file = os.environ.get(f"{TOKEN}_FILE", "")
    try:
        found = Path(file).read_text(encoding="ascii").strip() if file else os.environ.get(TOKEN)
    except (OSError, ValueError):
        found = None
    if not found or not found.isascii() or not found.isprintable():
        raise InvalidInput(
            f"The witness at another instance wants a token: put it into {TOKEN}, or the name of a "
            f"file with it into {TOKEN}_FILE. A custodian or auditor there makes one of scope "
            "witness."
        )
    return {"Authorization": f"Bearer {found}", "Content-Type": "application/json"}
