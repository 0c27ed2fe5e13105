"""Versions of a set of tables: made in one step, brought forward step by step, refused when newer.

The ledger's tables and the service's lie in one database, each set with its own version. A step is
a function that leads from one version to the next; tests keep both ways to the newest equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select, text
from sqlalchemy.schema import CreateColumn

from whitecrow.errors import LedgerUnusable
from whitecrow.ledger.database import Database, Session
from whitecrow.ledger.schema import (
    METADATA,
    balls,
    datasets,
    entries,
    publishers,
    sheets,
    terms,
    unsettled,
    witness,
)

Step = Callable[[Connection], None]


@dataclass(frozen=True)
class Versions:
    """The version of a set of tables."""

    column: Column[Any]  # of a table with one row: the version
    make: Step  # makes the newest tables where there are none
    steps: Sequence[Step]  # the first leads from version 1 to version 2, and so on
    lock: int  # what PostgreSQL locks meanwhile: another process may be doing the same

    @property
    def newest(self) -> str:
        return f"{len(self.steps) + 1:04}"

    def present(self, connection: Connection) -> str | None:
        """The version that is there; None where nothing is."""
        if not inspect(connection).has_table(self.column.table.name):
            return None
        version = connection.execute(select(self.column)).scalar_one_or_none()
        return None if version is None else f"{version:0>4}"

    def bring_forward(self, connection: Connection, what: str) -> str | None:
        """Make the tables current, in the open transaction; return the older version, if any.

        Tables that are newer are refused, and not touched.
        """
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SET LOCAL statement_timeout TO 0")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({self.lock})")
        older, table = self.present(connection), self.column.table
        newest = {self.column: self.column.type.python_type(self.newest)}
        if older == self.newest:
            return None
        if older is None:
            self.make(connection)
            table.create(connection, checkfirst=True)
            connection.execute(table.insert().values(newest))
            return None
        if not older.isdigit() or older > self.newest:
            raise LedgerUnusable(
                f"{what} by a newer version of whitecrow (schema {older}; this version knows "
                f"{self.newest}). Upgrade whitecrow; nothing was touched."
            )
        for step in self.steps[int(older) - 1 :]:
            step(connection)
        connection.execute(table.update().values(newest))
        return older


def add_column(connection: Connection, column: Column[Any]) -> None:
    """Add a column to a table that an older version made, unless it is there."""
    table = column.table.name
    if column.name not in {there["name"] for there in inspect(connection).get_columns(table)}:
        definition = CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {definition}")


def migrate(database: Database, rebuild: Callable[[Session, str], None]) -> None:
    """Make a ledger current, in one transaction.

    What an older one lacks beside tables is then made by ``rebuild``, which is told its version.
    """
    with database.connection() as connection:
        older = LEDGER.bring_forward(connection, f"The ledger {database.name} was written")
        if older is not None:
            rebuild(database.joined(connection), older)


def _failures(connection: Connection) -> None:
    add_column(connection, datasets.c.failures)
    connection.execute(
        text(
            "UPDATE datasets SET failures = (SELECT count(*) FROM entries e WHERE "
            "e.dataset = datasets.id AND e.kind = 'fail' AND NOT EXISTS (SELECT 1 FROM entries c "
            "WHERE c.dataset = e.dataset AND c.closes = e.seq))"
        )
    )


def _indexes(connection: Connection) -> None:
    """Add what keeps decisions short: open reservations, terms of promises, the spatial index."""
    for index in sorted(entries.indexes, key=lambda index: str(index.name)):
        index.create(connection, checkfirst=True)
    for table in (unsettled, terms, sheets, balls):
        table.create(connection)


def _witness(connection: Connection) -> None:
    witness.create(connection)


def _closures(connection: Connection) -> None:
    """Add which accounts are closed for good, and what tells versions of publications apart."""
    add_column(connection, datasets.c.closure)
    add_column(connection, publishers.c.fingerprints)


def _holders(connection: Connection) -> None:
    add_column(connection, unsettled.c.holder)


def _layout(connection: Connection) -> None:
    """Lay tables out so that an ask writes fewer pages: without rowids, with fewer indexes."""
    for table in (entries, unsettled, terms, sheets, balls):
        columns = ", ".join(table.columns.keys())
        copied = f"CREATE TEMPORARY TABLE whitecrow_moved AS SELECT {columns} FROM {table.name}"  # noqa: S608 - ours
        connection.exec_driver_sql(copied)
        table.drop(connection)
        table.create(connection)
        moved = f"INSERT INTO {table.name} SELECT {columns} FROM whitecrow_moved"  # noqa: S608 - ours
        connection.exec_driver_sql(moved)
        connection.exec_driver_sql("DROP TABLE whitecrow_moved")


def _sizes(connection: Connection) -> None:
    """Do nothing: sizes of balls are told finer from here on, and older versions misread them."""


LEDGER = Versions(
    # The table's name is that of the tool which wrote it first.
    Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True)).c[
        "version_num"
    ],
    METADATA.create_all,
    (_failures, _indexes, _witness, _closures, _holders, _layout, _sizes),
    lock=748392015,
)
"""The ledger's tables."""
