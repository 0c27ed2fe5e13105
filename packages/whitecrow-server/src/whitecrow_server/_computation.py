"""The process that holds one dataset's records and computes, for the service alone.

It reads the records itself, so that the process that talks to the network never holds any. Two
threads take questions, one those about single places and one all others, so that the former do not
wait for the latter. What leaves is what private execution releases: an answer, or that there is
none.
"""

from __future__ import annotations

import csv
import io
import logging
import math
import os
import resource
import socket
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.curator.dummy import DummyExecution, dummy_records
from whitecrow.curator.execution import InProcess
from whitecrow.curator.opening import Recognition
from whitecrow.curator.warming import warm
from whitecrow.custodian import CUSTODIAN_LOG, write_down
from whitecrow.data import Card, Dataset, Records, SqlQuery
from whitecrow.data.dataset import intake_of
from whitecrow.data.sources import open_source
from whitecrow.detector import Detector
from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.histogram.table import TableProfile
from whitecrow.identify.map import privacy_map
from whitecrow.limits import Limits
from whitecrow.neighbours import Engine, LocalEngine, open_data, open_engine
from whitecrow.neighbours.relation import SCALED
from whitecrow.questions import read_question
from whitecrow_server._children import Wire, end_with_service
from whitecrow_server._messages import register_added, source_from_json

_SPARE_BYTES = 1 << 30
"""Memory beside a question's own: indexes, compiled code, what allocators keep."""

_SPARE_SECONDS = 2
"""The kernel counts whole seconds."""


def main(light: int, heavy: int, life: int) -> None:
    end_with_service(life)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold records
    os.umask(0o077)
    wires = [Wire(socket.socket(fileno=number)) for number in (light, heavy)]
    setup = wires[1].receive()
    log = None if setup["log"] is None else Path(setup["log"])
    try:
        dataset, engine, fingerprint = _opened(setup, wires[1])
    except WhitecrowError as error:
        wires[1].send({"failed": str(error), "cause": ""})
        return
    except Exception:  # noqa: BLE001 - a reader's error may quote records: custodians only
        cause = traceback.format_exc()
        write_down(log, f"loading {setup['name']}", cause)
        wires[1].send({"failed": "see the custodian's log", "cause": cause})
        return
    execution = InProcess(dataset, engine, log=log)
    if "synthetic" in setup["source"] and isinstance(dataset, Dataset):
        execution = DummyExecution(dataset)
    computation = _Computation(
        dataset, execution, log, source=_source(setup), limited=setup["engine"] == "local"
    )
    intake = intake_of(dataset)
    wires[1].send({"ready": dataset.card.to_json(), "fingerprint": fingerprint, "intake": intake})
    threading.Thread(target=_serve, args=(computation, wires[0], "light")).start()
    _serve(computation, wires[1], "heavy")


def _serve(computation: _Computation, wire: Wire, lane: str) -> None:
    while True:
        try:
            wire.send(computation.reply(wire.receive(), lane))
        except (EOFError, OSError):
            os._exit(0)


