"""Canonical columns: what a record is, on every engine.

A batch as a source stores it becomes canonical columns here, and nowhere else: float64 without NaN
and without -0.0 for numbers and integers, codes in the card's order for categories, days since
1970-01-01 for dates, texts. Each record is kept, mended or left out by looking at that record and
the card alone. Every engine counts canonical columns: in memory, in a folder of files, or in the
workers of a cluster, which run this code. So no dialect, statistic, zone or collation decides what
a record is.

Whether an array can be read is decided by its type, before any value is looked at; what cannot be
understood of a value makes that value missing. So neither a refusal nor the treatment of one record
depends on the others. What each type means is said in :mod:`whitecrow.data.values`.

Whose a record is, and which of a person's records count, is part of what a release promises. If two
readings of one source kept different records of a person, or took two people for one, the account
would charge once for what was learnt twice.

* **Identity is exact.** Two records are one person's when their ids are the same text or the same
  whole number. An id is never a double, and never filled, clipped or rounded.
* **Selection is by value.** Of a person with more records than the card allows, those are kept that
  pass the card in all columns, and that come first when the checked values are compared, column by
  column in the card's order: a function of the set of that person's records, whatever is asked.
  Text columns are compared last: most questions cannot ask about them, so records that differ there
  only are alike to those.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from whitecrow._arrays import Array, Flags, Floats, Ints, Matrix
from whitecrow.card import Card, Column
from whitecrow.data.values import days, decoded, decoded_type, kinds, numbers, texts
from whitecrow.errors import InvalidInput

# Without a way back: a long id of nothing but zeros takes no longer than another.
_WHOLE = re.compile(r"\s*+([+-]?+)([0-9]++)(?:\.0*+)?+\s*+", re.ASCII)


def compared(card: Card) -> tuple[str, ...]:
    """Return the columns by which a person's records are put in order, the first one first."""
    others = [column for column in card.columns if column.name != card.user_column]
    return tuple(column.name for column in sorted(others, key=lambda column: column.type == "text"))


def check_id_type(column: Column, arrow: Any) -> None:
    """Refuse a column whose type cannot hold exact ids; no value is looked at."""
    from pyarrow import types

    whole = types.is_integer(arrow) or (types.is_decimal(arrow) and arrow.scale == 0)
    texts = types.is_string(arrow) or types.is_large_string(arrow) or types.is_null(arrow)
    if whole or texts:
        return
    hint = (
        "Floats cannot tell large ids apart; in pandas use the type 'Int64', which has room for "
        "missing values."
        if types.is_floating(arrow)
        else "Store it as one of these."
    )
    raise InvalidInput(
        f"The user column {column.name!r} holds {arrow} in the data. An id must be text or a whole "
        f"number. {hint}"
    )


def exact_ids(array: Any, column: Column) -> Any:
    """Return the ids of an Arrow array as text, null where a record names nobody."""
    import pyarrow
    from pyarrow import types

    if column.type == "integer" and types.is_string(array.type):
        array = pyarrow.array([_whole(text) for text in array.to_pylist()], pyarrow.string())
    return texts(array).cast(pyarrow.large_string())


def _whole(text: str | None) -> str | None:
    """Write a whole number in one way: 7 for 007 and 7.00; None for anything else."""
    match = None if text is None else _WHOLE.fullmatch(text)
    if match is None:
        return None
    sign, digits = match[1], match[2].lstrip("0") or "0"
    return digits if sign != "-" or digits == "0" else f"-{digits}"


def selected(card: Card, ids: Any, columns: Mapping[str, Array]) -> Flags:
    """Return which checked records count: of each person at most as many as the card allows.

    Examples
    --------
    >>> import pyarrow
    >>> card = Card("visits", (Column("who", "text"), Column("cost")), "user", "who")
    >>> who = pyarrow.array(["ann", "bob", "ann"])
    >>> selected(card, who, {"cost": np.array([3.0, 2.0, 1.0])})
    array([False,  True,  True])
    """
    codes = _codes(ids)
    room = np.full(len(codes), card.contribution)
    return _first_of_each(codes, [columns[name] for name in compared(card)], room)


def also_selected(card: Card, kept: Any, ids: Any, columns: Mapping[str, Array]) -> Flags:
    """Return which records that pass by some columns only may count.

    A person's records that pass the card and were selected (whose they are: ``kept``) come first;
    others fill what room is left to that person, by their values as they were read.
    """
    import pyarrow

    both = _codes(pyarrow.concat_arrays([kept, ids]))
    taken = np.bincount(both[: len(kept)], minlength=int(both.max(initial=-1)) + 1)
    codes = both[len(kept) :]
    keys = [columns[name] for name in compared(card)]
    return _first_of_each(codes, keys, card.contribution - taken[codes])


def _codes(ids: Any) -> Ints:
    return np.asarray(ids.dictionary_encode().indices.to_numpy(zero_copy_only=False))


