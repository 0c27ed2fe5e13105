"""How many questions a second a durable curator answers, and how long one takes.

Every ask is two commits that survive a power cut (SQLite: write-ahead log with synchronous=FULL;
PostgreSQL: fsync and synchronous_commit on): the spend before the first record is read, the answer
before it is sent. The table begins with what the disk allows: pairs of bare SQLite commits.
"""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import whitecrow as wc
from benchmarks import postgres
from benchmarks.common import emit, parser, print_table

MODEL = wc.DistanceAnomaly(beta=20, radius=1.0)
COLUMNS = ("a", "b", "c")
FORK: Any = multiprocessing.get_context("fork")


def records(size: int) -> pa.Table:
    """Records to ask about: a crowd and a few that stand apart."""
    draw = np.random.default_rng(1)
    return pa.table({name: draw.normal(0, 5, size) for name in COLUMNS})


def bare_pairs(path: Path, count: int) -> list[float]:
    """Seconds for pairs of the smallest durable commits."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (a)")
    found = []
    for _ in range(count):
        start = time.perf_counter()
        for _ in range(2):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t VALUES (1)")
            connection.execute("COMMIT")
        found.append(time.perf_counter() - start)
    connection.close()
    return found


def asks(url: str, table: pa.Table, place: int, count: int, barrier: Any, report: Any) -> None:
    """One client: warm up, wait for the others, ask."""
    draw = np.random.default_rng(100 + place)
    points = draw.uniform(-500, 500, (count + 20, len(COLUMNS)))
    with wc.Curator.open(table, name="bench", ledger=url, budget="1000") as curator:
        found = []
        for i, point in enumerate(points):
            if i == 20:
                barrier.wait()
            record = dict(zip(COLUMNS, map(float, point), strict=True))
            question = wc.Identify(record, model=MODEL, epsilon="1/100")
            start = time.perf_counter()
            curator.ask(question)
            found.append((start, time.perf_counter()))
    report.put(found[20:])


def rush(url: str, table: pa.Table, clients: int, count: int) -> tuple[float, list[float]]:
    """Asks a second over all clients, and the seconds each ask took."""
    wc.Curator.open(table, name="bench", ledger=url, budget="1000").close()
    barrier, report = FORK.Barrier(clients), FORK.Queue()
    crowd = [
        FORK.Process(target=asks, args=(url, table, place, count, barrier, report))
        for place in range(clients)
    ]
    for process in crowd:
        process.start()
    spans = [span for _ in crowd for span in report.get(timeout=600)]
    for process in crowd:
        process.join()
    wall = max(end for _, end in spans) - min(start for start, _ in spans)
    return len(spans) / wall, [end - start for start, end in spans]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "").parse_args(argv)
    count = 1000 if options.quick else 4000
    table = records(10_000)
    rows: list[list[object]] = []
    rates: dict[str, float] = {}

    def row(name: str, rate: float, seconds: list[float]) -> None:
        rates[name] = rate
        middle, high = np.percentile(seconds, [50, 99]) * 1000
        rows.append([name, rate, float(middle), float(high)])

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        seconds = bare_pairs(Path(folder) / "bare.db", count)
        row("bare pairs of commits", count / sum(seconds), seconds)
        for clients in (1, 2):
            url = f"sqlite:///{folder}/{clients}.whitecrow.db"
            row(f"SQLite, {clients} client(s)", *rush(url, table, clients, count // clients))
    reason = postgres.missing()
    if not reason:
        with postgres.cluster() as server:
            for clients in (1, 2):
                row(
                    f"PostgreSQL, {clients} client(s)",
                    *rush(server.url, table, clients, count // clients),
                )
    print_table(["identify, durable", "asks/s", "median ms", "99 % ms"], rows)
    if reason:
        print(f"PostgreSQL left out: {reason}")
    emit("asks_per_second", rates["SQLite, 1 client(s)"])
    emit("of_bare_commits", rates["SQLite, 1 client(s)"] / rates["bare pairs of commits"])
    if not reason:
        emit("asks_per_second_postgresql", rates["PostgreSQL, 2 client(s)"])


if __name__ == "__main__":
    main()
