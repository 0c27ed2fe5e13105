"""The few things that the three SQL dialects say differently; everything else is common SQL."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DUCKDB", "POSTGRES", "SPARK", "Dialect"]

_TOO_LARGE = 2**1024 - 2**970
"""From here on the nearest double is infinite."""
_TOO_SMALL = "0." + str(5**1075).zfill(1075)
"""2 to the power of -1075, all its digits: up to here the nearest double is 0."""


@dataclass(frozen=True)
class Dialect:
    """How one engine writes names, types and a few functions.

    Parameters
    ----------
    name : str
        The engine, in words.
    quote : str
        The mark around a name.
    double, text : str
        The types of a binary64 number and of a text of any length.
    random : str
        A number drawn uniformly from 0 to 1, anew for each row.
    rint, days : str
        Patterns: a double rounded to the nearest whole one, ties to even; days since 1970-01-01,
        NULL for an infinite date.
    exact_text : str
        Pattern: a value as text that is compared code point by code point, whatever the collation
        of the column.
    of_decimal : str
        Pattern: a decimal as the nearest double, infinity where there is none, and never a failure.
    whole : str
        Pattern: a decimal as the exact text of a whole number, NULL if it is none.
    row_hash : str
        A pattern: an exact number from the values of a row called ``r``, one of several by ``{}``.

    Examples
    --------
    >>> print(POSTGRES.named("age"), SPARK.named("age"), SPARK.number(0.1))
    "age" `age` CAST('0.1' AS DOUBLE)
    """

    name: str
    quote: str
    double: str
    text: str
    random: str
    rint: str
    days: str
    exact_text: str
    of_decimal: str
    whole: str
    row_hash: str

    def named(self, name: str) -> str:
        """Write the name of a column or a table."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def string(self, value: str) -> str:
        """Write a text."""
        doubled = value.replace("'", "''")
        # Spark reads a backslash as an escape.
        return f"'{doubled}'" if self is not SPARK else "'" + _escaped(value) + "'"

    def number(self, value: float) -> str:
        """Write a double exactly: each dialect reads the shortest digits back to the same bits."""
        return f"CAST('{float(value)!r}' AS {self.double})"

    def to_double(self, expression: str) -> str:
        """Read an expression as a double."""
        return f"CAST({expression} AS {self.double})"

    def clipped(self, expression: str, lower: float, upper: float) -> str:
        """Move a double into an interval."""
        return f"LEAST(GREATEST({expression}, {self.number(lower)}), {self.number(upper)})"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")


DUCKDB = Dialect(
    name="DuckDB",
    quote='"',
    double="DOUBLE",
    text="VARCHAR",
    random="random()",
    rint="round_even({}, 0)",
    days="(CASE WHEN isfinite({0}) THEN CAST({0} AS DATE) - DATE '1970-01-01' END)",
    exact_text="CAST({} AS VARCHAR)",
    of_decimal="CAST({} AS DOUBLE)",
    whole="CAST({} AS VARCHAR)",
    row_hash="CAST(hash(CAST(r AS VARCHAR) || '{}') AS HUGEINT)",
)
POSTGRES = Dialect(
    name="PostgreSQL",
    quote='"',
    double="DOUBLE PRECISION",
    text="TEXT",
    random="random()",
    rint="round({})",
    days="(CASE WHEN isfinite({0}) THEN CAST({0} AS DATE) - DATE '1970-01-01' END)",
    exact_text='CAST({} AS TEXT) COLLATE "C"',
    # A cast fails beyond the doubles, at both ends: such a value would end every question.
    of_decimal=(
        "(CASE WHEN {0} = 'NaN' THEN 'NaN' "
        f"WHEN {{0}} >= {_TOO_LARGE} THEN 'Infinity' WHEN {{0}} <= -{_TOO_LARGE} THEN '-Infinity' "
        f"WHEN ABS({{0}}) <= {_TOO_SMALL} THEN '0' "
        "ELSE CAST({0} AS TEXT) END)::double precision"
    ),
    whole=(
        "(CASE WHEN {0} NOT IN ('NaN', 'Infinity', '-Infinity') AND {0} = TRUNC({0}) "
        'THEN CAST(TRUNC({0}) AS TEXT) END) COLLATE "C"'
    ),
    row_hash="CAST(hashtextextended(CAST(r AS TEXT), {}) AS NUMERIC)",
)
SPARK = Dialect(
    name="Spark",
    quote="`",
    double="DOUBLE",
    text="STRING",
    random="rand()",
    rint="rint({})",
    days="datediff(CAST({} AS DATE), DATE '1970-01-01')",
    exact_text="(CAST({} AS STRING) COLLATE UTF8_BINARY)",
    of_decimal="CAST({} AS DOUBLE)",
    whole="CAST({} AS STRING)",
    row_hash="CAST(xxhash64({}, r.*) AS DECIMAL(20, 0))",
)
