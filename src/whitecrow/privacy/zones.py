"""Whom a sensitive release covers: a zone of one reading of the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Zone", "ZoneColumn", "in_order", "intersect"]

ZoneColumn = str | tuple[str, str]
"""A column that a zone looks at: its name, or its name and how it is cut."""

Place = tuple[str, tuple[ZoneColumn, ...], str]


def in_order(columns: Iterable[ZoneColumn | Sequence[str]]) -> tuple[ZoneColumn, ...]:
    """Return columns in the one order that they are written in.

    Examples
    --------
    >>> in_order(["ward", ["age", "in 4 equal parts"]])
    (('age', 'in 4 equal parts'), 'ward')
    """
    read = [one if isinstance(one, str) else (str(one[0]), str(one[1])) for one in columns]
    return tuple(sorted(read, key=_words))


@dataclass(frozen=True)
class Zone:
    """Who is covered: records with at least ``tau`` records, itself included, within ``radius``.

    A zone is a zone of one reading of the data. Another card clips, fills or leaves out other
    records, and another revision holds others, so that a record with many neighbours in one reading
    may stand alone in the next: zones of two readings are two conditions, never one.

    Parameters
    ----------
    tau : int
        ``beta + 1 - k``; at most 1 covers everyone.
    radius : float
        Closed ball, in the metric's unit.
    metric : str
        The name of the metric.
    columns : tuple
        The columns the metric looks at, in sorted order (empty: all of the data's): a name, or a
        name and how the column is cut, where "the same value" means the same part of it. Names are
        the custodian's, so the two are never put into one text.
    card : str, default=""
        The reading: the card's fingerprint, and behind an ``@`` the revision of the data. Empty
        where it is not known (accounts of version 0.1, guarantees written by hand): the zone then
        asks for the neighbours under *every* reading the account was ever asked under, which is
        the only condition that is sure to be in force.
    """

    tau: int
    radius: float
    metric: str = "euclidean"
    columns: tuple[ZoneColumn, ...] = ()
    card: str = ""

    @property
    def everyone(self) -> bool:
        """Whether the zone covers every record (the graph of differential privacy)."""
        return self.tau <= 1

    @property
    def place(self) -> Place:
        """The neighbour relation up to its radius; zones of one place are nested."""
        return self.metric, self.columns, self.card

    def inside(self, other: Zone) -> bool:
        """Whether every edge of this zone is an edge of ``other`` (nesting in tau and radius)."""
        if other.everyone:
            return True
        return self.place == other.place and self.tau >= other.tau and self.radius <= other.radius

    def to_json(self) -> dict[str, object]:
        """Return a plain JSON object."""
        found: dict[str, object] = {
            "tau": self.tau,
            "radius": self.radius,
            "metric": self.metric,
            "columns": [list(one) if isinstance(one, tuple) else one for one in self.columns],
        }
        if self.card:
            found["card"] = self.card
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Zone:
        """Read what :meth:`to_json` wrote; without a card the reading is unknown."""
        columns = in_order(data["columns"])
        return cls(data["tau"], data["radius"], data["metric"], columns, data.get("card", ""))


def intersect(zones: Iterable[Zone]) -> tuple[Zone, ...]:
    """Return zones whose common edges lie in every given zone, one a metric, columns and card.

    Examples
    --------
    >>> intersect([Zone(3, 1.0), Zone(5, 2.0)])
    (Zone(tau=5, radius=1.0, metric='euclidean', columns=(), card=''),)
    >>> len(intersect([Zone(3, 1.0, card="one"), Zone(5, 2.0, card="other")]))
    2
    """
    found: dict[Place, Zone] = {}
    for zone in zones:
        if zone.everyone:
            continue
        known = found.get(zone.place, zone)
        found[zone.place] = replace(
            zone, tau=max(known.tau, zone.tau), radius=min(known.radius, zone.radius)
        )
    return tuple(found[place] for place in sorted(found, key=_alphabetic))


def _alphabetic(place: Place) -> tuple[str, tuple[tuple[str, ...], ...], str]:
    metric, columns, card = place
    return metric, tuple(map(_words, columns)), card


def _words(column: ZoneColumn) -> tuple[str, ...]:
    return (column,) if isinstance(column, str) else column
