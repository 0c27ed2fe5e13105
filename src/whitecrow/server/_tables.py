"""The service's own tables, in the same database as the ledger's and apart from them.

They have a version of their own, and are brought forward as the ledger's are.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from whitecrow.ledger.migration import Versions, add_column
from whitecrow.server._store import Store, changes, probes

__all__ = ["access", "failures", "migrate", "people", "secrets", "sessions", "sources", "tokens"]

METADATA = MetaData()

people = Table(
    "service_people",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("password", Text, nullable=True),
    Column("disabled", Boolean, nullable=False),
    Column("created", Float, nullable=False),
    # Who chose the password, and when: a custodian who set it could sign in with it.
    Column("password_by", String(64), nullable=False, server_default=""),
    Column("password_at", Float, nullable=True),
)

tokens = Table(
    "service_tokens",
    METADATA,
    Column("id", String(16), primary_key=True),
    # Only the hash is kept: whoever reads the database cannot act for anybody.
    Column("hash", String(64), nullable=False, unique=True),
    Column("person", String(64), nullable=False),
    Column("label", String(100), nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("revoked", Boolean, nullable=False),
    # The token it was made with, if any: it dies with it.
    Column("parent", String(16), nullable=True),
    # Who made it. Whoever makes a token has read its text, and could use it.
    Column("made_by", String(64), nullable=False, server_default=""),
)

Index("service_tokens_by_person", tokens.c.person)
Index("service_tokens_by_parent", tokens.c.parent)

sources = Table(
    "service_datasets",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("source", Text, nullable=False),
    Column("card", Text, nullable=True),
    Column("engine", String(16), nullable=False),
    Column("indexes", Text, nullable=False),
    # Grows when card or source change: workers load anew what they hold in an older form.
    Column("revision", Integer, nullable=False),
    Column("created", Float, nullable=False),
)

access = Table(
    "service_access",
    METADATA,
    Column("dataset", String(64), nullable=False),
    Column("person", String(64), nullable=False),
    PrimaryKeyConstraint("dataset", "person"),
)

sessions = Table(
    "service_sessions",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("person", String(64), nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    # Who else knew the password it began with; empty: nobody.
    Column("acting", String(64), nullable=False, server_default=""),
)

Index("service_sessions_by_person", sessions.c.person)

failures = Table(
    "service_failures",
    METADATA,
    Column("who", String(100), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("since", Float, nullable=False),
)

secrets = Table(
    "service_secrets",
    METADATA,
    Column("name", String(32), primary_key=True),
    Column("value", String(128), nullable=False),
)


def _make(connection: Connection) -> None:
    METADATA.create_all(connection)
    _count_changes(connection)
    _probe(connection)


def _count_changes(connection: Connection) -> None:
    changes.create(connection)
    connection.execute(changes.insert().values(number=0))


def _who_made_what(connection: Connection) -> None:
    """Who made a token, with which other; who set a password."""
    added = (people.c.password_by, people.c.password_at, sessions.c.acting)
    for column in (*added, tokens.c.parent, tokens.c.made_by):
        add_column(connection, column)
    for index in tokens.indexes:
        index.create(connection, checkfirst=True)


def _probe(connection: Connection) -> None:
    probes.create(connection)
    connection.execute(probes.insert().values(at=0.0))


VERSIONS = Versions(
    Table("service_version", MetaData(), Column("version", Integer, primary_key=True)).c["version"],
    _make,
    (_count_changes, _who_made_what, _probe),
    lock=748392016,
)
"""The service's tables."""


def migrate(store: Store) -> None:
    """Bring the service's tables to the newest schema, or refuse a store that is newer."""
    with store.transaction(write=False) as connection:
        if VERSIONS.found(connection) == VERSIONS.newest:
            return
    with store.transaction(counted=False) as connection:
        VERSIONS.bring_forward(connection, "The service's tables were written")
