"""The tables. Budgets are exact rationals and are stored as text."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

__all__ = [
    "FAILED",
    "LOST",
    "METADATA",
    "OWN_STATES",
    "accounts",
    "balls",
    "datasets",
    "entries",
    "publishers",
    "sheets",
    "terms",
    "unsettled",
    "witness",
]

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

FAILED = text("entries.kind IN ('fail', 'halt')")
"""The few entries that a review may close; a query must say it in these words to use the index."""

_FAILED = text("kind IN ('fail', 'halt')")
Index(
    "entries_failed",
    entries.c.dataset,
    entries.c.seq,
    sqlite_where=_FAILED,
    postgresql_where=_FAILED,
)
Index("entries_by_analyst", entries.c.dataset, entries.c.analyst, entries.c.seq)

# What follows is derived from the entries, so that no decision has to read them all; a full
# verification recomputes it.

unsettled = Table(
    "unsettled",
    METADATA,
    Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    # How often somebody took up this reservation: only the last of them may close it.
    Column("epoch", Integer, nullable=False),
    PrimaryKeyConstraint("dataset", "seq"),
)

terms = Table(
    "terms",
    METADATA,
    Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("analyst", String(200), nullable=False),
    Column("digest", String(64), nullable=False),
    # A zone or a condition of a promise, canonical JSON, and how many releases have it.
    Column("term", Text, nullable=False),
    Column("number", Integer, nullable=False),
    PrimaryKeyConstraint("dataset", "analyst", "digest"),
)

sheets = Table(
    "sheets",
    METADATA,
    Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("sheet", String(64), nullable=False),
    Column("analyst", String(200), nullable=False),
    Column("version", Integer, nullable=False),
    Column("bands", Text, nullable=False),
    Column("differential", Text, nullable=False),
    Column("sensitive", Text, nullable=False),
    PrimaryKeyConstraint("dataset", "sheet", "analyst"),
)

balls = Table(
    "balls",
    METADATA,
    Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("sheet", String(64), nullable=False),
    Column("band", Integer, nullable=False),
    Column("u", Float(53), nullable=False),
    Column("v", Float(53), nullable=False),
    Column("analyst", String(200), nullable=False),
    Column("everyone", Boolean, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("location", Text, nullable=False),
    Column("depths", Text, nullable=False),
    PrimaryKeyConstraint("dataset", "seq"),
)

Index("balls_by_place", balls.c.dataset, balls.c.sheet, balls.c.band, balls.c.u, balls.c.v)
Index("balls_by_depth", balls.c.dataset, balls.c.sheet, balls.c.analyst, balls.c.depths)

publishers = Table(
    "publishers",
    METADATA,
    Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("name", String(200), nullable=False),
    Column("version", Integer, nullable=False),
    Column("state", Text, nullable=False),
    PrimaryKeyConstraint("dataset", "name"),
)

OWN_STATES = ("data key", "file digests", "unit of privacy")
"""States that an account keeps for itself, by name; nothing is released with them."""

LOST = '{"lost":true}'
"""The state of a publication that was over when its state was lost in a restore."""

witness = Table(
    "witness",
    METADATA,
    # One row, if the ledger has a witness: its own random name, and where the witness is kept.
    Column("ledger", String(64), primary_key=True),
    Column("address", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("public", String(64), nullable=False),
    Column("seconds", Integer, nullable=False),
)
