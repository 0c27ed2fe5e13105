"""Scores where the records are: a detector as SQL text, as a function of DuckDB, and on Spark.

A score is a sum of whole numbers looked up in tables, divided once. So DuckDB and PostgreSQL give
the bits that are given here: nothing in the text is computed in floating point but comparisons of
values with the edges of cells, and that division (and the mean, in a merged detector).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whitecrow.card import Column
from whitecrow.data.opened import File, in_sql
from whitecrow.data.sources import open_source
from whitecrow.data.values import FIRST_DAY, LAST_DAY
from whitecrow.data.warehouse.spark import quoted, session
from whitecrow.data.warehouse.workers import Part, parts_of
from whitecrow.detector import scoring
from whitecrow.detector.model import SHIFT
from whitecrow.errors import InvalidInput, invalid

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector


@dataclass(frozen=True)
class _Dialect:
    """What DuckDB and PostgreSQL say differently; everything else is common SQL."""

    double: str  # the type of a binary64 number
    exact_text: str  # a pattern: text that is compared by code points, whatever the collation
    # A pattern: whether a double is NaN. DuckDB compares with a Parquet file's statistics, too,
    # which know no NaN.
    is_nan: str


_DUCKDB = _Dialect("DOUBLE", "CAST({} AS VARCHAR)", "CAST({} AS VARCHAR) IN ('nan', '-nan')")
_POSTGRES = _Dialect(
    "DOUBLE PRECISION", 'CAST({} AS TEXT) COLLATE "C"', "{} = 'NaN'::double precision"
)
_DIALECTS = {"duckdb": _DUCKDB, "postgresql": _POSTGRES}
_DAYS = "(CASE WHEN isfinite({0}) THEN CAST({0} AS DATE) - DATE '1970-01-01' END)"
"""Days since 1970-01-01; NULL for an infinite date."""


def sql_of(
    detector: Detector, dialect: str, table: str | Sequence[str], keep: Sequence[str]
) -> str:
    """Return a SELECT of the kept columns and the score of each record of a table."""
    if dialect not in _DIALECTS:
        raise invalid("Detector.sql", "dialect", f"one of {', '.join(_DIALECTS)}", dialect)
    parts = [table] if isinstance(table, str) else list(table)
    for parameter, names in (("table", parts), ("keep", list(keep))):
        for name in names:
            if not isinstance(name, str) or not name or "\0" in name:
                raise invalid("Detector.sql", parameter, "a name, or a list of names", name)
    if "score" in keep:
        raise invalid("Detector.sql", "keep", "without 'score', which is what is added", "score")
    for name in detector.columns:
        column = detector.card.column(name)
        if column.format or column.outside == "missing":
            raise InvalidInput(
                f"The card reads the column {name!r} in a way that SQL text has no words for "
                '(format, or outside = "missing"). Score with Detector.scores, .duckdb or .spark: '
                "they read it as the detector does."
            )
    return _Text(detector, _DIALECTS[dialect]).query(parts, list(keep))


class _Text:
    """The parts of the text: values, cells, coordinates, cells of tables, score.

    Each is a query of the one before. Arrays are columns of one row that stands beside all records:
    written into an expression, an engine would copy and look through them while it plans.
    """

    def __init__(self, detector: Detector, dialect: _Dialect) -> None:
        self.detector, self.dialect = detector, dialect
        # Without a fence PostgreSQL writes each expression out wherever its name is used.
        self.fence = " OFFSET 0" if dialect is _POSTGRES else ""
        self.columns = [
            (f"v{index}", f"{which}_{index}", encoder)
            for which, model in enumerate(detector.models)
            for index, encoder in enumerate(scoring.encoders(model))
        ]
        """Of each model: the value, the end of the other names, and what its cells are."""

    def query(self, table: list[str], keep: list[str]) -> str:
        source = ".".join(in_sql(part) for part in table)
        aliases = [f"k{index}" for index in range(len(keep))]
        columns = map(self.detector.card.column, self.detector.columns)
        values = [f"{self._value(column)} AS v{index}" for index, column in enumerate(columns)]
        first = [f"{in_sql(name)} AS {short}" for name, short in zip(keep, aliases, strict=True)]
        query = f"SELECT {_listed([*first, *values])} FROM {source}{self.fence}"  # noqa: S608 - names are quoted
        cells = self._buckets() if self.dialect is _POSTGRES else self._halvings()
        for parts, lists in (*cells, self._coordinates(), self._table_cells()):
            query = f"SELECT {_listed([*aliases, *parts])} FROM {_beside(query, lists)}{self.fence}"  # noqa: S608 - of our own making
        last = [f"{short} AS {in_sql(name)}" for name, short in zip(keep, aliases, strict=True)]
        score, lists = self._score()
        chosen = _listed([*last, f"{score} AS score"])
        return f"SELECT {chosen} FROM {_beside(query, lists)}\n"  # noqa: S608 - as above

    def _value(self, column: Column) -> str:
        """Return a double, or the code of a category; NULL where the record has no score."""
        raw = in_sql(column.name)
        if column.type == "category":
            return self._category(raw, column)
        if column.type == "date":
            value = f"CAST({_DAYS.format(raw)} AS {self.dialect.double})"
            wrong = f"{value} NOT BETWEEN {FIRST_DAY} AND {LAST_DAY}"
        else:
            value = f"CAST({raw} AS {self.dialect.double})"
            wrong = self.dialect.is_nan.format(value)
            if column.type == "integer":
                # NaN and the infinite are not below.
                small = f"ABS({value}) < {self._number(2.0**53)}"
                wrong += f" OR ({small} AND {value} <> FLOOR({value}))"
        value = f"CASE WHEN {wrong} THEN NULL ELSE {value} END"
        absent = column.absent
        if column.missing == "fill":
            assert isinstance(column.fill, int | float)
            absent = float(column.fill)
        return value if absent is None else f"COALESCE({value}, {self._number(absent)})"

    def _category(self, raw: str, column: Column) -> str:
        names, absent = column.categories or (), "NULL"
        if column.missing == "fill":
            absent = self._number(names.index(str(column.fill)))
        elif column.absent is not None:
            absent = self._number(column.absent)
        when = f"WHEN {self.dialect.exact_text.format(raw)} ="
        values = ((self._string(name), self._number(code)) for code, name in enumerate(names))
        cases = " ".join(f"{when} {text} THEN {code}" for text, code in values)
        rarest = self._number(self.detector.rarest[column.name])
        return f"CASE WHEN {raw} IS NULL THEN {absent} {cases} ELSE {rarest} END"

    def _buckets(self) -> Iterator[_Step]:
        """Choose the cell of each value, numbered from 1, by a function that PostgreSQL has."""
        chosen = [
            f"width_bucket({value}, e{end}) + 1 AS c{end}"
            if len(encoder.grid.edges)
            else f"CASE WHEN {value} IS NULL THEN NULL ELSE 1 END AS c{end}"
            for value, end, encoder in self.columns
        ]
        yield chosen, [self._edges(end, encoder) for _, end, encoder in self.columns]

    def _halvings(self) -> Iterator[_Step]:
        """Choose the cell of each value, numbered from 1, as the compiled search does."""
        # First how many edges have a smaller guess, then a halving of the others in each step.
        carried = [f"v{index}" for index in range(len(self.detector.columns))]
        edges = [f"e{end}" for _, end, _ in self.columns]
        guessed, lists = [], []
        for value, end, encoder in self.columns:
            lists.append(self._edges(end, encoder))
            _, origin, pace, marks, _ = encoder.search
            below = "0"
            if pace > 0.0:
                lists.append(f"{self._array(marks, 'INTEGER')} AS m{end}")
                low, high = self._number(origin), self._number(float(encoder.grid.edges[-1]))
                inside = f"LEAST(GREATEST({value}, {low}), {high})"  # never infinite
                guess = f"FLOOR(({inside} - {low}) * {self._number(pace)})"
                below = f"m{end}[CAST(LEAST({guess}, {len(marks) - 2}) AS INTEGER) + 1]"
            guessed.append(f"CASE WHEN {value} IS NULL THEN NULL ELSE {below} + 1 END AS c{end}")
        yield [*carried, *edges, *guessed], lists
        step = 1 << max(encoder.search[4] for _, _, encoder in self.columns)
        while step > 1:
            step >>= 1
            chosen = [
                f"c{end} + CASE WHEN e{end}[c{end} + {step - 1}] <= {value} THEN {step} ELSE 0 END"
                f" AS c{end}"
                if step >> encoder.search[4] == 0
                else f"c{end}"
                for value, end, encoder in self.columns
            ]
            yield [*carried, *edges, *chosen], []

    def _edges(self, end: str, encoder: scoring.Encoder) -> str:
        return f"{self._array(encoder.grid.edges, self.dialect.double)} AS e{end}"

    def _coordinates(self) -> _Step:
        """Choose what is known of each cell: two coordinates, and what it adds by itself."""
        chosen, lists = [], []
        for _, end, encoder in self.columns:
            for row, values in enumerate(encoder.encoded):
                chosen.append(f"l{row}_{end}[c{end}] AS x{row}_{end}")
                lists.append(f"{self._array(values, 'INTEGER')} AS l{row}_{end}")
        return chosen, lists

    def _table_cells(self) -> _Step:
        """Choose the cell of each table, numbered from 1; no number is beyond 31 bits."""
        chosen = [f"x2_{end}" for _, end, _ in self.columns]
        for which, model in enumerate(self.detector.models):
            tables, width = model.joint[0], len(model.grids)
            for table in range(len(tables)):
                cell = "1"
                for index in range(int(tables.start[table]), int(tables.start[table + 1])):
                    row, column = divmod(int(tables.axis[index]), width)
                    shifted = f"(x{row}_{which}_{column} + {tables.offset[index]})"
                    binned = f"(({shifted} * {tables.pace[index]}) >> {SHIFT})"
                    cell += f" + {tables.stride[index]} * {binned}"
                chosen.append(f"{cell} AS t{which}_{table}")
        return chosen, []

    def _score(self) -> tuple[str, list[str]]:
        models, lists, scores = self.detector.models, [], []
        for which, model in enumerate(models):
            tables, worths = model.joint
            terms = [f"x2_{which}_{index}" for index in range(len(model.grids))]
            for table in range(len(tables)):
                first, last = int(tables.base[table]), int(tables.base[table + 1])
                name = f"{which}_{table}"
                lists.append(f"{self._array(worths[first:last], 'BIGINT')} AS w{name}")
                terms.append(f"w{name}[t{name}]")
            raw = f"CAST({' + '.join(terms)} AS {self.dialect.double})"
            scores.append(f"{raw} / {self._number(scoring.scale(model))}")
        if len(models) == 1:
            return scores[0], lists
        weighed = zip(map(self._number, self.detector.weights), scores, strict=True)
        return " + ".join(f"{weight} * ({score})" for weight, score in weighed), lists

    def _array(self, values: Any, kind: str) -> str:
        first, last = "{}" if self.dialect is _POSTGRES else "[]"
        return f"'{first}{','.join(map(repr, values.tolist()))}{last}'::{kind}[]"

    def _number(self, value: float) -> str:
        return f"'{float(value)!r}'::float8"

    def _string(self, value: str) -> str:
        doubled = value.replace("'", "''")
        if self.dialect is not _POSTGRES or "\\" not in value:
            return f"'{doubled}'"
        # Marked as one with escapes, a text means the same whatever a session's
        # standard_conforming_strings says.
        escaped = doubled.replace("\\", "\\\\")
        return f"E'{escaped}'"


_Step = tuple[list[str], list[str]]
"""What is chosen of the query before, and the arrays that stand beside it."""


def _beside(query: str, lists: list[str]) -> str:
    """Return what a query is chosen from: the one before, and a row of arrays."""
    arrays = f" CROSS JOIN (SELECT {_listed(lists)}) AS l" if lists else ""
    return f"(\n{query}\n) AS s{arrays}"


def _listed(parts: Sequence[str]) -> str:
    return ",\n  ".join(parts)


_SQL_TYPES = {"category": "VARCHAR", "date": "DATE"}


def register_in_duckdb(detector: Detector, connection: Any, name: str) -> None:
    """Add a function of the detector's columns, in their order, to a connection of DuckDB."""
    if not hasattr(connection, "create_function"):
        given = type(connection).__name__
        raise invalid("Detector.duckdb", "connection", "a connection of DuckDB", given)
    if not isinstance(name, str) or not name:
        raise invalid("Detector.duckdb", "name", "a name", name)
    import pyarrow

    columns = detector.columns

    def score(*values: Any) -> Any:
        scores = detector.scores(pyarrow.table(dict(zip(columns, values, strict=True))))
        return pyarrow.array(scores, from_pandas=True)  # NaN, no score, is NULL

    # DuckDB looks up how many columns a function takes.
    each = [Parameter(f"c{k}", Parameter.POSITIONAL_ONLY) for k in range(len(columns))]
    score.__signature__ = Signature(each)  # type: ignore[attr-defined]
    described = [detector.card.column(column) for column in columns]
    types = [
        "VARCHAR" if column.format else _SQL_TYPES.get(column.type, "DOUBLE")
        for column in described
    ]
    connection.create_function(name, score, types, "DOUBLE", type="arrow", null_handling="special")


