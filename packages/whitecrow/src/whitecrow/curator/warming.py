"""Compiling every kernel before anybody asks: at an installation, and when a service starts.

Nothing here knows a kernel. Made-up records are counted, explained and scored by the functions that
questions use, so that what is compiled is what a question will call, with the same signatures. Once
it has been compiled on a machine it is loaded, which takes about a second for all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.card import Card, Column
from whitecrow.counting.ball_cover import PEELING, ball_cover
from whitecrow.curator.dummy import simulated
from whitecrow.data import Dataset
from whitecrow.detector import Detector
from whitecrow.explain.question import Explain
from whitecrow.learning.question import Learn
from whitecrow.neighbours import count_all, count_close, open_engine, use_compiled
from whitecrow.neighbours.cells import COMPILED, Batch, Lattice
from whitecrow.neighbours.index import near_together
from whitecrow.neighbours.plans import count_in_part
from whitecrow.neighbours.relation import SQUARES, Form
from whitecrow.neighbours.work import Histogram, Nearby
from whitecrow.place.balls import BALLS
from whitecrow.question import Question
from whitecrow.questions import type_of

_RECORDS = 1 << 15  # more than are ever counted without kernels
_FEW = 512  # enough for kernels that are used for any number of records


def warm(tell: Callable[[int], None] = lambda percent: None) -> None:
    """Load every kernel into this process; compile and keep those that are not kept yet.

    ``tell`` hears how many hundredths are done.
    """
    use_compiled()
    PEELING.use()
    values = np.random.default_rng(0).random((_RECORDS, 4))
    dataset = _synthetic()
    steps: tuple[Callable[[], object], ...] = (
        *(partial(_counting, values[:, :columns]) for columns in (4, 3, 2, 1)),
        partial(count_close, values, values[:1], 0.1, cap=3),
        partial(count_all, values[:1024, :2], 1.0, "haversine", cap=3),
        partial(_in_cells, values[:, :1]),
        *(partial(_answered, question, dataset) for question in _explaining()),
        partial(_learning, dataset),
        _balls,
    )
    for done, step in enumerate(steps):
        tell(100 * done // len(steps))
        step()
    tell(100)


def _counting(values: NDArray[np.float64]) -> None:
    """Neighbours of all records, and the most in a ball."""
    columns = values.shape[1]
    count_all(values[: _RECORDS // 4], 0.05, cap=3)
    if columns < 4:
        ball_cover(values[: (_RECORDS, 2 * _FEW, 4 * _FEW)[columns - 1]], 0.01)


def _in_cells(values: NDArray[np.float64]) -> None:
    """The cells of a lattice, as workers of a warehouse count in them."""
    lattice = Lattice(Form(SQUARES, 1.0, (1.0,)), np.zeros(1), 2.0**-6, 64, (1 << 24,))
    many = np.tile(values, (-(-COMPILED // len(values)), 1))
    ((keys, counts),) = (
        part.T.astype(np.int64) for part in Histogram(lattice, 1 << 20)(iter([many]))
    )
    judged = lattice.judged(keys, counts, len(many))
    nearby = Nearby.of(lattice, Batch(judged.keys, judged.keys, judged.counts, len(many)))
    within, places = nearby.cells.within(many)
    order, asked = partial(nearby.order, places), values[near_together(values[:_FEW])]
    count_in_part(within, lattice.form, asked, len(many), order)


def _explaining() -> list[Question]:
    """A record in its contexts, under every detector: all contexts at once, and one by one."""
    near = DistanceAnomaly(beta=3, radius=5)
    explain = partial(Explain, {"a": "0", "b": "0", "c": 900}, metric="c", epsilon=1)
    searches = [
        explain(detector=detector, notion="conditional", search=search)
        for search in ("direct", "bfs")
        for detector in ("grubbs", "lof", "histogram", near)
    ]
    return [explain(detector=near), *searches]


def _learning(dataset: Dataset) -> None:
    detector = Detector.from_json(_answered(Learn(["a", "c", "d"], epsilon=1), dataset))
    numbers = np.arange(_FEW)
    detector.scores({"a": (numbers % 7).astype(str), "c": numbers, "d": numbers / _FEW})


def _balls() -> None:
    """The balls of questions about many places."""
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


def _synthetic() -> Dataset:
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
