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

Days are of the years 1 to 9999; a date or a moment outside of them,
or infinite, is missing. Times of the day, durations, intervals, bytes, lists and structures are
refused by their type.

A column of the card may say that texts stand for numbers and days in other than the plain way.
An *amount* is a number with what people write around it: a currency (a sign, or three capital
letters), a percent sign (which is left out: 7 % is 7), marks between thousands (comma, space,
apostrophe, low line), a minus sign before or after the currency, or brackets in its place. With a
*decimal comma* comma and point change places. A *day* has day, month and year, or year, month and
day, between points, slashes, hyphens or spaces; the month may be a word of English; what follows
after a space or a T is a time and is not looked at. What is none of these is missing.

The *kind* of a text says which of these readings it fits, and is a category: counting kinds (with
noise) tells how a column is to be read.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from whitecrow._arrays import Floats

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

_TEXTS = ("string", "large_string", "string_view")


def decoded_type(arrow: Any) -> Any:
    """Return the type that :func:`decoded` gives."""
    import pyarrow
    from pyarrow import types

    if isinstance(arrow, pyarrow.BaseExtensionType):
        return decoded_type(arrow.storage_type)
    if types.is_dictionary(arrow) or types.is_run_end_encoded(arrow):
        return decoded_type(arrow.value_type)
    return pyarrow.string() if str(arrow) in _TEXTS else arrow


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
    if str(array.type) not in _TEXTS:
        return array
    # Arrow takes texts for valid without looking, and looks when they come from bytes.
    return text_of_bytes(array.cast(pyarrow.binary()))


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
    """Write a value of a source without types as text: the card alone says how it is read."""
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
        as_text = [repr(value).removesuffix(".0") for value in coded.dictionary.to_pylist()]
        return pyarrow.array(as_text, pyarrow.string()).take(coded.indices)
    if types.is_date(array.type) or types.is_timestamp(array.type):
        is_day = pyarrow.array(np.isfinite(days(array)))
        if types.is_date(array.type):
            array = _whole_days(array).cast(pyarrow.int32(), safe=False).view(pyarrow.date32())
            return compute.if_else(is_day, array, None).cast(pyarrow.string())
        zone = "" if array.type.tz is None else "Z"
        moments = array.view(pyarrow.int64()).view(pyarrow.timestamp(array.type.unit))
        as_text = compute.if_else(is_day, moments, None).cast(pyarrow.string())
        # One moment is one text, in whichever unit a file stores it.
        shortest = compute.replace_substring_regex(as_text, r"(\.[0-9]*[1-9])0+$|\.0+$", r"\1")
        return compute.binary_join_element_wise(shortest, zone, "")
    return array.cast(pyarrow.string())


def numbers(array: Any, form: str = "") -> Floats:
    """Return a decoded array as doubles: NaN where there is none, and one zero."""
    import pyarrow
    from pyarrow import types

    if types.is_decimal(array.type):
        values = _of_decimals(array)
    elif types.is_string(array.type):
        read = partial(amount, decimal_comma=form == "amount, decimal comma")
        values = _doubles(_each(array, read, pyarrow.float64())) if form else _of_texts(array)
    else:
        values = _doubles(array.cast(pyarrow.float64(), safe=False))
    missing = np.isnan(values)
    # NaN has many bit patterns, and a signalling one is told by whoever computes with it.
    return np.where(missing, np.nan, values) + 0.0 if missing.any() else values + 0.0


def _doubles(array: Any) -> Floats:
    if array.null_count:
        array = array.fill_null(float("nan"))
    # Not pyarrow's to_numpy, which imports pandas (half a second) where that is installed.
    return np.asarray(np.from_dlpack(array), dtype=np.float64)


def _of_texts(array: Any) -> Floats:
    import pyarrow

    try:
        return _doubles(array.cast(pyarrow.float64()))
    except pyarrow.ArrowInvalid:
        # What Arrow reads, Python reads alike: one value does not change the others.
        read = [number_or_none(text) for text in array.to_pylist()]
        return _doubles(pyarrow.array(read, pyarrow.float64()))


