"""The statements that touch entries and accounts, built once and compiled once.

Parameters must not be called like columns that a statement sets.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, insert, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert as insert_or_nothing

from whitecrow.ledger.schema import (
    FAILED,
    accounts,
    datasets,
    entries,
    publishers,
    terms,
    unsettled,
    witness,
)


@lru_cache
def some_entries(limits: frozenset[str], newest_first: bool) -> Any:
    query = select(entries).where(
        entries.c.dataset == bindparam("account"), entries.c.seq > bindparam("after")
    )
    conditions = {
        "before": entries.c.seq < bindparam("before"),
        "whose": entries.c.analyst == bindparam("whose"),
        "of_kind": entries.c.kind == bindparam("of_kind"),
        "holds": entries.c.body.contains(bindparam("holds")),
    }
    query = query.where(*(conditions[name] for name in sorted(limits - {"most", "skipped"})))
    query = query.order_by(entries.c.seq.desc() if newest_first else entries.c.seq)
    if "most" in limits:
        query = query.limit(bindparam("most"))
    return query.offset(bindparam("skipped")) if "skipped" in limits else query


def acts(*kinds: str) -> Any:
    """Acts and alarms belong to no question: without a digest the index finds them among many."""
    return select(entries).where(
        entries.c.dataset == bindparam("account"),
        entries.c.digest == "",
        or_(*(entries.c.kind == kind for kind in kinds)),
    )


NOT_TOLD = (
    select(entries.c.seq, entries.c.previous)
    .where(
        entries.c.dataset == bindparam("account"),
        entries.c.seq > bindparam("after"),
        entries.c.at > bindparam("now"),
        entries.c.at < bindparam("latest"),
    )
    .order_by(entries.c.seq)
    .limit(1)
)


@lru_cache(maxsize=32)
def closing_of(count: int) -> Any:
    return select(entries).where(
        entries.c.dataset == bindparam("account"),
        entries.c.closes.in_([bindparam(f"closed{i}") for i in range(count)]),
    )


_FIELDS = tuple(column.name for column in entries.columns)

# Whoever opens an account sees with it which witness the ledger has at this moment.
_APPOINTED = select(func.min(witness.c.ledger)).scalar_subquery().label("appointed")
READ = select(datasets, _APPOINTED).where(datasets.c.name == bindparam("dataset_name"))
NAMES = select(datasets.c.name).order_by(datasets.c.name)
LOCK = READ.with_for_update(of=datasets)
# Both databases have it, in the same words; another process may be first.
REGISTER = (
    insert_or_nothing(datasets)
    .values(
        {name: bindparam(name) for name in ("name", "seq", "head", "budget", "policy", "spent")}
    )
    .on_conflict_do_nothing()
)
KEEP = insert(publishers).values(
    {name: bindparam(name) for name in ("dataset", "name", "version", "state")}
)
APPEND = insert(entries).values({name: bindparam(name) for name in _FIELDS})
MOVE = (
    update(datasets)
    .where(datasets.c.id == bindparam("account"))
    .values(
        {
            name: bindparam(f"new_{name}")
            for name in ("seq", "head", "budget", "policy", "spent", "failures", "closure")
        }
    )
)
INSERT_SHARE = insert(accounts).values(
    dataset=bindparam("account"),
    analyst=bindparam("whose"),
    spent=bindparam("new_spent"),
    budget=bindparam("new_budget"),
)
UPDATE_SHARE = (
    update(accounts)
    .where(accounts.c.dataset == bindparam("account"), accounts.c.analyst == bindparam("whose"))
    .values(spent=bindparam("new_spent"), budget=bindparam("new_budget"))
)
SHARES = select(accounts).where(accounts.c.dataset == bindparam("account"))
SHARE = SHARES.where(accounts.c.analyst == bindparam("whose"))
# What became of a question, under either of its names; of what is open also who computes it. Asked
# for in their order, SQLite would walk through all entries instead of the index.
BY_QUESTION = (
    select(
        *(entries.c[name] for name in ("seq", "kind", "digest", "analyst", "closes", "body")),
        unsettled.c.epoch,
        unsettled.c.holder,
    )
    .outerjoin(
        unsettled,
        and_(unsettled.c.dataset == entries.c.dataset, unsettled.c.seq == entries.c.seq),
    )
    .where(
        entries.c.dataset == bindparam("account"),
        entries.c.digest.in_([bindparam("asked"), bindparam("former")]),
    )
)
UNSETTLED = (
    select(entries)
    .where(
        entries.c.dataset == bindparam("account"),
        entries.c.seq.in_(
            select(unsettled.c.seq).where(unsettled.c.dataset == bindparam("account"))
        ),
    )
    .order_by(entries.c.seq)
)
_closing = entries.alias()
UNREVIEWED = (
    select(entries)
    .outerjoin(
        _closing,
        and_(_closing.c.dataset == entries.c.dataset, _closing.c.closes == entries.c.seq),
    )
    .where(entries.c.dataset == bindparam("account"), FAILED, _closing.c.seq.is_(None))
    .order_by(entries.c.seq)
)
ONE = select(entries).where(
    entries.c.dataset == bindparam("account"), entries.c.seq == bindparam("at_seq")
)
_AT = (unsettled.c.dataset == bindparam("account"), unsettled.c.seq == bindparam("at_seq"))
OPENED = insert(unsettled).values(
    dataset=bindparam("account"), seq=bindparam("at_seq"), epoch=1, holder=bindparam("by")
)
SETTLED = delete(unsettled).where(*_AT)
TAKEN_UP = select(unsettled.c.epoch, unsettled.c.holder).where(*_AT)
TAKE_UP = update(unsettled).where(*_AT).values(epoch=bindparam("new_epoch"), holder=bindparam("by"))
GIVE_UP = update(unsettled).where(*_AT, unsettled.c.holder == bindparam("by")).values(holder="")
ADD_TERM = text(
    "INSERT INTO terms (dataset, analyst, digest, term, number) "
    "VALUES (:account, :whose, :digest, :term, 1) "
    "ON CONFLICT (dataset, analyst, digest) DO UPDATE SET number = terms.number + 1"
)
_OF_TERM = (terms.c.dataset == bindparam("account"), terms.c.analyst == bindparam("whose"))
LESS_TERM = (
    update(terms)
    .where(*_OF_TERM, terms.c.digest == bindparam("digest"))
    .values(number=terms.c.number - 1)
)
NO_TERM = delete(terms).where(*_OF_TERM, terms.c.number <= 0)
TERMS = select(terms.c.term).where(terms.c.dataset == bindparam("account")).distinct()
OWN_TERMS = select(terms.c.term).where(*_OF_TERM)
ALL_TERMS = select(terms).where(terms.c.dataset == bindparam("account"))
ALL_OPEN = select(unsettled.c.seq).where(unsettled.c.dataset == bindparam("account"))
HASH = select(entries.c.seq).where(entries.c.hash == bindparam("noted")).limit(1)
