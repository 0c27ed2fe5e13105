"""From Arrow arrays to checked values: every decision looks at one value alone.

Whether an array can be read is decided by its type, before any value is looked at; what cannot be
understood of a value makes that value missing. So neither a refusal nor the treatment of one record
depends on the others.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card, Column
from whitecrow.data._selection import check_id_type
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
]

_MISSING, _OUTSIDE, _CATEGORY = (
    "missing or of the wrong type",
    "outside the bounds",
    "not a category",
)
_EPOCH = datetime.date(1970, 1, 1).toordinal()
FIRST_DAY = datetime.date.min.toordinal() - _EPOCH
LAST_DAY = datetime.date.max.toordinal() - _EPOCH
"""Dates are of the years 1 to 9999; databases have others, and words for infinity."""

_ISO_DAY = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})(?:[T ].*(?<! BC))?", re.ASCII | re.DOTALL
)


def decoded_type(arrow: Any) -> Any:
    """Return the type that :func:`decoded` gives."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(arrow) or types.is_run_end_encoded(arrow):
        return decoded_type(arrow.value_type)
    texts = types.is_large_string(arrow) or types.is_string_view(arrow)
    return pyarrow.string() if texts else arrow


def decoded(array: Any) -> Any:
    """Return an array without a dictionary, runs or views: texts are ``string``."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_run_end_encoded(array.type):
        return decoded(compute.run_end_decode(array))
    if types.is_dictionary(array.type):
        return decoded(array.dictionary_decode())
    if types.is_large_string(array.type) or types.is_string_view(array.type):
        return array.cast(pyarrow.string())
    return array


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
        readable = types.is_null(arrow) or types.is_string(arrow) or types.is_integer(arrow)
        if column.type != "date":
            readable = readable or types.is_boolean(arrow) or types.is_decimal(arrow)
            readable = readable or types.is_floating(arrow)
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
        import pyarrow

        values = array.cast(pyarrow.string()).to_numpy(zero_copy_only=False)
        return _mend_missing(values, values == np.array(None), column, notes)
    if column.type == "category":
        return _convert_category(array, column, notes)
    values = _days(array) if column.type == "date" else _numbers(array)
    missing = np.isnan(values)
    if column.type == "integer":
        missing |= np.isfinite(values) & (values != np.floor(values))
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
        texts = np.array(_texts(array).to_pylist(), dtype=object)
        return _mend_missing(texts, texts == np.array(None), column, {})[0]
    kept = column if column.absent is None else replace(column, missing="reject")
    values, bad = convert(array, kept)
    if column.type == "text":
        return values
    return np.where(bad[_MISSING], np.nan, values)


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


def _convert_category(
    array: Any, column: Column, mended: dict[str, npt.NDArray[Any]]
) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    import pyarrow
    from pyarrow import compute

    texts = _texts(array)
    found = compute.index_in(texts, value_set=pyarrow.array(column.categories, pyarrow.string()))
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    codes = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    if column.missing == "fill":
        assert column.categories is not None
        mended[_MISSING] = missing
        codes = np.where(missing, column.categories.index(str(column.fill)), codes)
        missing = np.zeros(len(codes), dtype=bool)
    elif column.absent is not None:
        codes = np.where(missing, int(column.absent), codes)
        missing = np.zeros(len(codes), dtype=bool)
    return codes, {_MISSING: missing, _CATEGORY: (codes < 0) & ~missing}


def _texts(array: Any) -> Any:
    """Return an Arrow array as texts."""
    import pyarrow
    from pyarrow import types

    if types.is_floating(array.type):
        # 2004.0 and 2004 are one category: whole floats are written without their point.
        whole = [None if v is None or v != v else f"{v:.15g}" for v in array.to_pylist()]
        return pyarrow.array(whole, pyarrow.string())
    return array.cast(pyarrow.string())


def _numbers(array: Any) -> npt.NDArray[np.float64]:
    import pyarrow
    from pyarrow import types

    if types.is_string(array.type) or types.is_null(array.type):
        try:
            array = array.cast(pyarrow.float64())
        except pyarrow.ArrowInvalid:
            # What Arrow reads, Python reads alike: one value does not change the others.
            numbers = [_number_or_none(text) for text in array.to_pylist()]
            array = pyarrow.array(numbers, pyarrow.float64())
    doubles = array.type == pyarrow.float64()
    numbers = array if doubles else array.cast(pyarrow.float64(), safe=False)
    if numbers.null_count:
        numbers = numbers.fill_null(float("nan"))
    # Not pyarrow's to_numpy, which imports pandas (half a second) where that is installed.
    return np.asarray(np.from_dlpack(numbers), dtype=np.float64)


def _number_or_none(text: str | None) -> float | None:
    if text in ("true", "false"):  # as databases and frames of mixed values write a boolean
        return float(text == "true")
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _days(array: Any) -> npt.NDArray[np.float64]:
    """Return days since 1970-01-01, NaN where there is none."""
    import pyarrow
    from pyarrow import types

    if types.is_string(array.type) or types.is_null(array.type):
        days = [_day_or_none(text) for text in array.to_pylist()]
        numbers = pyarrow.array(days, pyarrow.int32())
    elif types.is_integer(array.type):
        numbers = array
    else:
        if types.is_timestamp(array.type):
            array = array.cast(pyarrow.timestamp("us", tz=array.type.tz), safe=False)
        numbers = array.cast(pyarrow.date32(), safe=False).cast(pyarrow.int32())
    found = np.array(
        numbers.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False),
        dtype=np.float64,
    )
    found[(found < FIRST_DAY) | (found > LAST_DAY)] = np.nan
    return found


def _day_or_none(text: str | None) -> int | None:
    found = None if text is None else _ISO_DAY.fullmatch(text)
    try:
        return None if found is None else datetime.date.fromisoformat(found[1]).toordinal() - _EPOCH
    except ValueError:
        return None
