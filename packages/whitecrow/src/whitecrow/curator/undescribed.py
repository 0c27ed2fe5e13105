"""A detector from a table that nobody has described: no card, no bounds, any types.

The schema is public: names, and types where the source has them. Everything else is bought, in at
most three questions on one account, whose prices add up to what was given:

1. *kinds*, a tenth of ε, if there are texts (all columns of a CSV are): a ``profile`` that counts
   how many values of each column read as numbers, amounts, dates, words of yes and no, or texts;
2. *values*, one to three tenths of ε and half of δ, if short texts were seen and δ > 0: a
   ``profile`` that names the values that many records share;
3. *the detector*, with all that is left: ``learn`` under the card that this makes.

What the next question is depends on released answers only, so this is adaptive composition: the
sums of ε and of δ hold for everything together. A column that is not on the card is not read, so it
rejects no record; a value that cannot be read, or is not among those that were named, counts as
missing, which the detector can tell from others. So no record is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from whitecrow.card import Card, Column
from whitecrow.curator.curator import Curator
from whitecrow.curator.opening import beside
from whitecrow.data.formats import KINDS, YES_NO
from whitecrow.data.reading import schema_card
from whitecrow.detector import Detector
from whitecrow.errors import AccountConflict, BudgetExhausted, InvalidInput
from whitecrow.histogram.columns import Categories
from whitecrow.histogram.table import TableProfile
from whitecrow.learning import Learn
from whitecrow.ledger import Ledger
from whitecrow.place.balls import BALLS
from whitecrow.privacy import DifferentialPrivacy, rounded_down, rounded_up
from whitecrow.privacy.numbers import Exactly
from whitecrow.profile import Profile
from whitecrow.question import Progress, Question, Release

_KINDS_SHARE = Fraction(1, 10)
_VALUES_SHARES = Fraction(1, 10), Fraction(3, 10)
_VALUES_FOR_ALL = Fraction(2, 5)
"""Values get this part of ε where all columns are texts, in proportion where some are, and never
less or more than the two above."""
_VALUES_DELTA = Fraction(1, 2)
_SURE = 3.0
"""Deviations of noise by which another reading must lead before a column is not of numbers."""
_SOME = 0.005
"""The part of a column's values from which on a way of writing them is taken account of."""
_COVERED = 0.5
"""The part of the records whose values must have been named for a column of texts to be kept."""
_MOST_VALUES = 256
_SHOWN = 12
_AN_ID = re.compile(r"(?:.*[\W_])?(?:id|uuid|guid)|.*[a-z](?:Id|ID)", re.DOTALL)
_NUMBERS = ("whole number", "number", "amount", "amount, decimal comma")
_DATES = ("date", "date, either order", "date, day first", "date, month first")
_IN_WORDS = {"integer": "whole numbers", "number": "numbers", "date": "dates"}


def steps(price: DifferentialPrivacy) -> str:
    """Say what learning without a card costs and buys, before anything is read."""
    texts = (
        "up to three tenths name common values of texts, "
        if price.delta
        else "columns of texts are left out, for only a δ > 0 (1e-6, say) may name their values, "
    )
    return (
        f"{price.statement()} This covers everything together. Of ε a tenth finds out how columns "
        f"without a type are read (all of a CSV), {texts}and the rest pays for the detector. "
        "Columns named like identifiers, and long texts, are not looked at. No record is left out."
    )


