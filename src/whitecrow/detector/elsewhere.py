"""Scores where the records are: a detector as SQL text, and as a function of DuckDB.

A score is a sum of whole numbers looked up in tables, divided once. So DuckDB and PostgreSQL give
the bits that are given here: nothing in the text is computed in floating point but comparisons of
values with the edges of cells, and that division (and the mean, in a merged detector).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from whitecrow.card import Column
from whitecrow.data._columns import FIRST_DAY, LAST_DAY
from whitecrow.data._dialect import DUCKDB, POSTGRES, Dialect
from whitecrow.detector import scoring
from whitecrow.detector.tables import SHIFT
from whitecrow.errors import invalid

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector
    from whitecrow.detector.model import Model

__all__ = ["register_in_duckdb", "sql_of"]

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
    return _Text(detector, _DIALECTS[dialect]).written(parts, list(keep))


class _Text:
    """The parts of the text: values, cells, coordinates, score; each a query of the one before."""

    def __init__(self, detector: Detector, dialect: Dialect) -> None:
        self.detector, self.dialect = detector, dialect
        # Without a fence PostgreSQL writes each expression out wherever its name is used.
        self.fence = " OFFSET 0" if dialect is POSTGRES else ""

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
        for step in (self._cells, self._coordinates):
            chosen = _listed([*kept, *step()])
            query = f"SELECT {chosen} FROM (\n{query}\n) AS s{self.fence}"  # noqa: S608 - of our own making
        last = [f"{short} AS {named(name)}" for name, short in zip(keep, kept, strict=True)]
        chosen = _listed([*last, f"{self._score()} AS score"])
        return f"SELECT {chosen} FROM (\n{query}\n) AS s\n"  # noqa: S608 - as above

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
            wrong = f"{value} = {self._number(math.nan)}"
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
            f"WHEN {text} = {self.dialect.string(written)} THEN {self._number(code)}"
            for code, written in enumerate(known)
        )
        rarest = self._number(self.detector.rarest[column.name])
        return f"CASE WHEN {raw} IS NULL THEN {absent} {cases} ELSE {rarest} END"

    def _cells(self) -> Iterator[str]:
        """Yield the cell of each value, numbered from 1, for each model."""
        for which, model in enumerate(self.detector.models):
            for place, grid in enumerate(model.grids):
                edges = [float(edge) for edge in grid.edges]
                tree = self._searched(f"v{place}", edges, 0, len(edges))
                yield f"CASE WHEN v{place} IS NULL THEN NULL ELSE {tree} END AS c{which}_{place}"

    def _searched(self, value: str, edges: list[float], low: int, high: int) -> str:
        if low == high:
            return str(low + 1)
        middle = (low + high) // 2
        below = self._searched(value, edges, low, middle)
        above = self._searched(value, edges, middle + 1, high)
        return f"CASE WHEN {value}<{self._number(edges[middle])} THEN {below} ELSE {above} END"

    def _coordinates(self) -> Iterator[str]:
        """Yield what is known of each cell: two coordinates, and what it adds by itself."""
        for which, model in enumerate(self.detector.models):
            for place, encoder in enumerate(scoring.encoders(model)):
                for row, look in enumerate(encoder.look):
                    yield f"{self._array(look)}[c{which}_{place}] AS x{which}_{row}_{place}"

    def _score(self) -> str:
        models = self.detector.models
        scores = [
            f"CAST({self._raw(which, model)} AS {self.dialect.double})"
            f" / {self._number(scoring.scale(model))}"
            for which, model in enumerate(models)
        ]
        if len(models) == 1:
            return scores[0]
        weights = [self._number(weight) for weight in self.detector.weights]
        return " + ".join(
            f"{weight} * ({score})" for weight, score in zip(weights, scores, strict=True)
        )

    def _raw(self, which: int, model: Model) -> str:
        """Return the score in units of worth."""
        width = len(model.grids)
        tables, worths = model.joint
        terms = [f"x{which}_2_{place}" for place in range(width)]
        for table in range(len(tables)):
            cell = "1"
            for place in range(int(tables.start[table]), int(tables.start[table + 1])):
                row, column = divmod(int(tables.axis[place]), width)
                shifted = f"(x{which}_{row}_{column} + {tables.offset[place]})"
                binned = f"(({shifted} * {tables.pace[place]}) >> {SHIFT})"
                cell += f" + {tables.stride[place]} * {binned}"
            first, last = int(tables.base[table]), int(tables.base[table + 1])
            terms.append(f"{self._array(worths[first:last])}[CAST({cell} AS INTEGER)]")
        return f"({' + '.join(terms)})"

    def _array(self, values: Any) -> str:
        listed = ",".join(str(int(value)) for value in values)
        if self.dialect is POSTGRES:
            return f"('{{{listed}}}'::bigint[])"
        return f"('[{listed}]'::BIGINT[])"

    def _number(self, value: float) -> str:
        return f"'{float(value)!r}'::float8"


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
        [_SQL_TYPES.get(detector.card.column(column).type, "DOUBLE") for column in columns],
        "DOUBLE",
        type="arrow",
        null_handling="special",
    )
