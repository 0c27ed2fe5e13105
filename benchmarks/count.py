"""One private count at growing sizes, in the plane and in many columns; against the paper's way.

Facts and release are timed as a curator computes them. Prints `exponent_2d`, the growth of time
with N in the plane; `ratio_paper`, how many times longer the paper's corrected algorithm takes on
the largest sample where it ends; `seconds_2d` and `seconds_7d`, one count at the largest N;
`memory_2d` and `memory_7d`, the most memory held during it, data included, over the data.
`seconds_10d` and `memory_10d` are of two million records with ten columns, not in quick runs.

`asked_7d_s` and `asked_10d_s` are what a user waits, in a process of its own with the kernels at
hand: a Parquet file of a million records with seven columns (two million with ten) is opened, and
its outliers are counted with smooth noise through a durable account; `asked_7d_memory` and
`asked_10d_memory` are the most memory that took, over the data.
"""

from __future__ import annotations

import math
import multiprocessing
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

import whitecrow as wc
from benchmarks.common import best_of, emit, parser, print_table
from whitecrow.anomaly import DistanceAnomaly
from whitecrow.count import Count, gather, release
from whitecrow.counting.smooth import smooth_sensitivity
from whitecrow.data import Card, Column, Dataset
from whitecrow.neighbours import open_engine
from whitecrow_research.papers.okada.printed import paper_smooth_sensitivity

BETA = 3
SHARE = 0.01
"""About one record in a hundred is an outlier."""


@dataclass(frozen=True)
class Run:
    """What one count took."""

    seconds: list[float]
    outliers: int
    sensitivity: float
    memory: float


