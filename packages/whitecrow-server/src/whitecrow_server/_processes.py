"""The processes that compute: one for each dataset a worker holds, seen from the worker."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from whitecrow.curator.execution import Answer
from whitecrow.custodian import CUSTODIAN_LOG, write_down
from whitecrow.data import Card, SqlQuery
from whitecrow.data.dataset import Intake
from whitecrow.errors import ComputationFailed, InvalidInput, NotReady
from whitecrow.limits import UNLIMITED, Limits
from whitecrow.question import Progress, Question
from whitecrow_server._catalogue import Listing
from whitecrow_server._children import Child
from whitecrow_server._messages import Synthetic, added, source_to_json

_START_SECONDS = 24 * 3600.0
_STOPPING = "The service is stopping; ask again in a moment."

_NO_FACTS = {
    "map": "The map could not be computed; the custodian's log has the cause.",
    "scores": "The records could not be scored; see the custodian's log.",
}

Tell = Callable[[str, int], None]
"""Told the stage and the percentage of a load."""


class LoadFailed(Exception):
    """The records could not be read; for the custodian."""


class DatasetProcess:
    warmed: ClassVar[bool] = True
    """Kernels are loaded before the first question; tests that ask of few records need none."""

    def __init__(
        self,
        listing: Listing,
        source: Path | SqlQuery | Synthetic,
        *,
        log: Path | None,
        longest: float,
        records_at_most: int,
    ) -> None:
        self._name, self._longest, self._log = listing.name, longest, log
        self.intake: Intake | None = None
        """What became of the rows at load: facts, for the custodian's page only."""
        self._closing = False
        self._child = Child("whitecrow_server._computation", 2)
        light, heavy = self._child.wires
        self._wires = {"light": light, "heavy": heavy}
        self._locks = {lane: threading.Lock() for lane in self._wires}
        self._setup = {
            "name": listing.name,
            "source": source_to_json(source),
            "card": None if listing.card is None else listing.card.to_json(),
            "engine": listing.engine,
            "indexes": [list(columns) for columns in listing.indexes],
            "added": added(),
            "log": None if log is None else str(log),
            "records_at_most": records_at_most,
            "warm": self.warmed,
        }

    def load(self, tell: Tell) -> tuple[Card, str]:
        """Have it read the records; return the card they are held to and their fingerprint."""
        wire = self._wires["heavy"]
        try:
            wire.send(self._setup)
            while True:
                message = wire.receive(_START_SECONDS)
                if "ready" in message:
                    self.intake = message["intake"]
                    return Card.from_json(message["ready"]), message["fingerprint"]
                if "failed" in message:
                    if message["cause"]:
                        CUSTODIAN_LOG.error("a dataset could not be loaded: %s", message["cause"])
                    raise LoadFailed(message["failed"])
                tell(message["stage"], message["percent"])
        except (EOFError, OSError) as error:
            how = self._end_of(error)
            write_down(self._log, self._name, f"the process that read the records {how}")
        self.kill()
        raise LoadFailed("the process that read it ended; is there enough memory?")

    @property
    def alive(self) -> bool:
        return not self._closing and self._child.alive

    def answer(
        self,
        question: Question,
        *,
        limits: Callable[[], Limits],
        progress: Progress | None,
        state: Mapping[str, Any] | None = None,
    ) -> Answer | None:
        """Answer a question; None if the computation failed, reached a limit or died.

        A question that has begun is not cancelled when its asker hangs up: it is paid for, and its
        answer is stored for whoever asks again.
        """
        asked = {"kind": question.kind, **question.to_json()}
        lane = "light" if question.light else "heavy"
        reply = self._asked({"question": asked, "kept": state}, lane, limits())
        if reply is None or "answer" not in reply:
            for cause in (reply or {}).get("failed", ()):
                CUSTODIAN_LOG.error("%s", cause)
            return None
        return Answer(reply["answer"])

    def facts(self, what: str, **asked: Any) -> Mapping[str, Any]:
        """Compute a ``map`` of the records, or their ``scores``: for the custodian's eyes only."""
        reply = self._asked({what: asked}, "heavy", UNLIMITED)
        if reply is not None and "refused" in reply:
            raise InvalidInput(reply["refused"])
        if reply is None or what not in reply:
            raise ComputationFailed(_NO_FACTS[what])
        facts: Mapping[str, Any] = reply[what]
        return facts

    def _asked(self, message: Mapping[str, Any], lane: str, limits: Limits) -> Any:
        sent = {**message, "seconds": _finite(limits.seconds), "bytes": _finite(limits.bytes)}
        with self._locks[lane]:
            try:
                self._wires[lane].send(sent)
                return self._wires[lane].receive(self._longest)
            except (EOFError, OSError) as error:  # it died, or took too long
                how = self._end_of(error)
                self._child.end()
        if self._closing:
            # Not a failure of the question: its spend stands, and asking again goes on with it.
            raise NotReady(_STOPPING)
        write_down(self._log, f"{self._name}, {lane}", f"the process that computed {how}")
        return None

    def _end_of(self, error: Exception) -> str:
        """Say how the process ended, for the custodian."""
        if isinstance(error, TimeoutError):
            return f"took longer than {self._longest:g} seconds and was ended"
        return self._child.ended()

    def retire(self) -> None:
        """End it when nothing is being computed."""
        with self._locks["light"], self._locks["heavy"]:
            self.kill()

    def kill(self) -> None:
        """End it at once; what is being computed stays unanswered, its spend kept."""
        self._closing = True
        self._child.end()


def _finite(number: float) -> float | None:
    return None if math.isinf(number) else number
