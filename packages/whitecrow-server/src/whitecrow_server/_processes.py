"""The processes that compute: one for each dataset a worker holds, seen from the worker."""

from __future__ import annotations

import difflib
import json
import math
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from whitecrow.curator.execution import Answer
from whitecrow.custodian import CUSTODIAN_LOG, write_down
from whitecrow.data import Card, SqlQuery
from whitecrow.data.intake import Intake
from whitecrow.errors import ComputationFailed, InvalidInput, NotReady
from whitecrow.limits import UNLIMITED, Limits
from whitecrow.question import Progress, Question
from whitecrow_server._added import added
from whitecrow_server._catalogue import Listing
from whitecrow_server._children import Child, environment

_START_SECONDS = 24 * 3600.0
_SKETCH_SECONDS, _SKETCH_BYTES = 20, 2 << 30
_SKETCHES = threading.BoundedSemaphore(2)
"""How many sources are looked at at once: each may take its share of memory."""

_STOPPING = "The service is stopping; ask again in a moment."

Tell = Callable[[str, int], None]
"""Told the stage and the percentage of a load."""


class LoadFailed(Exception):
    """The records could not be read; for the custodian."""


@dataclass(frozen=True)
class MadeUp:
    """Instead of a source: records are made up, from the card and this profile if there is one."""

    profile: Mapping[str, Any] | None


