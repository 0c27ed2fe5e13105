"""Connections that send their headers slowly, or too much of them, are closed.

uvicorn waits for ever for the end of a request's headers and keeps whatever comes. Bodies are
bounded later, in :mod:`whitecrow_server._security`, where it is known what they are for.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

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
            self._settle()
        elif self._waiting_bytes > HEADER_BYTES:
            self._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle()
        super().connection_lost(exc)

    def _idle(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _expect(self) -> None:
        self._waiting_bytes = 0
        self._timer = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _settle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._settle()
        if not self.transport.is_closing():
            self.transport.close()
