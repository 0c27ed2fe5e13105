"""Messages between a service and the processes that compute for it: JSON after its length."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<Q")


class Wire:
    """One end of a conversation in which each side waits for the other.

    Parameters
    ----------
    end : socket
        One of a connected pair.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, message: Any) -> None:
        """Send one message."""
        body = json.dumps(message, allow_nan=False).encode()
        self._end.sendall(_LENGTH.pack(len(body)) + body)

    def receive(self, seconds: float | None = None) -> Any:
        """Wait for one message.

        Raises
        ------
        EOFError
            The other side has ended.
        TimeoutError
            Nothing came for so many seconds.
        """
        self._end.settimeout(seconds)
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return json.loads(self._exactly(length))

    def close(self) -> None:
        """End the conversation; whoever waits for a message on either side is told."""
        with contextlib.suppress(OSError):  # it has ended already
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

    def _exactly(self, length: int) -> bytes:
        found = bytearray()
        while len(found) < length:
            piece = self._end.recv(min(length - len(found), 1 << 20))
            if not piece:
                raise EOFError
            found += piece
        return bytes(found)
