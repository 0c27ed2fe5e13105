"""Whose a record is, and which of a person's records count.

Both are part of what a release promises. If two readings of one source kept different records of
a person, or took two people for one, the account would charge once for what was learnt twice.

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
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card, Column
from whitecrow.data._values import texts
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
    found = None if text is None else _WHOLE.fullmatch(text)
    if found is None:
        return None
    sign, digits = found[1], found[2].lstrip("0") or "0"
    return digits if sign != "-" or digits == "0" else f"-{digits}"


def selected(
    card: Card, ids: Any, columns: Mapping[str, npt.NDArray[Any]]
) -> npt.NDArray[np.bool_]:
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


def also_selected(
    card: Card, kept: Any, ids: Any, columns: Mapping[str, npt.NDArray[Any]]
) -> npt.NDArray[np.bool_]:
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


def _codes(ids: Any) -> npt.NDArray[np.int64]:
    return np.asarray(ids.dictionary_encode().indices.to_numpy(zero_copy_only=False))


def _order(key: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers that sort as values do: texts by code points, what is missing last."""
    if key.dtype != object:
        return key
    texts = key.tolist()
    places = {text: place for place, text in enumerate(sorted(set(texts) - {None}))}
    return np.array([places.get(text, len(places)) for text in texts], dtype=np.int64)


def _first_of_each(
    codes: npt.NDArray[np.int64], keys: list[npt.NDArray[Any]], room: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
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
