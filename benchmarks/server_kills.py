"""Whether anything is lost, doubled or free when processes and the database die under load.

Six analysts ask fresh questions of a service with two workers, whose replies are padded. Meanwhile
processes are killed without a warning (a worker, one that computes, or all of them at once), and
PostgreSQL is stopped as by a power cut and started again. A custodian reviews the failures that the
killed computations leave. In the end the account must hold every answer that anybody was told,
exactly once, each with its charge: `lost_doubled_or_free` counts those for which that is not so.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import whitecrow as wc
from benchmarks.common import emit, parser, print_table
from benchmarks.postgres import Cluster, cluster
from benchmarks.service import Running, free_port, in_folder, prepared
from whitecrow.errors import ComputationFailed, WhitecrowError
from whitecrow.ledger import Ledger
from whitecrow.ledger.failures import failures, review
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS

__all__ = ["Finding", "studied"]

ANALYSTS = tuple(f"analyst-{i}" for i in range(6))
_MODEL = wc.DistanceAnomaly(beta=5, radius=4.0)
_OPTIONS = ("--deadline", "screen=0.05", "--workers", "2", "--rate", "0", "--no-console")
_PATIENCE_SECONDS, _START_SECONDS = 60.0, 300.0


def _question(who: int, i: int) -> wc.Screen:
    """A different question for every person and number."""
    record = {"age": 20 + who * 10, "bmi": 15 + i / 1000}
    return wc.Screen(record, model=_MODEL, epsilon="1/100000")


@dataclass
class Finding:
    """What became of the questions.

    Parameters
    ----------
    killed : Counter
        How often what was killed or stopped.
    told : dict
        The answers that analysts got, by person and number.
    failed : set
        Questions whose computation was killed: charged, and nothing released.
    lost, doubled, free : int
        Answers that were told and the account does not hold as they were; questions that were
        charged or answered twice; answers without a charge.
    verified : bool
        Whether chain and sums of the account are right.
    """

    killed: Counter[str] = field(default_factory=Counter)
    told: dict[tuple[int, int], object] = field(default_factory=dict)
    failed: set[tuple[int, int]] = field(default_factory=set)
    lost: int = 0
    doubled: int = 0
    free: int = 0
    verified: bool = False


class _Study:
    def __init__(self, database: str, server: Cluster | None, seed: int) -> None:
        self.database, self._server = database, server
        self._random, self._port = random.Random(seed), free_port()
        self.finding, self._stop = Finding(), threading.Event()
        self._tokens = prepared(database, ANALYSTS, budget="1000")
        self._service = Running(database, self._port, _OPTIONS)

    def run(self, kills: int, stops: int) -> Finding:
        people = [threading.Thread(target=self._ask, args=(who,)) for who in range(len(ANALYSTS))]
        people.append(threading.Thread(target=self._review))
        try:
            self._service.wait_until_ready(_START_SECONDS)
            for person in people:
                person.start()
            plan = ["kill"] * kills + ["stop"] * stops
            self._random.shuffle(plan)
            for what in plan:
                self._wait_for_answers()
                self._stop_database() if what == "stop" else self._kill()
            self._wait_for_answers()  # it goes on
        finally:
            self._stop.set()
            for person in people:
                person.join(timeout=120)
            self._service.stop()
        self._check()
        return self.finding

    def _wait_for_answers(self) -> None:
        """Wait until people are answered again: what comes next hits them at work."""
        before, until = len(self.finding.told), time.monotonic() + _PATIENCE_SECONDS
        while len(self.finding.told) < before + 2 and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(self._random.uniform(0.0, 0.5))

    def _ask(self, who: int) -> None:
        i = 0
        with wc.Client(self._service.url, self._tokens[ANALYSTS[who]], patience=60) as client:
            while not self._stop.is_set():
                try:
                    self.finding.told[who, i] = client.ask(_question(who, i)).answer
                except ComputationFailed:
                    self.finding.failed.add((who, i))
                except WhitecrowError:  # away for longer than one waits, or closed for a moment
                    time.sleep(0.1)
                    continue
                i += 1

    def _review(self) -> None:
        """Look at every failure, as a custodian would."""
        while not self._stop.wait(0.3):
            with suppress(WhitecrowError), self._ledger() as ledger:
                for entry in failures(ledger, "clinic"):
                    review(ledger, "clinic", entry.seq, reason="a process was killed")

    @contextmanager
    def _ledger(self) -> Iterator[Ledger]:
        with Ledger(self.database, geometry=BALLS) as ledger:
            yield ledger

    def _kill(self) -> None:
        what = self._random.choices(("worker", "computing", "all"), (60, 25, 15))[0]
        if what == "all":
            self._service.kill()
            self._service = Running(self.database, self._port, _OPTIONS)
        else:
            module = "spawn_main" if what == "worker" else "whitecrow_server._computation"
            pids: list[int] = []
            while not pids:  # it may be being started anew
                time.sleep(0.1)
                pids = [pid for pid, command in self._processes() if module in command]
            with suppress(ProcessLookupError):
                os.kill(self._random.choice(pids), signal.SIGKILL)
        self.finding.killed[what] += 1

    def _processes(self) -> Iterator[tuple[int, str]]:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                if int(fields[2]) == self._service.pid:
                    command = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
                    yield int(folder.name), command

    def _stop_database(self) -> None:
        assert self._server is not None
        self._server.stop()
        time.sleep(self._random.uniform(0.0, 1.0))
        self._server.start()
        self.finding.killed["database"] += 1

    def _check(self) -> None:
        finding = self.finding
        with self._ledger() as ledger:
            finding.verified = verify(ledger, "clinic", geometry=BALLS).ok
            entries = ledger.entries("clinic")
        keys = {
            entry.digest: (entry.analyst, _key(entry.content["question"]["question"]))
            for entry in entries
            if entry.kind == "reserve"
        }
        reserved = Counter(entry.digest for entry in entries if entry.kind == "reserve")
        closed = Counter(entry.digest for entry in entries if entry.kind in ("settle", "fail"))
        answers = {
            keys[entry.digest]: entry.content["answer"]
            for entry in entries
            if entry.kind == "settle"
        }
        paid = set(keys.values())
        finding.doubled = sum(
            number > 1 for counts in (reserved, closed) for number in counts.values()
        )
        for (who, i), answer in finding.told.items():
            key = ANALYSTS[who], _key(_question(who, i).to_json())
            finding.lost += answers.get(key) != answer
            finding.free += key not in paid


def _key(question: Mapping[str, Any]) -> str:
    return str(sorted(question["record"].items()))


def studied(folder: Path, *, kills: int, stops: int, postgres: bool, seed: int = 1) -> Finding:
    """Run the study on PostgreSQL, or on SQLite, whose file cannot be stopped."""
    if not postgres:
        return _Study(in_folder(folder), None, seed).run(kills, 0)
    with cluster() as server:
        return _Study(server.url, server, seed).run(kills, stops)


def main(argv: list[str] | None = None) -> None:
    """Run the study."""
    options = parser(__doc__ or "")
    options.add_argument("--kills", type=int, default=None)
    options.add_argument("--stops", type=int, default=None)
    options.add_argument("--sqlite", action="store_true")
    given = options.parse_args(argv)
    kills = given.kills or (10 if given.quick else 300)
    stops = 0 if given.sqlite else given.stops or (2 if given.quick else 40)
    with tempfile.TemporaryDirectory(prefix="whitecrow-bench-") as folder:
        finding = studied(Path(folder), kills=kills, stops=stops, postgres=not given.sqlite)
    print_table(("what was killed or stopped", "times"), sorted(finding.killed.items()))
    counts = (len(finding.told), len(finding.failed), finding.lost, finding.doubled, finding.free)
    print_table(("answers", "computations killed", "lost", "doubled", "free"), [counts])
    assert finding.verified
    emit("lost_doubled_or_free", float(finding.lost + finding.doubled + finding.free))


if __name__ == "__main__":
    main()
