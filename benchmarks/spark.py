"""The engine ``spark`` in one machine: growth, and overhead against the engine ``local``.

Data are those of ``benchmarks.neighbours`` in three columns, as Parquet in parts of 250,000
records; beta = 0.0048 n, cap = beta + 880. Measured is what ``count`` asks for: the records with
fewer neighbours than the cap, and how many each has, from the files; after one run at the smallest
size, which starts the workers. Spark has 2 cores and 4 GiB. The counts of both engines are
compared.

`exponent` is the growth of Spark's time over the sizes (from 10^5; to 10^6 in the quick run, else
10^7), `overhead` its time over that of ``local``, which reads the same files, at the largest size.
`exponent_cpu` and `overhead_cpu` are the same for the time that processors worked, in all
processes. `travelled` is the rows that came to this process, in parts of the records, at the
largest size.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.common import emit, parser, print_table
from benchmarks.neighbours import Case, case
from whitecrow.data import read
from whitecrow.data._dialect import Query
from whitecrow.data.warehouse import open_remote
from whitecrow.data.warehouse._spark import SparkWarehouse, session
from whitecrow.neighbours import LocalEngine, NeighbourRelation
from whitecrow.neighbours._remote import RemoteEngine

COLUMNS = ("x", "y", "z")
PART = 250_000
MEMORY = "4g"


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


def write(found: Case, folder: Path) -> None:
    """Write the data in parts."""
    for number, first in enumerate(range(0, len(found.data), PART)):
        part = found.data[first : first + PART]
        table = pa.table(dict(zip(COLUMNS, np.ascontiguousarray(part.T), strict=True)))
        parquet.write_table(table, folder / f"part-{number:05}.parquet")


def stages(spark: Any) -> Iterator[Any]:
    """Yield what Spark knows of each stage so far."""
    context = spark.sparkContext
    none = context._gateway.new_array(context._jvm.double, 0)
    listed = context._jsc.sc().statusStore().stageList(None, False, False, none, None)
    for place in range(listed.size()):
        yield listed.apply(place)


def totals(spark: Any) -> Cost:
    """Add up the stages."""
    found = Cost()
    for stage in stages(spark):
        found.tasks += stage.numCompleteTasks()
        found.shuffled += stage.shuffleWriteBytes()
        found.spilled += stage.memoryBytesSpilled() + stage.diskBytesSpilled()
        each = stage.peakExecutionMemory() // max(1, stage.numTasks())
        found.task_memory = max(found.task_memory, each)
    return found


def on_spark(spark: Any, folder: Path, found: Case) -> tuple[Any, Cost]:
    """Count on Spark; return the counts, sorted, and what they cost."""
    arrived = 0
    collected = SparkWarehouse.rows

    def rows(self: SparkWarehouse, query: Query, width: int) -> Any:
        nonlocal arrived
        result = collected(self, query, width)
        arrived += len(result)
        return result

    SparkWarehouse.rows = rows  # type: ignore[method-assign]
    before, worked, start = totals(spark), worked_below(), time.perf_counter()
    dataset = open_remote(folder, engine="spark")
    points, counts = RemoteEngine(dataset).sparse(asked(found), found.cap)
    seconds = time.perf_counter() - start
    worked = worked_below() - worked
    after = totals(spark)
    dataset.close()
    SparkWarehouse.rows = collected  # type: ignore[method-assign]
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


def here(folder: Path, found: Case) -> tuple[Any, Cost]:
    """Count in this process; return the counts, sorted, and the time."""
    worked, start = time.process_time(), time.perf_counter()
    dataset = read(parquet.read_table(folder))
    points, counts = LocalEngine(dataset).sparse(asked(found), found.cap)
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
    found, waiting = 0, [os.getpid()]
    while waiting:
        parent = waiting.pop()
        found += ticks.get(parent, 0)
        waiting += [process for process, above in parents.items() if above == parent]
    return found / os.sysconf("SC_CLK_TCK")


def asked(found: Case) -> NeighbourRelation:
    return NeighbourRelation(COLUMNS, "euclidean", found.radius)


def in_order(points: Any, counts: Any) -> Any:
    rows = np.column_stack([points, counts])
    return rows[np.lexsort(rows.T)]


def main() -> None:
    options = parser(__doc__ or "").parse_args()
    sizes = [100_000, 1_000_000] if options.quick else [100_000, 1_000_000, 10_000_000]
    spark = session("local[2]", **{"spark.driver.memory": MEMORY})
    table, costs, local = [], [], Cost()
    for size in (sizes[0], *sizes):
        found = case(size, len(COLUMNS))
        with tempfile.TemporaryDirectory(prefix="whitecrow-spark-") as name:
            write(found, Path(name))
            counted, cost = on_spark(spark, Path(name), found)
            expected, local = here(Path(name), found)
        assert np.array_equal(counted, expected), "Spark and local differ"
        costs.append(cost)
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
                f"{len(counted):,}",
            ]
        )
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
        table[1:],
    )
    emit("exponent", _slope(sizes, [cost.seconds for cost in costs[1:]]))
    emit("overhead", costs[-1].seconds / local.seconds)
    emit("exponent_cpu", _slope(sizes, [cost.cpu for cost in costs[1:]]))
    emit("overhead_cpu", costs[-1].cpu / local.cpu)
    emit("travelled", costs[-1].travelled / sizes[-1])


def _slope(sizes: list[int], seconds: list[float]) -> float:
    """Fit log time against log size."""
    return float(np.polyfit([math.log(n) for n in sizes], [math.log(s) for s in seconds], 1)[0])


if __name__ == "__main__":
    main()