def learn(
    source: object,
    *,
    epsilon: Exactly = 1,
    delta: Exactly = 0,
    card: Card | str | Path | None = None,
    columns: Sequence[str] | None = None,
    false_alarms: Sequence[float] | None = None,
    budget: object = None,
    ledger: Ledger | str | Path | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> Release:
    """Learn a detector from a data frame or a file; no card is needed.

    Parameters
    ----------
    source : data frame, Arrow table or path
        The records.
    epsilon, delta : exact numbers, default=1 and 0
        The price of everything together. With a delta (1e-6, say) noise is far smaller, and
        columns of texts can be used.
    card : Card or path, optional
        The public facts, if somebody knows them: then nothing but the detector is paid for.
    columns : sequence of str, optional
        What to look at. All columns but those whose names say that they identify, unless given.
    false_alarms : sequence of float, optional
        Rates of false alarms that get a threshold.
    budget : optional
        The whole budget of an account that is opened new; what this costs, unless given.
    ledger : str, Path or Ledger, optional
        Where the account is kept: by default in a file next to the data, or in memory.
    progress : callable, optional
        Told how far it is.
    say : callable, optional
        Given a sentence on what is looked at and what is not, as soon as that is known.

    Returns
    -------
    Release
        Its answer is a :class:`whitecrow.Detector`, whose methods the release has too.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow
    >>> import whitecrow as wc
    >>> draws = np.random.default_rng(1).normal(size=(900, 2))
    >>> people = pyarrow.table({"age": 50 + 9 * draws[:, 0], "pulse": 70 + 8 * draws[:, 1]})
    >>> release = wc.learn(people, epsilon=1, delta="1e-6")
    >>> usual, strange = release.scores([{"age": 51, "pulse": 72}, {"age": 51, "pulse": 190}])
    >>> bool(usual < strange)
    True
    """
    asked = Learn(columns, epsilon=epsilon, delta=delta, false_alarms=false_alarms)
    return learned(
        asked, source, card=card, budget=budget, ledger=ledger, progress=progress, say=say
    )


def learned(
    asked: Learn,
    source: object,
    *,
    card: Card | str | Path | None = None,
    budget: object = None,
    ledger: Ledger | str | Path | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> Release:
    """Answer a question to learn; without a card its price pays for one, too. See :func:`learn`."""
    price = DifferentialPrivacy(asked.epsilon, asked.delta, asked.relation)
    account = _Account(source, price, budget, ledger, progress)
    try:
        if card is not None:
            return account.opened(card).ask(asked, progress=progress)
        return _learned(account, asked, say)
    finally:
        account.close()


class _Account:
    """One ledger, and the curators of one source under several cards."""

    def __init__(
        self,
        source: object,
        price: DifferentialPrivacy,
        budget: object,
        ledger: Ledger | str | Path | None,
        progress: Progress | None,
    ) -> None:
        where = ledger or beside(source) or "sqlite://"
        self.source, self.price, self._budget, self.progress = source, price, budget, progress
        self._owned = not isinstance(where, Ledger)
        self._ledger = where if isinstance(where, Ledger) else Ledger(where, geometry=BALLS)
        self._name = "records" if beside(source) is None else None

    def opened(self, card: Card | str | Path) -> Curator:
        """Open the records under a card; a new account may spend what was asked for, no more."""
        open_ = partial(
            Curator.open,
            self.source,
            card=card,
            ledger=self._ledger,
            name=self._name,
            progress=self.progress,
        )
        if self._budget is not None:
            return open_(budget=self._budget)
        try:
            return open_(budget=f"{self.price.epsilon}, {self.price.delta}")
        except AccountConflict:  # there is one, and it promises what it promises
            return open_()

    def ask(self, question: Question, card: Card, left: DifferentialPrivacy) -> Release:
        """Ask about the records under a card, if all that is ``left`` to ask can be paid."""
        curator = self.opened(card)
        if curator.stored(question) is None:
            remaining = curator.remaining()
            there = remaining.get("differential", Fraction(0))
            if there < left.epsilon or remaining.delta < left.delta:
                raise BudgetExhausted(
                    f"This needs ε = {rounded_up(left.epsilon)} and δ = {rounded_up(left.delta)}, "
                    f"and the account has ε = {rounded_down(there)} and δ = "
                    f"{rounded_down(remaining.delta)} left. Ask for less, or let the custodian "
                    "amend the budget with a reason (whitecrow ledger amend)."
                )
        return curator.ask(question, progress=self.progress)

    def close(self) -> None:
        """Close the ledger, unless it is somebody else's."""
        if self._owned:
            self._ledger.close()


@dataclass(frozen=True)
class _Reading:
    """How a column is read, or why it is not.

    Parameters
    ----------
    name : str
    column : Column, optional
        What the card says of it; None if it is not looked at.
    words : str
        The same in words.
    values : bool
        Whether it might be read if its common values were known.
    """

    name: str
    column: Column | None
    words: str
    values: bool = False


def _learned(account: _Account, asked: Learn, say: Callable[[str], None] | None) -> Release:
    """Buy kinds, values and the detector, as the head of this file says."""
    schema, price = schema_card(account.source), account.price
    readings, left = _of_schema(schema, asked.columns), price
    if texts := [name for name, reading in readings.items() if reading.values]:
        part = replace(price, epsilon=price.epsilon * _KINDS_SHARE, delta=Fraction(0))
        kinds = _profile(account, _kinds_card(schema, texts), part, left)
        readings |= {name: _of_kinds(kinds, name) for name in texts}
        left = _less(left, part)
    short = [name for name, reading in readings.items() if reading.values]
    if short and price.delta:
        least, most = _VALUES_SHARES
        share = min(most, max(least, _VALUES_FOR_ALL * len(short) / len(readings)))
        part = replace(price, epsilon=price.epsilon * share, delta=price.delta * _VALUES_DELTA)
        basis = Card(schema.name, tuple(Column(name, "text", source="schema") for name in short))
        values = _profile(account, basis, part, left)
        readings |= {name: _of_values(values, name) for name in short}
        left = _less(left, part)
    card = tuple(reading.column for reading in readings.values() if reading.column is not None)
    told = _told(readings)
    if not card:
        raise InvalidInput(f"There is no column that a detector can look at. {told}")
    if say is not None:
        say(told)
    question = asked.replace(columns=None, epsilon=left.epsilon, delta=left.delta)
    release = account.ask(question, Card(schema.name, card), left)
    assert isinstance(release.answer, Detector)
    sentence = price.statement()
    notes = (*release.answer.notes, told)
    detector = replace(release.answer, guarantee=price, statement=sentence, notes=notes)
    said = None if release.said is None else replace(release.said, detail=detector.report())
    return replace(release, answer=detector, guarantee=price, statement=sentence, said=said)


def _less(whole: DifferentialPrivacy, part: DifferentialPrivacy) -> DifferentialPrivacy:
    return replace(whole, epsilon=whole.epsilon - part.epsilon, delta=whole.delta - part.delta)


def _profile(
    account: _Account, card: Card, price: DifferentialPrivacy, left: DifferentialPrivacy
) -> TableProfile:
    question = Profile(epsilon=price.epsilon, delta=price.delta, relation=price.unit)
    profile = account.ask(question, card, left).answer
    assert isinstance(profile, TableProfile)
    return profile


def _of_schema(schema: Card, columns: Sequence[str] | None) -> dict[str, _Reading]:
    """What names and types say: which columns are read, are not, or must be looked into."""
    for name in columns or ():
        schema.column(name)
    readings = {}
    for column in schema.columns:
        name = column.name
        if columns is not None and name not in columns:
            reading = _Reading(name, None, "not asked for")
        elif columns is None and _AN_ID.fullmatch(name):
            reading = _Reading(name, None, "an identifier by its name")
        elif column.type == "text":
            reading = _Reading(name, None, "texts", values=True)
        else:
            read = Column(name, column.type, missing="value", outside="missing", source="schema")
            reading = _Reading(name, read, _IN_WORDS[column.type])
        readings[name] = reading
    return readings


def _kinds_card(schema: Card, texts: Sequence[str]) -> Card:
    return Card(
        schema.name,
        tuple(
            Column(name, "category", categories=KINDS, format="kind", source="schema")
            for name in texts
        ),
    )


def _of_kinds(profile: TableProfile, name: str) -> _Reading:
    """Choose how a column is read by noisy counts of kinds: as numbers, unless another kind leads.

    Where noise drowns the counts, numbers are the best guess: what is none is missing then.
    """
    counted = profile.column(name)
    assert isinstance(counted, Categories)
    counts = dict(zip(counted.values, counted.counts, strict=True))
    numbers, dates = sum(counts[kind] for kind in _NUMBERS), sum(counts[kind] for kind in _DATES)
    texts = counts["short text"] + counts["long text"]
    others = {"dates": dates, "yes or no": counts["yes or no"], "texts": texts}
    best = max(others, key=lambda kind: others[kind])
    bought = partial(Column, name, missing="value", outside="missing", source="priced question")
    if others[best] <= numbers + _SURE * counted.deviation * len(_NUMBERS) ** 0.5:
        some = max(_SURE * counted.deviation, _SOME * numbers)
        form = max(_NUMBERS[2:], key=lambda kind: counts[kind])
        form = form if counts[form] > some else ""
        if not form and counts["whole number"] > 10 * max(counts["number"], some):
            return _Reading(name, bought("integer"), _IN_WORDS["integer"])
        words = "amounts" if form else _IN_WORDS["number"]
        return _Reading(name, bought("number", format=form), words)
    if best == "dates":
        some = max(_SURE * counted.deviation, _SOME * dates)
        form = ""
        if dates - counts["date"] > some:
            first = counts["date, month first"] > counts["date, day first"]
            form = "month first" if first else "day first"
        words = f"dates{f', {form}' if form else ''}"
        return _Reading(name, bought("date", format=form), words)
    if best == "yes or no":
        return _Reading(name, bought("category", categories=YES_NO), "yes or no")
    if counts["long text"] > counts["short text"]:
        return _Reading(name, None, "long texts")
    return _Reading(name, None, "texts, whose common values only a δ > 0 can name", values=True)


def _of_values(profile: TableProfile, name: str) -> _Reading:
    """Keep a column of texts as a category if the values that were named cover enough records."""
    counted = profile.column(name)
    assert isinstance(counted, Categories)
    common = sorted(zip(counted.counts, counted.values, strict=True), reverse=True)[:_MOST_VALUES]
    if sum(count for count, _ in common) < _COVERED * profile.records or len(common) < 2:
        return _Reading(name, None, "texts of which few are shared by many records")
    categories = tuple(sorted(value for _, value in common))
    column = Column(
        name,
        "category",
        categories=categories,
        missing="value",
        outside="missing",
        source="priced question",
    )
    return _Reading(name, column, f"{len(categories)} common values")


def _told(readings: dict[str, _Reading]) -> str:
    """Say which columns are looked at, as what, and which are not and why."""
    seen = [reading for reading in readings.values() if reading.column is not None]
    not_seen = [reading for reading in readings.values() if reading.column is None]
    parts = [f"Looks at {len(seen)} of {len(readings)} columns: {_listed(seen) or 'none'}."]
    if not_seen:
        parts.append(f"Leaves out {_listed(not_seen)}.")
    parts.append("No record is left out: a value that cannot be read counts as missing.")
    return " ".join(parts)


def _listed(readings: Sequence[_Reading]) -> str:
    more = f" and {len(readings) - _SHOWN} more" if len(readings) > _SHOWN else ""
    return ", ".join(f"{one.name} ({one.words})" for one in readings[:_SHOWN]) + more
