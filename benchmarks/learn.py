"""Learning and scoring: how time grows with records, how fast records are scored.

Seconds are processor time, all of one thread: what else the machine does matters little. With ten
columns, `records_per_second` are scored by one core, `duckdb_records_per_second` by the same core
through a function of DuckDB, `sql_records_per_second` by the detector's SQL text there, of which
`sql_planning_s` is the time before the first record; with ``--spark`` also
`spark_records_per_second`, by the wall clock on one core.
`fit_50000_s` learns from 50,000, `exponent` is the growth of that time. `file_bytes_40_columns` is
the size of a detector of 40 columns.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import whitecrow as wc
from benchmarks.common import emit, parser, print_table, times_of
from whitecrow.data import read
from whitecrow.learning import Learn, gather
from whitecrow.learning.mechanism import learn

timed = partial(times_of, clock=time.process_time)


def dataset(size: int, columns: int = 10) -> tuple[pa.Table, wc.Card]:
    """Return made-up records and their card."""
    source = np.random.default_rng(0)
    table = pa.table({f"x{j}": source.normal(size=size) for j in range(columns)})
    card = wc.Card(
        "records",
        tuple(wc.Column(f"x{j}", lower=-8, upper=8, outside="clip") for j in range(columns)),
    )
    return table, card


def in_duckdb(
    detector: wc.Detector, table: pa.Table
) -> tuple[list[float], list[float], list[float]]:
    """Return records a second in DuckDB on one thread: by a function, and by the SQL text.

    The third is what the text takes to plan, in seconds; it is no part of the second.
    """
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    connection.register("given", table)
    connection.execute("CREATE TABLE records AS SELECT * FROM given")
    detector.duckdb(connection, "strange")
    function = f"SELECT sum(strange({', '.join(detector.columns)})) FROM records"  # noqa: S608
    text = f"SELECT sum(score) FROM ({detector.sql('duckdb', 'records')})"  # noqa: S608

    def ask(query: str) -> list[object]:
        return connection.execute(query).fetchall()

    assert ask(function) == ask(text), "the two ways differ"
    first, second, planned = (
        timed(partial(ask, query)) for query in (function, text, f"EXPLAIN {text}")
    )
    after = [seconds - median(planned) for seconds in second]
    return [len(table) / time for time in first], [len(table) / time for time in after], planned


def on_spark(detector: wc.Detector, table: pa.Table) -> list[float]:
    """Return records a second on one core of Spark, wall clock; the workers read the file."""
    from whitecrow.data.warehouse.spark import session

    session("local[1]")
    with tempfile.TemporaryDirectory() as folder:
        parquet.write_table(table, f"{folder}/records.parquet")
        scored = detector.spark(folder, keep=[])
        scored.agg({"score": "sum"}).collect()
        spent = times_of(lambda: scored.agg({"score": "sum"}).collect())
    return [len(table) / time for time in spent]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = parser(__doc__ or "")
    options.add_argument("--spark", action="store_true", help="score on Spark, too")
    given = options.parse_args(argv)
    sizes = [10_000, 50_000, 200_000] if given.quick else [10_000, 50_000, 200_000, 1_000_000]
    question = Learn(epsilon="1", delta="1e-6", false_alarms=[0.01])
    rows, times = [], {}
    for size in sizes:
        table, card = dataset(size)
        data = read(table, card)
        detector = learn(question, gather(question, data))
        fits = timed(lambda data=data: learn(question, gather(question, data)))
        spent = timed(lambda table=table, detector=detector: detector.scores(table))
        times[size], rates = fits, [size / time for time in spent]
        rows.append([f"{size:,}", min(fits), median(fits), round(median(rates))])
    print_table(["records (10 columns)", "fit, least s", "median s", "scores/s"], rows)
    wide, card = dataset(20_000, 40)
    large = learn(question, gather(question, read(wide, card)))
    with tempfile.TemporaryDirectory() as folder:
        octets = large.save(Path(folder) / "wide.detector").stat().st_size
    first, last = sizes[1], sizes[-1]
    emit("exponent", math.log(min(times[last]) / min(times[first])) / math.log(last / first))
    emit("records_per_second", *rates)
    function, text, planned = in_duckdb(detector, table)
    emit("duckdb_records_per_second", *function)
    emit("sql_records_per_second", *text)
    emit("sql_planning_s", *planned)
    if given.spark:
        emit("spark_records_per_second", *on_spark(detector, table))
    emit("fit_50000_s", *times[50_000])
    emit("file_bytes_40_columns", octets)


if __name__ == "__main__":
    main()