class DatasetProcess:
    """Computes answers about one dataset in a process of its own."""

    warmed: ClassVar[bool] = True
    """Kernels are loaded before the first question; tests that ask of few records need none."""

    def __init__(
        self,
        listing: Listing,
        source: Path | SqlQuery | MadeUp,
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
        self._turns = {lane: threading.Lock() for lane in self._wires}
        self._setup = {
            "name": listing.name,
            "source": _place(source),
            "card": None if listing.card is None else listing.card.to_json(),
            "engine": listing.engine,
            "indexes": [list(columns) for columns in listing.indexes],
            "added": added(),
            "log": None if log is None else str(log),
            "records_at_most": records_at_most,
            "warm": self.warmed,
        }

    def load(self, tell: Tell) -> tuple[Card, str]:
        """Let it read the records; return the card they are held to and what they are known by.

        Raises
        ------
        LoadFailed
            With words for the custodian.
        """
        wire = self._wires["heavy"]
        try:
            wire.send(self._setup)
            while True:
                said = wire.receive(_START_SECONDS)
                if "ready" in said:
                    self.intake = said["intake"]
                    return Card.from_json(said["ready"]), said["mark"]
                if "failed" in said:
                    if said["cause"]:
                        CUSTODIAN_LOG.error("a dataset could not be loaded: %s", said["cause"])
                    raise LoadFailed(said["failed"])
                tell(said["stage"], said["percent"])
        except (EOFError, OSError) as error:
            how = self._end_of(error)
            write_down(self._log, self._name, f"the process that read the records {how}")
        self.kill()
        raise LoadFailed("the process that read it ended; is there memory enough?")

    @property
    def alive(self) -> bool:
        return not self._closing and self._child.alive

    def answer(
        self,
        question: Question,
        *,
        limits: Callable[[], Limits],
        progress: Progress | None,
        kept: Mapping[str, Any] | None = None,
    ) -> Answer | None:
        """Answer a question; None if the computation failed, reached a limit or died.

        A question that has begun is not cancelled when its asker hangs up: it is paid for, and its
        answer is stored for whoever asks again.
        """
        written = {"kind": question.kind, **question.to_json()}
        lane = "light" if question.light else "heavy"
        said = self._asked({"question": written, "kept": kept}, lane, limits())
        if said is None or "answer" not in said:
            for cause in (said or {}).get("failed", ()):
                CUSTODIAN_LOG.error("%s", cause)
            return None
        return Answer(said["answer"])

    def map(self, **asked: Any) -> Mapping[str, Any]:
        """Compute what a privacy map shows: facts, for the custodian's eyes only."""
        said = self._asked({"map": asked}, "heavy", UNLIMITED)
        if said is not None and "refused" in said:
            raise InvalidInput(said["refused"])
        if said is None or "map" not in said:
            raise ComputationFailed(
                "The map could not be computed; the custodian's log has the cause."
            )
        found: Mapping[str, Any] = said["map"]
        return found

    def scores(self, detector: Mapping[str, Any], *, top: int, whole: bool) -> Mapping[str, Any]:
        """Score the records themselves by a detector: facts, for the custodian's eyes only."""
        asked = {"detector": detector, "top": top, "whole": whole}
        said = self._asked({"scores": asked}, "heavy", UNLIMITED)
        if said is not None and "refused" in said:
            raise InvalidInput(said["refused"])
        if said is None or "scores" not in said:
            raise ComputationFailed("The records could not be scored; see the custodian's log.")
        found: Mapping[str, Any] = said["scores"]
        return found

    def _asked(self, message: Mapping[str, Any], lane: str, limits: Limits) -> Any:
        sent = {**message, "seconds": _finite(limits.seconds), "bytes": _finite(limits.bytes)}
        with self._turns[lane]:
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
        for turn in self._turns.values():
            turn.acquire()
        self.kill()
        for turn in self._turns.values():
            turn.release()

    def kill(self) -> None:
        """End it at once; what is being computed stays unanswered, its spend kept."""
        self._closing = True
        self._child.end()


def sketched(
    source: Path | SqlQuery, *, csv: Mapping[str, Any], table: Mapping[str, Any], guess: bool = True
) -> tuple[Card, bool]:
    """Let a process of its own look at a source; see :mod:`whitecrow_server._sketching`.

    With ``guess``, types that the source does not say are guessed from rows.

    Raises
    ------
    InvalidInput
        It is not what it should be, or looking at it takes more time or memory than is lent.
    """
    asked = {"source": _place(source), "csv": csv, "table": table, "guess": guess}
    limits = {"seconds": _SKETCH_SECONDS, "bytes": _SKETCH_BYTES}
    with _SKETCHES:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "whitecrow_server._sketching"],
                input=json.dumps({**asked, **limits}).encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # the traceback of a crash may quote records
                env=environment(),
                timeout=2 * _SKETCH_SECONDS,
                check=True,
            )
            said = json.loads(done.stdout)
        except (subprocess.SubprocessError, ValueError):
            said = None
    if said is None:
        raise InvalidInput(
            "The source could not be looked at within the limits on time and memory. Describe its "
            "columns in a card instead (whitecrow card new drafts one where the file lies)."
        )
    if "refused" in said:
        raise InvalidInput(said["refused"], parameter=said["parameter"])
    return Card.from_json(said["card"]), said["guessed"]


def check_columns(file: Path, card: Card) -> None:
    """Refuse a card with a column that the file has not: loading it would fail, later and unseen.

    The names of columns are no records: they may be told to whoever registers the file.
    """
    try:
        found, _ = sketched(file, csv=vars(card.csv), table=vars(card.table), guess=False)
    except InvalidInput:  # what is wrong with the file itself shows when it is loaded
        return
    for column in card.columns:
        if column.name not in found.names:
            near = difflib.get_close_matches(column.name, found.names, n=1)
            listed = ", ".join(found.names[:20])
            hint = f" Did you mean {near[0]!r}?" if near else f" It has {listed}."
            raise InvalidInput(
                f"The card has a column {column.name!r}, and the file has none of that name.{hint}",
                parameter="card",
            )


def _place(source: Path | SqlQuery | MadeUp) -> dict[str, Any]:
    if isinstance(source, MadeUp):
        return {"made_up": source.profile}
    if isinstance(source, Path):
        return {"path": str(source)}
    return {"url": source.url, "query": source.query}


def _finite(number: float) -> float | None:
    return None if math.isinf(number) else number
