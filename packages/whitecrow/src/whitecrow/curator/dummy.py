"""Dummy answers: about made-up records, free, and marked so wherever they are seen.

Every dataset has a dummy to develop code against. Its records are drawn from the card, and from the
profile by which the card was accepted where there is one; its noise is seeded by the question. So a
dummy answer is a function of public things alone, and no record of the data is ever near it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card, Column
from whitecrow.curator.drafts import released_profile
from whitecrow.curator.execution import InProcess
from whitecrow.data import Dataset
from whitecrow.errors import ComputationFailed, InvalidInput
from whitecrow.histogram.table import TableProfile
from whitecrow.ledger import Ledger
from whitecrow.neighbours import open_engine
from whitecrow.noise import Source
from whitecrow.noise.seeded import SeededSource
from whitecrow.privacy import Guarantee
from whitecrow.question import Question, Release, digest

DUMMY_RECORDS = 1000
"""How many records a dummy has, unless the card allows fewer."""

_STATEMENT = (
    "DUMMY: this answer is about made-up records. Nothing of the data was read, nothing is said "
    "of anybody, and nothing was spent. Asked of the data, the same question would promise: "
)
_ANYWHERE = (0, 100)
"""Where values are made up if the card bounds them nowhere; questions that need bounds refuse."""


class DummyExecution(InProcess):
    """Answers about synthetic records, with noise that question and run seed."""

    def __init__(self, records: Dataset, run: int = 0) -> None:
        super().__init__(records, open_engine(records))
        self._run = f" {run}" if run else ""

    def source(self, question: Question) -> Source:
        """The same question gets the same answer, as from a ledger."""
        return SeededSource(f"dummy {digest(question)}{self._run}")


def dummy_records(
    card: Card, profile: TableProfile | None = None, size: int | None = None
) -> Dataset:
    """Make records up from a card, and from a released profile where one was accepted."""
    if size is None:
        size = min(DUMMY_RECORDS, card.most_records or DUMMY_RECORDS)
    basis = card if profile is None else with_bounds(card, profile)
    bounded = replace(basis, columns=tuple(_bounded(column) for column in basis.columns))
    seed = int.from_bytes(hashlib.sha256(card.fingerprint().encode()).digest()[:8], "big")
    synthetic = simulated(bounded, max(1, size), seed, profile)
    # Questions are checked against the card itself, not against the bounds that only make records.
    return Dataset(card, {c.name: synthetic.values(c.name) for c in card.columns}, origin="dummy")


def _bounded(column: Column) -> Column:
    if column.bounded or column.categories is not None or column.type in ("text", "date"):
        return column
    if column.type == "category":
        return replace(column, categories=("made-up",))
    lower, upper = _ANYWHERE
    return replace(column, lower=lower, upper=upper)


def accepted_profile(card: Card, ledger: Ledger, account: str) -> TableProfile | None:
    """The profile by which a card was accepted, if it was."""
    entry = str(card.sources.get("profile", "")).rpartition(" ")[2]
    try:
        return released_profile(ledger, account, entry) if entry else None
    except InvalidInput:  # it was paid for in another ledger
        return None


def marked(question: Question, price: Guarantee, answer: object) -> Release:
    """A release that says of itself, everywhere, that it is a dummy."""
    if answer is None:
        raise ComputationFailed("The question could not be answered about made-up records.")
    words = question.says(answer)
    return Release(
        question={"kind": question.kind, **question.to_json()},
        answer=question.reads(answer),
        guarantee=price,
        statement=_STATEMENT + price.statement(),
        charged=False,
        said=replace(words, headline=f"DUMMY (made-up records): {words.headline}"),
        dummy=True,
    )


# Made-up records

_RANKS = np.linspace(0.0005, 0.9995, 1000)

_SMALL = 2.0**-32  # between two ranks lie less than so many of the largest number
_MOST_WHOLE = 2**53
_A_CENTURY = (0, 36_525)  # days since 1970


def simulated(card: Card, size: int, seed: int = 0, profile: TableProfile | None = None) -> Dataset:
    """Draw ``size`` records, each column by itself.

    From a profile's marginals where it has the column, else uniformly within the card's bounds and
    categories.
    """
    random = np.random.default_rng(seed)
    values = {column.name: _uniform(column, card, size, random) for column in card.columns}
    if profile is not None:
        random = np.random.default_rng(seed)
        for column in card.columns:
            if column.name in profile.names:
                values[column.name] = _like(profile, column, values[column.name], random)
    return Dataset(card, values, origin="simulated")


def _uniform(
    column: Column, card: Card, size: int, random: np.random.Generator
) -> npt.NDArray[Any]:
    if column.name == card.user_column or column.type == "text":
        people = range(size)
        return np.array([f"simulated-{i // card.contribution}" for i in people], dtype=object)
    if column.categories is not None:
        return random.integers(0, len(column.categories), size)
    if column.type == "date":
        lower, upper = _A_CENTURY if column.lower is None else (column.lower, column.upper)
        return random.integers(int(lower), int(upper or 0) + 1, size)
    if column.lower is None or column.upper is None:
        raise InvalidInput(
            f"The card gives no bounds for {column.name!r}, so nothing can be simulated; give "
            "'lower' and 'upper' from public knowledge."
        )
    whole = column.type == "integer"
    if whole and max(abs(column.lower), abs(column.upper)) < _MOST_WHOLE:
        return random.integers(int(column.lower), int(column.upper) + 1, size).astype(np.float64)
    lower, upper = float(column.lower), float(column.upper)
    # Halved, the widest bounds are no wider than a number; beyond 2^53 all numbers are whole.
    values = (lower / 2.0 + (upper / 2.0 - lower / 2.0) * random.random(size)) * 2.0
    return np.clip(np.rint(values) if whole else values, lower, upper)


def _like(
    profile: TableProfile, column: Column, values: npt.NDArray[Any], random: np.random.Generator
) -> npt.NDArray[Any]:
    """Draw as many values from what a profile says of a column; the values given if nothing."""
    size = len(values)
    if column.type in ("number", "integer", "date"):
        quantiles = [profile.quantile(column.name, float(rank)) for rank in _RANKS]
        drawn = np.interp(random.uniform(size=size), _RANKS, np.array(quantiles) * _SMALL)
        drawn = np.clip(drawn / _SMALL, quantiles[0], quantiles[-1])
        return (drawn if column.type == "number" else np.rint(drawn)).astype(values.dtype)
    if column.categories is not None:
        counts = profile.categories(column.name)
        weights = np.array([max(0, counts.get(name, 0)) for name in column.categories], float)
        if weights.sum() > 0:
            return random.choice(len(weights), size, p=weights / weights.sum())
    return values


def with_bounds(card: Card, profile: TableProfile) -> Card:
    """The card, with the bounds of the profile where it has none: they only make records up."""
    drafted, columns = profile.card(), []
    for column in card.columns:
        drawable = column.bounded or column.categories is not None or column.type == "text"
        names = not drawable and column.name in drafted.names
        columns.append(drafted.column(column.name) if names else column)
    return Card(card.name, tuple(columns))
