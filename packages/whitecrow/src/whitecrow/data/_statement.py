"""A custodian's query: one SELECT that reads, checked by a parser before a database sees it.

What is sent is not the text that was given but what the parser wrote back from what it understood;
comments and second statements have no way through. Functions are allowed by name: those that
compute on values. Whatever else a query needs belongs in a view, which the database's owner makes.
The second belt is the connection, which only reads, and the third the role it signs in with.
"""

from __future__ import annotations

import logging
import re

from whitecrow.errors import InvalidInput

_TABLE = re.compile(r"\w+(\.\w+)?")
_DIALECTS = {
    "postgresql": "postgres",
    "sqlite": "sqlite",
    "mysql": "mysql",
    "mariadb": "mysql",
    "mssql": "tsql",
    "oracle": "oracle",
    "duckdb": "duckdb",
    "snowflake": "snowflake",
    "bigquery": "bigquery",
    "redshift": "redshift",
    "trino": "trino",
}
_COMPUTING = """
abs acos and asin atan atan2 avg case cast cbrt ceil chr coalesce collate concat concat_ws corr
cos count covar_pop covar_samp cume_dist date date_add datediff date_sub date_trunc day
day_of_month day_of_week dayofweek_iso day_of_year degrees dense_rank exists exp extract
first_value floor greatest group_concat hour if initcap is_inf is_nan json_extract
json_extract_scalar jsonb_extract jsonb_extract_scalar lag last_day last_value lead least left
length ln log logical_and logical_or lower max median min minute mode month nth_value ntile nullif
nvl2 or pad percent_rank percentile_cont percentile_disc pi power quarter radians rank
regexp_extract regexp_i_like regexp_like regexp_replace repeat replace reverse right round
row_number second sign sin split_part sqrt starts_with stddev stddev_pop stddev_samp str_position
str_to_date str_to_time substring sum tan time_to_str timestamp timestamp_trunc to_char to_number
translate trim trunc try_cast ts_or_ds_to_date ts_or_ds_to_timestamp unicode upper var_map
variance variance_pop week week_of_year width_bucket xor year
"""
# By the parser's names. Left out on purpose: whatever draws, waits, numbers or reads elsewhere.

_OTHERWISE_NAMED = """
age bool_and bool_or btrim date_part every instr iif isfinite julianday ltrim make_date printf
rtrim strftime to_date to_timestamp total
"""
# Functions of a database that the parser has no name for, and that compute on values too.


def select_only(query: str, backend: str) -> str:
    """Return a query as one SELECT, written by the parser; a table's name means all of it.

    Parameters
    ----------
    query : str
        ``SELECT ...`` with or without a semicolon, or ``TABLE`` or ``SCHEMA.TABLE``.
    backend : str
        The database, as SQLAlchemy calls it: "postgresql", "sqlite", ...

    Raises
    ------
    InvalidInput
        It is not one SELECT, it could write, or it calls a function that is not known to only
        compute.

    Examples
    --------
    >>> select_only("visits", "sqlite")
    'SELECT * FROM "visits"'
    >>> select_only("select age -- years\\nfrom visits;", "sqlite")
    'SELECT age FROM visits'
    """
    import sqlglot
    from sqlglot import exp

    # It would write the query into the log.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    dialect = _DIALECTS.get(backend, "")
    written = query.strip()
    if _TABLE.fullmatch(written):
        schema, _, name = written.rpartition(".")
        named = exp.table_(name, db=schema or None, quoted=True)
        return exp.select("*").from_(named).sql(dialect=dialect)
    if "\0" in query:
        raise _refused("it holds a zero byte")
    try:
        found = [each for each in sqlglot.parse(query, read=dialect) if each is not None]
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise _refused("it cannot be understood") from None
    if len(found) != 1:
        raise _refused(f"it is {len(found)} statements")
    _check(found[0])
    text = found[0].sql(dialect=dialect, comments=False)
    if sqlglot.parse_one(text, read=dialect) != found[0]:
        raise _refused("it cannot be written back alike")
    return text


def _check(statement: object) -> None:
    from sqlglot import exp

    if not isinstance(statement, exp.Select | exp.SetOperation):
        raise _refused("it is no SELECT")
    for node in statement.walk():
        if isinstance(node, _refused_nodes()):
            raise _refused(f"it holds {node.key.upper()}")
        if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
            name = str(node.this).lower()
            if name not in _OTHERWISE_NAMED.split():
                raise _refused(f"it calls {name}()")
        elif isinstance(node, exp.Func) and node.sql_name().lower() not in _COMPUTING.split():
            raise _refused(f"it calls {node.sql_name().lower()}()")
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            raise _refused("it calls a function of a schema")
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier):
            raise _refused("it reads from a function")
        if isinstance(node, exp.Table) and re.search(r"[/\\.:]", node.name):
            # DuckDB reads files by such names; others hold no table of this kind.
            raise _refused("it reads from a file")


def _refused_nodes() -> tuple[type, ...]:
    from sqlglot import exp

    return (
        exp.DML,
        exp.DDL,
        exp.Command,
        exp.Into,
        exp.Lock,
        exp.Pragma,
        exp.Set,
        exp.Attach,
        exp.Detach,
        exp.Copy,
        exp.Use,
        exp.Transaction,
        exp.Commit,
        exp.Rollback,
        exp.Kill,
        exp.Drop,
        exp.Alter,
        exp.TruncateTable,
        exp.Parameter,
        exp.SessionParameter,
        exp.Placeholder,
        exp.TableSample,
        exp.Operator,  # OPERATOR(schema.name): a function under another name
    )


def _refused(why: str) -> InvalidInput:
    return InvalidInput(
        f"The query is not taken: {why}. Give one SELECT over tables or views, or the name of one "
        "table; what else it needs belongs in a view."
    )
