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

import math
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from whitecrow.card import Card, Column
from whitecrow.curator.curator import Curator
from whitecrow.curator.opening import beside, is_private
from whitecrow.data.reading import schema_card
from whitecrow.data.values import KINDS, YES_NO
from whitecrow.detector import Detector
from whitecrow.errors import AccountConflict, BudgetExhausted, InvalidInput
from whitecrow.histogram.table import Categories, TableProfile
from whitecrow.learning import Learn
from whitecrow.learning.question import SIZES, TOO_SMALL, expected
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
_KINDS_DELTA = Fraction(1, 4)
_MANY = 16  # from so many columns on a part of delta makes the noise of kinds smaller
_SURE = 3.0
"""Deviations of noise by which another reading must lead before a column is not of numbers; more
where there are many columns, for among many some lead by chance."""
_SOME = 0.005
"""The part of a column's values from which on a way of writing them is taken account of."""
_COVERED = 0.5
"""The part of the records whose values must have been named for a column of texts to be kept."""
_MOST_VALUES = 256
_SHOWN = 12
_UNREAD = (
    "A value that cannot be read counts as missing and leaves no record out; a row of a CSV that "
    "has more or fewer fields than the header is left out."
)
_AN_ID = re.compile(
    r"(?i:(?:.*[\W_])?(?:id|uuid|guid)|unnamed: \d+)|.*[a-z](?:Id|ID)\s*", re.DOTALL
)
_NUMBERS = ("whole number", "number", "amount", "amount, decimal comma")
_DATES = ("date", "date, either order", "date, day first", "date, month first")
_IN_WORDS = {"integer": "whole numbers", "number": "numbers", "date": "dates"}


def steps(asked: Learn | Profile, source: object) -> str:
    """Say what asking without a card costs and buys, before any record is read."""
    price = DifferentialPrivacy(asked.epsilon, asked.delta, asked.relation)
    readings = _of_schema(schema_card(source), asked.columns).values()
    parts = [f"No card is given. {price.statement()} This covers everything together."]
    if texts := [reading for reading in readings if reading.values]:
        parts.append(f"A tenth of ε finds out what {_listed(texts, words=False)} hold.")
        parts.append(
            "Up to three tenths name the common values of texts."
            if price.delta
            else "Texts are left out: only a δ > 0 (1e-6, say) may name their values."
        )
    if seen := [reading for reading in readings if reading.column is not None]:
        parts.append(f"Looked at: {_listed(seen)}.")
    if not_seen := [reading for reading in readings if not (reading.column or reading.values)]:
        parts.append(f"Not looked at: {_listed(not_seen)}.")
    return " ".join([*parts, _UNREAD])


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
    asked: Learn | Profile,
    source: object,
    *,
    card: Card | str | Path | None = None,
    budget: object = None,
    ledger: Ledger | str | Path | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> Release:
    """Answer a question that needs no card: without one its price pays for that, too.

    See :func:`learn` for the parameters.
    """
    price = DifferentialPrivacy(asked.epsilon, asked.delta, asked.relation)
    with closing(_Account(source, price, budget, ledger, progress)) as account:
        if card is not None:
            with account.opened(card) as curator:
                return curator.ask(asked, progress=progress)
        if isinstance(asked, Profile):
            return _profiled(account, asked, say)
        return learned_by(account, asked, say)


class Asked(Protocol):
    """Where the questions go: to one account, about one source under several cards."""

    source: Any
    price: DifferentialPrivacy

    def ask(self, question: Question, card: Card, left: DifferentialPrivacy) -> Release:
        """Ask about the records under a card, if all that is ``left`` to ask can be paid."""


