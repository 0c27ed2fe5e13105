"""How many questions a second a durable curator answers, and how long one takes.

Every ask is two commits that survive a power cut (SQLite: write-ahead log with synchronous=FULL;
PostgreSQL: fsync and synchronous_commit on): the spend before the first record is read, the answer
before it is sent. The table begins with what the disk allows: pairs of bare SQLite commits, one
after the other. Threads of one process share commits and so may exceed it.

`asks_per_second` is the largest rate on SQLite, `asks_per_second_one_client` that of one client,
`of_bare_commits` the same over the bare pairs; `asks_per_second_postgresql` where its server is
installed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import sqlite3
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import whitecrow as wc
from benchmarks import postgres
from benchmarks.common import emit, parser, print_table

MODEL = wc.DistanceAnomaly(beta=20, radius=1.0)
COLUMNS = ("a", "b", "c")
WARM = 20
Spans = list[tuple[float, float]]
FORK: Any = multiprocessing.get_context("fork")


def records(size: int) -> pa.Table:
    """Records to ask about: a crowd and a few that stand apart."""
    draw = np.random.default_rng(1)
    return pa.table({name: draw.normal(0, 5, size) for name in COLUMNS})


def bare_store(path: Path | str) -> sqlite3.Connection:
    """The smallest store whose commits survive a power cut."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (a)")
    return connection


def bare_pair(connection: sqlite3.Connection) -> None:
    """Two of the smallest durable commits."""
    for _ in range(2):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("COMMIT")


def bare_pairs(path: Path, count: int) -> Spans:
    """When pairs of the smallest durable commits began and ended."""
    spans = []
    with contextlib.closing(bare_store(path)) as connection:
        for _ in range(count):
            start = time.perf_counter()
            bare_pair(connection)
            spans.append((start, time.perf_counter()))
    return spans


def asked(curator: wc.Curator, seed: int, count: int, barrier: Any) -> Spans:
    """One client: warm up, wait for the others, ask; when each ask began and ended."""
    draw = np.random.default_rng(100 + seed)
    spans = []
    for i, point in enumerate(draw.uniform(-500, 500, (count + WARM, len(COLUMNS)))):
        if i == WARM:
            barrier.wait()
        record = dict(zip(COLUMNS, map(float, point), strict=True))
        question = wc.Identify(record, model=MODEL, epsilon="1/100")
        start = time.perf_counter()
        curator.ask(question)
        spans.append((start, time.perf_counter()))
    return spans[WARM:]


def opened(url: str, table: pa.Table) -> wc.Curator:
    """A curator over the records."""
    return wc.Curator.open(table, name="bench", ledger=url, budget="1000")


def processes(url: str, table: pa.Table, clients: int, count: int, threads: int = 1) -> Spans:
    """Clients that are processes, each with a curator of its own that its threads share."""
    opened(url, table).close()
    barrier, report = FORK.Barrier(clients * threads), FORK.Queue()

    def client(number: int) -> None:
        with opened(url, table) as curator:
            report.put(together(curator, threads, count, barrier, number * threads))

    crowd = [FORK.Process(target=client, args=(number,)) for number in range(clients)]
    for process in crowd:
        process.start()
    spans = [span for _ in crowd for span in _reported(report, crowd)]
    for process in crowd:
        process.join()
    return spans


def _reported(report: Any, crowd: list[Any]) -> Spans:
    """The next report, or an error at once if a client has died without one."""
    while True:
        try:
            spans: Spans = report.get(timeout=1)
        except queue.Empty:
            if any(process.exitcode for process in crowd):
                raise RuntimeError("a client died; its own words are above") from None
        else:
            return spans


def together(curator: wc.Curator, clients: int, count: int, barrier: Any, first: int = 0) -> Spans:
    """Clients that are threads of one process and share a curator, as in a server."""
    if clients == 1:
        return asked(curator, first, count, barrier)
    with ThreadPoolExecutor(clients) as pool:
        seeds = range(first, first + clients)
        jobs = [pool.submit(asked, curator, seed, count, barrier) for seed in seeds]
        return [span for job in jobs for span in job.result()]


def rate_of(spans: Spans) -> float:
    """How many asks ended a second, from the first that began to the last that ended."""
    return len(spans) / (max(end for _, end in spans) - min(start for start, _ in spans))


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "").parse_args(argv)
    count = 800 if options.quick else 4000
    table = records(10_000)
    rows: list[list[object]] = []

    def row(name: str, spans: Spans) -> float:
        rate = rate_of(spans)
        middle, high = np.percentile([end - start for start, end in spans], [50, 99]) * 1000
        rows.append([name, rate, float(middle), float(high)])
        return rate

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:

        def fresh(name: str) -> str:
            return f"sqlite:///{folder}/{name}.whitecrow.db"

        bare = row("two bare commits", bare_pairs(Path(folder) / "bare.db", count))
        single = row("SQLite, 1 client", processes(fresh("one"), table, 1, count))
        row("SQLite, 2 processes", processes(fresh("two"), table, 2, count // 2))
        with opened(fresh("eight"), table) as curator:
            spans = together(curator, 8, count // 8, threading.Barrier(8))
        eight = row("SQLite, 8 threads", spans)
        sixteen = row("SQLite, 2 x 8 threads", processes(fresh("both"), table, 2, count // 8, 8))
    server_single = server_many = 0.0
    reason = postgres.missing()
    if not reason:
        with postgres.cluster() as server:
            server_single = row("PostgreSQL, 1 client", processes(server.url, table, 1, count))
        with postgres.cluster() as server:
            server_many = row(
                "PostgreSQL, 4 processes", processes(server.url, table, 4, count // 4)
            )
    print_table(["identify, durable", "asks/s", "median ms", "99 % ms"], rows)
    if reason:
        print(f"PostgreSQL left out: {reason}")
    emit("asks_per_second", max(single, eight, sixteen))
    emit("asks_per_second_one_client", single)
    emit("of_bare_commits", single / bare)
    if not reason:
        emit("asks_per_second_postgresql", max(server_single, server_many))


if __name__ == "__main__":
    main()
