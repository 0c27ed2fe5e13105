"""Counts are the same however many cores count, and into however many batches records fall."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.data import read
from whitecrow.histogram.facts import _added_up, counted_by
from whitecrow.learning import Learn
from whitecrow.learning.facts import ByColumn
from whitecrow.neighbours import parallel

CARD = wc.Card("records", tuple(wc.Column(name, lower=-8, upper=8) for name in "ab"))


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_many_batches_on_many_cores_add_up_to_the_same_counts(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "_most", cores)
    monkeypatch.setattr(parallel, "_pool", None)
    draw = np.random.default_rng(3)
    dataset = read(pa.table({name: draw.normal(size=5000) for name in "ab"}), CARD)
    counting = ByColumn(Learn(epsilon=1).grids(CARD))
    alone = counted_by(counting, dataset, ("a", "b"), alone=True)
    together = counted_by(counting, dataset, ("a", "b"), batch=37)
    assert (together == alone).all()
    assert together.sum() == 2 * 5000


def test_no_more_sums_are_held_than_batches_are_counted_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "_most", 64)
    monkeypatch.setattr(parallel, "_pool", None)
    seen: set[int] = set()
    lock = threading.Lock()

    class Counting:
        size = 3

        def count(self, rows: Any, counts: Any) -> None:
            with lock:
                seen.add(id(counts))
            counts += len(rows)

    found = _added_up(Counting(), (np.zeros((2, 1)) for _ in range(400)), alone=False)
    assert found.tolist() == [800, 800, 800]
    assert len(seen) <= 16


def test_what_a_batch_raises_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_most", 4)
    monkeypatch.setattr(parallel, "_pool", None)

    class Broken:
        size = 1

        def count(self, rows: Any, counts: Any) -> None:
            raise RuntimeError("a batch")

    with pytest.raises(RuntimeError, match="a batch"):
        _added_up(Broken(), iter([np.zeros((1, 1))] * 3), alone=False)
