"""Private facts: exact quantities live in objects that cannot be shown by accident."""

from __future__ import annotations

from typing import NoReturn

_WITHHELD = "<facts withheld>"


class Facts:
    """Base of every private quantity computed from records.

    A subclass is a frozen dataclass made with ``repr=False, eq=False``. A field that a record can
    change is called ``exact_...`` and read by a ``mechanism.py`` only; or it begins with an
    underscore, and the facts' own methods read it and answer with noise. Printing gives a constant,
    and pickling, copying and comparing refuse.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, repr=False, eq=False)
    ... class CountFacts(Facts):
    ...     exact_outliers: int
    >>> CountFacts(17)
    <facts withheld>
    >>> f"{CountFacts(17)}"
    '<facts withheld>'
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return _WITHHELD

    __str__ = __repr__

    def __format__(self, _specification: str) -> str:
        return _WITHHELD

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("facts are never pickled or copied")

    def __getstate__(self) -> NoReturn:
        raise TypeError("facts are never pickled or copied")

    def __iter__(self) -> NoReturn:
        raise TypeError("facts are never listed")

    def __eq__(self, other: object) -> bool:
        raise TypeError("facts are never compared")

    def __hash__(self) -> int:
        return id(self)
