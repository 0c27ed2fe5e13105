"""Spark Connect: a client without Spark's own machinery, a server elsewhere."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from whitecrow.neighbours import count_all

ASK = """
import sys, warnings
warnings.simplefilter("error")
from whitecrow.neighbours import NeighbourRelation, open_data
dataset, engine = open_data(sys.argv[1], engine="spark", spark_master=sys.argv[2])
for columns, radius in ((("c0", "c1", "c2"), 0.5), (tuple(f"c{i}" for i in range(6)), 1.5)):
    found = engine.sparse(NeighbourRelation(columns, "euclidean", radius), 50)[1]
    print(*sorted(found.tolist()))
"""


@pytest.mark.study
def test_the_same_integers_through_spark_connect(tmp_path: Path) -> None:
    pyspark = pytest.importorskip("pyspark")
    values = np.random.default_rng(0).standard_t(4, size=(5000, 6))
    path = tmp_path / "records.parquet"
    parquet.write_table(pa.table({f"c{i}": values[:, i] for i in range(6)}), path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    server = subprocess.Popen(
        [
            str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *("--master", "local[2]"),
            *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
        ],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 120
        while not _listening(port):
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.5)
        asked = [sys.executable, "-c", ASK, str(path), f"sc://127.0.0.1:{port}"]
        said = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=200).stdout
    finally:
        server.terminate()
        server.wait()
    for line, (columns, radius) in zip(said.splitlines(), ((3, 0.5), (6, 1.5)), strict=True):
        counts = count_all(values[:, :columns], radius, cap=50)
        assert list(map(int, line.split())) == sorted(counts[counts < 50].tolist())


def _listening(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0
