"""The engine ``gpu``: the integers of the reference predicate, on whatever device is here.

Every case runs on numpy, with the kernel's text compiled for the processor where there is a
compiler, on PyTorch's processor device where PyTorch is installed, and on a GPU through CuPy and
PyTorch where there is one: CuPy with the compiled kernel too, both by array operations.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import threading
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from whitecrow.errors import InvalidInput
from whitecrow.neighbours import Engine, NeighbourRelation, devices, gpu
from whitecrow.neighbours import _tiles as tiles
from whitecrow.neighbours._tiles import Scattered, scattered_order
from whitecrow.neighbours.devices import NUMPY, Device, cupy_device, torch_device
from whitecrow.neighbours.gpu import GpuEngine
from whitecrow.neighbours.plans import count_plain
from whitecrow.neighbours.relation import MIXED, Form, lower
from whitecrow.neighbours.sphere import on_sphere

sys.path.insert(0, str(Path(__file__).parent))

from processor import processor_device

Matrix = NDArray[np.float64]


def _devices() -> dict[str, Device]:
    found = {"numpy": NUMPY}
    kernel = processor_device()
    if kernel is not None:
        found["kernel on the processor"] = kernel
    gpus = []
    if importlib.util.find_spec("torch"):
        import torch

        found["torch-cpu"] = torch_device("cpu")
        if torch.cuda.is_available():
            gpus.append(("torch", torch_device()))
    if importlib.util.find_spec("cupy") and devices._has_gpu(importlib.import_module("cupy")):
        gpus.append(("cupy", cupy_device()))
    for name, device in gpus:
        found[name] = device
        found[f"{name}-operations"] = dataclasses.replace(device, compile=None)
    return found


DEVICES = _devices()


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Device:
    return DEVICES[request.param]


@pytest.fixture(autouse=True)
def _many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop records often, as on data of real size."""
    monkeypatch.setattr(tiles, "_LEAST_PAIRS", 1 << 14)


class Table:
    """The little that an engine asks of a dataset; columns are named c0, c1, …"""

    def __init__(self, data: Matrix) -> None:
        self.data, self.reads = data, 0

    def matrix(self, columns: Sequence[str]) -> Matrix:
        self.reads += 1
        return np.ascontiguousarray(self.data[:, [int(name[1:]) for name in columns]])


def names(width: int) -> tuple[str, ...]:
    return tuple(f"c{c}" for c in range(width))


def mixture(n: int, d: int, seed: int = 0) -> Matrix:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 5, (6, d))[rng.integers(0, 6, n)] + rng.standard_t(3, size=(n, d))


def agree(
    device: Device,
    data: Matrix,
    radius: float,
    metric: str = "euclidean",
    ranges: Sequence[float] = (),
) -> None:
    """Check every count, with and without a cap, against numpy's look at every pair."""
    neighbour_relation = NeighbourRelation(names(data.shape[1]), metric, radius, tuple(ranges))
    form = lower(metric, radius, neighbour_relation.ranges, data.shape[1])
    vectors = data
    if metric == "haversine":
        vectors = np.array([on_sphere(*place) for place in data.tolist()])
    engine = GpuEngine(Table(data), device=device)
    exact = count_plain(vectors, form, vectors, len(data))
    for cap in (None, 1, 7):
        expected = exact if cap is None else np.minimum(exact, cap)
        found = engine.degrees(neighbour_relation, cap)
        assert found.dtype == np.int64
        wrong = int((found != expected).sum())
        assert wrong == 0, f"{wrong} of {len(data)} differ ({metric}, {radius!r}, cap {cap})"
        assert (engine.neighbours(data[:9], neighbour_relation, cap) == expected[:9]).all()


@pytest.mark.parametrize("d", [1, 2, 6, 12, 13, 33])
def test_every_metric_counts_like_the_reference(device: Device, d: int) -> None:
    data = mixture(700, d, seed=d)
    agree(device, data, 4.0 * d**0.4)
    agree(device, data, 7.0 * d**0.4, "manhattan")
    agree(device, data, 2.5 * d**0.4, "chebyshev")
    codes = np.round(data / 4)
    agree(device, codes, float(d // 2), "hamming")
    ranges = tuple(0.0 if c % 2 else 20.0 for c in range(d))
    agree(device, np.where(np.array(ranges) > 0, data, codes), 0.3, "gower", ranges)


def test_places_on_the_sphere(device: Device) -> None:
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.uniform(-90, 90, 600), rng.uniform(-180, 180, 600)])
    for radius in (0.0, 900.0, 4000.0, 30_000.0):
        agree(device, data, radius, "haversine")


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 255, 257, 1000])
def test_any_number_of_records(device: Device, n: int) -> None:
    agree(device, mixture(n, 3), 3.0)


