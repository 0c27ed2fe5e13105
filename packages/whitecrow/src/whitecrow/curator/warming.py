"""Compiling every kernel before anybody asks: at an installation, and when a service starts.

Nothing here knows a kernel. Made-up records are counted, explained and scored by the functions that
questions use, so that what is compiled is what a question will call, with the same signatures. Once
it has been compiled on a machine it is loaded, which takes about a second for all of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow._compiled import NOTICE, use_ready_made
from whitecrow.anomaly import DistanceAnomaly
from whitecrow.card import Card, Column
from whitecrow.counting.ball_cover import ball_cover
from whitecrow.curator.dummy import simulated
from whitecrow.data import Dataset
from whitecrow.detector import Detector
from whitecrow.explain.question import Explain
from whitecrow.learn.question import Learn
from whitecrow.neighbours import count_all, count_close, open_engine, use_compiled
from whitecrow.neighbours.cells import COMPILED, Lattice, Turn
from whitecrow.neighbours.cellwork import Histogram, Nearby
from whitecrow.neighbours.index import near_together
from whitecrow.neighbours.plans import count_in_part
from whitecrow.neighbours.relation import SQUARES, Form
from whitecrow.place.balls import BALLS
from whitecrow.question import Question
from whitecrow.questions import type_of

_RECORDS = 1 << 15
"""More than are ever counted without kernels."""
_FEW = 512
"""Enough for kernels that are used for any number of records."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that was compiled just now.

    Parameters
    ----------
    name : str
        Its module within the package, and its function.
    seconds : float
        How long it took.
    """

    name: str
    seconds: float


Tell = Callable[[Kernel], None]


def warm(tell: Callable[[int], None] = lambda percent: None) -> None:
    """Load every kernel into this process; compile and keep those that are not kept yet.

    Processes that do this at the same time begin with different parts: each is compiled by one of
    them, and loaded by the others.
    """
    NOTICE.off()  # whoever waits is told
    parts = list(PARTS.values())
    begin = os.getpid() % len(parts)
    for done, part in enumerate(parts[begin:] + parts[:begin]):
        tell(100 * done // len(parts))
        part()


def side_by_side(tell: Tell) -> bool:
    """Compile in a process for each part, so that several cores work; say whether all went well."""
    command = [sys.executable, "-m", "whitecrow.curator.warming"]
    processes = [
        subprocess.Popen([*command, part], stdout=subprocess.PIPE, text=True) for part in PARTS
    ]

    def listen(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                tell(Kernel(**json.loads(line)))

    threads = [threading.Thread(target=listen, args=(process,)) for process in processes]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return all(process.wait() == 0 for process in processes)
    finally:
        for process in processes:  # interrupted: what is compiled is kept
            process.kill()
            process.wait()


@contextlib.contextmanager
def _listening(tell: Tell) -> Iterator[None]:
    """Tell of kernels as they are compiled; those compiled into another are part of it."""
    from numba.core import event

    class Listener(event.Listener):
        begun: list[float] = []  # noqa: RUF012 - one listener

        def on_start(self, what: Any) -> None:
            self.begun.append(time.perf_counter())

        def on_end(self, what: Any) -> None:
            seconds = time.perf_counter() - self.begun.pop()
            function = what.data["dispatcher"].py_func
            if not self.begun and function.__module__.startswith("whitecrow."):
                name = f"{function.__module__}.{function.__name__}".removeprefix("whitecrow.")
                tell(Kernel(name.replace("_kernels.", ""), round(seconds, 2)))

    with event.install_listener("numba:compile", Listener()):
        yield


def _counting() -> None:
    """Neighbours of all records and of some, on a line, in a plane, in space and on the globe."""
    use_compiled()
    values = np.random.default_rng(0).random((_RECORDS, 4))
    for columns in (4, 3, 2, 1):
        count_all(values[: _RECORDS // 4, :columns], 0.05, cap=3)
    count_close(values, values[:1], 0.1, cap=3)
    count_all(values[:1024, :2], 1.0, "haversine", cap=3)
    for columns, points in ((1, _RECORDS), (2, 2 * _FEW), (3, 4 * _FEW)):
        ball_cover(values[:points, :columns], 0.01)
    _in_cells(values[:, :1])


def _in_cells(values: NDArray[np.float64]) -> None:
    """The cells of a lattice, as workers of a warehouse count in them."""
    lattice = Lattice(Form(SQUARES, 1.0, (1.0,)), np.zeros(1), 2.0**-6, 64, 20)
    many = np.tile(values, (-(-COMPILED // len(values)), 1))
    ((keys, counts),) = (
        part.T.astype(np.int64) for part in Histogram(lattice, 1 << 20)(iter([many]))
    )
    judged = lattice.judged(keys, counts, len(many))
    nearby = Nearby.of(lattice, Turn(judged.keys, judged.keys, judged.counts, len(many)))
    found, places = nearby.cells.within(many)
    order, asked = partial(nearby.order, places), values[near_together(values[:_FEW])]
    count_in_part(found, lattice.form, asked, len(many), order)


def _explaining() -> None:
    """A record in its contexts, under every detector: all contexts at once, and one by one."""
    use_compiled()
    dataset = _made_up()
    record = {"a": "0", "b": "0", "c": 900}
    near = DistanceAnomaly(beta=3, radius=5)
    questions = [Explain(record, metric="c", detector=near, epsilon=1)]
    for search in ("direct", "bfs"):
        questions += [
            Explain(
                record,
                metric="c",
                detector=detector,
                notion="conditional",
                search=search,
                epsilon=1,
            )
            for detector in ("grubbs", "lof", "histogram", near)
        ]
    for question in questions:
        _answered(question, dataset)


def _learning() -> None:
    """A detector, its scores, and the balls of questions about many places."""
    from whitecrow.detector import kernels as _kernels  # noqa: F401 - once loaded they are used

    detector = Detector.from_json(_answered(Learn(["a", "c", "d"], epsilon=1), _made_up()))
    place = np.arange(_FEW)
    detector.scores({"a": (place % 7).astype(str), "c": place, "d": place / _FEW})
    tenth = Fraction(1, 10)
    balls = [
        {"columns": ["c", "d"], "metric": "euclidean", "center": [i % 16, i / 16], "radius": 9.0}
        for i in range(256)
    ]
    for others in (balls[1:64], balls[1:]):
        BALLS.depth(balls[0], tenth, [(ball, tenth) for ball in others], Fraction(0))


def _answered(question: Question, dataset: Dataset) -> Any:
    """Return what would be released about made-up records."""
    code = type_of(question)
    return code.release(question, code.gather(question, dataset, open_engine(dataset), None), None)


def _made_up() -> Dataset:
    """Two columns of categories, whole numbers, and numbers; made of nobody's records."""
    names = tuple(map(str, range(8)))  # 13 free values: more than are looked at one by one
    card = Card(
        "made-up",
        (
            Column("a", "category", categories=names[:7]),
            Column("b", "category", categories=names),
            Column("c", "integer", lower=0, upper=1000),
            Column("d", lower=0, upper=1),
        ),
    )
    return simulated(card, _FEW)


PARTS: dict[str, Callable[[], None]] = {
    "counting": _counting,
    "explaining": _explaining,
    "learning": _learning,
}
"""What is compiled, by parts that have no kernel in common."""


def main(part: str) -> None:
    """Compile one part for this very processor; print a line of JSON for each kernel."""
    NOTICE.off()
    use_ready_made(False)
    with _listening(lambda kernel: print(json.dumps(vars(kernel)), flush=True)):  # noqa: T201
        PARTS[part]()


if __name__ == "__main__":
    main(sys.argv[1])
