"""The engine ``spark`` in one machine: growth, overhead against ``local``, and a checked model.

Data are those of ``benchmarks.disk``, as Parquet in parts of 500,000 records: three columns for
``count`` (the records with fewer neighbours than the cap, and how many each has; beta = 0.0048 n,
cap = beta + 880), ten for ``learn`` at (1, 10^-6). Measured is from opening the files to the
result, after one run at the smallest size, which starts the workers. Spark has 2 cores and 4 GiB.
Up to 10^7 records the counts of both engines are compared, and each is the median of three runs.

`exponent` is the growth of Spark's time over the sizes from 10^6 on, `overhead` its time over that
of ``local``, which reads the same files, at the largest size that both count, `overhead_least` the
same at 10^6. `exponent_cpu` and `overhead_cpu` are the same for the time that processors worked, in
all processes. `travelled` is the rows that came to this process, in parts of the records, at the
largest size. `foretold` is the time of the largest size by a model that is fitted to the others
(a start, a time a record, a time that grows with the square), over the measured one.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from pyarrow import parquet

from benchmarks.common import emit, parser, print_table
from benchmarks.disk import BETA, learned, names, radius, write
from whitecrow.data import read
from whitecrow.data.warehouse import open_remote
from whitecrow.data.warehouse.spark import SparkWarehouse, session
from whitecrow.neighbours import LocalEngine, NeighbourRelation
from whitecrow.neighbours._remote import RemoteEngine

WIDTH = 3
COMPARED = 10_000_000
MEMORY = "4g"
POWERS = ("at any size", "a record", "a record and a record")
"""What a time is made of. Those asked about, a part of all, are counted in each index, and so many
records make one: that grows with the square, until records that move are the cheaper way."""


@dataclass
class Cost:
    """What one computation took."""

    seconds: float = 0.0
    cpu: float = 0.0
    tasks: int = 0
    shuffled: int = 0
    spilled: int = 0
    task_memory: int = 0
    travelled: int = 0


def stages(spark: Any) -> Iterator[Any]:
    """Yield what Spark's own pages know of each stage so far."""
    context = spark.sparkContext
    pages = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
    with urlopen(f"{pages}/stages") as reply:
        yield from json.load(reply)


def totals(spark: Any) -> Cost:
    """Add up the stages."""
    cost = Cost()
    for stage in stages(spark):
        cost.tasks += stage["numCompleteTasks"]
        cost.shuffled += stage["shuffleWriteBytes"]
        cost.spilled += stage["memoryBytesSpilled"] + stage["diskBytesSpilled"]
        each = stage["peakExecutionMemory"] // max(1, stage["numTasks"])
        cost.task_memory = max(cost.task_memory, each)
    return cost


def on_spark(spark: Any, folder: Path, size: int) -> tuple[Any, Cost]:
    """Count on Spark; return the counts, sorted, and what they cost."""
    arrived = 0
    collected = SparkWarehouse.work

    def work(self: SparkWarehouse, *given: Any, **named: Any) -> Iterator[Any]:
        nonlocal arrived
        for part in collected(self, *given, **named):
            arrived += len(part)
            yield part

    SparkWarehouse.work = work  # type: ignore[method-assign]
    asked = relation()
    before, worked, start = totals(spark), worked_below(), time.perf_counter()
    dataset = open_remote(folder, engine="spark")
    points, counts = RemoteEngine(dataset).sparse(asked, cap(size))
    seconds = time.perf_counter() - start
    worked = worked_below() - worked
    after = totals(spark)
    dataset.close()
    SparkWarehouse.work = collected  # type: ignore[method-assign]
    cost = Cost(
        seconds,
        worked,
        after.tasks - before.tasks,
        after.shuffled - before.shuffled,
        after.spilled - before.spilled,
        after.task_memory,
        arrived,
    )
    return in_order(points, counts), cost


def here(folder: Path, size: int) -> tuple[Any, Cost]:
    """Count in this process; return the counts, sorted, and the time."""
    asked = relation()
    worked, start = time.process_time(), time.perf_counter()
    dataset = read(parquet.read_table(folder))
    points, counts = LocalEngine(dataset).sparse(asked, cap(size))
    cost = Cost(time.perf_counter() - start, time.process_time() - worked)
    return in_order(points, counts), cost


def worked_below() -> float:
    """Return the processor time of this process, Spark and its workers, dead ones included."""
    parents, ticks = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    ticks_spent, waiting = 0, [os.getpid()]
    while waiting:
        parent = waiting.pop()
        ticks_spent += ticks.get(parent, 0)
        waiting += [process for process, above in parents.items() if above == parent]
    return ticks_spent / os.sysconf("SC_CLK_TCK")


@cache
def relation() -> NeighbourRelation:
    """Return the question; its radius takes a while to find, which is not measured."""
    return NeighbourRelation(names(WIDTH), "euclidean", radius(WIDTH))


def cap(size: int) -> int:
    return int(BETA * size) + 880


def in_order(points: Any, counts: Any) -> Any:
    rows = np.column_stack([points, counts])
    return rows[np.lexsort(rows.T)]


