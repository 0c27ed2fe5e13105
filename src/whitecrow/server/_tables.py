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

__all__ = [
    "access",
    "buckets",
    "failures",
    "flows",
    "identities",
    "invitations",
    "migrate",
    "overruns",
    "people",
    "recovery",
    "secrets",
    "sessions",
    "sources",
    "statements",
    "tokens",
    "trail",
    "witnessed",
    "witnessed_marks",
]

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
    # The second factor: its key, and the last step of time whose code was taken.
    Column("totp", String(64), nullable=True),
    Column("totp_step", Integer, nullable=True),
    # When somebody was removed. The row stays: nobody else may get the name, under which the
    # accounts keep what was spent.
    Column("removed", Float, nullable=True),
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
    # What it is good for; empty: all that its owner may do.
    Column("scope", String(16), nullable=False, server_default=""),
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
    # How it began: with a password, or at the provider of single sign-on.
    Column("began_with", String(16), nullable=False, server_default="password"),
)

Index("service_sessions_by_person", sessions.c.person)

flows = Table(
    "service_flows",
    METADATA,
    # Sign-ins under way at the provider; each row is used once.
    Column("hash", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("secret", Text, nullable=False),
    Column("nonce", String(64), nullable=False),
    Column("expires", Float, nullable=False),
)

identities = Table(
    "service_identities",
    METADATA,
    # Whom the provider's issuer and subject stand for; the subject is never given to another.
    Column("hash", String(64), primary_key=True),
    Column("person", String(64), nullable=False),
    Column("created", Float, nullable=False),
)

Index("service_identities_by_person", identities.c.person)

invitations = Table(
    "service_invitations",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("person", String(64), nullable=False),
    Column("expires", Float, nullable=False),
    Column("made_by", String(64), nullable=False),
)

recovery = Table(
    "service_recovery",
    METADATA,
    # Codes that stand in for the second factor, each once.
    Column("hash", String(64), primary_key=True),
    Column("person", String(64), nullable=False),
)

trail = Table(
    "service_trail",
    METADATA,
    # What administrators did about people, tokens and keys: each row names the one before it.
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", Float, nullable=False),
    Column("actor", String(160), nullable=False),
    Column("act", String(32), nullable=False),
    Column("target", String(64), nullable=False),
    Column("detail", Text, nullable=False),
    Column("hash", String(64), nullable=False),
)

failures = Table(
    "service_failures",
    METADATA,
    Column("who", String(100), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("since", Float, nullable=False),
)

buckets = Table(
    "service_buckets",
    METADATA,
    # Requests that several machines may still lend to somebody, whom a hash names.
    Column("who", String(16), primary_key=True),
    Column("left", Float, nullable=False),
    Column("at", Float, nullable=False),
    # Of the last loan, for whoever took it.
    Column("granted", Float, nullable=False),
)

secrets = Table(
    "service_secrets",
    METADATA,
    Column("name", String(32), primary_key=True),
    Column("value", String(128), nullable=False),
    Column("created", Float, nullable=False, server_default="0"),
)

overruns = Table(
    "service_overruns",
    METADATA,
    # Replies that left later than at their first deadline: for the custodian's eyes only.
    Column("dataset", String(64), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("number", Integer, nullable=False),
    Column("newest", Float, nullable=False),
    PrimaryKeyConstraint("dataset", "kind"),
)

witnessed = Table(
    "service_witnessed",
    METADATA,
    # Ledgers of other instances that have their witness here: whose, and the key that signs.
    Column("ledger", String(32), primary_key=True),
    Column("public", String(64), nullable=False),
    Column("person", String(64), nullable=False),
    Column("created", Float, nullable=False),
)

statements = Table(
    "service_statements",
    METADATA,
    # What they signed, as long as some mark rests on it.
    Column("hash", String(64), primary_key=True),
    Column("ledger", String(32), nullable=False),
    Column("written", Text, nullable=False),
)

Index("service_statements_by_ledger", statements.c.ledger)

witnessed_marks = Table(
    "service_witnessed_marks",
    METADATA,
    Column("ledger", String(32), nullable=False),
    Column("account", String(300), nullable=False),
    Column("era", Integer, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("head", String(64), nullable=False),
    Column("statement", String(64), nullable=False),
    PrimaryKeyConstraint("ledger", "account"),
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


def _identity(connection: Connection) -> None:
    """Single sign-on, invitations, second factors, scopes, the trail, a ring of keys."""
    for table in (flows, identities, invitations, recovery, trail):
        table.create(connection)
    added = (people.c.totp, people.c.totp_step, people.c.removed, sessions.c.began_with)
    for column in (*added, tokens.c.scope, secrets.c.created):
        add_column(connection, column)


def _overruns(connection: Connection) -> None:
    overruns.create(connection)


def _usage(connection: Connection) -> None:
    """What machines took of a person's rate; buckets came in its place."""


def _buckets(connection: Connection) -> None:
    """One bucket for each person, over all machines."""
    connection.exec_driver_sql("DROP TABLE IF EXISTS service_usage")
    buckets.create(connection)


def _witnessing(connection: Connection) -> None:
    """The heads of other instances' ledgers."""
    for table in (witnessed, statements, witnessed_marks):
        table.create(connection)


VERSIONS = Versions(
    Table("service_version", MetaData(), Column("version", Integer, primary_key=True)).c["version"],
    _make,
    (_count_changes, _who_made_what, _probe, _identity, _overruns, _usage, _witnessing, _buckets),
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
