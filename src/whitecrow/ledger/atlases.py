"""Where located questions lie, kept in memory and caught up from the entries.

What a located question adds is decided inside the transaction that reserves it, from all the balls
asked about before. Entries only grow, so each process remembers what it has read or written and
reads on from there; a void, which is rare, starts over. What is remembered is known by the hash of
its last entry: while that is the chain's head nothing need be read, and a process whose last entry
is not in the chain, because its transaction failed, starts over.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Protocol

from whitecrow.ledger.account import Account, Located, charged, guarantee, is_for_everyone
from whitecrow.ledger.chain import GENESIS, Entry
from whitecrow.privacy import Guarantee, Unit

__all__ = ["Atlas", "AtlasMaker", "Charts", "Library", "Sum", "recount"]

Location = dict[str, Any]


class Atlas(Protocol):
    """The balls asked about so far, and what they cost together at the worst point."""

    @property
    def price(self) -> Fraction:
        """The cost so far."""

    def extra(self, new: Location, epsilon: Fraction) -> Fraction:
        """What one more ball would add."""

    def add(self, new: Location, epsilon: Fraction, extra: Fraction | None = None) -> Fraction:
        """Add a ball; return what it added, which is ``extra`` where that is known."""


AtlasMaker = Callable[[], Atlas]


class Sum:
    """The atlas that knows no places: everything adds up, which is never too little."""

    def __init__(self) -> None:
        self.price = Fraction(0)

    def extra(self, new: Location, epsilon: Fraction) -> Fraction:
        """What one more ball would add."""
        return epsilon

    def add(self, new: Location, epsilon: Fraction, extra: Fraction | None = None) -> Fraction:
        """Add a ball; return what it added."""
        self.price += epsilon
        return epsilon


class Charts:
    """The located questions of one account: one atlas a line.

    As long as every release protects everyone, the two are the same and kept once.
    """

    def __init__(self, make: AtlasMaker) -> None:
        self._everyone = self._both = make()

    def add(self, price: Guarantee, location: Location, known: Located | None = None) -> Located:
        """Add a located release; what it adds may be ``known``."""
        epsilon, extra = _epsilon(price), known or self.extra(price, location)
        apart = self._everyone is not self._both
        if not is_for_everyone(price):
            if not apart:
                self._both = copy.deepcopy(self._everyone)
        elif apart:
            self._everyone.add(location, epsilon, extra.differential)
        self._both.add(location, epsilon, extra.sensitive)
        return extra

    def extra(self, price: Guarantee, location: Location) -> Located:
        """What a located release would add to each line."""
        epsilon = _epsilon(price)
        both = self._both.extra(location, epsilon)
        if not is_for_everyone(price):
            return Located(Fraction(0), both)
        if self._everyone is self._both:
            return Located(both, both)
        return Located(self._everyone.extra(location, epsilon), both)


class Chain(Protocol):
    """A dataset's entries, inside a transaction."""

    seq: int
    head: str

    def entry(self, seq: int) -> Entry | None:
        """One entry."""

    def entries(self, after: int = 0, *, kinds: Iterable[str] = ()) -> Iterator[Entry]:
        """Entries in order."""


class Library:
    """The charts of one dataset, everybody's and each analyst's.

    As long as one analyst alone has asked, the two are the same and kept once.
    """

    def __init__(self, make: AtlasMaker) -> None:
        self._make = make
        self._several = False
        self._start_over()

    def _start_over(self) -> None:
        self._seq, self._head = 0, GENESIS
        self._sole: str | None = None
        self._own: dict[str, Charts] = {}
        self.everybody = Charts(self._make)
        """The dataset's charts."""

    def own(self, analyst: str) -> Charts:
        """One analyst's charts."""
        if not self._several and analyst == self._sole:
            return self.everybody
        return self._own.setdefault(analyst, Charts(self._make))

    def catch_up(self, chain: Chain) -> None:
        """Take in what was written since the last time."""
        if self._head == chain.head:
            return
        if self._seq and not self._stands_in(chain):
            self._start_over()
        fresh = _spends(chain, self._seq)
        given_back = _ball_given_back(fresh)
        askers = {entry.analyst for entry in fresh if entry.kind == "reserve"} | {self._sole}
        if given_back or (not self._several and len(askers - {None}) > 1):
            self._several = self._several or len(askers - {None}) > 1
            self._start_over()
            fresh = _spends(chain, 0)
            given_back = _ball_given_back(fresh)
        for entry in _standing(fresh):
            self._add(entry, known=not given_back)
        self._seq, self._head = chain.seq, chain.head

    def _stands_in(self, chain: Chain) -> bool:
        """Whether the chain has the last entry that is remembered."""
        last = chain.entry(self._seq)
        return last is not None and last.hash == self._head

    def _add(self, entry: Entry, *, known: bool) -> None:
        """Put an entry's ball on the charts; unless balls before it are gone, its cost is known."""
        content = entry.content
        extras: tuple[Located | None, Located | None] = (None, None)
        if known and content["location"] is not None:
            extra = content["extra"]
            extras = Located.from_json(extra["dataset"]), Located.from_json(extra["analyst"])
        self._put(entry.analyst, guarantee(content["price"]), content["location"], extras)

    def _put(
        self,
        analyst: str,
        price: Guarantee,
        location: Location | None,
        extras: tuple[Located | None, Located | None],
    ) -> None:
        self._sole = self._sole or analyst
        if location is None:
            return
        self.everybody.add(price, location, extras[0])
        if self._several:
            self.own(analyst).add(price, location, extras[1])

    def wrote(
        self, entry: Entry, price: Guarantee, location: Location, extras: tuple[Located, Located]
    ) -> None:
        """Take in a located spend as it is written, so that it need not be read back."""
        # At a second analyst's first question the charts part ways; that is for the next catch-up.
        alone = not self._several and self._sole not in (None, entry.analyst)
        if entry.previous == self._head and not alone:
            self._put(entry.analyst, price, location, extras)
            self._seq, self._head = entry.seq, entry.hash

    def passed(self, entry: Entry) -> None:
        """Take note of an entry that is being written and changes no chart."""
        if entry.previous == self._head:
            self._seq, self._head = entry.seq, entry.hash


def recount(
    written: Iterable[Entry],
    unit: Unit,
    make: AtlasMaker | None = None,
    *,
    without: int | None = None,
) -> Account:
    """Add an account up from its entries, leaving out what was given back and ``without``.

    Without an atlas, what located releases cost is left at zero (their zones do count).
    """
    spent = Account(unit=unit)
    charts = None if make is None else Charts(make)
    for entry in _standing(list(written)):
        if entry.seq == without:
            continue
        content = entry.content
        price, location = guarantee(content["price"]), content["location"]
        extra = None
        if location is not None:
            extra = Located() if charts is None else charts.add(price, location)
        spent = spent.with_release(price, extra)
    return spent


def _spends(chain: Chain, after: int) -> list[Entry]:
    return list(chain.entries(after, kinds=("reserve", "void")))


def _ball_given_back(written: Iterable[Entry]) -> bool:
    return any(e.kind == "void" and e.content["located"] is not None for e in written)


def _standing(written: Sequence[Entry]) -> Iterator[Entry]:
    """The reservations among the entries that were not given back."""
    voided = {entry.content["reserve"] for entry in written if entry.kind == "void"}
    return (e for e in written if e.kind == "reserve" and e.seq not in voided)


def _epsilon(price: Guarantee) -> Fraction:
    """Only pure releases are located (a filter per place holds for pure epsilon)."""
    epsilon: Fraction = price.epsilon  # type: ignore[union-attr]
    return charged(epsilon)
