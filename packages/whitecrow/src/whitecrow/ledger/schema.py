"""The tables. Budgets are exact rationals and are stored as text."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, Table, Text
from sqlalchemy import text as sql
from sqlalchemy.schema import PrimaryKeyConstraint, SchemaItem, UniqueConstraint

from whitecrow.ledger.columns import text, whole

METADATA = MetaData()


def _of_account(name: str, *columns: SchemaItem, key: tuple[str, ...]) -> Table:
    """A table in which every account has rows of its own, told apart by a key."""
    dataset = Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False)
    return Table(name, METADATA, dataset, *columns, PrimaryKeyConstraint("dataset", *key))


datasets = Table(
    "datasets",
    METADATA,
    whole("id", primary_key=True),
    text("name", 200, unique=True),
    # The end of the chain. This row is what a transaction locks before it decides anything.
    whole("seq"),
    text("head", 64),
    # The standing promise: the newest budget and policy of the chain.
    text("budget"),
    text("policy"),
    # What all analysts together have spent.
    text("spent"),
    # Failures that nobody has reviewed; the dataset is closed while there are any.
    whole("failures", server_default="0"),
    # The entry that closed the account for good; 0 while none has.
    whole("closure", server_default="0"),
)


accounts = _of_account(
    "accounts",
    text("analyst", 200),
    Column("budget", Text, nullable=True),
    text("spent"),
    key=("analyst",),
)

entries = _of_account(
    "entries",
    whole("seq"),
    text("kind", 20),
    text("at", 40),
    text("analyst", 200),
    text("digest", 64),
    Column("closes", Integer, nullable=True),
    text("body"),
    text("previous", 64),
    text("hash", 64),
    # Whatever happens above, the store itself refuses a second answer to one reservation.
    UniqueConstraint("dataset", "closes", name="closed_once"),
    key=("seq",),
)

Index("entries_by_question", entries.c.dataset, entries.c.digest, entries.c.seq)

FAILED = sql("entries.kind IN ('fail', 'halt')")
"""The few entries that a review may close; a query must say it in these words to use the index."""

_FAILED = sql("kind IN ('fail', 'halt')")
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

unsettled = _of_account(
    "unsettled",
    whole("seq"),
    # How often somebody took up this reservation: only the last of them may close it.
    whole("epoch"),
    # The last of them, while it may still compute.
    text("holder", 20, server_default=""),
    key=("seq",),
)

terms = _of_account(
    "terms",
    text("analyst", 200),
    text("digest", 64),
    # A zone or a condition of a promise, canonical JSON, and how many releases have it.
    text("term"),
    whole("number"),
    key=("analyst", "digest"),
)

sheets = _of_account(
    "sheets",
    text("sheet", 64),
    text("analyst", 200),
    whole("version"),
    text("bands"),
    text("differential"),
    text("sensitive"),
    key=("sheet", "analyst"),
)

balls = _of_account(
    "balls",
    whole("seq"),
    text("sheet", 64),
    whole("band"),
    Column("u", Float(53), nullable=False),
    Column("v", Float(53), nullable=False),
    text("analyst", 200),
    Column("everyone", Boolean, nullable=False),
    text("epsilon"),
    text("location"),
    text("depths"),
    key=("seq",),
)

Index("balls_by_place", balls.c.dataset, balls.c.sheet, balls.c.band, balls.c.u, balls.c.v)
Index("balls_by_depth", balls.c.dataset, balls.c.sheet, balls.c.analyst, balls.c.depths)

publishers = _of_account(
    "publishers",
    text("name", 200),
    whole("version"),
    text("state"),
    # A random fingerprint of the version before and of this one: copies of a ledger that each
    # write the same version are told apart by it.
    text("fingerprints", server_default=""),
    key=("name",),
)

OWN_STATES = ("data key", "file digests", "unit of privacy")
"""States that an account keeps for itself, by name; nothing is released with them."""

LOST = '{"lost":true}'
"""The state of a publication that was over when its state was lost in a restore."""

witness = Table(
    "witness",
    METADATA,
    # One row, if the ledger has a witness: its own random name, and where the witness is kept.
    text("ledger", 64, primary_key=True),
    text("address"),
    text("key"),
    text("public", 64),
    whole("seconds"),
)
