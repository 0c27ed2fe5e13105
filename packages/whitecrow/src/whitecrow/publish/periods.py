"""Public calendars: which period a moment lies in, and what the period is called."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Column
from whitecrow.declaration import Parameter
from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import exact
from whitecrow.privacy.numbers import signed

CALENDAR_PERIODS = ("day", "week", "month")
_EPOCH = datetime.date(1970, 1, 1)


class Moment(Parameter[str, Any]):
    """A date or a number; the calendar of the question makes it canonical."""

    type_text = "str or number"

    def parse(self, value: object, owner: str) -> Any:
        return value

    def schema(self) -> dict[str, Any]:
        words = [*CALENDAR_PERIODS, "7"] if self.name == "period" else ["2024-01-01", "0"]
        return {"type": ["string", "number"], "examples": words}


@dataclass(frozen=True)
class Calendar:
    """Periods of equal name from a public start: days, weeks, months, or steps of a number."""

    start: str  # the first moment of the first period: an ISO date, or a number as text
    # ``"day"``, ``"week"``, ``"month"``, or the length of a period as an exact number in text.
    period: str

    @classmethod
    def of(cls, start: object, period: object, owner: str = "Publish") -> Calendar:
        """Read start and period as a user writes them; the result is canonical."""
        if period in CALENDAR_PERIODS:
            day = _date(start)
            if day is None:
                raise invalid(owner, "start", "a date such as '2019-03-01'", start)
            if period == "month" and day.day != 1:
                raise invalid(owner, "start", "the first day of a month", start)
            return cls(day.isoformat(), str(period))
        length = exact(period, owner=owner, parameter="period")
        first = signed(start, owner=owner, parameter="start")
        return cls(str(first), str(length))

    @property
    def dated(self) -> bool:
        """Whether moments are dates (day numbers since 1970) and not plain numbers."""
        return self.period in CALENDAR_PERIODS

    @cached_property
    def _first(self) -> datetime.date:
        return datetime.date.fromisoformat(self.start)

    @cached_property
    def _numbers(self) -> tuple[int | Fraction, int | Fraction]:
        """Start and length; as plain integers where they are whole, for speed."""
        start, length = Fraction(self.start), Fraction(self.period)
        if start.denominator == length.denominator == 1:
            return start.numerator, length.numerator
        return start, length

    def index(self, moments: npt.NDArray[np.int64 | np.float64]) -> npt.NDArray[np.int64]:
        """Return the period of each moment, 0 for the first; moments before it are negative."""
        if not self.dated:
            start, length = (float(value) for value in self._numbers)
            steps = np.floor((np.asarray(moments, dtype=np.float64) - start) / length)
            limit = float(2**62)
            whole = np.clip(np.nan_to_num(steps, nan=-1.0), -limit, limit)
            return np.asarray(whole, dtype=np.int64)
        days = np.asarray(moments, dtype=np.int64)
        if self.period == "month":
            months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
            return np.asarray(months - _month(self._first))
        return np.asarray((days - (self._first - _EPOCH).days) // self._days)

    @property
    def _days(self) -> int:
        return 7 if self.period == "week" else 1

    def label(self, index: int) -> str:
        """Return the name of a period: its first day, its month, or its first number."""
        if not self.dated:
            start, length = self._numbers
            moment = start + index * length
            return str(moment) if moment.denominator == 1 else f"{float(moment):.12g}"
        if self.period == "month":
            year, month = divmod(self._first.month - 1 + index, 12)
            return f"{self._first.year + year:04d}-{month + 1:02d}"
        try:
            return (self._first + datetime.timedelta(days=index * self._days)).isoformat()
        except OverflowError:
            raise InvalidInput("The periods run past the year 9999.") from None

    def check_column(self, column: Column) -> None:
        """Refuse a column that does not hold moments of this calendar."""
        if (column.type == "date") != self.dated or (not self.dated and not column.numeric):
            wanted = "a date" if self.dated else "a number"
            raise InvalidInput(
                f"The column {column.name!r} is a {column.type}, but periods of {self.period!r} "
                f"need {wanted}."
            )

    def check(self, periods: int) -> None:
        """Refuse periods that have no name: the answer would fail when it is written."""
        try:
            self.label(periods)
            if not self.dated:
                list(map(float, self._numbers))
        except OverflowError:
            raise InvalidInput("The periods run past the numbers a computer holds.") from None

    def position(self, period: object) -> int:
        """Return the index of the period that a date, a label or a number names."""
        if self.dated:
            text = f"{period}-01" if self.period == "month" and len(str(period)) == 7 else period
            day = _date(text)
            if day is None:
                raise invalid("update", "period", "a date such as '2019-03-01'", period)
            if self.period == "month":
                return _month(day) - _month(self._first)
            return (day - self._first).days // self._days
        try:
            moment = period if type(period) is int else Fraction(str(period))
        except (ValueError, ZeroDivisionError):
            raise invalid("update", "period", "a number", period) from None
        start, length = self._numbers
        return (moment - start) // length


def _month(day: datetime.date) -> int:
    """Months since January 1970."""
    return (day.year - 1970) * 12 + day.month - 1


def _date(value: object) -> datetime.date | None:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
