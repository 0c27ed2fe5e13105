"""Workers that each have a listening socket of their own."""

from __future__ import annotations

import logging
import socket
import time

from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

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
        self.processes = [self._started(place) for place in range(len(self._listening))]

    def _started(self, place: int) -> Process:
        """Start the worker of one socket, whose own it stays."""
        worker = Process(self.config, [self._listening[place]])
        worker.start()
        self._starting[place] = time.monotonic() + _START_SECONDS
        return worker

    def keep_subprocess_alive(self) -> None:
        """Start workers anew that have ended or hang, each on its own socket."""
        for place, worker in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            if not self._hangs(place, worker):
                continue
            ended = worker.process.exitcode
            worker.kill()
            worker.join()
            if ended == STARTUP_FAILURE and not self._served:  # it would fail each time
                _LOG.error("Worker %s could not start; the service ends.", worker.pid)
                self.should_exit.set()
                return
            why = "does not answer" if ended is None else f"ended with status {ended}"
            _LOG.warning("Worker %s %s; it is started anew.", worker.pid, why)
            self.processes[place] = self._started(place)

    def _hangs(self, place: int, worker: Process) -> bool:
        """Whether a worker has ended, or has answered before and does not any more."""
        if not worker.process.is_alive():
            return True
        until = self._starting.get(place)
        if until is None:
            return not worker.ping(_HUNG_SECONDS)
        if worker.is_ready(timeout=0.1):
            del self._starting[place]
            self._served = True
            return False
        return time.monotonic() > until

    def restart_all(self) -> None:
        """End the workers one after the other; each is started anew on its socket."""
        for place, worker in enumerate(self.processes):
            worker.terminate()
            worker.join()
            self.processes[place] = self._started(place)

    def handle_ttin(self) -> None:
        """Ignore the wish for one more worker: there is no socket for it."""

    def handle_ttou(self) -> None:
        """Ignore the wish for one less: nobody would answer on its socket."""
