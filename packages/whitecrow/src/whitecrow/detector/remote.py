"""Scores where the records are: a detector as SQL text, and as a function of DuckDB.

A score is a sum of whole numbers looked up in tables, divided once. So DuckDB and PostgreSQL give
the bits that are given here: nothing in the text is computed in floating point but comparisons of
values with the edges of cells, and that division (and the mean, in a merged detector).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from whitecrow.card import Column
from whitecrow.data.columns import FIRST_DAY, LAST_DAY
from whitecrow.detector import scoring
from whitecrow.detector._dialect import DUCKDB, POSTGRES, Dialect
from whitecrow.detector.model import SHIFT
from whitecrow.errors import InvalidInput, invalid

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector

_DIALECTS = {"duckdb": DUCKDB, "postgresql": POSTGRES}


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
    return _Text(detector, _DIALECTS[dialect]).written(parts, list(keep))


class _Text:
    """The parts of the text: values, cells, coordinates, cells of tables, score.

    Each is a query of the one before. Arrays are columns of one row that stands beside all records:
    written into an expression, an engine would copy and look through them while it plans.
    """

    def __init__(self, detector: Detector, dialect: Dialect) -> None:
        self.detector, self.dialect = detector, dialect
        # Without a fence PostgreSQL writes each expression out wherever its name is used.
        self.fence = " OFFSET 0" if dialect is POSTGRES else ""
        self.columns = [
            (f"v{place}", f"{which}_{place}", encoder)
            for which, model in enumerate(detector.models)
            for place, encoder in enumerate(scoring.encoders(model))
        ]
        """Of each model: the value, the end of the other names, and what its cells are."""

    def written(self, table: list[str], keep: list[str]) -> str:
        named = self.dialect.named
        source = ".".join(named(part) for part in table)
        kept = [f"k{place}" for place in range(len(keep))]
        values = [
            f"{self._value(self.detector.card.column(name))} AS v{place}"
            for place, name in enumerate(self.detector.columns)
        ]
        first = [f"{named(name)} AS {short}" for name, short in zip(keep, kept, strict=True)]
        query = f"SELECT {_listed([*first, *values])} FROM {source}{self.fence}"  # noqa: S608 - names are quoted
        cells = self._buckets() if self.dialect is POSTGRES else self._halvings()
        for chosen, lists in (*cells, self._coordinates(), self._table_cells()):
            query = f"SELECT {_listed([*kept, *chosen])} FROM {_beside(query, lists)}{self.fence}"  # noqa: S608 - of our own making
        last = [f"{short} AS {named(name)}" for name, short in zip(keep, kept, strict=True)]
        score, lists = self._score()
        found = _listed([*last, f"{score} AS score"])
        return f"SELECT {found} FROM {_beside(query, lists)}\n"  # noqa: S608 - as above

    def _value(self, column: Column) -> str:
        """Return a double, or the code of a category; NULL where the record has no score."""
        raw = self.dialect.named(column.name)
        if column.type == "category":
            return self._category(raw, column)
        if column.type == "date":
            value = self.dialect.to_double(self.dialect.days.format(raw))
            wrong = f"{value} NOT BETWEEN {FIRST_DAY} AND {LAST_DAY}"
        else:
            value = self.dialect.to_double(raw)
            wrong = self.dialect.is_nan.format(value)
            if column.type == "integer":
                # NaN and the infinite are not below.
                small = f"ABS({value}) < {self._number(2.0**53)}"
                wrong += f" OR ({small} AND {value} <> FLOOR({value}))"
        found = f"CASE WHEN {wrong} THEN NULL ELSE {value} END"
        if column.absent is not None:
            return f"COALESCE({found}, {self._number(column.absent)})"
        if column.missing != "fill":
            return found
        assert isinstance(column.fill, int | float)
        return f"COALESCE({found}, {self._number(float(column.fill))})"

    def _category(self, raw: str, column: Column) -> str:
        known = column.categories or ()
        absent = "NULL"
        if column.missing == "fill":
            absent = self._number(known.index(str(column.fill)))
        elif column.absent is not None:
            absent = self._number(column.absent)
        text = self.dialect.exact_text.format(raw)
        cases = " ".join(
            f"WHEN {text} = {self._string(written)} THEN {self._number(code)}"
            for code, written in enumerate(known)
        )
        rarest = self._number(self.detector.rarest[column.name])
        return f"CASE WHEN {raw} IS NULL THEN {absent} {cases} ELSE {rarest} END"

    def _buckets(self) -> Iterator[_Step]:
        """Choose the cell of each value, numbered from 1, by a function that PostgreSQL has."""
        yield (
            [
                f"width_bucket({value}, e{end}) + 1 AS c{end}"
                if len(encoder.grid.edges)
                else f"CASE WHEN {value} IS NULL THEN NULL ELSE 1 END AS c{end}"
                for value, end, encoder in self.columns
            ],
            [self._edges(end, encoder) for _, end, encoder in self.columns],
        )

    def _halvings(self) -> Iterator[_Step]:
        """Choose the cell of each value, numbered from 1, as the compiled search does.

        First how many edges have a smaller guess, then a halving of the others in each step.
        """
        carried = [f"v{place}" for place in range(len(self.detector.columns))]
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
        rows = [
            (f"{row}_{end}", f"c{end}", self._array(look, "INTEGER"))
            for _, end, encoder in self.columns
            for row, look in enumerate(encoder.look)
        ]
        return (
            [f"l{name}[{cell}] AS x{name}" for name, cell, _ in rows],
            [f"{known} AS l{name}" for name, _, known in rows],
        )

    def _table_cells(self) -> _Step:
        """Choose the cell of each table, numbered from 1; no number is beyond 31 bits."""
        chosen = [f"x2_{end}" for _, end, _ in self.columns]
        for which, model in enumerate(self.detector.models):
            tables, width = model.joint[0], len(model.grids)
            for table in range(len(tables)):
                cell = "1"
                for place in range(int(tables.start[table]), int(tables.start[table + 1])):
                    row, column = divmod(int(tables.axis[place]), width)
                    shifted = f"(x{row}_{which}_{column} + {tables.offset[place]})"
                    binned = f"(({shifted} * {tables.pace[place]}) >> {SHIFT})"
                    cell += f" + {tables.stride[place]} * {binned}"
                chosen.append(f"{cell} AS t{which}_{table}")
        return chosen, []

    def _score(self) -> tuple[str, list[str]]:
        models, lists, scores = self.detector.models, [], []
        for which, model in enumerate(models):
            tables, worths = model.joint
            terms = [f"x2_{which}_{place}" for place in range(len(model.grids))]
            for table in range(len(tables)):
                first, last = int(tables.base[table]), int(tables.base[table + 1])
                name = f"{which}_{table}"
                lists.append(f"{self._array(worths[first:last], 'BIGINT')} AS w{name}")
                terms.append(f"w{name}[t{name}]")
            raw = f"CAST({' + '.join(terms)} AS {self.dialect.double})"
            scores.append(f"{raw} / {self._number(scoring.scale(model))}")
        if len(models) == 1:
            return scores[0], lists
        weights = [self._number(weight) for weight in self.detector.weights]
        mean = " + ".join(
            f"{weight} * ({score})" for weight, score in zip(weights, scores, strict=True)
        )
        return mean, lists

    def _array(self, values: Any, kind: str) -> str:
        listed = ",".join(repr(value) for value in values.tolist())
        return (
            f"'{{{listed}}}'::{kind}[]" if self.dialect is POSTGRES else f"'[{listed}]'::{kind}[]"
        )

    def _number(self, value: float) -> str:
        return f"'{float(value)!r}'::float8"

    def _string(self, value: str) -> str:
        written = self.dialect.string(value)
        if self.dialect is not POSTGRES or "\\" not in value:
            return written
        # Marked as one with escapes, a text means the same whatever a session's
        # standard_conforming_strings says.
        return "E" + written.replace("\\", "\\\\")


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
        found = detector.scores(pyarrow.table(dict(zip(columns, values, strict=True))))
        return pyarrow.array(found, from_pandas=True)  # NaN, no score, is NULL

    # DuckDB looks up how many columns a function takes.
    each = [Parameter(f"c{k}", Parameter.POSITIONAL_ONLY) for k in range(len(columns))]
    score.__signature__ = Signature(each)  # type: ignore[attr-defined]
    connection.create_function(
        name,
        score,
        [_sql_type(detector.card.column(column)) for column in columns],
        "DOUBLE",
        type="arrow",
        null_handling="special",
    )


def _sql_type(column: Column) -> str:
    return "VARCHAR" if column.format else _SQL_TYPES.get(column.type, "DOUBLE")
