"""From Arrow arrays to checked values: every decision looks at one value alone.

Whether an array can be read is decided by its type, before any value is looked at; what cannot be
understood of a value makes that value missing. So neither a refusal nor the treatment of one record
depends on the others. What each type means is said in :mod:`whitecrow.data._values`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card, Column
from whitecrow.data._selection import check_id_type
from whitecrow.data._values import (
    FIRST_DAY,
    LAST_DAY,
    days,
    decoded,
    decoded_type,
    kinds,
    numbers,
    texts,
)
from whitecrow.errors import InvalidInput

__all__ = [
    "FIRST_DAY",
    "LAST_DAY",
    "as_read",
    "check_schema",
    "convert",
    "decoded",
    "decoded_type",
    "dtype",
    "recovered",
]

_MISSING, _OUTSIDE, _CATEGORY = (
    "missing or of the wrong type",
    "outside the bounds",
    "not a category",
)


def check_schema(card: Card, schema: Any) -> None:
    """Refuse data whose names or types cannot be read as the card says; no value is looked at."""
    from pyarrow import types

    for column in card.columns:
        found = schema.get_all_field_indices(column.name)
        if not found:
            raise InvalidInput(
                f"The card lists the column {column.name!r}, which the data do not have."
            )
        if len(found) > 1:
            raise InvalidInput(f"The data have more than one column {column.name!r}.")
        arrow = decoded_type(schema.field(found[0]).type)
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
    array: Any, column: Column, mended: dict[str, npt.NDArray[Any]] | None = None
) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    """Return the values of a decoded array, and by reason which records are to be left out.

    ``mended`` is given, by reason, which values were filled or moved to a bound.
    """
    notes = {} if mended is None else mended
    if column.type == "text":
        values = texts(array).to_numpy(zero_copy_only=False)
        return _mend_missing(values, values == np.array(None), column, notes)
    if column.type == "category":
        return _convert_category(array, column, notes)
    values = (days if column.type == "date" else numbers)(array, column.format)
    missing = np.isnan(values)
    if column.type == "integer":
        missing |= np.isfinite(values) & (values != np.floor(values))
    if column.outside == "missing":
        missing |= np.isinf(values)
        if column.lower is not None and column.upper is not None:
            missing |= (values < column.lower) | (values > column.upper)
    if column.absent is not None:
        # Nobody may write what stands for a missing value: it is taken for one.
        missing |= values == column.absent
    absent = missing
    values, bad = _mend_missing(values, missing, column, notes)
    if column.bounded:
        outside = (values < column.lower) | (values > column.upper)
        if column.outside == "clip":
            notes[_OUTSIDE] = outside
            values = np.clip(values, column.lower, column.upper)
            outside = np.zeros(len(values), dtype=bool)
    else:
        outside = np.isinf(values)
    if column.absent is not None:
        values, outside = np.where(absent, column.absent, values), outside & ~absent
        bad[_MISSING] = np.zeros(len(values), dtype=bool)
    bad[_OUTSIDE] = outside
    if column.type == "date":
        return np.where(np.isfinite(values), values, 0).astype(np.int64), bad
    # One zero: -0.0 and 0.0 are one value, to every comparison and on every engine.
    return values + 0.0, bad


def as_read(array: Any, column: Column) -> npt.NDArray[Any]:
    """Return the values of a decoded array, filled and clipped, and as they are if wrong.

    Numbers and days are float64, NaN where missing; categories and texts are objects, None where
    missing.
    """
    if column.type == "category":
        values = np.array(_written(array, column).to_pylist(), dtype=object)
        return _mend_missing(values, values == np.array(None), column, {})[0]
    values, bad = convert(array, column)
    if column.type == "text":
        return values
    missing = bad[_MISSING] if column.absent is None else values == column.absent
    return np.where(missing, np.nan, values)


def recovered(
    values: npt.NDArray[Any], column: Column
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return what :func:`convert` makes of values that :func:`as_read` returned, and which pass.

    Of texts nothing is compared: their places hold 0.
    """
    if column.type == "text":
        return np.zeros(len(values)), values != np.array(None)
    if column.type == "category":
        return _recovered_category(values, column)
    passes = np.isfinite(values)
    if column.bounded:
        passes &= (values >= column.lower) & (values <= column.upper)
    if column.absent is not None:
        missing = np.isnan(values)
        values, passes = np.where(missing, column.absent, values), passes | missing
    return values, passes


def _recovered_category(
    values: npt.NDArray[Any], column: Column
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    import pyarrow
    from pyarrow import compute

    assert column.categories is not None
    missing = -1.0 if column.absent is None else column.absent
    if column.missing == "fill":
        missing = float(column.categories.index(str(column.fill)))
    listed = pyarrow.array(column.categories, pyarrow.string())
    places = compute.index_in(pyarrow.array(values, pyarrow.string()), value_set=listed)
    codes = places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.float64)
    unread = codes < 0 if column.outside == "missing" else values == np.array(None)
    codes = np.where(unread, missing, codes)
    return codes, codes >= 0


def _mend_missing(
    values: npt.NDArray[Any],
    missing: npt.NDArray[Any],
    column: Column,
    mended: dict[str, npt.NDArray[Any]],
) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    if column.missing == "fill":
        mended[_MISSING] = missing
        values = np.where(missing, column.fill, values)  # type: ignore[arg-type]
        missing = np.zeros(len(values), dtype=bool)
    return values, {_MISSING: missing}


def _written(array: Any, column: Column) -> Any:
    return kinds(array) if column.format == "kind" else texts(array)


def _convert_category(
    array: Any, column: Column, mended: dict[str, npt.NDArray[Any]]
) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    import pyarrow
    from pyarrow import compute

    listed = pyarrow.array(column.categories, pyarrow.string())
    written = _written(array, column)
    places = compute.index_in(written, value_set=listed)
    unread = places if column.outside == "missing" else written
    missing = unread.is_null().to_numpy(zero_copy_only=False)
    codes = places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    if column.missing == "fill":
        assert column.categories is not None
        mended[_MISSING] = missing
        codes = np.where(missing, column.categories.index(str(column.fill)), codes)
        missing = np.zeros(len(codes), dtype=bool)
    elif column.absent is not None:
        codes = np.where(missing, int(column.absent), codes)
        missing = np.zeros(len(codes), dtype=bool)
    return codes, {_MISSING: missing, _CATEGORY: (codes < 0) & ~missing}
