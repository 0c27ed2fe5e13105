"""Indexes that questions make an engine build stay within a budget of memory."""

from __future__ import annotations

import itertools
import random
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import whitecrow as wc
from whitecrow.data import Card, Column, Dataset, read
from whitecrow.neighbours import LocalEngine
from whitecrow.neighbours._local import _space

COLUMNS = tuple("abcdefghijkl")
SETS = tuple(itertools.combinations(COLUMNS, 3))[:200]


def _dataset(rows: int) -> Dataset:
    import pyarrow

    values = np.random.default_rng(7).normal(size=(rows, len(COLUMNS)))
    card = Card("made up", columns=tuple(Column(name, "number", -9, 9) for name in COLUMNS))
    return read(pyarrow.table({name: values[:, i] for i, name in enumerate(COLUMNS)}), card)


def _ask(engine: LocalEngine, dataset: Dataset, columns: tuple[str, ...], times: int) -> list[int]:
    neighbour_relation = wc.DistanceAnomaly(beta=3, radius=0.5).neighbour_relation(
        columns, dataset.card
    )
    place = np.zeros((1, len(columns)))
    return [int(engine.neighbours(place, neighbour_relation)[0]) for _ in range(times)]


def test_indexes_stay_within_their_memory_whatever_is_asked() -> None:
    dataset = _dataset(3_000)
    memory = 2_000_000
    engine = LocalEngine(dataset, memory=memory)
    plain = LocalEngine(dataset, memory=memory)
    largest = 0
    for columns in SETS[:60]:
        counts = _ask(engine, dataset, columns, 40)
        assert set(counts) == set(_ask(plain, dataset, columns, 1))
        largest = max(largest, engine._indexes.bytes)
        assert engine._indexes.bytes <= memory
    assert largest > memory // 2


def test_the_index_unused_for_longest_makes_room_and_what_was_prepared_stays() -> None:
    dataset = _dataset(3_000)
    alone = LocalEngine(dataset)
    _ask(alone, dataset, SETS[0], 40)
    one = alone._indexes.bytes
    engine = LocalEngine(dataset, memory=int(3.5 * one))
    engine.prepare(wc.DistanceAnomaly(beta=3, radius=0.5).neighbour_relation(SETS[0], dataset.card))
    for columns in SETS[1:3]:
        _ask(engine, dataset, columns, 40)
    _ask(engine, dataset, SETS[1], 1)  # used again: the other is now the oldest
    _ask(engine, dataset, SETS[3], 40)
    model = wc.DistanceAnomaly(beta=3, radius=0.5)
    kept = {
        columns
        for columns in SETS
        if engine._indexes.get(_space(model.neighbour_relation(columns, dataset.card))) is not None
    }
    assert kept == {SETS[0], SETS[1], SETS[3]}


def test_an_engine_told_so_builds_nothing_while_somebody_waits() -> None:
    dataset = _dataset(500)
    engine = LocalEngine(dataset)
    engine.build_only_when_told()
    _ask(engine, dataset, SETS[0], 100)
    assert engine._indexes.bytes == 0


@pytest.mark.study
def test_memory_is_bounded_over_ten_thousand_asks_on_two_hundred_column_sets() -> None:
    """In a process of its own, whose largest size is that of this work alone."""
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=True, timeout=3000
    )
    early, late = map(int, done.stdout.split())
    assert late - early < 150_000_000, (early, late)


def _grown() -> None:
    """Print the largest size after a tenth of the asks, and after all of them."""
    dataset = _dataset(100_000)
    engine = LocalEngine(dataset, memory=100_000_000)
    order = random.Random(3)
    for number in range(10_000):
        if number == 1_000:
            _say()
        _ask(engine, dataset, SETS[order.randrange(len(SETS)) if number > 400 else number % 8], 1)
    _say()


def _say() -> None:
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    _grown()
