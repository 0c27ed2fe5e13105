"""Plans and advice, computed in a process that delays no reply: seen from the worker."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from whitecrow.curator import Curator
from whitecrow.errors import NotReady, from_json
from whitecrow_server._added import added
from whitecrow_server._children import Child
from whitecrow_server._settings import Settings

_LONGEST_SECONDS = 120.0
_MOST_BYTES = 2 << 30


class Aside:
    """Has free work done; the process is begun when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._child: Child | None = None

    def plan(self, curator: Curator, analyst: str, batch: bytes) -> dict[str, Any]:
        """Say what a batch would cost together, which is passed on as it was sent."""
        return self._done("plan", curator, analyst, {"batch": batch.decode("latin-1")})

    def advice(
        self,
        curator: Curator,
        analyst: str,
        share: str,
        profile: Mapping[str, Any] | None,
        how: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Find a model for a wanted share of outliers."""
        given = {"share": share, "profile": profile, "how": how}
        return self._done("advice", curator, analyst, given)

    def _done(
        self, work: str, curator: Curator, analyst: str, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        settings = self._settings
        asked = {
            **curator.public_facts(),
            "work": work,
            "given": given,
            "analyst": analyst,
            "lent": [settings.longest_seconds, settings.most_bytes],
            "records_at_most": settings.records_at_most,
        }
        with self._lock:
            child = self._begun()
            try:
                child.wires[0].send(asked)
                said = child.wires[0].receive(_LONGEST_SECONDS)
            except (EOFError, OSError):  # it died, or took too long
                child.end()
                said = None
        if said is None:
            raise NotReady("This took too much time or memory; ask for less at once.", after=60)
        if "failed" in said:
            error = from_json(said["failed"])
            assert error is not None
            raise error
        done: dict[str, Any] = said["done"]
        return done

    def _begun(self) -> Child:
        if self._child is None or not self._child.alive:
            self.close()  # what is left of one that died
            self._child = Child("whitecrow_server._aside_process", 1)
            limits = self._settings.limits  # a file that all workers know
            self._child.wires[0].send(
                {
                    "ledger": self._settings.database,
                    "added": added(),
                    "bytes": _MOST_BYTES,
                    "turn": None if limits is None else f"{limits}.aside",
                }
            )
        return self._child

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.end()
