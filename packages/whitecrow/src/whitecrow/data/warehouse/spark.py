"""Records on Apache Spark: in this machine, on a cluster, or through Spark Connect."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow._arrays import Matrix
from whitecrow.card import Card
from whitecrow.data.columns import check_schema
from whitecrow.data.dataset import Rejections
from whitecrow.data.fingerprints import joined_fingerprints
from whitecrow.data.opened import File, Opened
from whitecrow.data.reading import bare_card, listener
from whitecrow.data.warehouse import workers as worker
from whitecrow.data.warehouse._protocol import BATCH, Asked, Rows, Work, Yields
from whitecrow.data.warehouse.workers import Part, parts_of, peeked
from whitecrow.errors import InvalidInput, MissingExtra, NotReady

_WHAT = "counting on Spark"
_ATTEMPTS = 4
_POLL_SECONDS = 0.2
_CORES = 16  # of a cluster, at least: which of them it has for us is seen when they work
_ADDED_HERE = 16
"""What so many tasks have counted is added up here; Spark adds up what more of them have."""


class SparkWarehouse:
    """Records that Spark's workers read: Parquet files, or what Spark reads for them.

    Files that lie here, or in a folder that all workers see, are read by the workers themselves,
    with the code that reads records in this process. Of an address, a table or a frame Spark hands
    the workers the rows, and the workers decode them; so they do where a person has several
    records. Then the canonical columns are made once, and Spark keeps them on the disks of its
    workers until :meth:`close`.

    Only results come here. Job descriptions are one constant, and Spark's log is off: both are
    read by people who are not the custodian.
    """

    spread = True

    def __init__(
        self,
        source: object,
        card: Card | None = None,
        master: str | None = None,
        opened: Opened | None = None,
    ) -> None:
        frame: Any = source if hasattr(source, "mapInArrow") else None
        self._session = session(master) if frame is None else frame.sparkSession
        self._frame: Any = None
        self._files: tuple[File, ...] = ()
        if opened is not None:
            self._files, self.name, schema = opened.files or (), opened.name, opened.schema
        else:
            self._frame, self.name = _frame(self._session, source)
            schema = self._frame.limit(0).toArrow().schema
        self.card = card or bare_card(schema, self.name)
        check_schema(self.card, schema)
        self._blocks: Any = None
        self.size: int | None = None
        self.every: int | None = None
        self.rejections: Rejections | None = None
        if not self._by_itself:
            from pyspark import StorageLevel

            # Made once; Spark keeps them on the disks of its workers.
            self._blocks = self._canonical().persist(StorageLevel.DISK_ONLY)
            # What Spark cannot read fails here, and no question later on.
            sums = self._blocks.groupBy("kept").sum("size").toArrow().to_pylist()
            sizes = {each["kept"]: each["sum(size)"] for each in sums}
            self.size, self.every = sizes.get(True, 0), sum(sizes.values())
            self.rejections = Rejections(self.every, self.size, {})

    @property
    def rows_stored(self) -> int | None:
        """How many rows the files have; None where Spark would have to count them."""
        return None if self._frame is not None else sum(sum(file.groups) for file in self._files)

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        return parts_of(self._files, self._cores())

    @property
    def _by_itself(self) -> bool:
        """Whether workers decode files for each question; which of a person's count takes all."""
        return self._frame is None and self.card.user_column is None

    def work(self, asked: Asked, work: Work, yields: Yields) -> Iterator[Matrix]:
        """Do the work in Python workers beside the partitions."""
        frame, read = self._partitions(tuple(dict.fromkeys((*asked.columns, *asked.checked))))
        if frame is None:
            return
        tasks = len(self._parts) if self._by_itself else math.inf
        if self._by_itself and asked.groups is None:
            context = getattr(self._session, "sparkContext", None)  # not through Spark Connect
            if context is not None and (not yields.totals or tasks <= _ADDED_HERE):
                numbers = context.parallelize(range(len(self._parts)), len(self._parts))
                part = worker.FromFiles(self._parts, self.card).part
                direct: worker.Reader = partial(worker.matrices, part, asked)
                directly = partial(worker.worked, direct, work, worker.in_blocks)
                with _watched(self._session):
                    packed = numbers.mapPartitions(directly).collect()
                for block in packed:
                    yield np.frombuffer(block).reshape(-1, yields.width)
                return
        matrices: worker.Reader = partial(worker.matrices, read, asked)
        if asked.groups is not None:
            packed = frame.mapInArrow(partial(worker.pack, matrices, asked.groups), worker.PACKED)
            frame = packed.repartition("place").sortWithinPartitions("place")
            matrices = worker.unpacked
            tasks = int(self._session.conf.get("spark.sql.shuffle.partitions"))
        if yields.totals and tasks > _ADDED_HERE:
            added = partial(worker.worked, matrices, work, worker.as_rows)
            sums = frame.mapInArrow(added, "place DOUBLE, number DOUBLE")
            sums = sums.groupBy("place").sum("number")
            wanted = sums if yields.most is None else sums.limit(yields.most)
            with _watched(self._session):
                total = doubles(wanted.toArrow())
            yield total
            return
        with _watched(self._session):
            in_blocks = partial(worker.worked, matrices, work, worker.as_blocks)
            blocks = frame.mapInArrow(in_blocks, "block BINARY").toArrow()
        for block in blocks.column(0):
            yield np.frombuffer(block.as_buffer()).reshape(-1, yields.width)

    def texts(self, column: str) -> Counter[str | None]:
        frame, read = self._partitions((column,))
        counts: Counter[str | None] = Counter()
        if frame is not None:
            counting = partial(worker.count_texts, read, column)
            listed = frame.mapInArrow(counting, "text STRING, number LONG").toArrow()
            for text, number in zip(*(each.to_pylist() for each in listed.columns), strict=True):
                counts[text] += number
        return counts

    def peek(self, asked: Asked, number: int) -> Matrix | None:
        """Read some records here; None if Spark is to read them."""
        return peeked(self._parts, self.card, asked, number) if self._by_itself else None

    def fingerprint(self) -> str:
        """Return what the rows of a table or a frame are recognised by."""
        marks = self._frame.mapInArrow(worker.row_fingerprints, "fingerprint STRING").toArrow()
        return joined_fingerprints(marks.column(0).to_pylist())

    def close(self) -> None:
        """Let Spark remove the canonical columns; the session stays, others may use it."""
        if self._blocks is not None:
            self._blocks.unpersist()

    def _partitions(self, columns: tuple[str, ...]) -> tuple[Any, Callable[[Any], Iterator[Rows]]]:
        """Return what Spark hands to workers, and what they make of it; no frame for no file."""
        if self._by_itself:
            frame = self._numbers() if self._parts else None
            return frame, worker.FromFiles(self._parts, self.card)
        places = (f"c{self.card.names.index(name)}" for name in columns)
        blocks = self._blocks.select("kept", "size", *places)
        return blocks, partial(worker.from_blocks, self.card, columns)

    def _canonical(self) -> Any:
        """Return canonical columns, as workers make them."""
        read: Callable[[Any], Iterator[Any]]
        if self._frame is None:
            rows, read = self._numbers(), worker.FromFiles(self._parts, self.card).stored
        else:
            rows, read = self._frame.select(*map(quoted, self.card.names)), worker.handed_over
        columns = worker.canonical_columns(self.card)
        if self.card.user_column is None:
            return rows.mapInArrow(partial(worker.canonical, self.card), columns)
        buckets = rows.mapInArrow(partial(worker.divide, self.card, read), worker.DIVIDED)
        in_order = buckets.repartition("place").sortWithinPartitions("place")
        return in_order.mapInArrow(partial(worker.select, self.card), columns)

    def _numbers(self) -> Any:
        """Return a frame that hands out the numbers of the parts of files."""
        return self._session.range(0, len(self._parts), 1, len(self._parts))

    def _cores(self) -> int:
        context = getattr(self._session, "sparkContext", None)
        if context is None:
            return _CORES
        cores = int(context.defaultParallelism)
        return cores if context.master.startswith("local") else max(cores, _CORES)


