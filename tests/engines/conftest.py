"""The same records, where each engine wants them."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet, types

from whitecrow.data import Card, Dataset, read
from whitecrow.data.warehouse import RemoteDataset, open_remote
from whitecrow.errors import Unavailable
from whitecrow.neighbours import Engine, open_engine
from whitecrow.neighbours._remote import Bounds, RemoteEngine

# The benchmarks' private server.
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import postgres

ENGINES = ("local", "disk", "postgresql", "spark", "gpu")
REMOTE = ("disk", "postgresql", "spark")
WAYS = (*REMOTE, "spark frame")

# One compiler for Java: in short programs the second one takes more time than it saves.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

Opened = tuple[Dataset | RemoteDataset, Engine]
Opening = Callable[..., Opened]
Storing = Callable[[str, pa.Table], object]


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Cluster]:
    reason = postgres.missing()
    if reason:
        pytest.skip(reason)
    with postgres.cluster() as running:
        yield running


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One session for the whole folder: it takes a while to start."""
    pytest.importorskip("pyspark")
    from whitecrow.data.warehouse.spark import session

    # Short queries: what the compilers would gain is less than what they take.
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    master = os.environ.get("WHITECROW_TEST_SPARK_MASTER", "local[2]")
    if master.startswith("spark://"):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "600m",
            # Executors come and go as there is work for them.
            "spark.dynamicAllocation.enabled": "true",
            "spark.dynamicAllocation.shuffleTracking.enabled": "true",
            "spark.dynamicAllocation.maxExecutors": "2",
        }
    try:
        running = session(master, **settings)
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield running
    running.stop()


@pytest.fixture
def storing(request: pytest.FixtureRequest) -> Storing:
    """Put a table where an engine finds it; return what to open."""

    def put(kind: str, table: pa.Table) -> object:
        if kind in ("local", "gpu"):
            return table
        if kind == "postgresql":
            return loaded(request.getfixturevalue("server").url, table)
        spark = request.getfixturevalue("spark") if kind.startswith("spark") else None
        folder = Path(request.getfixturevalue("tmp_path_factory").mktemp("records"))
        # Several files, one of them without a record.
        cuts = [0, 0, table.num_rows // 3, table.num_rows]
        for number, (first, last) in enumerate(itertools.pairwise(cuts)):
            part = table.slice(first, last - first)
            parquet.write_table(part, folder / f"part-{number}.parquet")
        return spark.read.parquet(f"file://{folder}") if kind == "spark frame" else folder

    return put


def loaded(url: str, table: pa.Table) -> str:
    """Copy a table into PostgreSQL; return the source."""
    names = {
        "bool": "boolean",
        "int32": "integer",
        "int64": "bigint",
        "float": "real",
        "double": "double precision",
        "string": "text",
        "date32[day]": "date",
        "timestamp[us]": "timestamp",
    }
    plain = url.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(plain) as connection, connection.cursor() as cursor:
        name = f"records_{abs(id(table))}"
        columns = ", ".join(f'"{f.name}" {names[str(f.type)]}' for f in table.schema)
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
        cursor.execute(f"CREATE TABLE {name} ({columns})")
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*table.to_pydict().values(), strict=True):
                copy.write_row(row)
    assert not any(types.is_dictionary(field.type) for field in table.schema)
    return f"{plain}::{name}"


@pytest.fixture
def opening(storing: Storing) -> Iterator[Opening]:
    """Open a table with an engine: ``opening(kind, table, card=None, bounds=None)``."""
    remotes: list[RemoteDataset] = []

    def open_(
        kind: str, table: pa.Table, card: Card | None = None, bounds: Bounds | None = None
    ) -> Opened:
        source = storing(kind, table)
        if kind in ("local", "gpu"):
            dataset = read(source, card)
            try:
                return dataset, open_engine(dataset, kind)
            except Unavailable as reason:
                pytest.skip(str(reason))
        engine = "spark" if kind.startswith("spark") else "disk"
        remote = open_remote(source, card, engine=engine)
        remotes.append(remote)
        return remote, RemoteEngine(remote, bounds or Bounds())

    yield open_
    for remote in remotes:
        remote.close()


@pytest.fixture(params=ENGINES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """Every way on which records come to an engine that does not hold them in memory."""
    return str(request.param)


@pytest.fixture(params=REMOTE)
def remote_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def connecting() -> Callable[[str, Path], AbstractContextManager[str]]:
    """Start a server of Spark Connect: ``with connecting(master, folder) as address``."""
    return connect_server


@contextmanager
def connect_server(master: str, folder: Path) -> Iterator[str]:
    """Run a server of Spark Connect before a cluster; yield its address."""
    pyspark = pytest.importorskip("pyspark")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "2",
    }
    with (folder / "connect.log").open("wb") as log:
        server = subprocess.Popen(
            [
                str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
                *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
                *("--master", master),
                *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
            ],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=log,
            stderr=log,
        )
        try:
            until = time.monotonic() + 120
            while not _listening(port):
                assert time.monotonic() < until, "the server did not start"
                time.sleep(0.5)
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def _listening(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0
