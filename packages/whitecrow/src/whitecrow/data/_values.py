"""What the values of each Arrow type mean: one reading, value by value, that cannot fail.

==================================  =========================================================
type                                as a number; as a day; as text
==================================  =========================================================
null                                missing
bool                                0 or 1; not a day; ``true`` or ``false``
int8 to uint64                      the nearest double; days since 1970-01-01; its digits
float16, float32, float64           its double, NaN is missing and -0.0 is 0.0; days since
                                    1970-01-01 if whole; the shortest digits of that double, a whole
                                    one without its point
decimal32 to decimal256             the nearest double, from the exact decimal; not a day; its
                                    digits
date32, date64                      not a number; the day (of milliseconds: rounded down); ISO
timestamp of any unit               not a number; the day, rounded down; ISO with a space
timestamp of any unit with a zone   as the one above, in UTC: whatever the zone, only the moment
                                    counts; its text ends in ``Z``
string, large_string, string_view   as Python's ``float`` reads it, or ``true`` or ``false``; a day
                                    in ISO's way at its start; itself. Bytes that are no UTF-8:
                                    missing
dictionary, run-end encoded         as the values they stand for
extension types                     as what they are stored as
==================================  =========================================================

A column of the card may say that texts are written in another way: see
:mod:`whitecrow.data.formats`. Days are of the years 1 to 9999; a date or a moment outside of them,
or infinite, is missing. Times of the day, durations, intervals, bytes, lists and structures are
refused by their type.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data.formats import amount, day, kind

_EPOCH = datetime.date(1970, 1, 1).toordinal()
FIRST_DAY = datetime.date.min.toordinal() - _EPOCH
LAST_DAY = datetime.date.max.toordinal() - _EPOCH
"""Dates are of the years 1 to 9999; databases have others, and words for infinity."""

_ISO_DAY = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})(?:[T ].*(?<! BC))?", re.ASCII | re.DOTALL
)
_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_EXACT_POWERS = 22
"""Powers of ten up to this one are doubles, and so are whole numbers up to 2^53: their quotient is
rounded once."""

Doubles = npt.NDArray[np.float64]


def decoded_type(arrow: Any) -> Any:
    """Return the type that :func:`decoded` gives."""
    import pyarrow
    from pyarrow import types

    if isinstance(arrow, pyarrow.BaseExtensionType):
        return decoded_type(arrow.storage_type)
    if types.is_dictionary(arrow) or types.is_run_end_encoded(arrow):
        return decoded_type(arrow.value_type)
    return pyarrow.string() if _is_text(arrow) else arrow


def decoded(array: Any) -> Any:
    """Return an array without extension, dictionary, runs or views: valid texts are ``string``."""
    import pyarrow
    from pyarrow import types

    if isinstance(array.type, pyarrow.BaseExtensionType):
        return decoded(array.storage)
    if types.is_run_end_encoded(array.type):
        rows = np.arange(array.offset, array.offset + len(array))
        runs = np.searchsorted(np.asarray(array.run_ends), rows, side="right")
        return decoded(array.values).take(pyarrow.array(runs))
    if types.is_dictionary(array.type):
        return decoded(array.dictionary).take(array.indices)
    if not _is_text(array.type):
        return array
    # Arrow takes texts for valid without looking, and looks when they come from bytes.
    return text_of_bytes(array.cast(pyarrow.binary()))


def _is_text(arrow: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_string(arrow) or types.is_large_string(arrow) or types.is_string_view(arrow)
    )


def text_array(values: list[str | None]) -> Any:
    """Return texts as an Arrow array; what is no Unicode text (a lone surrogate) is null."""
    import pyarrow

    try:
        return pyarrow.array(values, pyarrow.string())
    except UnicodeEncodeError:
        # What is encoded in spite of its surrogates is no UTF-8, and so null.
        encoded = [None if text is None else text.encode(errors="surrogatepass") for text in values]
        return text_of_bytes(pyarrow.array(encoded, pyarrow.binary()))


def plain_text(value: object) -> str | None:
    """Write a value of a source without types as text, so that the card alone says how it is read.

    Examples
    --------
    >>> [plain_text(value) for value in (2004.0, -0.0, True, None, float("nan"), b"\\xff")]
    ['2004', '0', 'true', None, None, '\\\\xff']
    """
    try:
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            return None
        if isinstance(value, bool | np.bool_):
            return "true" if value else "false"
        if isinstance(value, float | np.floating):
            # Whole floats without their point: 2004.0 is the category 2004.
            number = float(value) + 0.0
            return None if number != number else repr(number).removesuffix(".0")
        if isinstance(value, bytes | bytearray | memoryview):
            return "\\x" + bytes(value).hex()
        if isinstance(value, int):
            return format(decimal.Decimal(value), "f")  # Python writes no more than 4,300 digits
        return str(value)
    except Exception:  # noqa: BLE001 - a value that cannot be written is missing, whatever it is
        return None


def text_of_bytes(array: Any) -> Any:
    """Return bytes as texts: those that are no UTF-8 are null."""
    import pyarrow

    try:
        return array.cast(pyarrow.string())
    except pyarrow.ArrowInvalid:
        return pyarrow.array(map(_text_or_none, array.to_pylist()), pyarrow.string())


def _text_or_none(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None


def texts(array: Any) -> Any:
    """Return a decoded array as texts; null where there is none."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_string(array.type):
        return array
    if types.is_floating(array.type):
        coded = pyarrow.array(numbers(array), from_pandas=True).dictionary_encode()
        # 2004.0 and 2004 are one category: whole floats are written without their point.
        written = [repr(value).removesuffix(".0") for value in coded.dictionary.to_pylist()]
        return pyarrow.array(written, pyarrow.string()).take(coded.indices)
    if types.is_date(array.type) or types.is_timestamp(array.type):
        known = pyarrow.array(np.isfinite(days(array)))
        if types.is_date(array.type):
            array = _whole_days(array).cast(pyarrow.int32(), safe=False).view(pyarrow.date32())
            return compute.if_else(known, array, None).cast(pyarrow.string())
        zone = "" if array.type.tz is None else "Z"
        moments = array.view(pyarrow.int64()).view(pyarrow.timestamp(array.type.unit))
        written = compute.if_else(known, moments, None).cast(pyarrow.string())
        # One moment is one text, in whichever unit a file stores it.
        shortest = compute.replace_substring_regex(written, r"(\.[0-9]*[1-9])0+$|\.0+$", r"\1")
        return compute.binary_join_element_wise(shortest, zone, "")
    return array.cast(pyarrow.string())


