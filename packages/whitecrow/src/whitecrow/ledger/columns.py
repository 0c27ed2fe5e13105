"""Columns of tables, a line each. A value must be given, unless a column is made otherwise."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Float, Integer, String, Text


def whole(name: str, **more: Any) -> Column[int]:
    return Column(name, Integer, nullable=False, **more)


def moment(name: str, **more: Any) -> Column[float]:
    """A moment, in seconds, or another double."""
    return Column(name, Float, nullable=False, **more)


def text(name: str, longest: int | None = None, **more: Any) -> Column[str]:
    """A text, of so many characters at the most if a number is given."""
    return Column(name, Text if longest is None else String(longest), nullable=False, **more)
