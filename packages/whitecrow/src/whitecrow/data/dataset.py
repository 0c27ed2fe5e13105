"""What can be asked of records, wherever they are; and records in memory, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from whitecrow._arrays import Array, Floats, Ints
from whitecrow.card import Card
from whitecrow.data.columns import recovered
from whitecrow.errors import InvalidInput
from whitecrow.privacy import Facts


@dataclass(frozen=True)
class Plain:
    """The value as stored."""

    column: str

    def of(self, values: Array) -> Array:
        return values


@dataclass(frozen=True)
class Cut:
    """The place among edges: 0 below the first, 1 from there to below the second, and so on.

    Examples
    --------
    >>> Cut("age", (40.0, 65.0)).of(np.array([39.9, 40.0, 80.0]))
    array([0, 1, 2])
    """

    column: str
    edges: tuple[float, ...]

    def of(self, values: Array) -> Array:
        return np.searchsorted(np.array(self.edges), values, side="right")


@dataclass(frozen=True)
class Rounded:
    """The nearest step, ties to even: ``rint((x - origin) / step)``, cut to ``+-most``.

    Examples
    --------
    >>> Rounded("pay", 0.0, 0.5, 2.0**36).of(np.array([1.25, 1.3, np.inf]))
    array([2.00000000e+00, 3.00000000e+00, 6.87194767e+10])
    """

    column: str
    origin: float
    step: float
    most: float

    def of(self, values: Array) -> Array:
        steps = np.clip(np.rint((values - self.origin) / self.step), -self.most, self.most)
        return steps + 0.0  # one zero


Key = Plain | Cut | Rounded


@dataclass(frozen=True, repr=False, eq=False)
class Rejections(Facts):
    """How many rows were read, kept, left out and mended at load. Facts: for the custodian only."""

    read: int  # rows of the source
    kept: int  # records that pass the card
    reasons: Mapping[str, int]  # records left out, by the first reason
    # Values of kept records that were filled or moved to a bound, by reason.
    mended: Mapping[str, int] = field(default_factory=dict)


class Dataset:
    """Private records beside their public card.

    The ``columns`` are of one length: float64 for numbers and integers, int64 codes for categories
    (the card's order), int64 days for dates, objects for text. ``left_out`` is what the records
    hold that pass the card by some columns only, as far as it can be read: float64 with NaN where a
    value is missing (days for dates), objects with None for categories and text. They count where
    no column is asked about by which they do not pass. The ``origin`` (a path) is shown to the
    custodian only.
    """

    def __init__(
        self,
        card: Card,
        columns: Mapping[str, Array],
        *,
        rejections: Rejections | None = None,
        left_out: Mapping[str, Array] | None = None,
        origin: str = "",
    ) -> None:
        self.card = card
        self._columns = dict(columns)
        sizes = {len(values) for values in self._columns.values()}
        if len(sizes) > 1:
            raise InvalidInput("The columns of a dataset must have one length.")
        self._size = sizes.pop() if sizes else 0
        self.rejections = rejections or Rejections(self._size, self._size, {})
        self.left_out = dict(left_out or {})
        self.origin = origin
        self._latest: tuple[tuple[str, ...], Floats] | None = None

    def __repr__(self) -> str:
        return f"<Dataset {self.card.name!r}: {len(self.card.columns)} columns, records withheld>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a dataset is never pickled: it holds private records")

    @property
    def size(self) -> int:
        """The number of records that pass the card by all columns. A fact, unless it is public."""
        return self._size

    @property
    def size_at_most(self) -> float:
        return self.count(())

    def count(self, columns: Sequence[str]) -> int:
        """Return how many records there are where these columns are asked about: a fact."""
        return self._size + len(self._also(columns))

    def _also(self, columns: Sequence[str]) -> Floats:
        """Return columns of the records that pass by these, and not by all columns of the card."""
        named = tuple(columns)
        # Read and written once each: questions about other columns run in other threads.
        latest = self._latest
        if latest is None or latest[0] != named:
            self._latest = latest = named, self._recovered(named)
        return latest[1]

    def _recovered(self, columns: tuple[str, ...]) -> Floats:
        if not self.left_out:
            return np.empty((0, len(columns)))
        passing = np.ones(len(self.left_out[self.card.names[0]]), dtype=bool)
        for name in self.card.deciding(columns):
            passing &= recovered(self.left_out[name], self.card.column(name))[1]
        matrix = np.empty((int(passing.sum()), len(columns)))
        for column, name in enumerate(columns):
            matrix[:, column] = recovered(self.left_out[name][passing], self.card.column(name))[0]
        return matrix

    def values(self, column: str) -> Array:
        """Return one column as stored (codes for categories, day numbers for dates).

        Of the records that pass the card by all columns.
        """
        self.card.column(column)
        return self._columns[column]

    def every_value(self, column: str) -> Floats:
        """Return a column of numbers or dates of all records, left out or not; NaN for missing."""
        kept = self.values(column).astype(np.float64, copy=False)
        more = self.left_out.get(column)
        return kept if more is None else np.concatenate([kept, more])

    def every_text(self, column: str) -> Array:
        """Return a column of categories or texts of all records; None for missing."""
        kept = self.values(column)
        listed = self.card.column(column).categories
        if listed is not None:
            kept = np.array(listed, dtype=object)[kept]
        more = self.left_out.get(column)
        return kept if more is None else np.concatenate([kept, more])

    def rows(self, columns: Sequence[str], rows: Ints) -> Floats:
        """Return some rows of :meth:`matrix`, never a copy of the whole data."""
        matrix = np.empty((len(rows), len(columns)), dtype=np.float64)
        passing = rows < self._size
        whole = bool(passing.all())
        chosen = slice(None) if whole else passing  # without a copy of the numbers of the rows
        for column, name in enumerate(columns):
            matrix[chosen, column] = self._columns[name][rows[chosen]]
        if not whole:
            matrix[~passing] = self._also(columns)[rows[~passing] - self._size]
        return matrix

    def tally(self, keys: Sequence[Key]) -> tuple[tuple[Array, ...], Ints]:
        """Return the records by keys: groups, which need not differ, and how many each holds.

        Records in memory are groups of one.
        """
        also = self._also([key.column for key in keys])
        groups = tuple(
            key.of(np.concatenate([values, also[:, column].astype(values.dtype)]))
            for column, key in enumerate(keys)
            for values in [self.values(key.column)]
        )
        return groups, np.ones(self._size + len(also), dtype=np.int64)

    def matrix(self, columns: Sequence[str]) -> Floats:
        """Return the named columns side by side, row-major, as float64.

        Of the records that pass the card by these columns; see :meth:`Card.deciding`.
        """
        for name in columns:
            if self.card.column(name).type == "text":
                raise InvalidInput(f"The column {name!r} is text; distances need numbers.")
        also = self._also(columns)
        values = np.empty((self._size + len(also), len(columns)), dtype=np.float64)
        for column, name in enumerate(columns):
            values[: self._size, column] = self._columns[name]
        values[self._size :] = also
        return values

    def close(self) -> None:
        """Do nothing: records in memory are gone with the last who refers to them."""


class Records(Protocol):
    """All that a question's ``gather`` may rely on, beside an engine that counts neighbours.

    :class:`Dataset` and :class:`~whitecrow.data.warehouse.RemoteDataset` have it; what needs a copy
    of whole columns is not here, for records elsewhere are never copied.
    """

    @property
    def card(self) -> Card:
        """The public facts."""

    @property
    def size(self) -> int:
        """The number of records that pass the card by all columns. A fact, unless it is public."""

    @property
    def size_at_most(self) -> float:
        """A bound on every count that is known without reading records; or infinity."""

    def count(self, columns: Sequence[str]) -> int:
        """Return how many records there are where these columns are asked about: a fact.

        A record counts if it passes the card by these columns, whatever it holds elsewhere.
        """

    def tally(self, keys: Sequence[Key]) -> tuple[tuple[Array, ...], Ints]:
        """Return the records by keys: groups, which need not differ, and how many each holds."""

    def close(self) -> None:
        """Let go of what is held open to reach the records."""


Intake = Mapping[str, Any]
"""``read``, ``kept``, and by reason ``left_out`` (records) and ``mended`` (values)."""


def intake_of(records: object) -> dict[str, Any] | None:
    """Return what became of the rows at load as plain JSON; None of records that do not know.

    Facts: whoever calls this shows them to the custodian alone.
    """
    rejections = getattr(records, "rejections", None)
    if not isinstance(rejections, Rejections):
        return None
    return {
        "read": rejections.read,
        "kept": rejections.kept,
        "left_out": dict(rejections.reasons),
        "mended": dict(rejections.mended),
    }


def intake_words(intake: Intake) -> str:
    """Say what became of the rows."""
    left = intake["read"] - intake["kept"]
    return (
        f"{intake['read']:,} rows read, {intake['kept']:,} complete, {left:,} in part or not at all"
        f"{_listed(intake['left_out'])}, {sum(intake['mended'].values()):,} values mended"
        f"{_listed(intake['mended'])}"
    )


def _listed(reasons: Mapping[str, int]) -> str:
    if not reasons:
        return ""
    most = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return f" ({'; '.join(f'{reason} {number:,}' for reason, number in most)})"