def _each(array: Any, read: Callable[[str], Any], arrow: Any) -> Any:
    """Read each text for itself; texts that occur often are read once."""
    import pyarrow

    coded = array.dictionary_encode()
    values = [None if text is None else read(text) for text in coded.dictionary.to_pylist()]
    return pyarrow.array(values, arrow).take(coded.indices)


def kinds(array: Any) -> Any:
    """Return which reading each value of a decoded array fits; null where there is none."""
    import pyarrow

    return _each(texts(array), kind, pyarrow.string())


def number_or_none(text: str | None) -> float | None:
    if text in ("true", "false"):  # as databases and frames of mixed values write a boolean
        return float(text == "true")
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _of_decimals(array: Any) -> Floats:
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


def days(array: Any, form: str = "") -> Floats:
    """Return the days since 1970-01-01 of a decoded array, NaN where there is none."""
    import pyarrow
    from pyarrow import types

    if types.is_string(array.type):
        read = partial(day, month_first=form == "month first") if form else _iso_day
        whole = _each(array, read, pyarrow.int64())
    else:
        whole = _whole_days(array)
    values = np.array(numbers(whole))
    values[(values < FIRST_DAY) | (values > LAST_DAY) | (values != np.floor(values))] = np.nan
    return values


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


def _iso_day(text: str) -> int | None:
    match = _ISO_DAY.fullmatch(text)
    try:
        return None if match is None else datetime.date.fromisoformat(match[1]).toordinal() - _EPOCH
    except ValueError:
        return None


KINDS = (
    *("whole number", "number", "amount", "amount, decimal comma"),
    *("date", "date, either order", "date, day first", "date, month first"),
    *("yes or no", "short text", "long text"),
)
"""What a text may be; each is one of them."""

YES_NO = tuple(
    form(word)
    for word in ("yes", "no", "true", "false", "y", "n", "t", "f")
    for form in (str.lower, str.upper, str.title)
    if not (len(word) == 1 and form is str.title)
)
"""Words of two values, in every usual writing."""

