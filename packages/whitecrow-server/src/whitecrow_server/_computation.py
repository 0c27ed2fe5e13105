"""The process that holds one dataset's records and computes: started by the service, and by nobody
else.

It reads the records itself, so that the process that talks to the network never holds any. Two
threads take questions, one those about single places and one all others, so that the former do not
wait for the latter. What leaves is what private execution releases: an answer, or that there is
none.
"""

from __future__ import annotations

import logging
import math
import os
import resource
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.curator.dummy import DummyExecution, dummy_records
from whitecrow.curator.execution import InProcess
from whitecrow.curator.identity import Recognition
from whitecrow.curator.warming import warm
from whitecrow.custodian import CUSTODIAN_LOG, write_down
from whitecrow.data import Card, Dataset, Records, SqlQuery
from whitecrow.data.intake import intake_of
from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.histogram.table import TableProfile
from whitecrow.limits import Limits
from whitecrow.neighbours import Engine, LocalEngine, open_data, open_engine
from whitecrow.questions import read_question
from whitecrow_server._added import register_added
from whitecrow_server._children import Wire, end_with_service
from whitecrow_server._maps import drawn, scored

_SPARE_BYTES = 1 << 30
"""Memory beside a question's own: indexes, compiled code, what allocators keep."""

_SPARE_SECONDS = 2
"""The kernel counts whole seconds."""


