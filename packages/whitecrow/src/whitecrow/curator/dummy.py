"""Dummy answers: about made-up records, free, and marked so wherever they are seen.

Every dataset has a dummy to develop code against. Its records are drawn from the card, and from the
profile by which the card was accepted where there is one; its noise is seeded by the question. So a
dummy answer is a function of public things alone, and no record of the data is ever near it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from whitecrow.card import Card
from whitecrow.column import Column
from whitecrow.curator.drafts import released_profile
from whitecrow.curator.execution import InProcess
from whitecrow.curator.simulate import make_up, with_bounds
from whitecrow.data import Dataset
from whitecrow.errors import ComputationFailed, InvalidInput
from whitecrow.histogram.table import TableProfile
from whitecrow.ledger import Ledger
from whitecrow.limits import UNLIMITED
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
    """Answers about made-up records, with noise that the question seeds.

    Parameters
    ----------
    records : Dataset
        Made up; see :func:`dummy_records`.
    """

    def __init__(self, records: Dataset) -> None:
        super().__init__(records, open_engine(records))

    def source(self, question: Question) -> Source:
        """The same question gets the same answer, as from a ledger."""
        return SeededSource(f"dummy {digest(question)}")


def dummy_records(card: Card, profile: TableProfile | None = None) -> Dataset:
    """Make records up from a card, and from a released profile where one was accepted.

    Examples
    --------
    >>> card = Card("toy", (Column("age", lower=0, upper=120),))
    >>> dummy_records(card).size
    1000
    """
    size = min(DUMMY_RECORDS, card.most_records or DUMMY_RECORDS)
    basis = card if profile is None else with_bounds(card, profile)
    bounded = replace(basis, columns=tuple(_bounded(column) for column in basis.columns))
    seed = int.from_bytes(hashlib.sha256(card.fingerprint().encode()).digest()[:8], "big")
    made_up = make_up(bounded, max(1, size), profile, seed)
    # Questions are checked against the card itself, not against the bounds that only make records.
    return Dataset(card, {c.name: made_up.values(c.name) for c in card.columns}, origin="dummy")


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


def dummy_release(question: Question, price: Guarantee, execution: DummyExecution) -> Release:
    """Answer a question about made-up records."""
    found = execution.answer(question, limits=lambda: UNLIMITED, progress=None)
    return marked(question, price, None if found is None else found.value)


def marked(question: Question, price: Guarantee, answer: object) -> Release:
    """A release that says of itself, everywhere, that it is a dummy."""
    if answer is None:
        raise ComputationFailed("The question could not be answered about made-up records.")
    said = question.says(answer)
    return Release(
        question={"kind": question.kind, **question.to_json()},
        answer=question.reads(answer),
        guarantee=price,
        statement=_STATEMENT + price.statement(),
        charged=False,
        said=replace(said, headline=f"DUMMY (made-up records): {said.headline}"),
        dummy=True,
    )