@pytest.mark.parametrize("d", [64, 200])
def test_many_columns(device: Device, d: int) -> None:
    data = np.random.default_rng(d).normal(size=(300, d))
    agree(device, data, float(np.sqrt(2 * d)))
    agree(device, data, 0.19, "gower", (6.0,) * d)


def test_more_columns_than_a_block_can_share(device: Device) -> None:
    data = np.random.default_rng(0).normal(size=(40, tiles._SHARED + 1))
    form = lower("euclidean", 90.5, (), data.shape[1])
    found = Scattered(device, data).count_every(form, len(data))
    assert 1 < found.mean() < 40
    assert (found == count_plain(data, form, data, len(data))).all()


def test_ties_at_the_radius_and_a_step_to_either_side(device: Device) -> None:
    grid = np.array([[x, y] for x in range(20) for y in range(20)]) / 10.0
    for tie in (0.0, 0.1, 0.5, 1.3):
        for radius in (np.nextafter(tie, 9.0), tie, max(0.0, np.nextafter(tie, -9.0))):
            for metric in ("euclidean", "manhattan", "chebyshev"):
                agree(device, grid, float(radius), metric)
            agree(device, grid, float(radius), "gower", (1.7, 0.3))


def test_the_radius_is_the_computed_distance_of_a_pair(device: Device) -> None:
    data = np.random.default_rng(4).normal(size=(300, 6))
    for a, b in ((0, 1), (5, 99), (17, 200)):
        apart = float(np.sqrt(((data[a] - data[b]) ** 2).sum()))
        for radius in (np.nextafter(apart, 0.0), apart, np.nextafter(apart, 99.0)):
            agree(device, data, float(radius))


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-160, 1e150, 1e300])
def test_tiny_and_huge_numbers_underflow_and_overflow_like_the_reference(
    device: Device, scale: float
) -> None:
    with np.errstate(all="ignore"):
        data = np.clip(np.round(mixture(300, 3)) * scale, -1.7e308, 1.7e308)
        for factor in (0.0, 1.0, 3.0):
            agree(device, data, factor * scale)
            agree(device, data, factor * scale, "manhattan")


def test_huge_offsets_duplicates_and_both_zeros(device: Device) -> None:
    data = np.round(np.random.default_rng(1).normal(size=(400, 3)) * 8) / 4
    for offset in (1e12, -3e15):
        agree(device, data + offset, 1.25)
    agree(device, np.repeat(data[:8], 50, axis=0), 0.0)
    agree(device, np.array([[0.0], [-0.0]] * 20), 0.0, "hamming")


# --- what a GPU might compute instead: these data tell the difference


def _fused(data: Matrix, record: Matrix) -> list[float]:
    """The sum of squares with fused multiplication and addition, as compilers like to have it."""
    totals = []
    for other in data:
        total = 0.0
        for c in range(len(record)):
            d = Fraction(float(record[c] - other[c]))
            total = float(Fraction(total) + d * d)
        totals.append(total)
    return totals


def _near_ties() -> tuple[Matrix, float]:
    """Records at 0.65 of the first, give or take roundings: multiples of (0.39, 0.52), turned."""
    angles = np.linspace(0.0, 1.5, 400)
    ring = 0.65 * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([np.zeros((1, 2)), ring]), 0.65


def test_fused_operations_would_be_noticed(device: Device) -> None:
    data, radius = _near_ties()
    form = lower("euclidean", radius, (), 2)
    exact = count_plain(data, form, data[:1], len(data))[0]
    assert sum(total <= form.threshold for total in _fused(data, data[0])) != exact
    agree(device, data, radius)


def test_multiplying_by_the_inverse_of_a_range_would_be_noticed(device: Device) -> None:
    data = np.arange(0.0, 60.0)[:, None]
    ranges = (49.0,)
    differ = [k for k in range(60) if k / 49.0 != k * (1.0 / 49.0)]
    assert differ
    for k in differ:
        agree(device, data, k / 49.0, "gower", ranges)


# --- rounds, parts, memory


def test_the_order_is_a_permutation_that_spreads() -> None:
    for n in (0, 1, 2, 3, 10, 977, 1000, 1024):
        order = scattered_order(n)
        assert sorted(order.tolist()) == list(range(n))
        assert scattered_order(n, 2, 4).tolist() == order[2:4].tolist()
    first = np.sort(scattered_order(100_000)[:1000])
    assert np.diff(first).max() <= 300