def mixture(n: int, columns: int, seed: int = 1) -> NDArray[np.float64]:
    """Five clusters with heavy tails."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(5, columns)) * 6
    chosen = generator.integers(0, 5, n)
    return centres[chosen] + generator.standard_t(5, size=(n, columns))


def radius_for(columns: int, n: int) -> float:
    """The radius at which SHARE of a sample are outliers, scaled to n records.

    What counts is records in a ball: in a sample of m of n records the radius at which a record
    has k of them around it is (n/m)^(1/d) times that in all.
    """
    m = min(n, 20_000)
    sample = mixture(m, columns)
    from whitecrow.neighbours import count_all

    low, high = 1e-3, 100.0
    for _ in range(20):
        middle = math.sqrt(low * high)
        if (count_all(sample, middle, cap=BETA + 1) <= BETA).mean() > SHARE:
            low = middle
        else:
            high = middle
    return float(high * (m / n) ** (1 / columns))


def one_count(n: int, columns: int, repeat: int) -> Run:
    """Count the outliers of n records: facts and release, as a curator would."""
    names = [f"c{i}" for i in range(columns)]
    values = mixture(n, columns)
    rows = Dataset(
        Card("mixture", tuple(Column(name) for name in names)),
        {name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(names)},
    )
    del values
    model = DistanceAnomaly(BETA, radius_for(columns, n))
    question = Count(names, model=model, epsilon=1, mechanism="smooth")
    seconds, memory = [], 0.0
    for _ in range(repeat):
        engine = open_engine(rows)
        before = _memory("VmRSS")
        _forget_peak()
        start = time.perf_counter()
        facts = gather(question, rows, engine)
        release(question, facts)
        seconds.append(time.perf_counter() - start)
        memory = max(memory, 1 + (_memory("VmHWM") - before) / (8 * n * columns))
    return Run(seconds, facts.exact_outliers, float(facts.exact_sensitivity), memory)


def asked(n: int, columns: int) -> tuple[float, float]:
    """Open a file and count, as a user would, in a new process; return seconds and memory."""
    with tempfile.TemporaryDirectory(prefix="whitecrow-count-") as name:
        folder = Path(name)
        for file, size in (("few", 30_000), ("all", n)):
            values = mixture(size, columns)
            table = pa.table({f"c{i}": values[:, i] for i in range(columns)})
            parquet.write_table(table, folder / f"{file}.parquet")
        del values, table
        radii = radius_for(columns, 30_000), radius_for(columns, n)
        with multiprocessing.get_context("spawn").Pool(1) as alone:
            seconds, octets = alone.apply(_ask, (folder, radii))
    return seconds, octets / (8 * n * columns)


def _ask(folder: Path, radii: tuple[float, float]) -> tuple[float, float]:
    for file, radius in zip(("few", "all"), radii, strict=True):
        before = _memory("VmRSS")
        _forget_peak()
        start = time.perf_counter()
        with wc.Curator.open(folder / f"{file}.parquet", ledger=folder / f"{file}.db") as curator:
            model = DistanceAnomaly(BETA, radius)
            curator.count(model=model, epsilon=1, mechanism="smooth")
        seconds = time.perf_counter() - start
    return seconds, _memory("VmHWM") - before


def _memory(what: str) -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(what):
            return 1024.0 * int(line.split()[1])
    return 0.0


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def paper(sizes: list[int]) -> list[tuple[int, float, float, float, float, float]]:
    """Time the paper's corrected algorithm, with its pruning, beside ours on the same points.

    Both are called from Python; the paper's is exponential in the number of points that one ball
    holds. Its cap is N, ours the smaller of N and 5 beta + 1.
    """
    rows = []
    smoothing = 1 / (4 * (1 + math.log(200)))
    for n in sizes:
        points = np.random.default_rng(n).normal(size=(n, 2))
        start = time.perf_counter()
        theirs = paper_smooth_sensitivity(points, k=BETA, radius=0.6, smoothing=smoothing)
        slow = time.perf_counter() - start

        def ours(points: NDArray[np.float64] = points) -> float:
            return smooth_sensitivity(
                points, beta=BETA, radius=0.6, smoothing=smoothing, relation="replace_one"
            )

        fast = best_of(ours, 5)
        rows.append((n, slow, fast, slow / fast, theirs, ours()))
    return rows


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "").parse_args(argv)
    plane = [10_000, 100_000, 1_000_000] + ([] if options.quick else [4_000_000])
    space = [10_000, 100_000, 1_000_000]
    for columns in (2, 7):
        one_count(3_000, columns, 1)  # compiles
    rows = []
    runs: dict[tuple[int, int], Run] = {}
    shapes = [(2, plane), (7, space), *([] if options.quick else [(10, [2_000_000])])]
    for columns, sizes in shapes:
        for n in sizes:
            repeat = 1 if columns == 10 else 3
            run = runs[columns, n] = one_count(n, columns, repeat)
            times = min(run.seconds), median(run.seconds), max(run.seconds)
            rows.append((columns, n, *times, run.outliers, run.sensitivity, run.memory))
    headers = ("columns", "records", "least s", "median s", "most s", "outliers", "sensitivity")
    print_table((*headers, "memory / data"), rows)

    compared = paper([10, 14, 17] if options.quick else [10, 14, 17, 20])
    print_table(("records", "paper, s", "ours, s", "ratio", "paper's S", "our S"), compared)

    logs = np.log([(n, min(runs[2, n].seconds)) for n in plane])
    emit("exponent_2d", float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0]))
    emit("ratio_paper", compared[-1][3])
    emit("seconds_2d", *runs[2, plane[-1]].seconds)
    emit("seconds_7d", *runs[7, space[-1]].seconds)
    emit("memory_2d", runs[2, plane[-1]].memory)
    emit("memory_7d", runs[7, space[-1]].memory)
    if not options.quick:
        emit("seconds_10d", *runs[10, 2_000_000].seconds)
        emit("memory_10d", runs[10, 2_000_000].memory)
    waited = [asked(1_000_000, 7) for _ in range(1 if options.quick else 3)]
    emit("asked_7d_s", *[seconds for seconds, _ in waited])
    emit("asked_7d_memory", *[memory for _, memory in waited])
    if not options.quick:
        seconds, memory = asked(2_000_000, 10)
        emit("asked_10d_s", seconds)
        emit("asked_10d_memory", memory)


if __name__ == "__main__":
    main()
