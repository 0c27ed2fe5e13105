"""The engine ``spark`` in one machine: growth, and overhead against the engine ``local``.

Data are those of ``benchmarks.neighbours`` in three columns, as Parquet in parts of 250,000
records; beta = 0.0048 n, cap = beta + 880. Measured is what ``count`` asks for: the records with
fewer neighbours than the cap, and how many each has, from the files; after one run at 20,000
records, which starts the workers. Spark has 2 cores and 4 GiB. The counts of both engines are
compared.

`exponent` is the growth of Spark's time over the sizes (from 10^5; to 10^6 in the quick run, else
10^7), `overhead` its time over that of ``local``, which reads the same files, at the largest size.
`exponent_large` leaves out the smallest size, where the time is that of starting jobs.
`travelled` is the share of the records that came to this process at the largest size.
"""

from __future__ import annotations

import math
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
from whitecrow.data.dialect import Query
from whitecrow.data.warehouse import open_remote
from whitecrow.data.warehouse.spark import SparkWarehouse, session
from whitecrow.neighbours import Closeness, LocalEngine
from whitecrow.neighbours.remote import RemoteEngine

COLUMNS = ("x", "y", "z")
PART = 250_000
MEMORY = "4g"


@dataclass
class Cost:
    """What one computation took."""

    seconds: float = 0.0
    tasks: int = 0
    read: int = 0
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
        found.read += stage.inputBytes()
        found.shuffled += stage.shuffleWriteBytes()
        found.spilled += stage.memoryBytesSpilled() + stage.diskBytesSpilled()
        found.task_memory = max(found.task_memory, stage.peakExecutionMemory())
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
    before, start = totals(spark), time.perf_counter()
    dataset = open_remote(folder, engine="spark")
    points, counts = RemoteEngine(dataset).sparse(asked(found), found.cap)
    seconds = time.perf_counter() - start
    after = totals(spark)
    dataset.close()
    SparkWarehouse.rows = collected  # type: ignore[method-assign]
    cost = Cost(
        seconds,
        after.tasks - before.tasks,
        after.read - before.read,
        after.shuffled - before.shuffled,
        after.spilled - before.spilled,
        after.task_memory,
        arrived,
    )
    return in_order(points, counts), cost


def here(folder: Path, found: Case) -> tuple[Any, float]:
    """Count in this process; return the counts, sorted, and the time."""
    start = time.perf_counter()
    dataset = read(parquet.read_table(folder))
    points, counts = LocalEngine(dataset).sparse(asked(found), found.cap)
    return in_order(points, counts), time.perf_counter() - start


def asked(found: Case) -> Closeness:
    return Closeness(COLUMNS, "euclidean", found.radius)


def in_order(points: Any, counts: Any) -> Any:
    rows = np.column_stack([points, counts])
    return rows[np.lexsort(rows.T)]


def main() -> None:
    options = parser(__doc__ or "").parse_args()
    sizes = [100_000, 1_000_000] if options.quick else [100_000, 1_000_000, 10_000_000]
    spark = session("local[2]", **{"spark.driver.memory": MEMORY})
    table, costs, local = [], [], 0.0
    for size in (20_000, *sizes):
        found = case(size, len(COLUMNS))
        with tempfile.TemporaryDirectory(prefix="whitecrow-spark-") as name:
            write(found, Path(name))
            counted, cost = on_spark(spark, Path(name), found)
            expected, local = here(Path(name), found)
            if size == sizes[0]:
                # The compiled kernels are loaded by now.
                counted, cost = on_spark(spark, Path(name), found)
                expected, local = here(Path(name), found)
        assert np.array_equal(counted, expected), "Spark and local differ"
        if size in sizes:
            costs.append(cost)
            table.append(
                [
                    f"{size:,} x 3",
                    cost.seconds,
                    local,
                    cost.tasks,
                    cost.read / size,
                    f"{cost.shuffled:,}",
                    f"{cost.spilled:,}",
                    f"{cost.task_memory / 2**20:.0f}",
                    f"{cost.travelled:,}",
                    len(counted),
                ]
            )
    print_table(
        [
            "records",
            "spark s",
            "local s",
            "tasks",
            "bytes read/record",
            "shuffled",
            "spilled",
            "MiB a task",
            "rows here",
            "below cap",
        ],
        table,
    )
    seconds = [cost.seconds for cost in costs]
    emit("exponent", _slope(sizes, seconds))
    if len(sizes) > 2:
        emit("exponent_large", _slope(sizes[1:], seconds[1:]))
    emit("overhead", costs[-1].seconds / local)
    emit("travelled", costs[-1].travelled / sizes[-1])


def _slope(sizes: list[int], seconds: list[float]) -> float:
    """Fit log time against log size."""
    return float(np.polyfit([math.log(n) for n in sizes], [math.log(s) for s in seconds], 1)[0])


if __name__ == "__main__":
    main()