_NOTHING = ("", "-", "?", "na", "n/a", "nan", "none", "null", "unknown")
_SHORT = 40
_SPACES = "\u0020\u00a0\u2009\u202f"
_MARKS = rf"[{_SPACES}'\u2019_]"
_POINT = re.compile(rf"(\d{{1,3}}(?:(?:,|{_MARKS})\d{{3}})+|\d+)(\.\d*)?|(\.\d+)", re.ASCII)
_COMMA = re.compile(rf"(\d{{1,3}}(?:(?:\.|{_MARKS})\d{{3}})+|\d+)(,\d*)?|(,\d+)", re.ASCII)
_DECIMAL_COMMA = re.compile(
    r"\D*(?:\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3})+(?:,\d+)?)\D*", re.ASCII
)
_CODE = re.compile(r"[A-Z]{3}", re.ASCII)
_DAY = re.compile(
    r"(\d{1,4}|[A-Za-z]{3,9})[./\- ]\s?(\d{1,2}|[A-Za-z]{3,9}),?[./\- ]\s?(\d{1,4})(?:[T ,].*)?",
    re.ASCII | re.DOTALL,
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_CENTURY = 69  # years of two digits up to this one are of 2000, as POSIX has it; others are of 1900


def amount(text: str, *, decimal_comma: bool = False) -> float:
    """Read one amount; NaN if it is none.

    Examples
    --------
    >>> [amount(text) for text in ("\u20ac208.56", "1,234", "-12 %", "(USD 3.50)", "free")]
    [208.56, 1234.0, -12.0, -3.5, nan]
    >>> amount("1.234,5 \u20ac", decimal_comma=True)
    1234.5
    """
    bare = text.strip()
    if not decimal_comma and (plain := _plain(bare)) is not None:
        return plain
    negative = bare.startswith("(") and bare.endswith(")")
    if negative:
        bare = bare[1:-1].strip()
    for _ in range(2):  # a sign may stand before the currency or after it
        if bare[:1] in ("-", "\u2212", "+"):
            if negative:
                return math.nan
            negative, bare = bare[0] != "+", bare[1:].lstrip()
            signed = True
        else:
            signed = False
        bare = _without_currency(bare)
        if signed:
            break
    bare = bare.removesuffix("%").rstrip()
    match = (_COMMA if decimal_comma else _POINT).fullmatch(bare)
    if match is None:
        return math.nan
    whole, decimals, small = match.groups()
    digits = re.sub(r"\D", "", whole or "0")
    rest = (decimals or small or "")[1:]
    value = float(f"{digits}.{rest or 0}")
    return -value + 0.0 if negative else value


def _plain(text: str) -> float | None:
    try:
        return float(text) if math.isfinite(float(text)) else math.nan
    except ValueError:
        return None


def _without_currency(text: str) -> str:
    if text and unicodedata.category(text[0]) == "Sc":
        return text[1:].lstrip()
    if text and unicodedata.category(text[-1]) == "Sc":
        return text[:-1].rstrip()
    if _CODE.fullmatch(text[:3]) and len(text) > 3:
        return text[3:].lstrip()
    if _CODE.fullmatch(text[-3:]) and len(text) > 3:
        return text[:-3].rstrip()
    return text


def day(text: str, *, month_first: bool = False) -> int | None:
    """Read one day, as days since 1970-01-01; None if it is none.

    Examples
    --------
    >>> day("31/12/1970") == day("12/31/1970", month_first=True) == day("Dec 31, 1970") == 364
    True
    """
    match = _DAY.fullmatch(text.strip())
    if match is None:
        return None
    first, second, third = match.groups()
    if len(first) == 4 and first.isdigit():
        year_text, month_text, day_text = first, second, third
    elif first.isalpha() or (month_first and not second.isalpha()):
        month_text, day_text, year_text = first, second, third
    else:
        day_text, month_text, year_text = first, second, third
    try:
        if month_text.isalpha():
            word = month_text.lower()
            month = 1 + [name.startswith(word) for name in _MONTHS].index(True)
        else:
            month = int(month_text)
        year = int(year_text)
        if len(year_text) == 2:
            year += 2000 if year < _CENTURY else 1900
        elif len(year_text) != 4:
            return None
        return datetime.date(year, month, int(day_text)).toordinal() - _EPOCH
    except ValueError:
        return None


def kind(text: str) -> str | None:
    """Return which reading a text fits; None for a word that says that there is no value.

    Examples
    --------
    >>> [kind(text) for text in ("7", "7.5", "7,50", "$7", "2024-05-01", "13/5/24", "Yes", "ward")]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['whole number', 'number', 'amount, decimal comma', 'amount', 'date', 'date, day first',
     'yes or no', 'short text']
    """
    bare = text.strip()
    if bare.lower() in _NOTHING:
        return None
    if bare in YES_NO:
        return "yes or no"
    if re.fullmatch(r"[-+]?\d{1,15}", bare, re.ASCII):
        return "whole number"
    if (plain := _plain(bare)) is not None:
        return "short text" if math.isnan(plain) else "number"
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?", bare, re.ASCII | re.DOTALL):
        return "date" if day(bare) is not None else "short text"
    orders = day(bare), day(bare, month_first=True)
    if orders[0] is not None and orders[1] is not None:
        return "date, either order"
    if orders != (None, None):
        return "date, day first" if orders[1] is None else "date, month first"
    if not math.isnan(amount(bare, decimal_comma=True)) and _DECIMAL_COMMA.fullmatch(bare):
        return "amount, decimal comma"
    if not math.isnan(amount(bare)):
        return "amount"
    return "short text" if len(bare) <= _SHORT else "long text"
