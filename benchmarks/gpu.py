"""All-record counts on a GPU against trees on every core of the same machine.

Data, radii and the cap are those of `benchmarks.neighbours`. Ours starts from the array in the
computer's memory: sending it to the GPU and fetching the counts are part of the time, compiling the
kernel, once a process, is not. Peers build their tree (timed) and count for every record, or for a
random sample, scaled up. cuML, where it is installed, looks up as many nearest neighbours as the
cap. All counts are compared.

`ratio_min` is (best peer / ours) for 284,807 x 6, the smaller of CuPy's and PyTorch's where both
are here; `ratio_small_radius_min` is the same at a radius at which half of the records have at most
beta neighbours; `ratio_operations_min` is ours without the compiled kernel; `ratio_local` compares
with the engine `local` on all cores. `large_seconds` is 10 million x 6, for which trees would take
hours: there ours is compared with itself without the filter in single precision, without pivots,
and with `local`, and every count is compared. `gpu_scores_per_second` are records with ten columns
that the learned detector scores.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import best_of, emit, parser, print_table
from benchmarks.neighbours import Case, Counts, Matrix, case, check, measured, mixture
from benchmarks.peers import Build, learn_tree, scipy_tree
from whitecrow.errors import Unavailable
from whitecrow.neighbours import NeighbourRelation, _tiles, count_all
from whitecrow.neighbours._pivots import Pivots
from whitecrow.neighbours.devices import Device, cupy_device, find_device, torch_device
from whitecrow.neighbours.gpu import GpuEngine

MAIN = (284_807, 6)
LARGE = (10_000_000, 6)
LEARNED = (10_000_000, 10)
OTHERS = ((3_772, 6), (60_000, 12), (1_000_000, 3))
CORES = len(os.sched_getaffinity(0))
REGIMES = ("half a percent at or under beta", "half at or under beta")


class Table:
    """An array in the shape of a dataset."""

    def __init__(self, data: Matrix) -> None:
        self._data = data

    def matrix(self, columns: Sequence[str]) -> Matrix:
        return self._data


def here() -> dict[str, Device]:
    """Return each way to this machine's GPU: compiled kernels first, then array operations."""
    find_device()
    devices = {}
    for name, device in (("cupy", cupy_device), ("torch", torch_device)):
        if importlib.util.find_spec(name):
            devices[f"{name}, array operations"] = dataclasses.replace(device(), compile=None)
            if device().compile is not None:
                devices[name] = device()
    return devices


def count_on(device: Device, data: Matrix, radius: float, cap: int) -> Counts:
    """Count for every record, from the raw array."""
    names = tuple(f"c{c}" for c in range(data.shape[1]))
    engine = GpuEngine(Table(data), device=device)
    return engine.degrees(NeighbourRelation(names, "euclidean", radius), cap)