def _order(key: Array) -> Array:
    """Return numbers that sort as values do: texts by code points, what is missing last."""
    if key.dtype != object:
        return key
    texts = key.tolist()
    ranks = {text: rank for rank, text in enumerate(sorted(set(texts) - {None}))}
    return np.array([ranks.get(text, len(ranks)) for text in texts], dtype=np.int64)


def _first_of_each(codes: Ints, keys: list[Array], room: Ints) -> Flags:
    """Return which rows are among the first of their person, for as many as there is room."""
    keep = np.ones(len(codes), dtype=bool)
    rows = np.flatnonzero(np.bincount(codes)[codes] > room) if len(codes) else codes
    if not len(rows):
        return keep
    # lexsort compares by its last key first.
    order = rows[np.lexsort([_order(key[rows]) for key in reversed([codes, *keys])])]
    people = codes[order]
    first = np.flatnonzero(np.r_[True, people[1:] != people[:-1]])
    rank = np.arange(len(people)) - np.repeat(first, np.diff(np.r_[first, len(people)]))
    keep[order] = rank < room[order]
    return keep


_MISSING, _OUTSIDE, _CATEGORY = (
    "missing or of the wrong type",
    "outside the bounds",
    "not a category",
)


def check_schema(card: Card, schema: Any) -> None:
    """Refuse data whose names or types cannot be read as the card says; no value is looked at."""
    from pyarrow import types

    for column in card.columns:
        places = schema.get_all_field_indices(column.name)
        if not places:
            raise InvalidInput(
                f"The card lists the column {column.name!r}, which the data do not have."
            )
        if len(places) > 1:
            raise InvalidInput(f"The data have more than one column {column.name!r}.")
        arrow = decoded_type(schema.field(places[0]).type)
        readable = types.is_null(arrow) or types.is_string(arrow)
        # Floats too: pandas makes them of whole numbers of days where one is missing.
        readable = readable or types.is_integer(arrow) or types.is_floating(arrow)
        if column.type != "date":
            readable = readable or types.is_boolean(arrow) or types.is_decimal(arrow)
        if not column.numeric:
            readable = readable or types.is_date(arrow) or types.is_timestamp(arrow)
        if not readable:
            raise InvalidInput(
                f"The column {column.name!r} holds {arrow} in the data, which cannot be read as "
                f"the card's {column.type!r}."
            )
        if column.name == card.user_column:
            check_id_type(column, arrow)


def dtype(column: Column) -> Any:
    """Return the type of a column's checked values."""
    if column.type in ("number", "integer"):
        return np.float64
    return object if column.type == "text" else np.int64


def convert(
    array: Any, column: Column, mended: dict[str, Array] | None = None
) -> tuple[Array, dict[str, Array]]:
    """Return the values of a decoded array, and by reason which records are to be left out.

    ``mended`` is given, by reason, which values were filled or moved to a bound.
    """
    notes = {} if mended is None else mended
    if column.type == "category":
        return _checked_codes(_texts(array, column), column, notes)
    if column.type == "text":
        values = texts(array).to_numpy(zero_copy_only=False)
        values, missing = _filled(values, values == np.array(None), column, column.fill, notes)
        return values, {_MISSING: missing}
    read = days if column.type == "date" else numbers
    return _checked_numbers(read(array, column.format), column, notes)


def as_read(array: Any, column: Column) -> Array:
    """Return the values of a decoded array, filled and clipped, and as they are if wrong.

    Numbers and days are float64, NaN where missing; categories and texts are objects, None where
    missing.
    """
    if column.type == "category":
        values = np.array(_texts(array, column).to_pylist(), dtype=object)
        return _filled(values, values == np.array(None), column, column.fill, {})[0]
    values, bad = convert(array, column)
    if column.type == "text":
        return values
    missing = bad[_MISSING] if column.absent is None else values == column.absent
    return np.where(missing, np.nan, values)


def recovered(values: Array, column: Column) -> tuple[Array, Flags]:
    """Return what :func:`convert` makes of values that :func:`as_read` returned, and which pass.

    Of texts nothing is compared: their places hold 0.
    """
    if column.type == "text":
        return np.zeros(len(values)), values != np.array(None)
    if column.type == "category":
        import pyarrow

        array = pyarrow.array(values, pyarrow.string())
        checked, bad = _checked_codes(array, column, {})
    else:
        checked, bad = _checked_numbers(values, column, {})
    return checked, ~np.logical_or.reduce(list(bad.values()))


def _checked_numbers(
    values: Floats, column: Column, mended: dict[str, Array]
) -> tuple[Array, dict[str, Array]]:
    """Mend numbers or days, NaN where missing; checked again they come out as they are."""
    missing = np.isnan(values)
    if column.type == "integer":
        missing |= np.isfinite(values) & (values != np.floor(values))
    lower, upper = column.lower, column.upper
    if lower is None or upper is None:
        outside = np.isinf(values)
    else:
        outside = (values < lower) | (values > upper)
    if column.outside == "missing":
        missing |= outside
    if column.absent is not None:
        # Nobody may write what stands for a missing value: it is taken for one.
        missing |= values == column.absent
    outside &= ~missing
    if column.outside == "clip":
        mended[_OUTSIDE] = outside
        values = np.clip(values, lower, upper)
        outside = np.zeros(len(values), dtype=bool)
    stand_in = column.absent if column.fill is None else column.fill
    values, missing = _filled(values, missing, column, stand_in, mended)
    if column.type == "date":
        values = np.where(np.isfinite(values), values, 0).astype(np.int64)
    # One zero: -0.0 and 0.0 are one value, to every comparison and on every engine.
    return values + 0, {_MISSING: missing, _OUTSIDE: outside}


