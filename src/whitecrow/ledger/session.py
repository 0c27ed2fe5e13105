"""One transaction, in statements that were compiled once and go straight to the driver."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from sqlalchemy.engine import Dialect
from sqlalchemy.sql import Executable

__all__ = ["Compiler", "Session"]


class Compiler:
    """Turns SQLAlchemy's statements into the driver's text, and remembers them.

    Parameters
    ----------
    dialect : Dialect
        The engine's.
    """

    def __init__(self, dialect: Dialect) -> None:
        # Parameters go by name, which both drivers understand in their own spelling.
        kind: Any = type(dialect)
        self._dialect = kind(paramstyle="named") if dialect.name == "sqlite" else dialect
        self._known: dict[int, tuple[Any, str, dict[str, Any], Any]] = {}

    def of(self, statement: Executable) -> tuple[str, dict[str, Any], Any]:
        """The text, the parameters it brings itself, and what makes its rows (or None)."""
        known = self._known.get(id(statement))
        if known is None:
            built: Any = statement
            compiled = built.compile(dialect=self._dialect)
            row = None
            if getattr(built, "is_select", False):
                make: Any = namedtuple  # whose names are known when the statement is
                row = make("Row", built.selected_columns.keys())._make
            # Parameters that a caller gives need no value from the statement.
            own = {name: value for name, value in compiled.params.items() if value is not None}
            # The statement is kept with its text, so that its id stays its own.
            known = (statement, compiled.string, own, row)
            self._known[id(statement)] = known
        return known[1:]


class Session:
    """A transaction that is open.

    Parameters
    ----------
    raw : DBAPI connection
        From the engine's pool.
    compiler : Compiler
        The engine's.
    """

    def __init__(self, raw: Any, compiler: Compiler) -> None:
        self._cursor = raw.cursor()
        self._compiler = compiler

    def command(self, text: str) -> None:
        """Run a fixed text."""
        self._cursor.execute(text)

    def run(self, statement: Executable, **given: Any) -> None:
        """Run a statement that returns nothing."""
        text, own, _ = self._compiler.of(statement)
        self._cursor.execute(text, {**own, **given} if own else given)

    def rows(self, statement: Executable, **given: Any) -> list[Any]:
        """Run a query and return its rows, whose columns are attributes."""
        text, own, row = self._compiler.of(statement)
        self._cursor.execute(text, {**own, **given} if own else given)
        return [row(found) for found in self._cursor.fetchall()]

    def one(self, statement: Executable, **given: Any) -> Any | None:
        """Run a query and return its first row, if there is one."""
        found = self.rows(statement, **given)
        return found[0] if found else None
