"""What is compiled at an installation is all that questions call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.cold_start import LARGE, asking
from click.testing import CliRunner

from whitecrow._compiled import cache_folder
from whitecrow.cli import whitecrow

LISTEN = """
from numba.core import event
from whitecrow.curator.warming import warm
warm()
class Refuse(event.Listener):
    def on_start(self, what):
        raise SystemExit(f"compiled after all: {what.data['dispatcher'].py_func}")
    def on_end(self, what):
        pass
refusing = event.install_listener("numba:compile", Refuse())
"""


def test_after_warming_no_question_about_many_records_compiles() -> None:
    """All in one process, so that what is shared is not loaded again for each."""
    program = asking("count_3")[2].partition("question =")[0]
    asked = "\n".join(f"    curator.ask({question})" for question in LARGE.values())
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{LISTEN}\n{program}\ncurator = opened()\nwith refusing:\n{asked}\n"
            "    curator.learn(names[:3], epsilon='1').answer.scores(rows.select(names[:3]))\n"
            "    curator.ask(wc.Explain(case, metric='cost', detector='lof', search='bfs',"
            " notion='conditional', epsilon='1/2'))",
            "40000",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_after_warming_no_question_about_many_records_in_a_warehouse_compiles(
    tmp_path: Path,
) -> None:
    """The engine ``sql``, and the pieces of work that workers of a cluster do with a partition."""
    program = asking("count_3")[2].partition("question =")[0]
    asked = ("screen_3", "count_2", "count_3", "count_7", "learn_7", "explain_lof", "subspaces_3")
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{LISTEN}\n{program}\n"
            "import pyarrow.parquet as pq\n"
            "pq.write_table(rows, sys.argv[2])\n"
            "curator = wc.Curator.open(sys.argv[2], card=card, budget='99', ledger='sqlite://',"
            " policy=policy, engine='sql')\n"
            "from whitecrow.neighbours.cells import COMPILED, Lattice, Batch\n"
            "from whitecrow.neighbours.work import CountingNear, Histogram, Nearby\n"
            "from whitecrow.neighbours.work import Group\n"
            "from whitecrow.neighbours.relation import lower\n"
            "assert size > COMPILED\n"
            "values, form = draw.random((size, 2)), lower('euclidean', 0.1, (), 2)\n"
            "lattice = Lattice(form, np.zeros(2), 0.05, 2, (1 << 20, 1 << 20))\n"
            "with refusing:\n"
            + "".join(f"    curator.ask({LARGE[name]})\n" for name in asked)
            + "    part, = Histogram(lattice, size)(iter([values]))\n"
            "    keys, counts = part.T.astype(np.int64)\n"
            "    judged = lattice.judged(keys, counts, size)\n"
            "    batch = Batch(judged.keys, judged.keys, judged.counts, size)\n"
            "    nearby = Nearby.of(lattice, batch)\n"
            "    group = Group(form, values[:200])\n"
            "    list(CountingNear(nearby, group, 9)(iter([values])))\n",
            "70000",
            str(tmp_path / "rows.parquet"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_warm_says_once_where_the_code_is_kept() -> None:
    found = CliRunner().invoke(whitecrow, ["warm"])
    assert found.exit_code == 0, found.output
    assert found.output.count("compiled") == 1
    assert str(cache_folder()) in found.output
