"""Whether the service can do its work: its database must take a write, and soon.

One probe runs at a time, and what it found holds for a second: whoever asks often gets no more
writes than whoever asks rarely. One that hangs is given up, and another begins: a connection that
was lost must not decide for ever.
"""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

from whitecrow.errors import NotReady, WhitecrowError
from whitecrow_server._store import Store

_HOLDS_SECONDS = 1.0
_MOST_HUNG = 8
"""Each holds a thread and a connection until the database's own limits end it."""

_LEAST_FREE = 16 * 2**20
"""Bytes. Less than that, and the store may not be able to grow by the next answers."""

_SLOW = "The service's database takes no writes at the moment: it does not answer in time."
_FULL = "The service's database takes no writes at the moment: its disk is full."


class _Probe:
    """One try, in a thread of its own: a database that hangs must not hang whoever asks."""

    def __init__(self, store: Store, path: Path | None) -> None:
        self.began, self.done = time.monotonic(), threading.Event()
        self.error: WhitecrowError | None = None
        self._store, self._path = store, path
        threading.Thread(target=self._run, name="whitecrow-probe", daemon=True).start()

    def _run(self) -> None:
        try:
            self._store.probe()
            # A log that was written before is written again without growing: look at the disk too.
            if self._path is not None and shutil.disk_usage(self._path).free < _LEAST_FREE:
                self.error = NotReady(_FULL)
        except WhitecrowError as error:
            self.error = error
        except OSError:
            self.error = NotReady(_SLOW)
        finally:
            self.done.set()

    def stale(self, patience: float) -> bool:
        """Whether it is time to try again; one that has not ended in time has failed."""
        holds = _HOLDS_SECONDS if self.done.is_set() else _HOLDS_SECONDS + patience
        return time.monotonic() - self.began > holds


class Readiness:
    """Probes a store."""

    def __init__(self, store: Store, path: Path | None, *, patience: float = 5.0) -> None:
        self._store, self._path, self._patience = store, path, patience
        self._lock = threading.Lock()
        self._last: _Probe | None = None
        self._hung: list[_Probe] = []

    def check(self) -> None:
        """Return if the database takes writes; raise :class:`NotReady` if it does not."""
        with self._lock:
            self._hung = [probe for probe in self._hung if not probe.done.is_set()]
            probe = self._last
            if probe is None:
                probe = _Probe(self._store, self._path)
            elif probe.stale(self._patience) and len(self._hung) < _MOST_HUNG:
                self._hung.append(probe)
                probe = _Probe(self._store, self._path)
            self._last = probe
        left = probe.began + self._patience - time.monotonic()
        if not probe.done.wait(max(0.0, left)):
            raise NotReady(_SLOW)
        if probe.error is not None:
            raise NotReady(str(probe.error))
