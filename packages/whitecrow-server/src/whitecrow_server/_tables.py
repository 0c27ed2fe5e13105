"""The service's own tables, in the same database as the ledger's and apart from them.

They have a version of their own, and are brought forward as the ledger's are.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.schema import PrimaryKeyConstraint, SchemaItem

from whitecrow.ledger.migration import Versions, add_column
from whitecrow.ledger.schema import moment, text, whole
from whitecrow_server._store import Store, changes, probes

METADATA = MetaData()


def _table(name: str, *parts: SchemaItem) -> Table:
    return Table(name, METADATA, *parts)


people = _table(
    "service_people",
    text("name", 64, primary_key=True),
    text("role", 16),
    Column("password", Text, nullable=True),
    Column("disabled", Boolean, nullable=False),
    moment("created"),
    # Who chose the password, and when: a custodian who set it could sign in with it.
    text("password_by", 64, server_default=""),
    Column("password_at", Float, nullable=True),
    # The second factor: its key, and the last step of time whose code was taken.
    Column("totp", String(64), nullable=True),
    Column("totp_step", Integer, nullable=True),
    # When somebody was removed. The row stays: nobody else may get the name, under which the
    # accounts keep what was spent.
    Column("removed", Float, nullable=True),
)

tokens = _table(
    "service_tokens",
    text("id", 16, primary_key=True),
    # Only the hash is kept: whoever reads the database cannot act for anybody.
    text("hash", 64, unique=True),
    text("person", 64),
    text("label", 100),
    moment("created"),
    moment("expires"),
    Column("revoked", Boolean, nullable=False),
    # The token it was made with, if any: it dies with it.
    Column("parent", String(16), nullable=True),
    # Who made it. Whoever makes a token has read its text, and could use it.
    text("made_by", 64, server_default=""),
    # What it is good for; empty: all that its owner may do.
    text("scope", 16, server_default=""),
)

Index("service_tokens_by_person", tokens.c.person)
Index("service_tokens_by_parent", tokens.c.parent)

sources = _table(
    "service_datasets",
    text("name", 64, primary_key=True),
    text("source"),
    Column("card", Text, nullable=True),
    text("engine", 16),
    text("indexes"),
    # Grows when card or source change: workers load anew what they hold in an older form.
    whole("revision"),
    moment("created"),
)

access = _table(
    "service_access",
    text("dataset", 64),
    text("person", 64),
    PrimaryKeyConstraint("dataset", "person"),
)

sessions = _table(
    "service_sessions",
    text("hash", 64, primary_key=True),
    text("person", 64),
    moment("created"),
    moment("expires"),
    # Who else knew the password it began with; empty: nobody.
    text("acting", 64, server_default=""),
    # How it began: with a password, or at the provider of single sign-on.
    text("began_with", 16, server_default="password"),
)

Index("service_sessions_by_person", sessions.c.person)

flows = _table(
    "service_flows",
    # Sign-ins under way at the provider; each row is used once.
    text("hash", 64, primary_key=True),
    text("kind", 16),
    text("secret"),
    text("nonce", 64),
    moment("expires"),
)

identities = _table(
    "service_identities",
    # Whom the provider's issuer and subject stand for; the subject is never given to another.
    text("hash", 64, primary_key=True),
    text("person", 64),
    moment("created"),
)

Index("service_identities_by_person", identities.c.person)

invitations = _table(
    "service_invitations",
    text("hash", 64, primary_key=True),
    text("person", 64),
    moment("expires"),
    text("made_by", 64),
)

recovery = _table(
    "service_recovery",
    # Codes that stand in for the second factor, each once.
    text("hash", 64, primary_key=True),
    text("person", 64),
)

trail = _table(
    "service_trail",
    # What administrators did about people, tokens and keys: each row names the one before it.
    whole("seq", primary_key=True, autoincrement=False),
    moment("at"),
    text("actor", 160),
    text("act", 32),
    text("target", 64),
    text("detail"),
    text("hash", 64),
)

failures = _table(
    "service_failures", text("who", 100, primary_key=True), whole("number"), moment("since")
)

buckets = _table(
    "service_buckets",
    # Requests that several machines may still lend to somebody, whom a hash names.
    text("who", 16, primary_key=True),
    moment("left"),
    moment("at"),
    # Of the last loan, for whoever took it.
    moment("granted"),
)

secrets = _table(
    "service_secrets",
    text("name", 32, primary_key=True),
    text("value", 128),
    moment("created", server_default="0"),
)

overruns = _table(
    "service_overruns",
    # Replies that left later than at their first deadline: for the custodian's eyes only.
    text("dataset", 64),
    text("kind", 64),
    whole("number"),
    moment("newest"),
    PrimaryKeyConstraint("dataset", "kind"),
)

witnessed = _table(
    "service_witnessed",
    # Ledgers of other instances that have their witness here: whose, and the key that signs.
    text("ledger", 32, primary_key=True),
    text("public", 64),
    text("person", 64),
    moment("created"),
)

statements = _table(
    "service_statements",
    # What they signed, as long as some mark rests on it.
    text("hash", 64, primary_key=True),
    text("ledger", 32),
    text("written"),
)

Index("service_statements_by_ledger", statements.c.ledger)

witnessed_marks = _table(
    "service_witnessed_marks",
    text("ledger", 32),
    text("account", 300),
    whole("era"),
    whole("seq"),
    text("head", 64),
    text("statement", 64),
    PrimaryKeyConstraint("ledger", "account"),
)


def _make(connection: Connection) -> None:
    METADATA.create_all(connection)
    _count_changes(connection)
    _probe(connection)


def _count_changes(connection: Connection) -> None:
    changes.create(connection)
    connection.execute(changes.insert().values(number=0))


def _probe(connection: Connection) -> None:
    probes.create(connection)
    connection.execute(probes.insert().values(at=0.0))


def _buckets(connection: Connection) -> None:
    """One bucket for each person, over all machines; it came in place of a table of use."""
    connection.exec_driver_sql("DROP TABLE IF EXISTS service_usage")
    buckets.create(connection)


def _added(*parts: SchemaItem) -> Callable[[Connection], None]:
    """A step that adds tables, columns and indexes."""

    def step(connection: Connection) -> None:
        for part in parts:
            if isinstance(part, Column):
                add_column(connection, part)
            else:
                assert isinstance(part, Table | Index)
                part.create(connection, checkfirst=True)

    return step


_MAKERS = (
    *(people.c.password_by, people.c.password_at),
    *(sessions.c.acting, tokens.c.parent, tokens.c.made_by, *tokens.indexes),
)
"""Who made a token, with which other; who set a password."""

_IDENTITY = (
    *(flows, identities, invitations, recovery, trail),
    *(people.c.totp, people.c.totp_step, people.c.removed),
    *(sessions.c.began_with, tokens.c.scope, secrets.c.created),
)
"""Single sign-on, invitations, second factors, scopes, the trail, a ring of keys."""

VERSIONS = Versions(
    Table("service_version", MetaData(), whole("version", primary_key=True)).c["version"],
    _make,
    (
        _count_changes,
        _added(*_MAKERS),
        _probe,
        _added(*_IDENTITY),
        _added(overruns),
        _added(),  # what machines took of a person's rate; buckets came in its place
        _added(witnessed, statements, witnessed_marks),
        _buckets,
    ),
    lock=748392016,
)
"""The service's tables."""


def migrate(store: Store) -> None:
    """Bring the service's tables to the newest schema, or refuse a store that is newer."""
    with store.transaction(write=False) as connection:
        if VERSIONS.present(connection) == VERSIONS.newest:
            return
    with store.transaction(counted=False) as connection:
        VERSIONS.bring_forward(connection, "The service's tables were written")