def test_records_at_the_cap_are_dropped(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    add = tiles._add

    def watched(*given: object) -> None:
        rows.append(len(given[3]))  # type: ignore[arg-type]
        add(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(tiles, "_add", watched)
    monkeypatch.setattr(tiles, "_LEAST_PAIRS", 1)
    data = np.sort(mixture(3000, 2), axis=0)
    data[::300] += 1e6 * np.arange(10)[:, None]
    neighbour_relation = NeighbourRelation(names(2), "euclidean", 6.0)
    found = GpuEngine(Table(data), device=device).degrees(neighbour_relation, 30)
    expected = count_plain(data, lower("euclidean", 6.0, (), 2), data, 30)
    assert (found == expected).all()
    assert rows[0] == 3000
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] < 300


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "hamming"])
def test_pivots_settle_records_without_changing_a_count(
    device: Device, metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    covers: list[int] = []
    find = Scattered._covers

    def watched(self: Scattered, form: Form, cap: int) -> list[tuple[Scattered, Form]]:
        found = find(self, form, cap)
        covers.append(len(found))
        return found

    monkeypatch.setattr(Scattered, "_covers", watched)
    monkeypatch.setattr(tiles, "_MANY", 1000)
    data = np.round(mixture(1200, 3)) if metric == "hamming" else mixture(1200, 3)
    for radius in (2.0,) if metric == "hamming" else (3.0, 8.0):
        for cap in (20, 120):
            form = lower(metric, radius, (), 3)
            found = Scattered(device, data).count_every(form, cap)
            assert (found == count_plain(data, form, data, cap)).all()
    assert sum(covers) > 0


@pytest.mark.parametrize("free", [0, 20_000, 200_000])
def test_memory_is_bounded_by_what_is_free(device: Device, free: int) -> None:
    sent: list[int] = []

    def put(values: NDArray[np.generic]) -> object:
        sent.append(values.nbytes)
        return device.put(values)

    tight = dataclasses.replace(device, put=put, free=lambda: free)
    data = mixture(300 if free == 0 else 2500, 3)
    form = lower("euclidean", 3.0, (), 3)
    scattered = Scattered(tight, data)
    few = data[:40]
    assert (scattered.count_for(few, form, 50) == count_plain(data, form, few, 50)).all()
    if free:
        assert (scattered.count_every(form, 50) == count_plain(data, form, data, 50)).all()
    assert max(sent) <= max(free // 4, 64)


def test_a_tile_by_array_operations_holds_what_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 0
    measure = tiles._measure

    def watched(*given: object) -> object:
        nonlocal largest
        total = measure(*given)  # type: ignore[arg-type]
        largest = max(largest, total.nbytes)
        return total

    monkeypatch.setattr(tiles, "_measure", watched)
    tight = dataclasses.replace(NUMPY, free=lambda: 1 << 20)
    data = mixture(2000, 2)
    form = lower("euclidean", 1.0, (), 2)
    found = Scattered(tight, data).count_every(form, len(data))
    assert (found == count_plain(data, form, data, len(data))).all()
    assert 0 < largest <= (1 << 20) // 4


# --- the engine


def test_copies_are_told_apart_from_neighbours(device: Device) -> None:
    data = np.repeat(mixture(30, 2), 4, axis=0)
    engine = GpuEngine(Table(data), device=device)
    for metric in ("euclidean", "haversine"):
        neighbour_relation = NeighbourRelation(names(2), metric, 500.0)
        assert engine.copies(data[:5], neighbour_relation).tolist() == [4] * 5
        assert engine.copies(data[:5], neighbour_relation, 3).tolist() == [3] * 5
        assert engine.copies(data[:1] + 1e-9, neighbour_relation).tolist() == [0]
    assert lower("euclidean", 1.0, (), 2).same_place == Form(3, 0.0, (0.0, 0.0))


def test_the_data_are_read_once_a_set_of_columns(device: Device) -> None:
    found = Table(mixture(100, 3))
    engine = GpuEngine(found, device=device)
    for radius in (1.0, 2.0):
        engine.degrees(NeighbourRelation(names(3), "euclidean", radius))
        engine.copies(found.data[:4], NeighbourRelation(names(3), "manhattan", radius))
    assert found.reads == 1
    engine.degrees(NeighbourRelation(("c1",), "euclidean", 1.0))
    assert found.reads == 2


def test_no_records_at_all(device: Device) -> None:
    engine = GpuEngine(Table(np.empty((0, 2))), device=device)
    neighbour_relation = NeighbourRelation(names(2), "euclidean", 1.0)
    assert engine.degrees(neighbour_relation).tolist() == []
    assert engine.neighbours([[0.0, 0.0]] * 3, neighbour_relation, 4).tolist() == [0] * 3
    full = GpuEngine(Table(mixture(9, 2)), device=device)
    assert full.neighbours(np.empty((0, 2)), neighbour_relation).tolist() == []


def test_several_threads_may_ask_at_once(device: Device) -> None:
    data = mixture(1500, 3)
    engine = GpuEngine(Table(data), device=device)
    answers: dict[int, list[int]] = {}

    def ask(width: int) -> None:
        neighbour_relation = NeighbourRelation(names(width), "euclidean", 2.0)
        answers[width] = engine.neighbours(data[:60, :width], neighbour_relation, 50).tolist()

    threads = [threading.Thread(target=ask, args=(width,)) for width in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for width, found in answers.items():
        part = np.ascontiguousarray(data[:, :width])
        form = lower("euclidean", 2.0, (), width)
        assert found == count_plain(part, form, part[:60], 50).tolist()


def test_progress_ends_at_the_end(device: Device) -> None:
    said: list[tuple[int, int, str]] = []
    engine = GpuEngine(
        Table(mixture(2000, 2)), device=device, progress=lambda *told: said.append(told)
    )
    engine.degrees(NeighbourRelation(names(2), "euclidean", 2.0), 20)
    assert said[-1] == (2000, 2000, "counting neighbours")
    assert [done for done, _, _ in said] == sorted(done for done, _, _ in said)


def test_an_engine_shows_no_records_and_refuses_bad_ones(device: Device) -> None:
    engine = GpuEngine(Table(mixture(10, 2)), device=device)
    assert isinstance(engine, Engine)
    assert repr(engine) == f"<GpuEngine on {device.name}: records withheld>"
    neighbour_relation = NeighbourRelation(names(2), "euclidean", 1.0)
    with pytest.raises(InvalidInput, match="have 2 numbers each"):
        engine.neighbours([[1.0]], neighbour_relation)
    with pytest.raises(InvalidInput, match="finite numbers"):
        engine.copies([[1.0, np.nan]], neighbour_relation)
    with pytest.raises(InvalidInput, match="cap"):
        engine.degrees(neighbour_relation, 0)
    missing = GpuEngine(Table(np.array([[1.0, np.nan]])), device=device)
    with pytest.raises(InvalidInput, match="finite numbers"):
        missing.degrees(neighbour_relation)


def test_the_kernel_is_compiled_where_it_can_be() -> None:
    if "cupy" not in DEVICES:
        pytest.skip("no GPU through CuPy here")
    compiled = DEVICES["cupy"].compile
    assert compiled is not None
    for kind in range(4):
        for width in (1, 6, 12, 13, 200, tiles._SHARED):
            assert tiles._kernel(compiled, kind, width, False) is not None
            if kind != MIXED:
                assert tiles._kernel(compiled, kind, width, True) is not None


def test_a_curator_counts_on_the_device(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlalchemy")
    from whitecrow import Curator, DistanceAnomaly, Identify, demo

    monkeypatch.setattr(gpu, "find_device", lambda: device)
    model = DistanceAnomaly(beta=40, radius=12)
    with Curator.open(
        demo.DATA, card=demo.CARD, budget="900", engine="gpu", ledger="sqlite://"
    ) as curator:
        for record, anomaly in (((74, 44.0, 222), True), ((50, 27.0, 130), False)):
            place = dict(zip(("age", "bmi", "systolic"), record, strict=True))
            # At this epsilon a wrong answer has a chance below 1e-40.
            release = curator.ask(Identify(place, model=model, k=2, epsilon="200"))
            assert release.answer is anomaly


def test_an_engine_gives_the_sparse_records(device: Device) -> None:
    class WithRows(Table):
        def rows(self, columns: Sequence[str], rows: NDArray[np.int64]) -> Matrix:
            return self.matrix(columns)[rows]

    data = mixture(500, 2)
    neighbour_relation = NeighbourRelation(names(2), "euclidean", 2.0)
    points, counts = GpuEngine(WithRows(data), device=device).sparse(neighbour_relation, 20)
    degrees = count_plain(data, lower("euclidean", 2.0, (), 2), data, 20)
    assert (points == data[degrees < 20]).all()
    assert (counts == degrees[degrees < 20]).all()
