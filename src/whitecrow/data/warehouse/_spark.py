"""Records on Apache Spark: in this machine, on a cluster, or through Spark Connect."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.data._dialect import SPARK, Query
from whitecrow.data._progress import listener
from whitecrow.data.warehouse._files import (
    Part,
    common_schema,
    footers_of,
    glanced,
    parts_of,
    plain_files,
)
from whitecrow.data.warehouse._protocol import BATCH, Matrix, Work, Yields, doubles
from whitecrow.data.warehouse._tasks import (
    PACKED,
    Direct,
    FromFiles,
    Packing,
    Reader,
    Task,
    as_blocks,
    as_rows,
    lengths,
    passed_on,
    unpacked,
)
from whitecrow.errors import InvalidInput, MissingExtra, NotReady

__all__ = ["SparkWarehouse", "session"]

_WHAT = "counting on Spark"
_ATTEMPTS = 4
_LOOK_SECONDS = 0.2
_CORES = 16
"""Of a cluster, at least: which of them it has for us is seen when they work."""
_ADDED_HERE = 16
"""What so many tasks have counted is added up here; Spark adds up what more of them have."""


class SparkWarehouse:
    """A Parquet folder, a table or a data frame that Spark reads.

    Only results come here. Job descriptions are one constant, and Spark's log is off: both are
    read by people who are not the custodian.

    Parameters
    ----------
    source : path, text or data frame
        A Parquet file, folder or address (``s3a://...``), the name of a table, or a Spark frame.
    master : str, optional
        See :func:`session`.
    files : list of Path, optional
        The Parquet files that hold the records, where ``source`` is a folder that has others too.
    """

    dialect = SPARK
    spread = True

    def __init__(
        self, source: object, master: str | None = None, files: list[Path] | None = None
    ) -> None:
        frame = source if hasattr(source, "mapInArrow") else None
        self._session = session(master) if frame is None else _any(frame).sparkSession
        path = Path(str(source))
        self._read: Callable[[], Any]
        if frame is not None:
            self._read, self.name = lambda: frame, "frame"
        elif files is not None:
            self._read = partial(self._session.read.parquet, *map(_address, files))
            self.name = path.name
        else:
            self._read, self.name = _frame(self._session, source)
            files = plain_files(path) if path.exists() else None
        self._footers = None if files is None else footers_of(files)
        self._schema: Any = None if self._footers is None else common_schema(self._footers)
        self._named = False
        self.source = _fresh_name()
        self._parts: dict[tuple[str, ...], tuple[Part, ...] | None] = {}
        if self._footers is None:
            self._name()  # what Spark cannot read is refused at once

    def schema(self) -> Any:
        """Return the Arrow schema of the stored records."""
        if self._schema is None:
            none = self._sql(f"SELECT * FROM {self.source} LIMIT 0")  # noqa: S608 - a name of ours
            self._schema = none.toArrow().schema
        return self._schema

    def number(self, query: Query) -> int:
        """Return how many rows a result has."""
        if self._read_there(query) is None:
            return int(self.rows(query.number(self.dialect), 1)[0, 0])
        found = np.concatenate([np.empty((0, 1)), *self.work(query, lengths, Yields(1))])
        return int(found.sum())

    def stored(self, query: Query) -> int | None:
        """Return how many rows the files say they hold."""
        parts = self._read_there(query)
        return None if parts is None else sum(part.rows for part in parts)

    def glance(self, query: Query, number: int) -> Matrix | None:
        """Read some records here; None if Spark is to read them."""
        parts = self._read_there(query)
        return glanced(parts, query.reading, number) if parts else None

    def rows(self, query: Query, width: int) -> Matrix:
        """Return a result of ``width`` columns, all doubles."""
        return self._collected(self._sql(query.text))

    def texts(self, query: Query) -> list[tuple[str | None, int]]:
        """Return a result of two columns: a text, and a whole number as a double."""
        found = self._sql(query.text).toArrow()
        return [
            (text, int(number))
            for text, number in zip(*(column.to_pylist() for column in found.columns), strict=True)
        ]

    def work(self, query: Query, work: Work, yields: Yields) -> Iterator[Matrix]:
        """Do the work in Python workers beside the partitions."""
        parts = self._read_there(query)
        frame: Any
        read: Reader
        tasks = math.inf if parts is None else len(parts)
        if parts is None:
            frame, read = self._sql(query.text), passed_on
        elif parts:
            read = FromFiles(parts, query.reading)
            context = getattr(self._session, "sparkContext", None)  # not through Spark Connect
            added_here = not yields.totals or len(parts) <= _ADDED_HERE
            if context is not None and query.groups is None and added_here:
                numbers = context.parallelize(range(len(parts)), len(parts))
                with _watched(self._session):
                    packed = numbers.mapPartitions(Direct(read, work)).collect()
                for block in packed:
                    yield np.frombuffer(block).reshape(-1, yields.width)
                return
            frame = self._session.range(0, len(parts), 1, len(parts))
        else:
            return
        if query.groups is not None:
            packed = frame.mapInArrow(Packing(read, query.groups), PACKED)
            frame, read = packed.repartition("place").sortWithinPartitions("place"), unpacked
            tasks = int(self._session.conf.get("spark.sql.shuffle.partitions"))
        if yields.totals and tasks > _ADDED_HERE:
            rows = frame.mapInArrow(Task(read, work, as_rows), "place DOUBLE, number DOUBLE")
            found = rows.groupBy("place").sum("number")
            yield self._collected(found if yields.most is None else found.limit(yields.most))
            return
        with _watched(self._session):
            blocks = frame.mapInArrow(Task(read, work, as_blocks), "block BINARY").toArrow()
        for block in blocks.column(0):
            yield np.frombuffer(block.as_buffer()).reshape(-1, yields.width)

    def close(self) -> None:
        """Forget the name of the records; the session stays, others may use it."""
        if self._named:
            self._session.catalog.dropTempView(self.source)

    def _sql(self, text: str) -> Any:
        self._name()
        return self._session.sql(text)

    def _name(self) -> None:
        """Let Spark look at the records, which takes a job, and give them their name."""
        if not self._named:
            self._read().createOrReplaceTempView(self.source)
            self._named = True

    def _read_there(self, query: Query) -> tuple[Part, ...] | None:
        """Return the parts that workers read by themselves; None if Spark reads for them."""
        if self._footers is None or query.reading is None:
            return None
        names = tuple(query.reading.stored)
        if names not in self._parts:
            self._parts[names] = parts_of(self._footers, names, self._cores())
        return self._parts[names]

    def _cores(self) -> int:
        context = getattr(self._session, "sparkContext", None)
        if context is None:
            return _CORES
        cores = int(context.defaultParallelism)
        return cores if context.master.startswith("local") else max(cores, _CORES)

    def _collected(self, frame: Any) -> Matrix:
        with _watched(self._session):
            return doubles(frame.toArrow())


def session(master: str | None = None, **settings: str) -> Any:
    """Return the Spark session in use, or start one.

    Parameters
    ----------
    master : str, optional
        ``sc://host`` is Spark Connect; ``spark://host:7077``, ``yarn`` and so on a cluster, on
        whose workers this package must be installed; ``local[2]`` two threads here. By default the
        session in use, else what the variable WHITECROW_SPARK_MASTER says, else all cores here.
        Failing tasks are tried again here too.
    **settings
        More of Spark's settings, such as ``spark.driver.memory``; used when one is started.

    Raises
    ------
    Unavailable
        pyspark or Java is missing.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra(
            "The engine 'spark' needs pyspark: pip install 'whitecrow[spark]'."
        ) from None
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    chosen = master or os.environ.get("WHITECROW_SPARK_MASTER") or "local[*]"
    builder = SparkSession.builder.appName("whitecrow")
    if chosen.startswith("sc://"):
        try:
            return builder.remote(chosen).getOrCreate()
        except ImportError as error:
            raise MissingExtra(f"Spark Connect needs the module {error.name}.") from None
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise MissingExtra(
            "The engine 'spark' needs Java 17 or later, and there is none on this machine "
            "(Debian: apt-get install openjdk-17-jre-headless)."
        )
    wanted = {**_settings(chosen), **settings}
    if active is not None and active.conf.get("spark.master") != wanted["spark.master"]:
        raise NotReady("Another Spark session is in use here; stop it, or ask through it.")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if chosen.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for key, value in wanted.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _settings(master: str) -> dict[str, str]:
    found = {
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
        "spark.sql.session.timeZone": "UTC",
    }
    if here := re.fullmatch(r"local(?:\[([^,\]]+)\])?", master):
        # In one machine Spark gives up at the first failure unless told otherwise.
        found["spark.master"] = f"local[{here[1] or 1},{_ATTEMPTS}]"
        found["spark.driver.bindAddress"] = found["spark.driver.host"] = "127.0.0.1"
        quiet = Path(__file__).with_name("quiet.properties").as_uri()
        # One compiler: up to 10^7 records the second one takes more time than it saves.
        options = f"-Dlog4j2.configurationFile={quiet} -XX:TieredStopAtLevel=1"
        found["spark.driver.extraJavaOptions"] = options
        found["spark.sql.shuffle.partitions"] = "8"
    else:
        found["spark.log.level"] = "OFF"
    return found


def _frame(spark: Any, source: object) -> tuple[Callable[[], Any], str]:
    if not isinstance(source, str | Path):
        raise InvalidInput(
            "The engine 'spark' counts where the data are: give a Parquet folder or address, the "
            "name of a table, or a Spark data frame."
        )
    path = Path(source)
    if path.exists():
        return partial(spark.read.parquet, _address(path)), path.stem
    if "://" in str(source):
        return partial(spark.read.parquet, str(source)), str(source).rstrip("/").rpartition("/")[2]
    if not spark.catalog.tableExists(str(source)):
        raise InvalidInput(f"There is no file, folder or Spark table {str(source)!r}.")
    return partial(spark.table, str(source)), str(source)


def _address(path: Path) -> str:
    # Not as_uri(): Spark takes the text as it is, and would look for a file called "a%20b".
    return f"file://{path.resolve()}"


@contextmanager
def _watched(spark: Any) -> Iterator[None]:
    """Tell the listener how many tasks are done, while Spark works; not through Spark Connect."""
    tell = listener()
    context = getattr(spark, "sparkContext", None) if tell is not None else None
    if tell is None or context is None:
        yield
        return
    group = _fresh_name()
    context.setJobGroup(group, "whitecrow")
    done = threading.Event()
    tracker = context.statusTracker()

    def look() -> None:
        while not done.wait(_LOOK_SECONDS):
            stages = [
                tracker.getStageInfo(stage)
                for job in tracker.getJobIdsForGroup(group)
                if (found := tracker.getJobInfo(job)) is not None
                for stage in found.stageIds
            ]
            tasks = sum(stage.numTasks for stage in stages if stage is not None)
            finished = sum(stage.numCompletedTasks for stage in stages if stage is not None)
            if tasks:
                tell(finished, tasks, _WHAT)

    watcher = threading.Thread(target=look, name="whitecrow-spark", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
    # The last word is said here: how often it is said does not depend on when one looked.
    tell(1, 1, _WHAT)


def _fresh_name() -> str:
    return f"whitecrow_{uuid.uuid4().hex}"


def _any(value: object) -> Any:
    return value
