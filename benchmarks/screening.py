"""Screening: answers a second in batches, one by one and over HTTP, and what the state takes.

`batch_a_second` counts answers of `ask_all` beside `--records` records, written to a durable SQLite
ledger by batches of 1,000; `single_a_second` asks one record at a time, and `charges_a_second` what
the same ledger does of charged questions, to compare. `http_a_second` is `ask_all` of a client of a
service over loopback. `bytes_a_record` is what the counters take.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import whitecrow as wc
from benchmarks.common import emit, parser
from benchmarks.service import in_folder, prepared, running
from whitecrow.screening.mechanism import gather

PRICE = {"epsilon": 1, "delta": "1e-6"}


def table(values: np.ndarray) -> pa.Table:
    """Records of three columns."""
    return pa.table({f"x{i}": column for i, column in enumerate(values.T)})


def in_process(folder: Path, records: int, questions: int, single: int) -> None:
    """Ask a curator, with a ledger on disk."""
    draw = np.random.default_rng(8)
    data, asked = (draw.standard_t(4, size=(size, 3)) for size in (records, questions))
    ledger = f"sqlite:///{folder / 'ledger.db'}"
    with wc.Curator.open(table(data), budget="9, 1e-5", ledger=ledger, name="bench") as curator:
        model = wc.DistanceAnomaly(max(200, records // 500), 1.0)
        screening = curator.screening(model=model, **PRICE)
        screening.ask_all(table(asked[:1000] + 0.001))  # compiled, indexed
        began = time.perf_counter()
        screening.ask_all(table(asked))
        emit("batch_a_second", questions / (time.perf_counter() - began))
        singles = [
            {f"x{i}": v for i, v in enumerate(row)} for row in (asked[:single] + 0.002).tolist()
        ]
        began = time.perf_counter()
        for record in singles:
            screening.ask(record)
        emit("single_a_second", single / (time.perf_counter() - began))
        began = time.perf_counter()
        for record in singles:
            curator.screen(record, model=model, epsilon="1/10000")
        emit("charges_a_second", single / (time.perf_counter() - began))
        execution = curator._execution
        active = gather(screening.question, execution._dataset, execution._engine).exact_active
        (counters,) = active._series.values()
        emit("bytes_a_record", counters._flags.nbytes / records)


def over_http(folder: Path, questions: int) -> None:
    """Ask a service that listens on this machine, about the bundled clinic."""
    database = in_folder(folder)
    tokens = prepared(database, ["ana"], budget="9, 1e-5")
    draw = np.random.default_rng(9)
    asked = pa.table(
        {"age": draw.integers(18, 95, questions), "bmi": draw.uniform(12, 60, questions).round(3)}
    )
    with (
        running(database, "--no-pad", "--rate", "0") as service,
        wc.Client(service.url, tokens["ana"], patience=120) as client,
    ):
        model = wc.DistanceAnomaly(60, 4.0)
        screening = client.screening(model=model, columns=["age", "bmi"], epsilon=8, delta="1e-6")
        screening.ask_all(asked.slice(0, 10))
        began = time.perf_counter()
        screening.ask_all(asked)
        emit("http_a_second", questions / (time.perf_counter() - began))


def main() -> None:
    """Run it."""
    options = parser(__doc__ or "")
    options.add_argument("--records", type=int, help="of the data; a million unless given")
    given = options.parse_args()
    records = given.records or (50_000 if given.quick else 1_000_000)
    questions, single = (3000, 100) if given.quick else (20_000, 500)
    with tempfile.TemporaryDirectory() as name:
        in_process(Path(name), records, questions, single)
        over_http(Path(name), questions)


if __name__ == "__main__":
    main()
