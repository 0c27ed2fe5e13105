"""Processes that a worker starts: with sockets to talk by, and an end that comes with its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

_LENGTH = struct.Struct("<Q")


class Wire:
    """One end of a conversation in which each side waits for the other."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, message: Any) -> None:
        body = json.dumps(message, allow_nan=False).encode()
        self._end.sendall(_LENGTH.pack(len(body)) + body)

    def receive(self, seconds: float | None = None) -> Any:
        """Wait for one message; EOFError: the other side has ended, TimeoutError: none came."""
        self._end.settimeout(seconds)
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return json.loads(self._exactly(length))

    def close(self) -> None:
        """End the conversation; whoever waits for a message on either side is told."""
        with contextlib.suppress(OSError):  # it has ended already
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

    def _exactly(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            piece = self._end.recv(min(length - len(received), 1 << 20))
            if not piece:
                raise EOFError
            received += piece
        return bytes(received)


_END_SECONDS = 10.0

_PASSED_ON = ("WHITECROW_DETECTORS", "WHITECROW_SPARK_MASTER")
"""Of the service's own environment; what else there is may hold passwords."""


class Child:
    def __init__(self, module: str, wires: int) -> None:
        self._ending = threading.Lock()
        pairs = [socket.socketpair() for _ in range(wires)]
        lifeline, self._life = os.pipe()
        theirs = [end.fileno() for _, end in pairs] + [lifeline]
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, theirs)],
            pass_fds=theirs,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # the traceback of a crash may quote records
        )
        os.close(lifeline)
        for _, end in pairs:
            end.close()
        self.wires = [Wire(end) for end, _ in pairs]

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ended(self) -> str:
        """Say how it ended by itself: with which status or signal."""
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return "stopped listening and was ended"
        if status >= 0:
            return f"ended with the status {status}"
        with contextlib.suppress(ValueError):  # a signal without a name
            return f"was ended by signal {-status} ({signal.Signals(-status).name})"
        return f"was ended by signal {-status}"

    def end(self) -> None:
        """End it at once; twice does no harm."""
        with self._ending:
            self._process.kill()
            self._process.wait()
            for wire in self.wires:
                wire.close()
            if self._life >= 0:
                os.close(self._life)
                self._life = -1


class Helper:
    """A process that answers one message at a time: begun when needed, and anew when it died."""

    def __init__(self, module: str, setup: Callable[[], Any] | None = None) -> None:
        self._module, self._setup = module, setup
        self._lock = threading.Lock()
        self._child: Child | None = None

    def asked(self, message: Any, seconds: float) -> Any:
        """Its reply; EOFError, OSError: it died, or took longer than that, and was ended."""
        with self._lock:
            child = self.begin()
            try:
                child.wires[0].send(message)
                return child.wires[0].receive(seconds)
            except (EOFError, OSError):
                child.end()
                raise

    def begin(self) -> Child:
        if self._child is None or not self._child.alive:
            self.close()  # what is left of one that died
            self._child = Child(self._module, 1)
            if self._setup is not None:
                self._child.wires[0].send(self._setup())
        return self._child

    def close(self) -> None:
        if self._child is not None:
            self._child.end()


def end_with_service(life: int) -> None:
    """In such a process: end at once when the service has ended, and not before."""

    def end() -> None:
        os.read(life, 1)
        os._exit(1)

    for stopping in (signal.SIGINT, signal.SIGTERM):  # the service decides, once it has replied
        signal.signal(stopping, signal.SIG_IGN)
    threading.Thread(target=end, daemon=True).start()


def environment() -> dict[str, str]:
    """What a process that a worker starts gets of the service's environment."""
    shown = {
        key: value
        for key, value in os.environ.items()
        if key in _PASSED_ON or not key.startswith("WHITECROW_")
    }
    return {**shown, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