@dataclass(repr=False, eq=False)
class _Account:
    """One ledger, and the curators of one source under several cards."""

    source: Any
    price: DifferentialPrivacy
    budget: object
    ledger: Ledger | str | Path | None
    progress: Progress | None

    def __post_init__(self) -> None:
        where = self.ledger or beside(self.source) or "sqlite://"
        # The questions share a ledger in memory; a file is opened when there is something to write.
        self._owned = Ledger("sqlite://", geometry=BALLS) if is_private(where) else None
        self.ledger = self._owned or where

    def opened(self, card: Card | str | Path) -> Curator:
        """Open the records under a card; a new account may spend what was asked for, no more."""
        open_ = partial(
            Curator.open,
            self.source,
            card=card,
            ledger=self.ledger,
            name="records" if beside(self.source) is None else None,
            progress=self.progress,
            account="with the first spend",
        )
        if self.budget is not None:
            return open_(budget=self.budget)
        try:
            return open_(budget=f"{self.price.epsilon}, {self.price.delta}")
        except AccountConflict:  # there is one, and it promises what it promises
            return open_()

    def ask(self, question: Question, card: Card, left: DifferentialPrivacy) -> Release:
        """Ask about the records under a card, if all that is ``left`` to ask can be paid."""
        with self.opened(card) as curator:
            if curator.stored(question) is None:
                remaining = curator.remaining()
                there = remaining.get("differential", Fraction(0))
                if there < left.epsilon or remaining.delta < left.delta:
                    raise BudgetExhausted(
                        f"This needs ε = {rounded_up(left.epsilon)} and δ = "
                        f"{rounded_up(left.delta)}, and the account has ε = {rounded_down(there)} "
                        f"and δ = {rounded_down(remaining.delta)} left. Ask for less, or let the "
                        "custodian amend the budget: whitecrow ledger amend DATA --budget "
                        "'EPSILON, DELTA' --reason '...'."
                    )
            return curator.ask(question, progress=self.progress)

    def close(self) -> None:
        """Close the ledger, unless it is somebody else's."""
        if self._owned is not None:
            self._owned.close()


@dataclass(frozen=True)
class _Reading:
    """How a column is read, or why it is not."""

    name: str
    column: Column | None  # what the card says of it; None if it is not looked at
    words: str  # the same in words
    values: bool = False  # whether it might be read if its common values were known


def learned_by(account: Asked, asked: Learn, say: Callable[[str], None] | None) -> Release:
    """Buy kinds, values and the detector, as the head of this file says.

    For whoever keeps records and accounts itself.
    """
    schema, price = schema_card(account.source), account.price
    readings, left = _with_kinds(account, schema, asked.columns)
    short = [name for name, reading in readings.items() if reading.values]
    if short and price.delta:
        least, most = _VALUES_SHARES
        share = min(most, max(least, _VALUES_FOR_ALL * len(short) / len(readings)))
        part = replace(price, epsilon=price.epsilon * share, delta=price.delta * _VALUES_DELTA)
        basis = tuple(Column(name, "text", source="schema") for name in short)
        values = _profile(account, replace(schema, columns=basis), part, left)
        readings |= {name: _of_values(values, name) for name in short}
        left = _less(left, part)
    columns = [reading.column for reading in readings.values() if reading.column is not None]
    told = _told(readings)
    if not columns:
        spent = _less(price, left)
        raise InvalidInput(
            f"There is no column that a detector can look at. {told} Finding this out cost ε = "
            f"{rounded_up(spent.epsilon)}, and the account keeps it. Write a card that says what "
            "the columns hold: whitecrow card new DATA --out card.toml."
        )
    card = replace(schema, columns=tuple(columns))
    release = _asked_with(account, asked, card, left, told, say)
    detector = release.answer
    assert isinstance(detector, Detector)
    notes, records = [*detector.notes, told], detector.records
    law = "gaussian" if left.delta else "laplace"
    _, lead = expected(law, float(left.epsilon), len(detector.columns), records)
    if records < SIZES[0] / 2 or lead < TOO_SMALL:
        notes.append(
            f"Warning: about {max(0, records):,} records are too few for this price, and scores "
            "are mostly noise. Ask at a larger epsilon, or give more records."
        )
    detector = replace(detector, notes=tuple(notes))
    return replace(release, answer=detector, said=asked.says(detector))


def _profiled(account: Asked, asked: Profile, say: Callable[[str], None] | None) -> Release:
    """Buy kinds, and a profile of the columns as they are read then."""
    schema, price = schema_card(account.source), account.price
    readings, left = _with_kinds(account, schema, asked.columns)
    columns = []
    for reading in readings.values():
        if reading.column is not None:
            columns.append(replace(reading.column, missing="reject", outside="reject"))
        elif reading.values and price.delta:
            columns.append(Column(reading.name, "text", source="schema"))
    told = _told(readings)
    if not columns:
        raise InvalidInput(f"There is no column that can be described. {told}")
    card = replace(schema, columns=tuple(columns))
    return _asked_with(account, asked, card, left, told, say)


def _asked_with(
    account: Asked,
    asked: Learn | Profile,
    card: Card,
    left: DifferentialPrivacy,
    told: str,
    say: Callable[[str], None] | None,
) -> Release:
    """Ask the question itself with all that is left; what comes back promises the whole price."""
    if say is not None:
        say(told)
    question = asked.replace(columns=None, epsilon=left.epsilon, delta=left.delta)
    release, promise = account.ask(question, card, left), account.price
    whole: dict[str, Any] = {"guarantee": promise, "statement": promise.statement()}
    return replace(release, answer=replace(release.answer, **whole), **whole)


