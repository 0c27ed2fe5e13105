"""A cluster of Spark's own kind: a master, two workers, and executors that are theirs.

The tests of this folder that say Spark run again on it, in a process of its own: the driver here,
the records in a folder that all share, the counting in executors that the workers start and stop.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import whitecrow as wc
from whitecrow.data import Card, Column
from whitecrow.data.warehouse.spark import SparkWarehouse

MASTER = os.environ.get("WHITECROW_TEST_SPARK_MASTER", "")
HERE = Path(__file__).parent
SUITE = ("equality", "files", "learn", "profile", "lookahead", "questions", "scoring", "cluster")
MOST = "(spark or executor) and not connect_on"
SOME = "executor or spark and same_facts"
"""Every question, a table in a folder that all share, and executors that end."""


@contextmanager
def running(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of Spark's programs, and end it and what it started afterwards."""
    pyspark = pytest.importorskip("pyspark")
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *words]
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_DIR": str(folder),
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master with two workers, one core each."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    place = ("--host", "127.0.0.1", "--webui-port", "0")
    with ExitStack() as stack:
        folders = [tmp_path_factory.mktemp(name) for name in ("master", "first", "second")]
        names = ("org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker")
        stack.enter_context(running(folders[0], names[0], *place, "--port", str(port)))
        for folder in folders[1:]:
            size = ("--cores", "1", "--memory", "1g")
            stack.enter_context(running(folder, names[1], *place, *size, address))
        until = time.monotonic() + 90
        while (folders[0] / "log").read_bytes().count(b"Registering worker") < 2:
            assert time.monotonic() < until, (folders[0] / "log").read_text()[-2000:]
            time.sleep(0.2)
        yield address


@pytest.mark.skipif(bool(MASTER), reason="this is the cluster")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("chosen", "least"),
    [pytest.param(SOME, 4, id="some"), pytest.param(MOST, 30, id="all", marks=pytest.mark.study)],
)
def test_the_same_integers_on_a_cluster_with_two_workers(
    master: str, chosen: str, least: int
) -> None:
    asked_through(master, chosen, least)


@pytest.mark.study
@pytest.mark.skipif(bool(MASTER), reason="this is the cluster")
@pytest.mark.timeout(900)
def test_the_same_integers_through_spark_connect_on_the_cluster(
    master: str, connecting: Callable[..., Any], tmp_path: Path
) -> None:
    """Every question, the profile and the detector, asked of a server whose workers are others'."""
    with connecting(master, tmp_path) as address:
        asked_through(
            address, "spark and (same_facts or several_turns or counts_the_same or scores_on)", 8
        )


def asked_through(master: str, chosen: str, least: int) -> None:
    """Run some tests of this folder in a process of its own, on another cluster."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    ran = subprocess.run(
        [
            *command,
            "--durations=5",
            "-k",
            chosen,
            *(str(HERE / f"test_{name}.py") for name in SUITE),
        ],
        cwd=HERE.parents[1],
        env={**os.environ, "WHITECROW_TEST_SPARK_MASTER": master},
        check=False,
        capture_output=True,
        text=True,
        timeout=880,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed is not None
    assert int(passed[1]) >= least, ran.stdout[-2000:]
    if master.startswith("spark:"):
        assert "skipped" not in ran.stdout, ran.stdout[-2000:]


@pytest.mark.skipif(not MASTER.startswith("spark:"), reason="it runs on a cluster, from above")
@pytest.mark.parametrize("source", ["frame", "files"])
def test_an_executor_that_is_killed_leaves_an_equal_answer_and_one_charge(
    spark: Any, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first task ends the executor it runs in; the worker starts another."""
    import numpy as np
    import pyarrow as pa

    mark = str(tmp_path / "died")

    def deadly(batches: Any) -> Any:
        for batch in batches:
            if not os.path.exists(mark):  # noqa: PTH110 - few imports in a task
                with open(mark, "w") as died:  # noqa: PTH123
                    died.write("x")
                daemon = os.getppid()  # which forks the tasks' processes, and is the executor's
                with open(f"/proc/{daemon}/stat") as stat:  # noqa: PTH123
                    executor = int(stat.read().rsplit(")", 1)[1].split()[1])
                os.kill(executor, signal.SIGKILL)
                time.sleep(60)
            yield batch

    rng = np.random.default_rng(3)
    records = pa.table({"age": rng.normal(50, 4, 3000), "bmi": rng.normal(25, 2, 3000)})
    card = Card("patients", (Column("age", lower=0, upper=120), Column("bmi", lower=10, upper=60)))
    there_are: Any
    if source == "frame":
        whole = spark.createDataFrame(records)
        there_are = whole.repartition(3).mapInArrow(deadly, whole.schema)
    else:
        there_are = tmp_path / "records.parquet"
        parquet.write_table(records, there_are, row_group_size=1000)
        worked = SparkWarehouse.work

        def work(self: Any, query: Any, act: Any, *given: Any, **named: Any) -> Any:
            return worked(self, query, lambda batches: act(deadly(batches)), *given, **named)

        monkeypatch.setattr(SparkWarehouse, "work", work)
    model = wc.DistanceAnomaly(beta=40, radius=1.0)
    with wc.Curator.open(
        there_are, card=card, engine="spark", budget="1000000", name="p", ledger="sqlite://"
    ) as there:
        release = there.count(["age", "bmi"], model=model, epsilon=100_000)
        kinds = [entry.kind for entry in there.ledger.entries("p")]
    assert Path(mark).exists()
    assert (kinds.count("reserve"), kinds.count("settle")) == (1, 1)
    with wc.Curator.open(records, card=card, budget="1000000", name="q") as here:
        assert release.answer == here.count(["age", "bmi"], model=model, epsilon=100_000).answer