def session(master: str | None = None, **settings: str) -> Any:
    """Return the Spark session in use, or start one with these settings.

    ``sc://host`` is Spark Connect; ``spark://host:7077``, ``yarn`` and so on a cluster, on whose
    workers this package must be installed; ``local[2]`` two threads here. By default the session in
    use, else what the variable WHITECROW_SPARK_MASTER says, else all cores here. Failing tasks are
    tried again here too.
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
    settings = {
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
        "spark.sql.session.timeZone": "UTC",
    }
    if here := re.fullmatch(r"local(?:\[([^,\]]+)\])?", master):
        # In one machine Spark gives up at the first failure unless told otherwise.
        settings["spark.master"] = f"local[{here[1] or 1},{_ATTEMPTS}]"
        settings["spark.driver.bindAddress"] = settings["spark.driver.host"] = "127.0.0.1"
        quiet = Path(__file__).with_name("quiet.properties").as_uri()
        # One compiler: up to 10^7 records the second one takes more time than it saves.
        options = f"-Dlog4j2.configurationFile={quiet} -XX:TieredStopAtLevel=1"
        settings["spark.driver.extraJavaOptions"] = options
        settings["spark.sql.shuffle.partitions"] = "8"
    else:
        settings["spark.log.level"] = "OFF"
    return settings


def _frame(spark: Any, source: object) -> tuple[Any, str]:
    """Return the frame of an address, a table or a frame, and its name."""
    if hasattr(source, "mapInArrow"):
        return source, "frame"
    if not isinstance(source, str | Path):
        raise InvalidInput(
            "The engine 'spark' counts where the data are: give a Parquet folder or address, the "
            "name of a table, or a Spark data frame."
        )
    if "://" in str(source):
        return spark.read.parquet(str(source)), str(source).rstrip("/").rpartition("/")[2]
    if not spark.catalog.tableExists(str(source)):
        raise InvalidInput(f"There is no file, folder or Spark table {str(source)!r}.")
    return spark.table(str(source)), str(source)


def quoted(name: str) -> str:
    """Write the name of a column of Spark's."""
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def doubles(table: Any) -> Matrix:
    """Return an Arrow table of doubles without nulls as a row-major matrix."""
    values = np.empty((table.num_rows, table.num_columns))
    for index, column in enumerate(table.columns):
        first = 0
        for chunk in column.chunks:
            # Not pyarrow's to_numpy, which imports pandas where that is installed.
            values[first : first + len(chunk), index] = np.from_dlpack(chunk)
            first += len(chunk)
    return values


@contextmanager
def _watched(spark: Any) -> Iterator[None]:
    """Tell the listener how many tasks are done, while Spark works; not through Spark Connect."""
    tell = listener()
    context = getattr(spark, "sparkContext", None) if tell is not None else None
    if tell is None or context is None:
        yield
        return
    group = f"whitecrow_{uuid.uuid4().hex}"
    context.setJobGroup(group, "whitecrow")
    done = threading.Event()
    tracker = context.statusTracker()

    def poll() -> None:
        while not done.wait(_POLL_SECONDS):
            stages = [
                tracker.getStageInfo(stage)
                for job in tracker.getJobIdsForGroup(group)
                if (status := tracker.getJobInfo(job)) is not None
                for stage in status.stageIds
            ]
            tasks = sum(stage.numTasks for stage in stages if stage is not None)
            finished = sum(stage.numCompletedTasks for stage in stages if stage is not None)
            if tasks:
                tell(finished, tasks, _WHAT)

    watcher = threading.Thread(target=poll, name="whitecrow-spark", daemon=True)
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