_CORES = 16  # of a cluster that does not say how many it has


def spark_scored(detector: Detector, data: Any, keep: Sequence[str] | None) -> Any:
    """Return a Spark frame of scores, computed beside the partitions of a frame or of files."""
    files: tuple[File, ...] = ()
    if isinstance(data, str | Path):
        files, data = _stored(Path(data))
    if not hasattr(data, "mapInArrow"):
        given = type(data).__name__
        raise invalid("Detector.spark", "data", "a Spark data frame, or Parquet files", given)
    carried = list(data.columns if keep is None else keep)
    if "score" in carried:
        raise invalid("Detector.spark", "keep", "without 'score', which is what is added", "score")
    for name in (*carried, *detector.columns):
        if name not in data.columns:
            raise invalid("Detector.spark", "data", f"with a column {name!r}", data.columns)
    from pyspark.sql.types import DoubleType, StructField, StructType

    # A frame lends its own schema: what is added there, the frame believes to have.
    fields = [data.schema[name] for name in carried]
    schema = StructType([*fields, StructField("score", DoubleType())])
    octets = detector.to_bytes()
    if files:
        spark = data.sparkSession
        cores = spark.sparkContext.defaultParallelism if hasattr(spark, "sparkContext") else _CORES
        parts = parts_of(files, cores)
        if parts:
            numbers = spark.range(0, len(parts), 1, len(parts))
            return numbers.mapInArrow(_Scoring(octets, tuple(carried), parts), schema)
    needed = dict.fromkeys([*carried, *detector.columns])
    return data.select(*map(quoted, needed)).mapInArrow(_Scoring(octets, tuple(carried)), schema)