def nearest_on_gpu(data: Matrix, cap: int, radius: float) -> Counts:
    """cuML: the cap nearest neighbours of every record, in float32; those within the radius."""
    cuml: Any = importlib.import_module("cuml.neighbors")
    single = data.astype(np.float32)
    model = cuml.NearestNeighbors(n_neighbors=cap, algorithm="brute", output_type="numpy")
    model.fit(single)
    parts = np.array_split(single, max(1, len(data) // 20_000))
    counts = [(model.kneighbors(part)[0] <= radius).sum(axis=1) for part in parts]
    return np.concatenate(counts)


PEERS: dict[str, Build] = {
    "cKDTree": partial(scipy_tree, cores=CORES),
    "KDTree": partial(learn_tree, "KDTree", cores=CORES),
    "BallTree": partial(learn_tree, "BallTree", cores=CORES),
}


def peers(this: Case, seconds: float) -> dict[str, tuple[list[float], list[Any]]]:
    """Return the times and the counts of the peers on the processor."""
    results = {}
    for name, build in PEERS.items():
        times, counts, _ = measured(build, this.data, this.cap, [this.radius, this.small], seconds)
        results[name] = times, counts
    return results


def timed(count: Callable[[], Counts]) -> tuple[float, Counts]:
    """Return the best of several runs after a first one, which may compile, and the counts."""
    start = time.perf_counter()
    counts = count()
    first = time.perf_counter() - start
    return (first if first > 5.0 else best_of(count, 3)), counts


def mine(this: Case, radius: float, devices: dict[str, Device]) -> tuple[dict[str, float], Counts]:
    """Return the seconds of each way to count that is ours, and the counts, the same for all."""
    counting: dict[str, Callable[[], Counts]] = {
        name: partial(count_on, device, this.data, radius, this.cap)
        for name, device in devices.items()
    }
    if importlib.util.find_spec("numba"):
        counting["local"] = partial(count_all, this.data, radius, cap=this.cap)
        counting["local"]()
    times, counts = {}, []
    for name, count in counting.items():
        times[name], counted = timed(count)
        counts.append(counted)
        assert (counted == counts[0]).all(), f"{name} counts otherwise"
    return times, counts[0]


def show(
    shape: tuple[int, int], this: Case, theirs: dict[str, Any], devices: Sequence[dict[str, Device]]
) -> tuple[list[dict[str, float]], list[float]]:
    """Measure ours on one shape, compare every count, print; return seconds and best peers."""
    ours, best = [], []
    for regime, radius in enumerate((this.radius, this.small)):
        times, counts = mine(this, radius, devices[regime])
        rows: list[list[object]] = []
        for name, (spent, expected) in theirs.items():
            check(name, counts, this.cap, expected[regime])
            share = len(expected[regime][0]) / len(this.data)
            sample = "all records" if share == 1.0 else f"{share:.0%} of the records, scaled"
            rows.append([name, spent[regime], sample])
        if importlib.util.find_spec("cuml"):
            start = time.perf_counter()
            nearest_on_gpu(this.data, this.cap, radius)
            rows.append(["cuML", time.perf_counter() - start, "on the GPU, in float32"])
        best.append(min(spent[regime] for spent, _ in theirs.values()))
        ours.append(times)
        rows += [[name, spent, f"ours, {best[-1] / spent:.4g} x"] for name, spent in times.items()]
        capped = float((counts == this.cap).mean())
        print(f"{shape[0]:,} x {shape[1]}, {REGIMES[regime]} ({capped:.1%} reach the cap)")
        print_table(["", "seconds", ""], rows)
    return ours, best


def large(devices: dict[str, Device]) -> float:
    """Count for ten million records, with and without what makes it fast; return the seconds."""
    this, rows, best = case(*LARGE), [], 0.0
    for regime, radius in enumerate((this.radius, this.small)):
        expected = None
        if importlib.util.find_spec("numba"):
            start = time.perf_counter()
            expected = count_all(this.data, radius, cap=this.cap)
            rows.append([REGIMES[regime], "local", time.perf_counter() - start])
        for name, device in devices.items():
            for without in ("", "_narrow", "_pivots"):
                with _without(without):
                    spent, counts = timed(partial(count_on, device, this.data, radius, this.cap))
                expected = counts if expected is None else expected
                assert (counts == expected).all(), f"{name} counts otherwise"
                label = name if not without else f"{name}, without {without[1:]}"
                rows.append([REGIMES[regime], label, spent])
                if not without and regime == 0:
                    best = max(best, spent)
    print(f"{LARGE[0]:,} x {LARGE[1]}, all counts equal")
    print_table(["", "", "seconds"], rows)
    return best


def detector(devices: dict[str, Device]) -> float:
    """Count and score ten million records x 10 for the learned detector; return scores a second.

    The records start in the computer's memory. Learning counts four times by column, once by table
    and once by score; the processor's loops take one core.
    """
    import pyarrow

    import whitecrow as wc
    from whitecrow.detector import on_gpu, scoring
    from whitecrow.learning.facts import ByColumn, ByScore, ByTable

    data = mixture(LEARNED[0], LEARNED[1])
    names = [f"c{c}" for c in range(LEARNED[1])]
    few = pyarrow.table(dict(zip(names, data[:50_000].T, strict=True)))
    card = wc.Card("made", tuple(wc.Column(name, lower=-200, upper=200) for name in names))
    curator = wc.Curator.open(few, card=card, name="made", ledger="sqlite://", budget="1, 1e-6")
    model = curator.learn(epsilon=1, delta="1e-6").answer.model
    columns, edges = scoring.encoders(model), np.arange(0, 10**6, 5000)
    rows, rates, expected = [], [], None
    for name, device in [("one core", None), *devices.items()]:
        together = on_gpu.BATCH if device is not None else 65_536
        size = LEARNED[0] if device is not None else LEARNED[0] // 10
        parts = [data[first : first + together] for first in range(0, size, together)]
        answers, spent = [], []
        for counting, times in (
            (ByColumn(model.grids, device), 4),
            (ByTable(columns, model.tables, device), 1),
            (ByScore(model, edges, device), 1),
        ):
            counts = np.zeros(counting.size, np.int64)
            counting.count(parts[0][:1000], counts.copy())  # compiles
            start = time.perf_counter()
            for part in parts:
                counting.count(part, counts)
            spent.append((time.perf_counter() - start) * times * LEARNED[0] / size)
            small = np.zeros(counting.size, np.int64)
            counting.count(data[:100_000], small)
            answers.append(small)
        expected = answers if expected is None else expected
        assert all((a == b).all() for a, b in zip(answers, expected, strict=True)), name
        start = time.perf_counter()
        for part in parts:
            if device is None:
                scoring.raw_scores(model, columns, part)
            else:
                on_gpu.raw_scores(device, model, columns, part)
        rate = size / (time.perf_counter() - start)
        rates.append(rate)
        rows.append([name, *spent, sum(spent), rate])
    print(f"{LEARNED[0]:,} x {LEARNED[1]}, {len(model.tables)} tables, counts equal")
    print_table(["", "by column, s", "by table, s", "by score, s", "all, s", "scores/s"], rows)
    return min(rates[1:])


@contextlib.contextmanager
def _without(part: str) -> Iterator[None]:
    """Count without the filter in single precision, or without pivots."""
    originals = _tiles.band, _tiles.choose
    if part == "_narrow":
        _tiles.band = lambda form, one, other: None
    if part == "_pivots":
        _tiles.choose = lambda *given, **named: Pivots((), (), 1.0)
    try:
        yield
    finally:
        _tiles.band, _tiles.choose = originals


def processor() -> str:
    """Return the name of the processor, as Linux tells it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "").parse_args(argv)
    try:
        find_device()
    except Unavailable as none:
        print(none)
        return
    # The peers come first, all of them: they fork, and a process that counts on a GPU should not.
    shapes = (MAIN,) if options.quick else (MAIN, *OTHERS)
    seconds = 0.8 if options.quick else 25.0
    cases = {shape: case(*shape) for shape in shapes}
    theirs = {
        shape: peers(this, seconds if shape == MAIN else 5.0) for shape, this in cases.items()
    }
    devices = here()
    print(f"{CORES} cores of {processor()}; Python {platform.python_version()}")
    compiled = {name: device for name, device in devices.items() if device.compile is not None}
    for device in compiled.values():
        print(device.name)
    print()
    # Where few records reach the cap, array operations take their time.
    widely = (devices, compiled) if options.quick else (devices, devices)
    results = {
        shape: show(shape, this, theirs[shape], widely if shape == MAIN else (compiled, compiled))
        for shape, this in cases.items()
    }

    if not options.quick:
        emit("large_seconds", large(compiled))
        emit("gpu_scores_per_second", detector(compiled))
    ours, best = results[MAIN]
    emit("ratio_min", min(best[0] / ours[0][name] for name in compiled))
    emit("ratio_small_radius_min", min(best[1] / ours[1][name] for name in compiled))
    operations = [name for name in devices if "," in name]
    emit("ratio_operations_min", min(best[0] / ours[0][name] for name in operations))
    if "local" in ours[0]:
        emit("ratio_local", ours[0]["local"] / min(ours[0][name] for name in compiled))


if __name__ == "__main__":
    main()
