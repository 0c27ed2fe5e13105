"""Many records at once: what a batch of screens costs, how long it takes, and how right it is.

1,132 records of the thyroid set (30 %) are screened beside the other 2,640, as
``whitecrow screen --records`` does it. The exact model answers the same questions; the ratio of
equal answers is the agreement. With ``--server`` the terminal asks a service over HTTP, too,
whose replies are padded: 1,132 of them take minutes.
`agreement`, `price` (of the batch) and `price_apart` (were each paid for) are at epsilon 1/10;
`plan_s`, `ask_s`, `resume_s` and `http_s` are seconds.
Without the data (``--data``, or the variable WHITECROW_DATA) made-up records of the same number and
width stand in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import whitecrow as wc
from benchmarks.common import emit, parser, print_table
from benchmarks.service import in_folder, running
from whitecrow_server import Service, Settings

ASKED = 1132
MODEL = wc.DistanceAnomaly(beta=20, radius=0.148)
COLUMNS = tuple(f"x{i}" for i in range(1, 7))


def records(folder: str | None) -> np.ndarray:
    """The six columns of the thyroid set, or made-up ones."""
    if folder is not None and (Path(folder) / "thyroid.parquet").exists():
        table = pq.read_table(Path(folder) / "thyroid.parquet", columns=list(COLUMNS))
        return np.column_stack([table[name].to_numpy() for name in COLUMNS])
    draw = np.random.default_rng(7)
    crowd = draw.beta(2, 20, size=(3600, len(COLUMNS)))
    return np.vstack([crowd, draw.uniform(size=(172, len(COLUMNS)))])


def exact(data: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """What the model says of each record beside the data, itself included."""
    near = [(((data - point) ** 2).sum(axis=1) <= MODEL.radius**2).sum() + 1 for point in asked]
    return np.array(near) <= MODEL.beta


def judged(answers: np.ndarray, truth: np.ndarray) -> tuple[float, str, str]:
    """How often answers agree with the exact model, outliers found, and false alarms."""
    return (
        float((answers == truth).mean()),
        f"{int((answers & truth).sum())} of {int(truth.sum())}",
        f"{int((answers & ~truth).sum())} of {int((~truth).sum())}",
    )


def over_http(
    asked: np.ndarray, data: np.ndarray, epsilon: str
) -> tuple[float, float, np.ndarray, float]:
    """Ask a service by ``whitecrow screen --records --server``; return price, answers, seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, values in (("bench.parquet", data), ("asked.parquet", asked)):
            pq.write_table(pa.table(dict(zip(COLUMNS, values.T, strict=True))), folder / file)
        address = in_folder(folder)
        token = _listed(address, folder)
        with running(address, "--data", name) as service:
            command = [
                *(sys.executable, "-c", "from whitecrow.cli import main; main()", "--json"),
                *(
                    "screen",
                    "bench",
                    "--server",
                    service.url,
                    "--records",
                    str(folder / "asked.parquet"),
                ),
                *("--beta", str(MODEL.beta), "--radius", str(MODEL.radius)),
                *("--epsilon", epsilon),
            ]
            environment = {**os.environ, "WHITECROW_TOKEN": token}
            start = time.perf_counter()
            done = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=False
            )
            seconds = time.perf_counter() - start
            if done.returncode:
                raise SystemExit(f"The terminal was refused: {done.stdout}")
    told = json.loads(done.stdout)
    answers = np.array([answer["answer"] for answer in told["answers"]])
    plan = told["plan"]
    price = float(Fraction(plan["price"]["differential"])), float(Fraction(plan["apart"]))
    return *price, answers, seconds


def _listed(address: str, folder: Path) -> str:
    """Put an analyst and the records into an empty service; returns the analyst's token."""
    service = Service(Settings(database=address, data=str(folder)))
    try:
        custodian = service.people.add("custodian", "custodian")
        service.members.invite(custodian, "ana", "analyst")
        card = wc.Card("bench", tuple(wc.Column(name, lower=0, upper=1) for name in COLUMNS))
        source, given = {"file": "bench.parquet"}, card.to_json()
        service.register(custodian, "bench", source, card=given, budget="1000", readers=["*"])
        return service.members.issue(custodian, "ana")[0]
    finally:
        service.close()


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table, then lines for programs."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--server", action="store_true", help="ask a service over HTTP, too")
    arguments.add_argument("--data", default=os.environ.get("WHITECROW_DATA"))
    given = arguments.parse_args(argv)
    values = records(given.data)
    order = np.random.default_rng(0).permutation(len(values))
    asked, data = values[order[:ASKED]], values[order[ASKED:]]
    truth = exact(data, asked)
    rows, seconds = [], {}
    for epsilon in ("1/10",) if given.quick else ("1/100", "1/10", "1/2"):
        questions = [
            wc.Screen(
                dict(zip(COLUMNS, map(float, row), strict=True)), model=MODEL, epsilon=epsilon
            )
            for row in asked
        ]
        with tempfile.TemporaryDirectory() as folder:
            table = pa.table(dict(zip(COLUMNS, data.T, strict=True)))
            curator = wc.Curator.open(table, name="bench", ledger=f"{folder}/a.db", budget="1000")
            with curator:
                start = time.perf_counter()
                plan = curator.plan(questions)
                seconds["plan_s"] = time.perf_counter() - start
                releases = curator.ask_all(questions)
                seconds["ask_s"] = time.perf_counter() - start - seconds["plan_s"]
                start = time.perf_counter()
                curator.ask_all(questions)
                seconds["resume_s"] = time.perf_counter() - start
        answers = np.array([release.answer for release in releases])
        price = float(plan.price["differential"]), float(plan.apart)
        rows.append((epsilon, *price, *judged(answers, truth), seconds["ask_s"]))
    if given.server:
        some = 100 if given.quick else ASKED
        over = over_http(asked[:some], data, "1/10")
        rows.append((f"1/10, HTTP, {some}", *over[:2], *judged(over[2], truth[:some]), over[3]))
        emit("http_s", over[3])
    print_table(
        ("epsilon", "price", "apart", "agreement", "found", "false alarms", "seconds"), rows
    )
    at = rows[0] if given.quick else rows[1]
    emit("agreement", float(at[3]))
    emit("price", float(at[1]))
    emit("price_apart", float(at[2]))
    for name, value in seconds.items():
        emit(name, value)


if __name__ == "__main__":
    main()
