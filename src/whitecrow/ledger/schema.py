"""The tables. Budgets are exact rationals and are stored as text."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["METADATA", "VERSION", "accounts", "datasets", "entries", "publishers", "versions"]

VERSION = "0002"
"""The newest migration this code knows."""

METADATA = MetaData()

datasets = Table(
    "datasets",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    # The end of the chain. This row is what a transaction locks before it decides anything.
    Column("seq", Integer, nullable=False),
    Column("head", String(64), nullable=False),
    # The standing promise: the newest budget and policy of the chain.
    Column("budget", Text, nullable=False),
    Column("policy", Text, nullable=False),
    # What all analysts together have spent.
    Column("spent", Text, nullable=False),
    # Failures that nobody has reviewed; the dataset is closed while there are any.
    Column("failures", Integer, nullable=False, server_default="0"),
)

accounts = Table(
    "accounts",
    METADATA,
    Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("analyst", String(200), nullable=False),
    Column("budget", Text, nullable=True),
    Column("spent", Text, nullable=False),
    PrimaryKeyConstraint("dataset", "analyst"),
)

entries = Table(
    "entries",
    METADATA,
    Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("at", String(40), nullable=False),
    Column("analyst", String(200), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("closes", Integer, nullable=True),
    Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    PrimaryKeyConstraint("dataset", "seq"),
    # Whatever happens above, the store itself refuses a second answer to one reservation.
    UniqueConstraint("dataset", "closes", name="closed_once"),
)

Index("entries_by_question", entries.c.dataset, entries.c.digest, entries.c.seq)

publishers = Table(
    "publishers",
    METADATA,
    Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("name", String(200), nullable=False),
    Column("version", Integer, nullable=False),
    Column("state", Text, nullable=False),
    PrimaryKeyConstraint("dataset", "name"),
)

# Alembic's own table, declared here so that a current store is recognised without loading Alembic.
versions = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), primary_key=True),
)
