"""The tables. Budgets are exact rationals and are stored as text."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy import text as sql
from sqlalchemy.schema import PrimaryKeyConstraint, SchemaItem

METADATA = MetaData()


# Columns, a line each. A value must be given, unless a column is made otherwise.


def whole(name: str, **more: Any) -> Column[int]:
    return Column(name, Integer, nullable=False, **more)


def moment(name: str, **more: Any) -> Column[float]:
    """A moment, in seconds, or another double."""
    return Column(name, Float, nullable=False, **more)


def text(name: str, longest: int | None = None, **more: Any) -> Column[str]:
    """A text, of so many characters at the most if a number is given."""
    return Column(name, Text if longest is None else String(longest), nullable=False, **more)


def _of_account(name: str, *columns: SchemaItem, key: tuple[str, ...], **how: Any) -> Table:
    """A table in which every account has rows of its own, told apart by a key."""
    dataset = Column("dataset", Integer, ForeignKey("datasets.id"), nullable=False)
    return Table(name, METADATA, dataset, *columns, PrimaryKeyConstraint("dataset", *key), **how)


SHORT = {"sqlite_with_rowid": False}
"""Of tables with short rows: SQLite keeps them in the order of their key, in one tree of pages."""

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
    key=("seq",),
)


def _some(name: str, condition: str, *columns: str, unique: bool = False) -> None:
    """Index the few entries that keep a condition."""
    where, keys = sql(condition), (entries.c[column] for column in ("dataset", *columns))
    Index(name, *keys, unique=unique, sqlite_where=where, postgresql_where=where)


# Whatever happens above, the store itself refuses a second answer to one reservation.
_some("closed_once", "closes IS NOT NULL", "closes", unique=True)
# A query must say the condition to use the index; answers are found by what they close.
_some("entries_by_question", "kind <> 'settle'", "digest", "seq")
_some("entries_by_analyst", "kind <> 'settle'", "analyst", "seq")
_some("entries_failed", "kind IN ('fail', 'halt')", "seq")

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
    **SHORT,
)

terms = _of_account(
    "terms",
    text("analyst", 200),
    text("digest", 64),
    # A zone or a condition of a promise, canonical JSON, and how many releases have it.
    text("term"),
    whole("number"),
    key=("analyst", "digest"),
    **SHORT,
)

sheets = _of_account(
    "sheets",
    text("sheet", 64),
    text("analyst", 200),
    text("bands"),
    text("differential"),
    text("sensitive"),
    key=("sheet", "analyst"),
    **SHORT,
)

balls = _of_account(
    "balls",
    whole("seq"),
    text("sheet", 64),
    whole("band"),
    moment("u"),
    moment("v"),
    text("analyst", 200),
    Column("everyone", Boolean, nullable=False),
    text("epsilon"),
    text("location"),
    text("depths"),
    key=("seq",),
    **SHORT,
)

# Also with what the largest depth of a sheet is read from, when a ball is given back.
_LOOKED_UP = ("dataset", "sheet", "band", "u", "v", "analyst", "depths")
Index("balls_by_place", *(balls.c[name] for name in _LOOKED_UP))

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
