"""The engine ``disk`` over Parquet larger than memory: growth, memory, and a learned detector.

Records are a mixture of Student's t in three columns (``count``: the records with fewer neighbours
than the cap, beta = 0.0048 n, cap = beta + 880) and in ten (``learn`` at (1, 10^-6)). Each run is a
process of its own, so that its largest resident memory is its own. Up to 10^6 records the counts
are compared with those of ``local``.

`exponent` is the growth of the time of ``count`` over the sizes, `exponent_learn` that of
``learn``; `memory_gib` is the largest resident memory at the largest size.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

import whitecrow as wc
from benchmarks.common import emit, parser, print_table
from whitecrow.data import read
from whitecrow.data.warehouse import open_remote
from whitecrow.learning import Learn, gather
from whitecrow.learning.mechanism import learn
from whitecrow.neighbours import LocalEngine, NeighbourRelation
from whitecrow.neighbours._remote import RemoteEngine

PART = 500_000
BETA = 0.0048
COMPARED = 1_000_000
SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    seconds: float
    cpu: float
    gib: float
    found: int


def part(number: int, rows: int, width: int) -> NDArray[np.float64]:
    """Return some records of the mixture; parts differ, the mixture does not."""
    centres = np.random.default_rng(0).normal(0, 5, (6, width))
    rng = np.random.default_rng([number, width])
    points: NDArray[np.float64] = centres[rng.integers(0, 6, rows)]
    return points + rng.standard_t(3, size=(rows, width))


def names(width: int) -> tuple[str, ...]:
    return tuple(f"x{index}" for index in range(width))


def write(folder: Path, size: int, width: int) -> None:
    """Write the records in parts."""
    jobs = [
        (folder / f"part-{number:05}.parquet", number, min(PART, size - first), width)
        for number, first in enumerate(range(0, size, PART))
    ]
    with SPAWN.Pool(min(len(jobs), os.cpu_count() or 1)) as writers:
        writers.starmap(_write_part, jobs)


def _write_part(path: Path, number: int, rows: int, width: int) -> None:
    columns = np.ascontiguousarray(part(number, rows, width).T)
    parquet.write_table(pa.table(dict(zip(names(width), columns, strict=True))), path)


def radius(width: int) -> float:
    """Return the radius at which one record in 200 has fewer than beta neighbours."""
    among, asked = part(0, 30_000, width), part(1, 600, width)
    rank = int(BETA * len(among))
    squares = [np.partition(((among - point) ** 2).sum(axis=1), rank)[rank] for point in asked]
    return float(np.sqrt(np.quantile(squares, 0.995)))


def counted(folder: Path, size: int) -> Cost:
    """Count on disk, and in memory too where that is cheap."""
    relation = NeighbourRelation(names(3), "euclidean", radius(3))
    cap = int(BETA * size) + 880
    start, worked = time.perf_counter(), time.process_time()
    dataset = open_remote(folder, engine="disk")
    counts = np.sort(RemoteEngine(dataset).sparse(relation, cap)[1])
    cost = _cost(start, worked, len(counts))
    dataset.close()
    if size <= COMPARED:
        local = LocalEngine(read(parquet.read_table(folder))).sparse(relation, cap)[1]
        assert np.array_equal(counts, np.sort(local)), "disk and local differ"
    return cost


def learned(folder: Path, size: int, engine: str = "disk") -> Cost:
    """Learn where the records are."""
    card = wc.Card(
        "records", tuple(wc.Column(name, lower=-40, upper=40, outside="clip") for name in names(10))
    )
    question = Learn(epsilon="1", delta="1e-6", false_alarms=[0.01])
    start, worked = time.perf_counter(), time.process_time()
    dataset = open_remote(folder, card, engine=engine)
    learn(question, gather(question, dataset))
    cost = _cost(start, worked, size)
    dataset.close()
    return cost


def _cost(start: float, worked: float, found: int) -> Cost:
    seconds, cpu = time.perf_counter() - start, time.process_time() - worked
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Cost(seconds, cpu, gib, found)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__ or "")
    options.add_argument("--large", action="store_true", help="also 10^8 records; 12 GB of disk")
    given = options.parse_args()
    sizes = [10**5, 10**6] if given.quick else [10**5, 10**6, 10**7]
    sizes += [10**8] if given.large else []
    rows: list[list[object]] = []
    costs: dict[str, list[Cost]] = {"count": [], "learn": []}
    for size in sizes:
        for what, width, run in (("count", 3, counted), ("learn", 10, learned)):
            with tempfile.TemporaryDirectory(prefix="whitecrow-disk-") as name:
                write(Path(name), size, width)
                with SPAWN.Pool(1) as alone:
                    cost = alone.apply(run, (Path(name), size))
            costs[what].append(cost)
            shape = f"{size:,} x {width}"
            rows.append([what, shape, cost.seconds, cost.cpu, cost.gib, f"{cost.found:,}"])
            print(*rows[-1], flush=True)
    print_table(["question", "records", "s", "processor s", "GiB", "rows found"], rows)
    for what, series in costs.items():
        name = "exponent" if what == "count" else f"exponent_{what}"
        # Below 10^6 it is the time to start.
        late = list(zip(sizes, series, strict=True))[-2:]
        growth = math.log(late[1][1].seconds / late[0][1].seconds)
        emit(name, growth / math.log(late[1][0] / late[0][0]))
    emit("memory_gib", max(series[-1].gib for series in costs.values()))


if __name__ == "__main__":
    main()
