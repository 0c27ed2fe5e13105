"""What each part of the ledger's write path on SQLite buys: the same load with it and without it.

A part that buys little does not stay. Each is taken away alone, then all of them: what remains is a
transaction for every act, begun by ``BEGIN IMMEDIATE`` with a busy timeout. The rounds alternate,
so that a disk that is slow for a while is slow for all of them.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from sqlalchemy import Connection, text

from benchmarks.common import emit, parser, print_table
from benchmarks.ledger import opened, processes, rate_of, records, together
from whitecrow.ledger import database

Off = Callable[[], contextlib.AbstractContextManager[Any]]


def _no_group_commit() -> Any:
    """Every writer has a transaction, hence a flush to disk, of its own."""
    return patch.object(database, "_TOGETHER", 1)


class _Executed:
    """A transaction whose statements SQLAlchemy executes."""

    def __init__(self, raw: Any, *, sqlite: bool) -> None:
        self._cursor = raw.cursor()
        # It begins and ends where the driver's connection does, which others look after.
        self._connection = Connection(_Executed.engine, connection=raw, _allow_autobegin=False)

    engine: Any = None

    def command(self, text: str) -> None:
        self._cursor.execute(text)

    def run(self, statement: str, /, **given: Any) -> Any:
        return self._connection.execute(text(database._for_sqlite(statement)), given)

    def rows(self, statement: str, /, **given: Any) -> list[Any]:
        return list(self.run(statement, **given))

    def one(self, statement: str, /, **given: Any) -> Any | None:
        return self.run(statement, **given).first()


@contextlib.contextmanager
def _no_compiled_statements() -> Iterator[None]:
    """Statements go through SQLAlchemy's connection instead of straight to the driver."""
    start = database.Database._start

    def begun(self: Any) -> None:
        start(self)
        _Executed.engine = self._engine

    with (
        patch.object(database.Database, "_start", begun),
        patch.object(database, "Session", _Executed),
    ):
        yield


@contextlib.contextmanager
def _nothing() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for off in list(PARTS.values())[1:-1]:
            stack.enter_context(off())
        yield


PARTS: dict[str, Off] = {
    "as_it_is": contextlib.nullcontext,
    "no_group_commit": _no_group_commit,
    "no_compiled_statements": _no_compiled_statements,
    "none_of_them": _nothing,
}


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "").parse_args(argv)
    count, rounds = (200, 2) if options.quick else (800, 5)
    table = records(10_000)
    loads: dict[str, tuple[int, int]] = {
        "1 client": (1, 1),
        "2 processes": (2, 1),
        "4 processes": (4, 1),
        "8 threads": (1, 8),
        "2 x 8 threads": (2, 8),
    }
    measured: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for round_ in range(rounds):
        for part, off in PARTS.items():
            for load, (clients, threads) in loads.items():
                with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, off():
                    url = f"sqlite:///{folder}/{round_}.whitecrow.db"
                    each = count // (clients * threads)
                    if clients > 1:
                        spans = processes(url, table, clients, each, threads)
                    else:
                        with opened(url, table) as curator:
                            barrier = threading.Barrier(threads)
                            spans = together(curator, threads, each, barrier)
                slow = float(np.percentile([end - start for start, end in spans], 99)) * 1000
                measured.setdefault((part, load), []).append((rate_of(spans), slow))

    def middle(part: str, load: str) -> str:
        rates, slowest = zip(*measured[part, load], strict=True)
        return f"{median(rates):.0f} ({median(slowest):.0f} ms)"

    rows = [[part.replace("_", " "), *(middle(part, load) for load in loads)] for part in PARTS]
    print_table(["asks/s (99 % within), medians of rounds", *loads], rows)
    for part in PARTS:
        fastest = max(median(rate for rate, _ in measured[part, load]) for load in loads)
        emit(part, fastest)


if __name__ == "__main__":
    main()