def fitted(sizes: list[int], seconds: list[float]) -> tuple[float, ...]:
    """Return the times of POWERS, least relative error."""
    weight = 1.0 / np.array(seconds)
    design = np.vander(np.array(sizes, float), len(POWERS), increasing=True) * weight[:, None]
    return tuple(np.linalg.lstsq(design, np.ones(len(sizes)), rcond=None)[0].tolist())


def check_model(sizes: list[int], seconds: list[float]) -> float:
    """Fit to all but the two largest, then to all but the largest; print what each foretells.

    Returns the last one over the measured time.
    """
    ratio, rows = math.nan, []
    for left_out in (2, 1):
        measured = len(sizes) - left_out
        if measured >= len(POWERS):
            times = fitted(sizes[:measured], seconds[:measured])
            foretold = sum(time * sizes[measured] ** power for power, time in enumerate(times))
            ratio = foretold / seconds[measured]
            rows.append([f"{sizes[measured]:,}", foretold, seconds[measured], ratio])
    print_table(["records", "foretold s", "measured s", "ratio"], rows)
    if len(sizes) >= len(POWERS):
        for what, time in zip(POWERS, fitted(sizes, seconds), strict=True):
            print(f"{what}: {time:.4g} s")
    return ratio


def counted(spark: Any, size: int, repeat: int) -> tuple[Cost, Cost, int]:
    """Return the median costs of Spark and of ``local``, and how many records are below the cap."""
    with tempfile.TemporaryDirectory(prefix="whitecrow-spark-") as name:
        write(Path(name), size, WIDTH)
        runs = [on_spark(spark, Path(name), size) for _ in range(repeat)]
        local = [Cost(math.nan, math.nan)]
        if size <= COMPARED:
            local_runs = [here(Path(name), size) for _ in range(repeat)]
            assert np.array_equal(runs[0][0], local_runs[0][0]), "Spark and local differ"
            local = [cost for _, cost in local_runs]
    return median([cost for _, cost in runs]), median(local), len(runs[0][0])


def median(costs: list[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.seconds)[len(costs) // 2]


def main() -> None:
    """Measure and print."""
    options = parser(__doc__ or "")
    options.add_argument("--large", action="store_true", help="also 10^8 records; 12 GB of disk")
    options.add_argument("--learn", action="store_true", help="also a detector over ten columns")
    given = options.parse_args()
    sizes = [100_000, 1_000_000] if given.quick else [100_000, 1_000_000, 3_000_000, 10_000_000]
    sizes += [30_000_000, 100_000_000] if given.large else []
    spark = session("local[2]", **{"spark.driver.memory": MEMORY, "spark.ui.enabled": "true"})
    counted(spark, sizes[0], 1)
    table: list[list[object]] = []
    costs: dict[int, tuple[Cost, Cost]] = {}
    for size in sizes:
        cost, local, below = counted(spark, size, 3 if size <= COMPARED else 1)
        costs[size] = cost, local
        table.append(
            [
                f"{size:,} x 3",
                cost.seconds,
                cost.cpu,
                local.seconds,
                local.cpu,
                cost.tasks,
                f"{cost.shuffled:,}",
                cost.spilled,
                f"{cost.task_memory / 2**20:.0f}",
                f"{cost.travelled:,}",
                f"{below:,}",
            ]
        )
        print(*table[-1], flush=True)
    print_table(
        [
            "records",
            "spark s",
            "cpu s",
            "local s",
            "cpu s",
            "tasks",
            "bytes shuffled",
            "spilled",
            "MiB a task",
            "rows here",
            "below cap",
        ],
        table,
    )
    grown = sizes if given.quick else sizes[1:]
    both = max(size for size in sizes if size <= COMPARED)
    emit("exponent", _slope(grown, [costs[size][0].seconds for size in grown]))
    emit("overhead", costs[both][0].seconds / costs[both][1].seconds)
    emit("overhead_least", costs[10**6][0].seconds / costs[10**6][1].seconds)
    emit("exponent_cpu", _slope(grown, [costs[size][0].cpu for size in grown]))
    emit("overhead_cpu", costs[both][0].cpu / costs[both][1].cpu)
    emit("travelled", costs[sizes[-1]][0].travelled / sizes[-1])
    if not given.quick:
        emit("foretold", check_model(grown, [costs[size][0].seconds for size in grown]))
    if given.learn:
        rows: list[list[object]] = []
        for size in grown:
            with tempfile.TemporaryDirectory(prefix="whitecrow-spark-") as name:
                write(Path(name), size, 10)
                worked = worked_below()
                seconds = learned(Path(name), size, "spark").seconds
                rows.append([f"{size:,} x 10", seconds, worked_below() - worked])
            print(*rows[-1], flush=True)
        print_table(["learn", "s", "cpu s"], rows)


def _slope(sizes: list[int], seconds: list[float]) -> float:
    """Fit log time against log size."""
    return float(np.polyfit([math.log(n) for n in sizes], [math.log(s) for s in seconds], 1)[0])


if __name__ == "__main__":
    main()
