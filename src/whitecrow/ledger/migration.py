"""Bring a store to the schema this code knows, or refuse one that is newer.

A new store is made in one step; an older one is migrated by Alembic's scripts, which ship inside
the package. Tests keep the two ways equal.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, inspect, select

from whitecrow.errors import LedgerUnusable
from whitecrow.ledger.database import Database, Session
from whitecrow.ledger.schema import METADATA, VERSION, versions

__all__ = ["migrate"]

_SCRIPTS = Path(__file__).parent / "migrations"


def migrate(database: Database, rebuild: Callable[[Session], None]) -> None:
    """Make the store current, in one transaction: another process may be doing the same.

    An older store is migrated, and what is derived from its entries is then made by ``rebuild``.
    """
    with database.connection() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(748392015)")
        found = _version(connection)
        if found is None:
            METADATA.create_all(connection)
            versions.create(connection)
            connection.execute(versions.insert().values(version_num=VERSION))
        elif found != VERSION:
            _upgrade(connection, found, database.name)
            rebuild(database.joined(connection))


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(versions.name):
        return None
    return connection.execute(select(versions.c.version_num)).scalar_one_or_none()


def _upgrade(connection: Connection, found: str, name: str) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from alembic.util.exc import CommandError

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found not in known:
        raise LedgerUnusable(
            f"The ledger {name} was written by a newer version of whitecrow (schema {found}; this "
            f"version knows {VERSION}). Upgrade whitecrow; the ledger was not touched."
        )
    try:
        command.upgrade(config, "head")
    except CommandError:
        raise LedgerUnusable(
            f"The ledger {name} could not be brought to schema {VERSION}; it was not touched."
        ) from None