def main(light: int, heavy: int, life: int) -> None:
    """Serve until the service ends."""
    end_with_service(life)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold records
    os.umask(0o077)
    wires = [Wire(socket.socket(fileno=number)) for number in (light, heavy)]
    said = wires[1].receive()
    log = None if said["log"] is None else Path(said["log"])
    try:
        dataset, engine, mark = _opened(said, wires[1])
    except WhitecrowError as error:
        wires[1].send({"failed": str(error), "cause": ""})
        return
    except Exception:  # noqa: BLE001 - a reader's error may quote records: custodians only
        cause = traceback.format_exc()
        write_down(log, f"loading {said['name']}", cause)
        wires[1].send({"failed": "see the custodian's log", "cause": cause})
        return
    execution = (
        DummyExecution(dataset)
        if "made_up" in said["source"] and isinstance(dataset, Dataset)
        else InProcess(dataset, engine, log=log)
    )
    computation = _Computation(
        dataset, execution, log, source=_source(said), limited=said["engine"] == "local"
    )
    intake = intake_of(dataset)
    wires[1].send({"ready": dataset.card.to_json(), "mark": mark, "intake": intake})
    threads = [
        threading.Thread(target=_serve, args=(computation, wire, lane))
        for lane, wire in zip(("light", "heavy"), wires, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _serve(computation: _Computation, wire: Wire, lane: str) -> None:
    while True:
        try:
            wire.send(computation.reply(wire.receive(), lane))
        except (EOFError, OSError):
            os._exit(0)


class _Computation:
    """Answers what the service passes on."""

    def __init__(
        self,
        dataset: Records,
        execution: InProcess,
        log: Path | None,
        *,
        source: Path | SqlQuery | None,
        limited: bool,
    ) -> None:
        self._dataset, self._log, self._source = dataset, log, source
        self._execution = execution
        self._limiter = _Limiter() if limited else None
        self._causes = _Causes()
        CUSTODIAN_LOG.addHandler(self._causes)

    def reply(self, asked: Mapping[str, Any], lane: str) -> dict[str, Any]:
        limits = Limits(asked["seconds"] or math.inf, asked["bytes"] or math.inf)
        if self._limiter is not None:
            self._limiter.begin(lane, limits)
        try:
            found = self._facts(asked) or self._answer(asked, limits)
        except Exception:  # noqa: BLE001 - a message that cannot be read is a failure like any
            write_down(self._log, "reading a question", traceback.format_exc())
            found = None
        if self._limiter is not None:
            self._limiter.end(lane)
        return found or {"failed": self._causes.taken()}

    def _answer(self, asked: Mapping[str, Any], limits: Limits) -> dict[str, Any] | None:
        question = read_question(asked["question"])
        found = self._execution.answer(
            question, limits=lambda: limits, progress=None, kept=asked.get("kept")
        )
        return None if found is None else {"answer": found.value}

    def _facts(self, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        """What only a custodian sees; None if it is a question that is asked."""
        try:
            if "map" in asked and isinstance(self._dataset, Dataset):
                return {"map": drawn(self._dataset, **asked["map"])}
            if "map" in asked:
                words = "A map is drawn of records in memory: of the engines local and gpu."
                return {"refused": words}
            if "scores" in asked:
                return {"scores": scored(self._source, self._dataset.card, **asked["scores"])}
        except InvalidInput as error:
            return {"refused": str(error)}
        return None


class _Causes(logging.Handler):
    """Keeps what was written for the custodian until the service takes it over."""

    def __init__(self) -> None:
        super().__init__()
        self._said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(self.format(record))

    def taken(self) -> list[str]:
        said, self._said = self._said, []
        return said


class _Limiter:
    """Sets the process's limits to what its running questions may take.

    They are the kernel's: memory beyond them is refused, time beyond them ends the process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, Limits] = {}
        self._base = _private_bytes() + _SPARE_BYTES
        self._until = 0.0

    def begin(self, lane: str, limits: Limits) -> None:
        with self._lock:
            start = self._until if self._running else time.process_time()
            self._until = start + limits.seconds + _SPARE_SECONDS
            self._running[lane] = limits
            self._set()

    def end(self, lane: str) -> None:
        with self._lock:
            del self._running[lane]
            self._set()

    def _set(self) -> None:
        asked = sum(limits.bytes for limits in self._running.values())
        _soft(resource.RLIMIT_DATA, self._base + asked)
        _soft(resource.RLIMIT_CPU, self._until if self._running else math.inf)


def _soft(which: int, most: float) -> None:
    hard = resource.getrlimit(which)[1]
    wanted = resource.RLIM_INFINITY if math.isinf(most) else math.ceil(most)
    if hard != resource.RLIM_INFINITY and not 0 <= wanted <= hard:
        wanted = hard
    resource.setrlimit(which, (wanted, hard))


def _private_bytes() -> int:
    """How much memory of its own the process has, as the kernel's limit counts it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0


def _opened(said: Mapping[str, Any], wire: Wire) -> tuple[Records, Engine, str]:
    """Read the records, make the engine ready, and say what the records are recognised by."""
    last: list[tuple[str, int]] = []

    def tell(stage: str, percent: int) -> None:
        if last[-1:] != [(stage, percent)]:
            last[:] = [(stage, percent)]
            wire.send({"stage": stage, "percent": percent})

    register_added(said["added"])
    tell("reading", 0)
    where = said["source"]
    if "made_up" in where:
        made_up = _made_up(said)
        return made_up, open_engine(made_up), ""
    source = _source(said)
    card = None if said["card"] is None else Card.from_json(said["card"])
    seen = Recognition(source, engine=said["engine"])
    dataset, engine = open_data(
        source,
        card,
        said["engine"],
        watch=None if seen.rows is None else seen.rows.add,
        progress=lambda done, total, what: tell("reading", 100 * done // max(1, total)),
    )
    most = said["records_at_most"]
    if dataset.card.most_records is None and dataset.count(()) > most:
        raise InvalidInput(
            f"The data hold more than {most:,} records, the most that this service takes where the "
            "card gives no bound. Write 'records_at_most' on the card: a public number, with room."
        )
    if said["warm"]:
        warm(partial(tell, "compiling"))  # so that no analyst waits for the compiler
    if isinstance(engine, LocalEngine):
        # An index is built before the first question, never while somebody waits for an answer.
        engine.build_only_when_told()
        for done, columns in enumerate(said["indexes"]):
            tell("indexing", 100 * done // len(said["indexes"]))
            engine.prepare(_closeness(columns, dataset.card))
    return dataset, engine, seen.mark(dataset)


def _source(said: Mapping[str, Any]) -> Path | SqlQuery | None:
    where = said["source"]
    if "made_up" in where:
        return None
    return Path(where["path"]) if "path" in where else SqlQuery(where["url"], where["query"])


def _made_up(said: Mapping[str, Any]) -> Dataset:
    """A dummy's records: from the card and a released profile, and from nothing else."""
    written = said["source"]["made_up"]
    profile = None if written is None else TableProfile.from_json(written)
    return dummy_records(Card.from_json(said["card"]), profile)


def _closeness(columns: Sequence[str], card: Card) -> Any:
    return DistanceAnomaly(beta=1, radius=1.0).neighbour_relation(tuple(columns), card)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
