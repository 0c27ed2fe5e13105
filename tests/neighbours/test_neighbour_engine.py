"""The local engine: the same integers as the plain functions, and an index that is checked."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from neighbour_tools import Matrix, brute, mixture
from numpy.typing import NDArray

from whitecrow._compiled import Kernels
from whitecrow.errors import InvalidInput, Unavailable
from whitecrow.neighbours import (
    ENGINES,
    REMOTE,
    Engine,
    LocalEngine,
    NeighbourRelation,
    copies,
    open_engine,
)


class Table:
    """The little that an engine asks of a dataset."""

    def __init__(self, data: Matrix) -> None:
        self.data, self.reads = data, 0

    def matrix(self, columns: Sequence[str]) -> Matrix:
        self.reads += 1
        return np.ascontiguousarray(self.data[:, [int(name[1:]) for name in columns]])

    def rows(self, columns: Sequence[str], rows: NDArray[np.int64]) -> Matrix:
        return np.ascontiguousarray(self.data[rows][:, [int(name[1:]) for name in columns]])


EUCLIDEAN = NeighbourRelation(("c0", "c1", "c2"), "euclidean", 3.0)
MANHATTAN = NeighbourRelation(("c0", "c1", "c2"), "manhattan", 4.0)
SPHERE = NeighbourRelation(("c1", "c2"), "haversine", 800.0)
GOWER = NeighbourRelation(("c3", "c0"), "gower", 0.2, (0.0, 30.0))
HAMMING = NeighbourRelation(("c3", "c4"), "hamming", 1.0)
ALL = (EUCLIDEAN, MANHATTAN, SPHERE, GOWER, HAMMING)


def table(n: int = 2500) -> Table:
    data = np.column_stack([mixture(n, 3), np.random.default_rng(1).integers(0, 3, (n, 2))])
    return Table(data)


def expected(
    found: Table, records: Matrix, neighbour_relation: NeighbourRelation, cap: int | None
) -> list[int]:
    data = found.matrix(neighbour_relation.columns)
    counts = brute(
        data,
        records,
        neighbour_relation.radius,
        neighbour_relation.metric,
        cap,
        neighbour_relation.ranges,
    )
    return [int(count) for count in counts]


@pytest.mark.parametrize("neighbour_relation", ALL, ids=lambda c: c.metric)
def test_every_question_before_and_after_the_index_is_built(
    neighbour_relation: NeighbourRelation,
) -> None:
    found = table()
    engine = LocalEngine(found)
    records = found.matrix(neighbour_relation.columns)[::50]
    for _ in range(3):
        for cap in (None, 1, 60):
            asked = engine.neighbours(records, neighbour_relation, cap)
            assert asked.tolist() == expected(found, records, neighbour_relation, cap)
            assert asked.dtype == np.int64
        same = engine.copies(records, neighbour_relation, 3)
        assert (same == copies(found.matrix(neighbour_relation.columns), records, 3)).all()
    one = engine.neighbours(records[3], neighbour_relation)
    assert one.tolist() == expected(found, records[3:4], neighbour_relation, None)
    everyone = engine.degrees(neighbour_relation, 60)
    whole = found.matrix(neighbour_relation.columns)
    assert everyone.tolist() == expected(found, whole, neighbour_relation, 60)


def test_the_data_are_read_once_and_not_again_when_an_index_stands() -> None:
    found = table()
    engine = LocalEngine(found)
    engine.prepare(EUCLIDEAN)
    before = found.reads
    for _ in range(5):
        engine.neighbours(found.data[:40, :3], EUCLIDEAN)
        engine.copies(found.data[:40, :3], MANHATTAN)
    assert found.reads == before


def test_degrees_use_an_index_that_stands() -> None:
    found = table()
    engine = LocalEngine(found)
    wide = NeighbourRelation(("c0", "c1", "c2", "c3"), "euclidean", 4.0)
    before = engine.degrees(wide, 70)
    engine.prepare(wide)
    reads = found.reads
    assert (engine.degrees(wide, 70) == before).all()
    assert found.reads == reads
    assert before.tolist() == expected(found, found.data[:, :4], wide, 70)


def test_no_records_at_all() -> None:
    engine = LocalEngine(Table(np.empty((0, 5))))
    engine.prepare(EUCLIDEAN)
    assert engine.neighbours([[0, 0, 0]] * 50, EUCLIDEAN, 4).tolist() == [0] * 50
    assert engine.copies([[0, 0, 0]], EUCLIDEAN).tolist() == [0]
    assert engine.degrees(EUCLIDEAN).tolist() == []


def test_engines_have_names() -> None:
    assert isinstance(open_engine(table(10)), Engine)
    for name in REMOTE:
        assert name in ENGINES
        with pytest.raises(Unavailable, match=f"'{name}' counts where the records are"):
            open_engine(table(10), name)
    with pytest.raises(InvalidInput, match="one of local"):
        open_engine(table(10), "abacus")


def test_bad_records_are_refused_before_counting() -> None:
    engine = LocalEngine(table(10))
    with pytest.raises(InvalidInput, match="have 3 numbers each"):
        engine.neighbours([[1.0, 2.0]], EUCLIDEAN)
    with pytest.raises(InvalidInput, match="finite numbers"):
        engine.copies([[1.0, 2.0, np.nan]], EUCLIDEAN)
    with pytest.raises(InvalidInput, match="cap"):
        engine.neighbours([[1.0, 2.0, 3.0]], EUCLIDEAN, 0)


def test_builds_and_counts_report_progress() -> None:
    said: list[tuple[int, int, str]] = []
    engine = LocalEngine(
        table(), progress=lambda done, total, what: said.append((done, total, what))
    )
    engine.prepare(EUCLIDEAN)
    assert said[-1][0] == said[-1][1]
    engine.degrees(NeighbourRelation(("c0", "c1", "c2", "c3"), "euclidean", 2.0))
    assert said[-1][2] == "counting neighbours"
    assert said[-1][0] == said[-1][1]


def test_an_engine_shows_no_records() -> None:
    engine = LocalEngine(table())
    engine.prepare(EUCLIDEAN)
    assert repr(engine) == "<LocalEngine: records withheld>"


def test_several_threads_may_ask_at_once() -> None:
    found = table()
    engine = LocalEngine(found)
    records = found.data[:200, :3]
    wanted = expected(found, records, EUCLIDEAN, 50)
    answers: list[list[int]] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(engine.neighbours(records, EUCLIDEAN, 50).tolist())
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [wanted] * 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_counts_too() -> None:
    script = """
import os, warnings
warnings.simplefilter("ignore")
import numba, numpy as np
from whitecrow.neighbours import count_all
data = np.random.default_rng(0).normal(size=(20_000, 4))
parent = count_all(data, 0.5, cap=40)
child = os.fork()
if child == 0:
    os._exit(0 if (count_all(data, 0.5, cap=40) == parent).all() else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=120).returncode == 0


def test_the_kernels_are_loaded_when_the_work_adds_up_to_loading_them() -> None:
    kernels = Kernels(after=100)
    assert [kernels.pay(40) for _ in range(4)] == [False, False, True, True]
    assert Kernels(after=100).pay(101)
    assert not Kernels(after=100).pay(100)
    told = Kernels()
    told.use()
    assert told.pay(0)


def test_which_code_counts_does_not_depend_on_what_else_is_loaded() -> None:
    script = """
import sys
import numpy as np
import numba
from whitecrow.neighbours import count_close
count_close(np.zeros((10, 2)), np.zeros((1, 2)), 1.0)
print([name for name in sys.modules if name.startswith("whitecrow.neighbours._kernels.metric")])
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=120
    )
    assert ran.stdout == "[]\n"