def _stored(path: Path) -> tuple[tuple[File, ...], Any]:
    """Return what workers can read by themselves, if they can, and what Spark reads."""
    import pyarrow

    if not path.exists():
        raise invalid("Detector.spark", "data", "a Parquet file or folder", str(path))
    frame = session().read.parquet(f"file://{path.resolve()}")
    opened = open_source(path)
    # Of names of folders Spark makes columns.
    plain = path.is_file() or not any(entry.is_dir() for entry in path.iterdir())
    # Columns that Spark reads as they are: the frame of scores has the types it finds.
    native = {pyarrow.bool_(), pyarrow.float32(), pyarrow.float64(), pyarrow.string()}
    native |= {pyarrow.int8(), pyarrow.int16(), pyarrow.int32(), pyarrow.int64(), pyarrow.date32()}
    names = {name.casefold() for name in opened.schema.names}
    plain = plain and len(names) == len(opened.schema.names)
    return (opened.files or ()) if plain and native.issuperset(opened.schema.types) else (), frame


@lru_cache(maxsize=2)
def _loaded(octets: bytes) -> Detector:
    """Read a detector once for the tasks that a worker does one after the other."""
    from whitecrow.detector.detector import Detector

    return Detector.from_bytes(octets)


@dataclass(frozen=True)
class _Scoring:
    """What Spark's workers do with batches of records, or of numbers of parts they read."""

    octets: bytes
    carried: tuple[str, ...]
    parts: tuple[Part, ...] = ()

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        detector = _loaded(self.octets)
        if self.parts:
            needed = tuple(dict.fromkeys([*self.carried, *detector.columns]))
            numbers = (number for batch in batches for number in batch.column(0).to_pylist())
            batches = (batch for n in numbers for batch in self.parts[n].batches(needed))
        for batch in batches:
            scores = detector.scores(pyarrow.Table.from_batches([batch]))
            columns = [batch.column(name) for name in self.carried]
            yield pyarrow.record_batch(
                [*columns, pyarrow.array(scores)], names=[*self.carried, "score"]
            )