def _with_kinds(
    account: Asked, schema: Card, columns: Sequence[str] | None
) -> tuple[dict[str, _Reading], DifferentialPrivacy]:
    """Say how each column is read, and what is left of the price; kinds are bought if needed."""
    price = account.price
    readings = _of_schema(schema, columns)
    texts = [name for name, reading in readings.items() if reading.values]
    if not texts:
        return readings, price
    # Laplace noise grows with the number of columns, Gaussian noise with its root.
    delta = price.delta * _KINDS_DELTA if len(texts) > _MANY else Fraction(0)
    part = replace(price, epsilon=price.epsilon * _KINDS_SHARE, delta=delta)
    counted = tuple(
        Column(name, "category", categories=KINDS, format="kind", source="schema") for name in texts
    )
    kinds = _profile(account, replace(schema, columns=counted), part, price, discover=False)
    readings |= {name: _of_kinds(kinds, name) for name in texts}
    return readings, _less(price, part)


def _less(whole: DifferentialPrivacy, part: DifferentialPrivacy) -> DifferentialPrivacy:
    return replace(whole, epsilon=whole.epsilon - part.epsilon, delta=whole.delta - part.delta)


def _profile(
    account: Asked,
    card: Card,
    price: DifferentialPrivacy,
    left: DifferentialPrivacy,
    *,
    discover: bool = True,
) -> TableProfile:
    question = Profile(
        epsilon=price.epsilon, delta=price.delta, relation=price.unit, discover=discover
    )
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


_bought = partial(Column, missing="value", outside="missing", source="priced question")


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
    sure = max(_SURE, math.log(20 * len(profile.columns)))
    if others[best] <= numbers + sure * counted.deviation * len(_NUMBERS) ** 0.5:
        some = max(_SURE * counted.deviation, _SOME * numbers)
        form = max(_NUMBERS[2:], key=lambda kind: counts[kind])
        form = form if counts[form] > some else ""
        if not form and counts["whole number"] > 10 * max(counts["number"], some):
            return _Reading(name, _bought(name, "integer"), _IN_WORDS["integer"])
        words = "amounts" if form else _IN_WORDS["number"]
        return _Reading(name, _bought(name, "number", format=form), words)
    if best == "dates":
        some = max(_SURE * counted.deviation, _SOME * dates)
        form = ""
        if dates - counts["date"] > some:
            first = counts["date, month first"] > counts["date, day first"]
            form = "month first" if first else "day first"
        words = f"dates{f', {form}' if form else ''}"
        return _Reading(name, _bought(name, "date", format=form), words)
    if best == "yes or no":
        return _Reading(name, _bought(name, "category", categories=YES_NO), "yes or no")
    if counts["long text"] > counts["short text"]:
        return _Reading(name, None, "long texts")
    return _Reading(name, None, "texts, whose common values only a δ > 0 can name", values=True)


def _of_values(profile: TableProfile, name: str) -> _Reading:
    """Keep a column of texts as a category if the values that were named cover enough records."""
    counted = profile.column(name)
    assert isinstance(counted, Categories)
    common = sorted(zip(counted.counts, counted.values, strict=True), reverse=True)[:_MOST_VALUES]
    if sum(count for count, _ in common) < _COVERED * profile.records:
        return _Reading(name, None, "texts of which few are shared by many records")
    if len(common) < 2:
        return _Reading(name, None, "one common value only")
    categories = tuple(sorted(value for _, value in common))
    column = _bought(name, "category", categories=categories)
    return _Reading(name, column, f"{len(categories)} common values")


def _told(readings: dict[str, _Reading]) -> str:
    """Say which columns are looked at, as what, and which are not and why."""
    seen = [reading for reading in readings.values() if reading.column is not None]
    not_seen = [reading for reading in readings.values() if reading.column is None]
    parts = [f"Looks at {len(seen)} of {len(readings)} columns: {_listed(seen) or 'none'}."]
    if not_seen:
        parts.append(f"Leaves out {_listed(not_seen)}.")
    return " ".join([*parts, _UNREAD])


def _listed(readings: Sequence[_Reading], *, words: bool = True) -> str:
    more = f" and {len(readings) - _SHOWN} more" if len(readings) > _SHOWN else ""
    shown = readings[:_SHOWN]
    names = [f"{read.name} ({read.words})" if words else read.name for read in shown]
    return ", ".join(names) + more
