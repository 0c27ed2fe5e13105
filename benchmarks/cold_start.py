"""The first minutes on a new machine: nothing compiled, nothing kept.

Every measurement is a process of its own with an empty home and an empty folder for compiled
kernels, from the start of Python to the answer. `demo_s` is `whitecrow demo`; the others ask one
question of bundled or made-up data: about a record, a count in the plane and in space, a detector
learned and its first scores. `first_question_s` is the slowest of them on the bundled data;
`first_count_100000_s` counts among 100,000 records with seven columns, where compiling pays.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import emit, parser, print_table

_OPEN = """
import whitecrow as wc
from whitecrow import demo
curator = wc.Curator.open(demo.DATA, card=demo.CARD, budget="9", ledger="sqlite://")
model = wc.DistanceAnomaly(beta=40, radius=12)
someone = {"age": 74, "bmi": 44.0, "systolic": 222}
"""

_MADE_UP = """
import numpy as np
import pyarrow as pa
import whitecrow as wc
values = np.random.default_rng(0).standard_t(5, size=(100_000, 7))
names = [f"c{k}" for k in range(7)]
card = wc.Card("made-up", tuple(wc.Column(name) for name in names))
rows = pa.table({name: values[:, k] for k, name in enumerate(names)})
curator = wc.Curator.open(rows, card=card, budget="9", ledger="sqlite://")
model = wc.DistanceAnomaly(beta=3, radius=2)
"""

QUESTIONS = {
    "screen": _OPEN + "curator.screen(someone, model=model, epsilon='1/2')",
    "identify": _OPEN + "curator.identify(someone, model=model, epsilon='1/2')",
    "count_2_columns": _OPEN + "curator.count(['age', 'bmi'], model=model, epsilon='1')",
    "count_3_columns": _OPEN
    + "curator.count(['age', 'bmi', 'systolic'], model=model, epsilon='1')",
    "learn_and_score": _OPEN
    + "found = curator.learn(list(someone), epsilon='1').answer\n"
    + "found.scores({name: [value] for name, value in someone.items()})",
}
LARGER = {"count_100000": _MADE_UP + "curator.count(names, model=model, epsilon='1')"}
DEMO = [sys.executable, "-c", "from whitecrow.cli import main; main()", "demo", "--out", "demo"]


def asking(name: str) -> list[str]:
    """Return the command that asks one question."""
    return [sys.executable, "-c", {**QUESTIONS, **LARGER}[name]]


def fresh(arguments: list[str]) -> float:
    """Return the seconds a command takes where nothing has run before."""
    with tempfile.TemporaryDirectory() as folder:
        home, kept = Path(folder) / "home", Path(folder) / "kept"
        home.mkdir()
        kept.mkdir()
        here = os.pathsep.join(path for path in sys.path if path)
        given = {**os.environ, "HOME": str(home), "NUMBA_CACHE_DIR": str(kept), "PYTHONPATH": here}
        start = time.perf_counter()
        subprocess.run(arguments, cwd=folder, env=given, check=True, capture_output=True)
        return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    options = parser(__doc__ or "").parse_args()
    rows: list[list[object]] = [["demo", fresh(DEMO)]]
    first = {}
    for name in QUESTIONS:
        first[name] = fresh(asking(name))
        rows.append([name, first[name]])
    if not options.quick:
        for name in LARGER:
            first[name] = fresh(asking(name))
            rows.append([name, first[name]])
    print_table(["first on a new machine", "seconds"], rows)
    emit("demo_s", float(str(rows[0][1])))
    emit("first_question_s", max(first[name] for name in QUESTIONS))
    if not options.quick:
        emit("first_count_100000_s", first["count_100000"])


if __name__ == "__main__":
    main()
