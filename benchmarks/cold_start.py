"""The first minutes on a new machine: nothing compiled, nothing kept.

Every measurement is a process of its own with an empty home, from the start of Python to the
answer, in processor seconds, so that other work on the machine matters little. `demo_s` is
`whitecrow demo`; others ask one question of the bundled data or of 10,000 made-up records, of which
`first_question_s` is the slowest. `warm_s` is `whitecrow warm`, which compiles every kernel. Then a
million made-up records are asked about: `new_..._s` is what a first question takes beyond the same
question asked again where nothing is compiled, `ready_..._s` where `warm` has run before.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import whitecrow
from benchmarks.common import emit, parser, print_table

_OPEN = """
import whitecrow as wc
from whitecrow import demo
curator = wc.Curator.open(demo.DATA, card=demo.CARD, budget="9", ledger="sqlite://")
model = wc.DistanceAnomaly(beta=40, radius=12)
someone = {"age": 74, "bmi": 44.0, "systolic": 222}
"""

_SYNTHETIC = """
import time
import json
import sys
import numpy as np
import pyarrow as pa
import whitecrow as wc
making = time.process_time()
size = int(sys.argv[1])
draw = np.random.default_rng(0)
names = [f"c{k}" for k in range(7)]
wards, years = [f"w{k}" for k in range(8)], [str(2010 + k) for k in range(10)]
rows = {name: draw.standard_t(5, size).clip(-50, 50) for name in names}
rows |= {"ward": np.array(wards)[draw.integers(0, 8, size)]}
rows |= {"year": np.array(years)[draw.integers(0, 10, size)]}
rows |= {"cost": draw.integers(0, 100_000, size), "month": draw.integers(1, 13, size)}
rows = pa.table(rows)
columns = [wc.Column(name, lower=-50, upper=50) for name in names]
columns += [wc.Column("ward", "category", categories=wards)]
columns += [wc.Column("year", "category", categories=years)]
columns += [wc.Column("cost", "integer", lower=0, upper=100_000)]
columns += [wc.Column("month", "integer", lower=1, upper=12)]
made = time.process_time()
policy = wc.Policy(notions=("differential", "sensitive", "conditional"))
card = wc.Card("made-up", tuple(columns))
def opened():
    return wc.Curator.open(rows, card=card, budget="99", ledger="sqlite://", policy=policy)
def model(radius):
    return wc.DistanceAnomaly(beta=3, radius=radius)
def someone(count):
    return dict.fromkeys(names[:count], 4.0)
case = {"ward": "w1", "year": "2013", "cost": 60_000}
def conditional(detector):
    return wc.Explain(case, metric="cost", detector=detector, notion="conditional", epsilon=1)
question = QUESTION
opened().ask(question)
first = time.process_time()
again = 0.0
if "again" in sys.argv:
    opened().ask(question)
    again = time.process_time() - first
print(json.dumps({"first": first - (made - making), "again": again}))
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
LARGE = {
    "screen_3": "wc.Screen(someone(3), model=model(1), epsilon=1)",
    "identify_7": "wc.Identify(someone(7), model=model(1), k=2, epsilon=1)",
    "count_2": "wc.Count(names[:2], model=model(0.1), epsilon=1)",
    "count_3": "wc.Count(names[:3], model=model(0.5), epsilon=1)",
    "count_7": "wc.Count(names, model=model(2), epsilon=1)",
    "learn_7": "wc.Learn(names, epsilon=1)",
    "profile_7": "wc.Profile(names, epsilon=1)",
    "explain": "wc.Explain(case, metric='cost', detector=model(300), epsilon=1)",
    "explain_grubbs": "conditional('grubbs')",
    "explain_lof": "conditional('lof')",
    "explain_histogram": "conditional('histogram')",
    "lookahead": "wc.Lookahead(['ward', 'year'],"
    " model=wc.DistanceAnomaly(beta=3, radius=0, metric='hamming'), k=2, epsilon=1)",
    "publish": "wc.Publish('cost', statistic='mean', time='month', start=1, period=1, horizon=12,"
    " through=12, epsilon=1)",
    "subspaces_3": "wc.Subspaces(size=2, top=1, columns=names[:3], model=model(0.5), epsilon=1)",
    "tune_2": "wc.Tune(names[:2], share='0.01', radii=[0.1, 0.2, 0.5, 1], beta=3, epsilon=1)",
    "monitor_3": "wc.Monitor(names[:3], time='month', start=1, period=1, horizon=6, through=2,"
    " epsilon=1)",
}
"""Questions about many records; the number is of columns."""
FEW = 10_000
"""How many are few: a first question about them compiles nothing, or little."""
QUICK = ("learn_7",)
DEMO = [sys.executable, "-c", "from whitecrow.cli import main; main()", "demo", "--out", "demo"]
WARM = [sys.executable, "-c", "from whitecrow.cli import main; main()", "warm"]