class _Computation:
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
            reply = self._facts(asked) or self._answer(asked, limits)
        except Exception:  # noqa: BLE001 - a message that cannot be read is a failure like any
            write_down(self._log, "reading a question", traceback.format_exc())
            reply = None
        if self._limiter is not None:
            self._limiter.end(lane)
        return reply or {"failed": self._causes.taken()}

    def _answer(self, asked: Mapping[str, Any], limits: Limits) -> dict[str, Any] | None:
        question = read_question(asked["question"])
        answer = self._execution.answer(
            question, limits=lambda: limits, progress=None, state=asked.get("kept")
        )
        return None if answer is None else {"answer": answer.value}

    def _facts(self, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        """What only a custodian sees; None if it is a question that is asked."""
        try:
            if "map" in asked and isinstance(self._dataset, Dataset):
                return {"map": drawn(self._dataset, **asked["map"])}
            if "map" in asked:
                words = "A map needs records in memory: use the engine local or gpu."
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
        self._messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(self.format(record))

    def taken(self) -> list[str]:
        causes, self._messages = self._messages, []
        return causes


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


def _opened(setup: Mapping[str, Any], wire: Wire) -> tuple[Records, Engine, str]:
    """Read the records and make the engine ready; return them and their fingerprint."""
    last: list[tuple[str, int]] = []

    def tell(stage: str, percent: int) -> None:
        if last[-1:] != [(stage, percent)]:
            last[:] = [(stage, percent)]
            wire.send({"stage": stage, "percent": percent})

    register_added(setup["added"])
    tell("reading", 0)
    where = setup["source"]
    if "synthetic" in where:
        # A dummy's records: from the card and a released profile, and from nothing else.
        released = where["synthetic"]
        profile = None if released is None else TableProfile.from_json(released)
        synthetic = dummy_records(Card.from_json(setup["card"]), profile)
        return synthetic, open_engine(synthetic), ""
    source = _source(setup)
    card = None if setup["card"] is None else Card.from_json(setup["card"])
    seen = Recognition(source, engine=setup["engine"])
    dataset, engine = open_data(
        source,
        card,
        setup["engine"],
        watch=None if seen.rows is None else seen.rows.add,
        progress=lambda done, total, what: tell("reading", 100 * done // max(1, total)),
    )
    most = setup["records_at_most"]
    if dataset.card.most_records is None and dataset.count(()) > most:
        raise InvalidInput(
            f"The data hold more than {most:,} records, the limit of this service for a card "
            "without a bound. Write a public upper bound on the card as 'records_at_most'."
        )
    if setup["warm"]:
        warm(partial(tell, "compiling"))  # so that no analyst waits for the compiler
    if isinstance(engine, LocalEngine):
        # An index is built before the first question, never while somebody waits for an answer.
        engine.build_only_when_told()
        model = DistanceAnomaly(beta=1, radius=1.0)
        for done, columns in enumerate(setup["indexes"]):
            tell("indexing", 100 * done // len(setup["indexes"]))
            engine.prepare(model.neighbour_relation(tuple(columns), dataset.card))
    return dataset, engine, seen.fingerprint(dataset)


def _source(setup: Mapping[str, Any]) -> Path | SqlQuery | None:
    return None if "synthetic" in setup["source"] else source_from_json(setup["source"])


# What only a custodian sees: the privacy map, and the scores of the records themselves


def drawn(
    dataset: Dataset,
    *,
    columns: Sequence[str],
    model: Mapping[str, Any],
    question: Mapping[str, Any],
    most: int,
) -> dict[str, Any]:
    """Return the counts of a map and its most telling points: facts, for custodians only."""
    measured = DistanceAnomaly(**model)
    relation = measured.neighbour_relation(columns, dataset.card)
    points = dataset.matrix(columns)
    compared, metric, ranges = points, relation.metric, relation.ranges
    if metric in SCALED:
        compared, metric, ranges = relation.form().placed(points), SCALED[metric], ()
    how = {**measured.to_json(), "metric": metric, **question}
    mapped = privacy_map(compared, ranges=ranges, **how)
    finite = mapped.loss[np.isfinite(mapped.loss)]
    cuts = np.quantile(finite, [0.5, 0.9, 1.0]) if len(finite) else np.zeros(3)
    # All that is unusual is drawn, and as many others as a page can hold.
    order = np.argsort(~(mapped.anomalous | ~mapped.covered), kind="stable")[:most]
    return {
        "records": len(mapped.loss),
        "anomalous": int(mapped.anomalous.sum()),
        "covered": int(mapped.covered.sum()),
        "unbounded": len(mapped.loss) - len(finite),
        "cuts": cuts.tolist(),
        "points": points[order].tolist(),
        "loss": np.minimum(mapped.loss, cuts[2] if len(finite) else 1.0)[order].tolist(),
        "accuracy": mapped.accuracy[order].tolist(),
    }


_REASONS_A_BATCH = 1_000


def scored(
    source: object, card: Card, *, detector: Mapping[str, Any], top: int, whole: bool
) -> dict[str, Any]:
    """Score a source's own records: the highest scores first and, if ``whole``, all as CSV text."""
    import pyarrow

    learned, opened = Detector.from_json(detector), open_source(source, card)
    left_out: Counter[str] = Counter()
    limit = next((cut.score for cut in learned.thresholds if cut.score is not None), None)
    number = unscored = outliers = 0
    best: list[dict[str, Any]] = []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("row", "score", "outlier", "why"))
    for batch in opened.batches(list(learned.columns), lambda: left_out.update(("fields",))):
        table = pyarrow.Table.from_batches([batch])
        for part in learned.scored(table, why=max(top, _REASONS_A_BATCH)):
            for score, why in zip(part["score"].to_pylist(), part["why"].to_pylist(), strict=True):
                number += 1
                scorable = score == score
                outlier = limit is not None and scorable and score > limit
                unscored, outliers = unscored + (not scorable), outliers + outlier
                row = {"row": number, "score": score, "outlier": outlier, "why": why or ""}
                if whole:
                    writer.writerow((number, f"{score:.6g}" if scorable else "", int(outlier), why))
                elif scorable and why is not None:
                    best.append(row)
        best = sorted(best, key=lambda row: -row["score"])[:top]
    summary = {"records": number, "unscored": unscored, "limit": limit, "outliers": outliers}
    return {**summary, "left_out": left_out.total(), "rows": best, "csv": text.getvalue()}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
