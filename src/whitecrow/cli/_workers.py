"""Workers that each have a listening socket of their own."""

from __future__ import annotations

import socket

from uvicorn import Config
from uvicorn.supervisors import Multiprocess

__all__ = ["Workers"]


class Workers(Multiprocess):
    """uvicorn's supervisor, with one socket a worker instead of one for all.

    It holds the sockets too: who connects while a worker is started anew waits, and is not refused.

    Parameters
    ----------
    config : Config
        How each worker serves; it says how many there are.
    listening : list of sockets
        One for each.
    """

    def __init__(self, config: Config, listening: list[socket.socket]) -> None:
        self._listening = listening
        super().__init__(config, listening)

    @property
    def sockets(self) -> list[socket.socket]:
        """The socket of the worker that is about to be started."""
        ended = (i for i, one in enumerate(self.processes) if not one.process.is_alive())
        return [self._listening[next(ended, len(self.processes))]]

    @sockets.setter
    def sockets(self, listening: list[socket.socket]) -> None:
        """The supervisor keeps them itself."""

    def restart_all(self) -> None:
        """End the workers one after the other; each is started anew on its socket."""
        for one in self.processes:
            one.terminate()
            one.join()
            self.keep_subprocess_alive()

    def handle_ttin(self) -> None:
        """Ignore the wish for one more worker: there is no socket for it."""

    def handle_ttou(self) -> None:
        """Ignore the wish for one less: nobody would answer on its socket."""
