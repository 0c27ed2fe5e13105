"""Learning and scoring: how time grows with records, how fast records are scored.

Seconds are processor time, all of one thread: what else the machine does matters little.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa

import whitecrow as wc
from benchmarks.common import emit, parser, print_table
from whitecrow.data import read
from whitecrow.learn import Learn, gather
from whitecrow.learn.mechanism import learn


def best_of(run: Callable[[], object], repeat: int = 3) -> float:
    """Return the least processor time of ``repeat`` runs, in seconds."""
    found = []
    for _ in range(repeat):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def dataset(size: int, columns: int = 10) -> tuple[pa.Table, wc.Card]:
    """Return made-up records and their card."""
    source = np.random.default_rng(0)
    table = pa.table({f"x{j}": source.normal(size=size) for j in range(columns)})
    card = wc.Card(
        "records",
        tuple(wc.Column(f"x{j}", lower=-8, upper=8, outside="clip") for j in range(columns)),
    )
    return table, card


def main() -> None:
    """Measure and print."""
    given = parser(__doc__ or "").parse_args()
    sizes = [10_000, 50_000, 200_000] if given.quick else [10_000, 50_000, 200_000, 1_000_000]
    question = Learn(epsilon="1", delta="1e-6", false_alarms=[0.01])
    rows, times = [], {}
    detector = None
    for size in sizes:
        table, card = dataset(size)
        data = read(table, card)
        fit = best_of(lambda data=data: learn(question, gather(question, data)))
        detector = learn(question, gather(question, data))
        score = best_of(lambda table=table, found=detector: found.scores(table))
        times[size] = fit
        rows.append([f"{size:,}", fit, round(size / score)])
    print_table(["records (10 columns)", "fit, s", "scores/s"], rows)
    wide, card = dataset(20_000, 40)
    found = learn(question, gather(question, read(wide, card)))
    with tempfile.TemporaryDirectory() as folder:
        octets = found.save(Path(folder) / "wide.detector").stat().st_size
    first, last = sizes[1], sizes[-1]
    emit("exponent", math.log(times[last] / times[first]) / math.log(last / first))
    emit("records_per_second", float(rows[-1][2]))
    emit("fit_50000_s", times[50_000])
    emit("file_bytes_40_columns", octets)


if __name__ == "__main__":
    main()
