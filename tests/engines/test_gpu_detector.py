"""The learned detector on a GPU: the counts and scores of the loops on the processor.

Without a GPU the same functions run the processor's loops, in other batches: what is left of the
claim there is that batches do not matter.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.data import Dataset
from whitecrow.detector import on_gpu, scoring
from whitecrow.detector.model import grid_of
from whitecrow.learning import facts as learn_cells
from whitecrow.neighbours import devices, gpu
from whitecrow.neighbours.devices import NUMPY, Device, cupy_device, torch_device

COLUMNS = (
    wc.Column("a", lower=-10, upper=10),
    wc.Column("b", lower=0, upper=1000),
    wc.Column("c", "integer", lower=0, upper=40),
    wc.Column("d", "category", categories=("x", "y", "z")),
    wc.Column("e"),
)


def _devices() -> dict[str, Device]:
    found = {"numpy": NUMPY}
    if importlib.util.find_spec("cupy") and devices._has_gpu(importlib.import_module("cupy")):
        found["cupy"] = cupy_device()
    if importlib.util.find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            found["torch"] = torch_device()
    return found


DEVICES = _devices()


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Device:
    return DEVICES[request.param]


def table(size: int) -> pa.Table:
    draw = np.random.default_rng(3)
    return pa.table(
        {
            "a": draw.normal(0, 3, size).clip(-10, 10),
            "b": draw.exponential(90, size).clip(0, 1000),
            "c": draw.poisson(9, size).clip(0, 40),
            "d": draw.choice(["x", "y", "z"], size, p=[0.7, 0.29, 0.01]),
            "e": draw.standard_t(2, size) * 1e5,
        }
    )


def curator(size: int) -> wc.Curator:
    card = wc.Card("made", COLUMNS)
    return wc.Curator.open(
        table(size), card=card, name="made", ledger="sqlite://", budget="9, 1e-3"
    )


def rows(size: int) -> np.ndarray:
    from whitecrow.data import read

    dataset = read(table(size), wc.Card("made", COLUMNS))
    assert isinstance(dataset, Dataset)
    return dataset.rows([column.name for column in COLUMNS], np.arange(size))


def test_scores_are_the_same_bit_for_bit(device: Device) -> None:
    detector = curator(5000).learn(epsilon=1, delta="1e-6").answer
    for size in (1, 255, 3000):
        values = rows(size)
        columns = scoring.encoders(detector.model)
        found = on_gpu.raw_scores(device, detector.model, columns, values)
        assert (found == scoring.raw_scores(detector.model, columns, values)).all()
        assert len(found) == size


def test_counts_by_column_and_by_table_are_the_same(device: Device) -> None:
    detector = curator(5000).learn(epsilon=1, delta="1e-6").answer
    values, model = rows(20_000), detector.model
    columns = scoring.encoders(model)
    for grids in (tuple(map(grid_of, COLUMNS)), model.grids):
        here = learn_cells.ByColumn(grids)
        there = learn_cells.ByColumn(grids, device)
        expected, found = np.zeros((2, here.size), np.int64)
        here.count(values, expected)
        there.count(values, found)
        assert (found == expected).all()
        assert found.sum() == len(values) * len(grids)
    by_table = learn_cells.ByTable(columns, model.tables)
    expected, found = np.zeros((2, by_table.size), np.int64)
    by_table.count(values, expected)
    learn_cells.ByTable(columns, model.tables, device).count(values, found)
    assert (found == expected).all()


def test_learning_on_the_engine_gpu_counts_there(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("count_codes", "count_cells", "raw_scores"):
        plain = getattr(on_gpu, name)

        def watched(*given: object, name: str = name, plain: object = plain) -> object:
            asked.append(name)
            return plain(*given)  # type: ignore[operator]

        monkeypatch.setattr(on_gpu, name, watched)
    monkeypatch.setattr(gpu, "find_device", lambda: device)
    data = wc.Curator.open(
        table(20_000),
        card=wc.Card("made", COLUMNS),
        name="made",
        ledger="sqlite://",
        budget="9, 1e-3",
        engine="gpu",
    )
    learned = data.learn(epsilon=1, delta="1e-6", false_alarms=[0.05]).answer
    assert set(asked) == {"count_codes", "count_cells", "raw_scores"}
    assert np.isfinite(learned.scores(table(50))).all()


def test_an_unknown_engine_is_refused_before_anything_is_read() -> None:
    detector = curator(500).learn(epsilon=1).answer
    with pytest.raises(wc.InvalidInput, match="'local' or 'gpu'"):
        detector.scores(table(5), engine="quantum")