def _checked_codes(
    array: Any, column: Column, mended: dict[str, Array]
) -> tuple[Ints, dict[str, Array]]:
    """Return the codes of an Arrow array of texts in the card's order; -1 where there is none."""
    import pyarrow
    from pyarrow import compute

    assert column.categories is not None
    listed = pyarrow.array(column.categories, pyarrow.string())
    places = compute.index_in(array, value_set=listed)
    unread = places if column.outside == "missing" else array
    missing = unread.is_null().to_numpy(zero_copy_only=False)
    codes = places.fill_null(-1).to_numpy(zero_copy_only=False)
    fill = column.fill
    stand_in = column.absent if fill is None else column.categories.index(str(fill))
    codes, missing = _filled(codes, missing, column, stand_in, mended)
    return codes.astype(np.int64), {_MISSING: missing, _CATEGORY: (codes < 0) & ~missing}


def _filled(
    values: Array, missing: Flags, column: Column, stand_in: Any, mended: dict[str, Array]
) -> tuple[Array, Flags]:
    """Let what stands for a missing value take its place; return what is missing still."""
    if stand_in is None:
        return values, missing
    if column.missing == "fill":
        mended[_MISSING] = missing
    return np.where(missing, stand_in, values), np.zeros(len(values), dtype=bool)


def _texts(array: Any, column: Column) -> Any:
    return kinds(array) if column.format == "kind" else texts(array)


class Decoded:
    """One batch of records, decoded and checked: the card's columns as stored, in its order."""

    def __init__(self, batch: Any, card: Card) -> None:
        self.card = card
        self.size: int = batch.num_rows
        # Which records pass the card, and which by each column alone.
        self.keep = np.ones(self.size, dtype=bool)
        self.passes: dict[str, Flags] = {}
        # The canonical values of each column; of no meaning where the record is left out.
        self.columns: dict[str, Array] = {}
        # By reason, which records are to be left out, and which values were filled or moved.
        self.wrong: list[tuple[str, Flags]] = []
        self.mended: list[tuple[str, Flags]] = []
        # Whose each record is (an Arrow array of texts), where the unit of privacy is a person.
        self.ids: Any = None
        self._arrays = dict(zip(card.names, map(decoded, batch.columns), strict=True))
        for column in card.columns:
            array = self._arrays[column.name]
            notes: dict[str, Array] = {}
            values, bad = convert(array, column, notes)
            self.mended += [(f"{column.name}: {reason}", mask) for reason, mask in notes.items()]
            if column.name == card.user_column:
                self.ids = exact_ids(array, column)
                bad["names nobody"] = self.ids.is_null().to_numpy(zero_copy_only=False)
            self.wrong += [(f"{column.name}: {reason}", mask) for reason, mask in bad.items()]
            self.passes[column.name] = ~np.logical_or.reduce(list(bad.values()))
            self.keep &= self.passes[column.name]
            self.columns[column.name] = values
        self.whole = bool(self.keep.all())

    def wrong_first(self) -> Iterator[tuple[str, Flags]]:
        """Yield the records that are left out, each by its first reason."""
        still = np.ones(self.size, dtype=bool)
        for reason, mask in self.wrong:
            yield reason, mask & still
            still &= ~mask

    def kept(self, name: str) -> Array:
        """Return a column of the records that pass the card."""
        values = self.columns[name]
        return values if self.whole else values[self.keep]

    def left(self, name: str, rows: Ints) -> Array:
        """Return what can be read of a column of records that are left out."""
        return as_read(self._arrays[name].take(rows), self.card.column(name))

    def matrix(self, columns: Sequence[str], checked: Sequence[str]) -> Matrix:
        passing = [self.passes[name] for name in checked]
        rows = slice(None) if self.whole or not passing else np.logical_and.reduce(passing)
        values = np.empty((self.size, len(columns)))[rows]
        for column, name in enumerate(columns):
            values[:, column] = self.columns[name][rows]
        return values

    def every_matrix(self, columns: Sequence[str]) -> Matrix:
        rows = np.flatnonzero(~self.keep)
        values = np.empty((self.size, len(columns)))
        for column, name in enumerate(columns):
            values[: self.size - len(rows), column] = self.kept(name)
            values[self.size - len(rows) :, column] = self.left(name, rows)
        return values

    def every_text(self, name: str) -> Counter[str | None]:
        texts, categories = self.kept(name).tolist(), self.card.column(name).categories
        if categories is not None:
            texts = [categories[code] for code in texts]
        return Counter([*texts, *self.left(name, np.flatnonzero(~self.keep)).tolist()])