@cache
def installed() -> Path:
    """Return a folder with the package as it is where nothing has been compiled by a question."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    source = Path(whitecrow.__file__).parent
    shutil.copytree(source, folder / "whitecrow", ignore=shutil.ignore_patterns("kernels", "*.nb?"))
    return folder


def asking(name: str, size: int = 1_000_000, again: str = "again") -> list[str]:
    """Return the command that asks one question, of the bundled data or of made-up records."""
    if name in LARGE:
        program = _SYNTHETIC.replace("QUESTION", LARGE[name])
        return [sys.executable, "-c", program, str(size), again]
    return [sys.executable, "-c", QUESTIONS[name]]


def fresh(arguments: list[str], cache: Path | None = None) -> float:
    """Return the processor seconds a command takes where nothing has run before."""
    installed()
    before = _spent()
    alone(arguments, cache)
    return _spent() - before


def _spent() -> float:
    """Processor seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def alone(arguments: list[str], cache: Path | None = None) -> str:
    """Return what a command prints where nothing has run before.

    Parameters
    ----------
    arguments : list of str
        The command.
    kept : Path, optional
        A folder with compiled code. Without one nothing has been compiled.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "home").mkdir()
        given = {
            "HOME": f"{folder}/home",
            "NUMBA_CACHE_DIR": str(cache or f"{folder}/empty"),
            "PYTHONPATH": os.pathsep.join([str(installed()), *filter(None, sys.path)]),
        }
        ran = subprocess.run(
            arguments,
            cwd=folder,
            env={**os.environ, **given},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return ran.stdout


def large(cache: Path, names: Iterable[str]) -> None:
    """Measure first questions about many records: on a new machine, and on one prepared."""
    rows: list[list[object]] = []
    for name in names:
        new, ready = (json.loads(alone(asking(name), folder)) for folder in (None, cache))
        rows.append([name, new["first"], ready["first"], ready["again"]])
        emit(f"new_{name}_s", new["first"] - ready["again"])
        emit(f"ready_{name}_s", ready["first"] - ready["again"])
    print_table(["a million records", "nothing compiled", "after warm", "asked again"], rows)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__ or "").parse_args()
    demo = fresh(DEMO)
    first = {name: fresh(asking(name)) for name in QUESTIONS}
    for name in QUICK if options.quick else LARGE:
        ran = alone(asking(name, FEW, "once"))
        first[f"{name}, {FEW:,} records"] = json.loads(ran)["first"]
    print_table(
        ["first on a new machine", "processor seconds"],
        [["demo", demo], *([name, seconds] for name, seconds in first.items())],
    )
    emit("demo_s", demo)
    emit("first_question_s", max(first.values()))
    with tempfile.TemporaryDirectory() as folder:
        emit("warm_s", fresh(WARM, Path(folder)))
        large(Path(folder), QUICK if options.quick else LARGE)


if __name__ == "__main__":
    main()
