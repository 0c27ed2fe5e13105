"""Scores on Spark: of a frame, or of Parquet files that the workers read by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whitecrow.data.parquet import File
from whitecrow.data.sources import open_source
from whitecrow.data.warehouse.files import Part, parts_of
from whitecrow.data.warehouse.spark import quoted, session
from whitecrow.errors import invalid

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector

_CORES = 16
"""Of a cluster that does not say how many it has."""


def spark_scored(detector: Detector, data: Any, keep: Sequence[str] | None) -> Any:
    """Return a Spark frame of scores, computed beside the partitions of a frame or of files."""
    files: tuple[File, ...] = ()
    if isinstance(data, str | Path):
        files, data = _stored(Path(data))
    if not hasattr(data, "mapInArrow"):
        given = type(data).__name__
        raise invalid("Detector.spark", "data", "a Spark data frame, or Parquet files", given)
    kept = list(data.columns if keep is None else keep)
    if "score" in kept:
        raise invalid("Detector.spark", "keep", "without 'score', which is what is added", "score")
    for name in (*kept, *detector.columns):
        if name not in data.columns:
            raise invalid("Detector.spark", "data", f"with a column {name!r}", data.columns)
    from pyspark.sql.types import DoubleType, StructField, StructType

    # A frame lends its own schema: what is added there, the frame believes to have.
    fields = [data.schema[name] for name in kept]
    schema = StructType([*fields, StructField("score", DoubleType())])
    needed = list(dict.fromkeys([*kept, *detector.columns]))
    work = _Scoring(detector.to_bytes(), tuple(kept))
    if files:
        spark = data.sparkSession
        cores = spark.sparkContext.defaultParallelism if hasattr(spark, "sparkContext") else _CORES
        parts = parts_of(files, cores)
        if parts:
            numbers = spark.range(0, len(parts), 1, len(parts))
            return numbers.mapInArrow(_FromFiles(parts, tuple(needed), work), schema)
    chosen = data.select(*map(quoted, needed))
    return chosen.mapInArrow(work, schema)


def _stored(path: Path) -> tuple[tuple[File, ...], Any]:
    """Return what workers can read by themselves, if they can, and what Spark reads."""
    if not path.exists():
        raise invalid("Detector.spark", "data", "a Parquet file or folder", str(path))
    opened = open_source(path)
    alike = _plain(path) and _read_alike(opened.schema)
    return (opened.files or ()) if alike else (), session().read.parquet(f"file://{path.resolve()}")


def _plain(path: Path) -> bool:
    """Whether Spark reads the files and no more: of names of folders it makes columns."""
    return path.is_file() or not any(one.is_dir() for one in path.iterdir())


def _read_alike(schema: Any) -> bool:
    """Whether Spark reads such columns as they are: the frame of scores has the types it finds."""
    import pyarrow

    alike = {pyarrow.bool_(), pyarrow.float32(), pyarrow.float64(), pyarrow.string()}
    alike |= {pyarrow.int8(), pyarrow.int16(), pyarrow.int32(), pyarrow.int64(), pyarrow.date32()}
    names = [name.casefold() for name in schema.names]
    return len(set(names)) == len(names) and alike.issuperset(schema.types)


@lru_cache(maxsize=2)
def _loaded(octets: bytes) -> Detector:
    """Read a detector once for the tasks that a worker does one after the other."""
    from whitecrow.detector.detector import Detector

    return Detector.from_bytes(octets)


class _Scoring:
    """What Spark's workers do with batches of records."""

    def __init__(self, octets: bytes, kept: tuple[str, ...]) -> None:
        self.octets, self.kept = octets, kept

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        detector = _loaded(self.octets)
        for batch in batches:
            scores = detector.scores(pyarrow.Table.from_batches([batch]))
            columns = [batch.column(name) for name in self.kept]
            yield pyarrow.record_batch(
                [*columns, pyarrow.array(scores)], names=[*self.kept, "score"]
            )


@dataclass(frozen=True)
class _FromFiles:
    """The same for parts of files, which the workers read by themselves."""

    parts: tuple[Part, ...]
    needed: tuple[str, ...]
    work: _Scoring

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        for number in numbers:
            yield from self.work(self.parts[number].batches(self.needed))
