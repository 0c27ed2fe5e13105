"""Texts that stand for numbers and days in other than the plain way, read value by value.

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
import math
import re
import unicodedata

KINDS = (
    "whole number",
    "number",
    "amount",
    "amount, decimal comma",
    "date",
    "date, either order",
    "date, day first",
    "date, month first",
    "yes or no",
    "short text",
    "long text",
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
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_CENTURY = 69
"""Years of two digits up to this one are of 2000, as POSIX has it; others are of 1900."""


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
    found = (_COMMA if decimal_comma else _POINT).fullmatch(bare)
    if found is None:
        return math.nan
    whole, decimals, small = found.groups()
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
    found = _DAY.fullmatch(text.strip())
    if found is None:
        return None
    first, second, third = found.groups()
    if len(first) == 4 and first.isdigit():
        return _number(third, second, first)
    if first.isalpha():
        return _number(second, first, third)
    if second.isalpha() or not month_first:
        return _number(first, second, third)
    return _number(second, first, third)


def _number(day_text: str, month_text: str, year_text: str) -> int | None:
    try:
        if month_text.isalpha():
            word = month_text.lower()
            month = 1 + next(
                i for i, name in enumerate(_MONTHS) if name[: max(3, len(word))] == word
            )
        else:
            month = int(month_text)
        year = int(year_text)
        if len(year_text) == 2:
            year += 2000 if year < _CENTURY else 1900
        elif len(year_text) != 4:
            return None
        return datetime.date(year, month, int(day_text)).toordinal() - _EPOCH
    except (ValueError, StopIteration):
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
