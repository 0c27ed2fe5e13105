"""Processes that a worker starts: with sockets to talk by, and an end that comes with its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading

from whitecrow_server._wire import Wire

_END_SECONDS = 10.0

_PASSED_ON = ("WHITECROW_DETECTORS", "WHITECROW_SPARK_MASTER")
"""Of the service's own environment; what else there is may hold passwords."""


class Child:
    """A process that runs a module.

    Parameters
    ----------
    module : str
        Which. Its arguments are the numbers of its sockets, and of a pipe that ends with us.
    wires : int
        How many sockets it gets.
    """

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
        """Whether it runs."""
        return self._process.poll() is None

    def ended(self) -> str:
        """Say how it ended by itself: by which signal, above all."""
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


def end_with_service(life: int) -> None:
    """In such a process: end at once when the service has ended, and not before.

    Parameters
    ----------
    life : int
        The pipe that ends when the service does, however that happens.
    """

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