def numbers(array: Any, form: str = "") -> Doubles:
    """Return a decoded array as doubles: NaN where there is none, and one zero."""
    import pyarrow
    from pyarrow import types

    if types.is_decimal(array.type):
        values = _of_decimals(array)
    elif types.is_string(array.type):
        values = _of_texts(array) if not form else _of_amounts(array, form)
    else:
        values = _doubles(array.cast(pyarrow.float64(), safe=False))
    missing = np.isnan(values)
    # NaN has many bit patterns, and a signalling one is told by whoever computes with it.
    return np.where(missing, np.nan, values) + 0.0 if missing.any() else values + 0.0


def _doubles(array: Any) -> Doubles:
    if array.null_count:
        array = array.fill_null(float("nan"))
    # Not pyarrow's to_numpy, which imports pandas (half a second) where that is installed.
    return np.asarray(np.from_dlpack(array), dtype=np.float64)


def _of_texts(array: Any) -> Doubles:
    import pyarrow

    try:
        return _doubles(array.cast(pyarrow.float64()))
    except pyarrow.ArrowInvalid:
        # What Arrow reads, Python reads alike: one value does not change the others.
        read = [number_or_none(text) for text in array.to_pylist()]
        return _doubles(pyarrow.array(read, pyarrow.float64()))


def _of_amounts(array: Any, form: str) -> Doubles:
    comma = form == "amount, decimal comma"
    return _each(array, lambda text: amount(text, decimal_comma=comma))


def _each(array: Any, read: Callable[[str], float | None]) -> Doubles:
    """Read each text for itself; texts that occur often are read once."""
    import pyarrow

    coded = array.dictionary_encode()
    found = [None if text is None else read(text) for text in coded.dictionary.to_pylist()]
    return _doubles(pyarrow.array(found, pyarrow.float64()).take(coded.indices))


def kinds(array: Any) -> Any:
    """Return which reading each value of a decoded array fits; null where there is none."""
    import pyarrow

    coded = texts(array).dictionary_encode()
    found = [None if text is None else kind(text) for text in coded.dictionary.to_pylist()]
    return pyarrow.array(found, pyarrow.string()).take(coded.indices)


def number_or_none(text: str | None) -> float | None:
    if text in ("true", "false"):  # as databases and frames of mixed values write a boolean
        return float(text == "true")
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _of_decimals(array: Any) -> Doubles:
    """Return the nearest doubles; Arrow's own cast is not correctly rounded."""
    import pyarrow
    from pyarrow import types

    scale = array.type.scale
    if types.is_decimal256(array.type) or not 0 <= scale <= _EXACT_POWERS:
        return _of_texts(array.cast(pyarrow.string()))
    wide = array.cast(pyarrow.decimal128(38, scale)).fill_null(0)
    halves = np.frombuffer(wide.buffers()[1] or b"", np.int64, 2 * (wide.offset + len(wide)))
    low, high = halves.reshape(-1, 2)[wide.offset :].T
    small = (high == low >> 63) & (low >= -(2**53)) & (low <= 2**53)
    values = np.asarray(low / 10.0**scale)
    rest = np.flatnonzero(~small)
    values[rest] = _of_texts(array.take(pyarrow.array(rest)).cast(pyarrow.string()))
    if array.null_count:
        values[np.asarray(array.is_null())] = np.nan
    return values


def days(array: Any, form: str = "") -> Doubles:
    """Return the days since 1970-01-01 of a decoded array, NaN where there is none."""
    import pyarrow
    from pyarrow import types

    if types.is_string(array.type):
        coded = array.dictionary_encode()
        read = [_day_or_none(text, form) for text in coded.dictionary.to_pylist()]
        whole = pyarrow.array(read, pyarrow.int64()).take(coded.indices)
    else:
        whole = _whole_days(array)
    found = np.array(numbers(whole))
    found[(found < FIRST_DAY) | (found > LAST_DAY) | (found != np.floor(found))] = np.nan
    return found


def _whole_days(array: Any) -> Any:
    """Return days as whole numbers, rounded down from whatever unit they are in."""
    import pyarrow
    from pyarrow import types

    if types.is_date32(array.type):
        return array.view(pyarrow.int32())
    unit = array.type.unit if types.is_timestamp(array.type) else "ms"
    if not (types.is_timestamp(array.type) or types.is_date64(array.type)):
        return array
    ticks = np.asarray(array.view(pyarrow.int64()).fill_null(0))
    missing = np.asarray(array.is_null()) if array.null_count else None
    return pyarrow.array(ticks // _A_DAY[unit], mask=missing)


def _day_or_none(text: str | None, form: str) -> int | None:
    if form and text is not None:
        return day(text, month_first=form == "month first")
    found = None if text is None else _ISO_DAY.fullmatch(text)
    try:
        return None if found is None else datetime.date.fromisoformat(found[1]).toordinal() - _EPOCH
    except ValueError:
        return None
