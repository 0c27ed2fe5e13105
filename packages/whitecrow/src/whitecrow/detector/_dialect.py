"""The few things that DuckDB and PostgreSQL say differently; everything else is common SQL."""

from __future__ import annotations

from dataclasses import dataclass

_DAYS = "(CASE WHEN isfinite({0}) THEN CAST({0} AS DATE) - DATE '1970-01-01' END)"


@dataclass(frozen=True)
class Dialect:
    """How one database writes names, texts and a few functions.

    Examples
    --------
    >>> print(POSTGRES.named("age"), DUCKDB.to_double("1"), DUCKDB.string("it's"))
    "age" CAST(1 AS DOUBLE) 'it''s'
    """

    double: str  # the type of a binary64 number
    # Pattern: a value as text that is compared code point by code point, whatever the collation of
    # the column.
    exact_text: str
    # Pattern: whether a double is NaN. DuckDB looks comparisons of numbers up in the statistics of
    # a Parquet file, which know no NaN.
    is_nan: str
    days: str = _DAYS  # pattern: days since 1970-01-01, NULL for an infinite date

    def named(self, name: str) -> str:
        """Write the name of a column or a table."""
        doubled = name.replace('"', '""')
        return f'"{doubled}"'

    def string(self, value: str) -> str:
        doubled = value.replace("'", "''")
        return f"'{doubled}'"

    def to_double(self, expression: str) -> str:
        """Read an expression as a double."""
        return f"CAST({expression} AS {self.double})"


DUCKDB = Dialect(
    double="DOUBLE",
    exact_text="CAST({} AS VARCHAR)",
    is_nan="CAST({} AS VARCHAR) IN ('nan', '-nan')",
)
POSTGRES = Dialect(
    double="DOUBLE PRECISION",
    exact_text='CAST({} AS TEXT) COLLATE "C"',
    is_nan="{} = 'NaN'::double precision",
)
