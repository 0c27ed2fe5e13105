"""What a release promises, and to whom.

A guarantee is a set of *edges* (pairs of neighbouring databases) together with a bound on how far
apart the output laws of one edge's two ends may be. The notions differ in their edges:

* :class:`DifferentialPrivacy` and :class:`ZeroConcentrated`: every pair that differs in one record;
* :class:`SensitivePrivacy`: the pairs in which the record that comes or goes is *sensitive*, that
  is, has at least ``tau`` records, itself included, within ``radius`` (the larger database counts;
  records that the card leaves out are neither counted nor read, see ``identify/proof.md``);
* :class:`ConditionalPrivacy`: the pairs on which a stated condition holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal

from whitecrow.errors import invalid
from whitecrow.privacy.numbers import exact, odds_factor, rounded_up, unrounded
from whitecrow.rendering import notebook

# The sentences of a promise: by how much odds change, and who is covered

UNITS = {
    "add_remove": "whether any one record is in the data or not",
    "replace_one": "whichever values any one record has",
}


class _Promise:
    """What all promises have: exact numbers, and text in which defaults are left out."""

    __slots__ = ()
    notion: ClassVar[str]
    _numbers: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def __post_init__(self) -> None:
        """Read the numbers; a delta is below 1."""
        owner = type(self).__name__
        for name in self._numbers:
            given = value = getattr(self, name)
            if type(given) is not Fraction or given < 0:  # else it was read before
                value = exact(given, owner=owner, parameter=name, positive=False)
            if name == "delta" and value >= 1:
                raise invalid(owner, name, "at least 0 and below 1", given)
            object.__setattr__(self, name, value)
        unit = getattr(self, "unit", "add_remove")
        if unit not in UNITS:
            raise invalid(owner, "unit", "'add_remove' or 'replace_one'", unit)

    def to_json(self) -> dict[str, object]:
        """Return a plain JSON object."""
        numbers = {name: str(getattr(self, name)) for name in self._numbers}
        unit = {"unit": self.unit} if hasattr(self, "unit") else {}
        return {"notion": self.notion, **numbers, **unit}

    def __repr__(self) -> str:
        parts = []
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if item.repr and (item.default is MISSING or value != item.default):
                shown = str(value) if isinstance(value, Fraction) else repr(value)
                parts.append(f"{item.name}={shown}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        promised: Any = self
        amount = "ρ" if promised.notion == "concentrated" else "ε"
        number = promised.rho if amount == "ρ" else promised.epsilon
        headline = f"{amount} = {rounded_up(number)}, {promised.notion} privacy"
        return notebook(headline, note=promised.statement())


@lru_cache(maxsize=1024)
def odds(epsilon: Fraction, delta: Fraction) -> str:
    """Say how far the odds may change: two decimals, never less than the truth."""
    except_for = f", except with a chance of at most {rounded_up(delta)}," if delta else ""
    and_delta = f", δ = {rounded_up(delta)}" if delta else ""
    return (
        f"the odds of any conclusion change{except_for} by at most {odds_factor(epsilon)} times "
        f"(ε = {rounded_up(epsilon)}{and_delta})"
    )


def who(zones: Iterable[Zone]) -> list[str]:
    """Say whom zones cover, one clause each, and under which card where that is not plain."""
    listed = [zone for zone in zones if not zone.everyone]
    several = len({zone.card for zone in listed}) > 1
    return [clause(zone, which_card=several or not zone.card) for zone in listed]


def clause(zone: Zone, *, which_card: bool = False) -> str:
    """Say who is covered; with ``which_card`` also under which reading of the data."""
    names = (name if isinstance(name, str) else " ".join(name) for name in zone.columns)
    over = f" over {', '.join(names)}" if zone.columns else ""
    under = f", {_reading(zone)}" if which_card else ""
    if _of_a_model(zone.metric):
        return f"enough records like it: at least {zone.tau}, {zone.metric}{over}{under}"
    return (
        f"at least {zone.tau} records that pass the card (itself included) within "
        f"{unrounded(zone.radius)} of it ({zone.metric}{over}{under})"
    )


def _of_a_model(metric: str) -> bool:
    """Whether nearness is what a model of somebody else's says."""
    return metric.startswith(("sensitive to", "weighed by"))


def _weighs(metric: str) -> bool:
    """Whether records may count other than once."""
    return _of_a_model(metric) or " where a record within " in metric


def _reading(zone: Zone) -> str:
    if not zone.card:
        return "under every card that was in force"
    fingerprint, _, revision = zone.card.partition("@")
    return f"card {fingerprint[:8]}" + (f", revision {revision}" if revision else "")


Unit = Literal["add_remove", "replace_one"]


# The promises


@dataclass(frozen=True, repr=False)
class DifferentialPrivacy(_Promise):
    """(ε, δ)-differential privacy.

    Parameters
    ----------
    epsilon, delta : exact numbers
        Read by :func:`whitecrow.privacy.exact`; ``0.1`` means one tenth.
    unit : {"add_remove", "replace_one"}
        Whether neighbours differ in the presence of one record or in its values.

    Examples
    --------
    >>> DifferentialPrivacy("0.1")
    DifferentialPrivacy(epsilon=1/10)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    unit: Unit = "add_remove"
    notion: ClassVar[str] = "differential"

    def statement(self) -> str:
        """Say in one sentence what is protected, and for whom."""
        return f"Everyone is protected: {UNITS[self.unit]}, {odds(self.epsilon, self.delta)}."


@dataclass(frozen=True, repr=False)
class ZeroConcentrated(_Promise):
    """ρ-zero-concentrated differential privacy.

    Parameters
    ----------
    rho : exact number
        The bound; it adds up under composition.
    unit : {"add_remove", "replace_one"}
        As in :class:`DifferentialPrivacy`.
    """

    rho: Fraction
    unit: Unit = "add_remove"
    notion: ClassVar[str] = "concentrated"
    _numbers: ClassVar[tuple[str, ...]] = ("rho",)

    def statement(self) -> str:
        """Say in one sentence what is protected, and for whom."""
        return (
            f"Everyone is protected: {UNITS[self.unit]}, the loss is that of "
            f"zero-concentrated differential privacy with rho {rounded_up(self.rho)}."
        )


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
    read = [name if isinstance(name, str) else (str(name[0]), str(name[1])) for name in columns]
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
        columns = [list(name) if isinstance(name, tuple) else name for name in self.columns]
        document = {**vars(self), "columns": columns}
        if not self.card:
            del document["card"]
        return document

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
    common: dict[Place, Zone] = {}
    for zone in zones:
        if zone.everyone:
            continue
        other = common.setdefault(zone.place, zone)
        if other != zone:
            tau, radius = max(other.tau, zone.tau), min(other.radius, zone.radius)
            common[zone.place] = replace(zone, tau=tau, radius=radius)
    ordered = sorted(common.values(), key=lambda z: (z.metric, [*map(_words, z.columns)], z.card))
    return tuple(ordered)


def _words(column: ZoneColumn) -> tuple[str, ...]:
    return (column,) if isinstance(column, str) else column


@dataclass(frozen=True, repr=False)
class SensitivePrivacy(_Promise):
    """(ε, k)-sensitive privacy: the promise of differential privacy to every sensitive record.

    Parameters
    ----------
    epsilon : exact number
        The bound on each edge of the sensitive graph.
    tau : int
        ``beta + 1 - k``. The graph depends on beta and k only through it.
    radius : float
        The radius of the anomaly model.
    metric : str
        The metric of the anomaly model.
    columns : iterable
        The columns the metric looks at, as in :class:`~whitecrow.privacy.Zone`.
    delta : exact number
        Above 0 only in totals that contain a release with a delta.
    and_also : tuple of Zone
        Further zones, in totals over several metrics or readings: a record must lie in all of them.
    card : str, default=""
        Which reading of the data the neighbours are counted in, as in
        :class:`~whitecrow.privacy.Zone`.

    Examples
    --------
    >>> SensitivePrivacy.of("0.1", beta=18, k=2, radius=0.148)
    SensitivePrivacy(epsilon=1/10, tau=17, radius=0.148)
    """

    epsilon: Fraction
    tau: int
    radius: float
    metric: str = "euclidean"
    columns: tuple[ZoneColumn, ...] = ()
    delta: Fraction = Fraction(0)
    and_also: tuple[Zone, ...] = ()
    card: str = field(default="", repr=False)
    notion: ClassVar[str] = "sensitive"

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        object.__setattr__(self, "columns", in_order(self.columns))
        if isinstance(self.tau, bool) or not isinstance(self.tau, int):
            raise invalid(owner, "tau", "a whole number", self.tau)
        if not (isinstance(self.radius, int | float) and 0 <= self.radius < math.inf):
            raise invalid(owner, "radius", "a number of at least 0", self.radius)
        object.__setattr__(self, "radius", float(self.radius))

    @classmethod
    def of(
        cls,
        epsilon: Any,
        *,
        beta: int,
        k: int,
        radius: float,
        metric: str = "euclidean",
        columns: tuple[ZoneColumn, ...] = (),
        card: str = "",
    ) -> SensitivePrivacy:
        """Build the guarantee from the anomaly model's beta and the sensitivity level k."""
        for parameter, value in (("beta", beta), ("k", k)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise invalid(cls.__name__, parameter, "a whole number of at least 1", value)
        return cls(epsilon, beta + 1 - k, radius, metric, columns, card=card)

    @classmethod
    def over(
        cls, epsilon: Fraction, zones: tuple[Zone, ...], delta: Fraction = Fraction(0)
    ) -> SensitivePrivacy:
        """Build the promise to records that lie in all of the zones."""
        first, *rest = zones
        zone = first.tau, first.radius, first.metric, first.columns
        return cls(epsilon, *zone, delta, tuple(rest), first.card)

    @property
    def zones(self) -> tuple[Zone, ...]:
        """The zones a record must lie in, all of them, to be covered."""
        own = Zone(self.tau, self.radius, self.metric, self.columns, self.card)
        return (own, *self.and_also)

    def statement(self) -> str:
        """Say in one sentence what is protected, and for whom."""
        if all(zone.everyone for zone in self.zones):
            return DifferentialPrivacy(self.epsilon, self.delta).statement()
        covered = " and ".join(who(self.zones))
        return (
            f"A record is protected if there are {covered}: whether such a record is in the data "
            f"or not, {odds(self.epsilon, self.delta)}. {self._others()}"
        )

    def _others(self) -> str:
        """Say what is known of records that are not covered (docs/regular.md)."""
        if len(self.zones) == 1 and self.radius == 0 and not _of_a_model(self.metric):
            return "Records with fewer neighbours than that are promised nothing."
        words = "Records with fewer neighbours than that are not promised this"
        if len(self.zones) > 1 or self.delta or _weighs(self.metric):
            return f"{words}."
        return f"{words}: one that lacks m, near values that are covered, has 2m + 1 times this ε."

    def to_json(self) -> dict[str, object]:
        """Return a plain JSON object."""
        document = {**super().to_json(), **self.zones[0].to_json()}
        if self.and_also:
            document["and_also"] = [zone.to_json() for zone in self.and_also]
        return document


@dataclass(frozen=True, repr=False)
class ConditionalPrivacy(_Promise):
    """ε on the pairs of databases where a condition holds (output-constrained privacy).

    Parameters
    ----------
    epsilon : exact number
        The bound on the pairs for which the condition holds.
    condition : str
        What must hold, as a clause: "the contexts in which record 17 is an outlier stay the same".
    and_also : tuple of str
        Further conditions, in totals: all must hold.
    delta : exact number
        Above 0 only in totals that contain a release with a delta.
    zones : tuple of Zone
        In totals that contain sensitive releases: the record must lie in all of them as well.
    """

    epsilon: Fraction
    condition: str
    and_also: tuple[str, ...] = ()
    delta: Fraction = Fraction(0)
    zones: tuple[Zone, ...] = ()
    notion: ClassVar[str] = "conditional"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.condition, str) or not self.condition.strip():
            owner, must = type(self).__name__, "a clause that says when it holds"
            raise invalid(owner, "condition", must, self.condition)

    @property
    def conditions(self) -> tuple[str, ...]:
        """All conditions that must hold."""
        return (self.condition, *self.and_also)

    def statement(self) -> str:
        """Say in one sentence what is protected, and for whom."""
        needs = list(self.conditions)
        needs += [f"there are {clause}" for clause in who(self.zones)]
        return (
            f"Only conditionally protected: as long as {' and '.join(needs)}, "
            f"whether any one other record is in the data or not, "
            f"{odds(self.epsilon, self.delta)}. "
            "Where the condition fails, and for the record asked about, nothing is promised."
        )

    def to_json(self) -> dict[str, object]:
        """Return a plain JSON object."""
        document = {**super().to_json(), "condition": self.condition}
        if self.and_also:
            document["and_also"] = list(self.and_also)
        if self.zones:
            document["zones"] = [zone.to_json() for zone in self.zones]
        return document


def of_revision(guarantee: Guarantee, revision: int) -> Guarantee:
    """Say of which revision of the data a guarantee speaks: in its zones, and in its conditions.

    What held of one revision may fail in the next, so nothing of two revisions is ever merged.
    """
    if isinstance(guarantee, SensitivePrivacy):
        zones = tuple(_dated(zone, revision) for zone in guarantee.zones)
        return SensitivePrivacy.over(guarantee.epsilon, zones, guarantee.delta)
    if isinstance(guarantee, ConditionalPrivacy):
        first, *others = (
            f"{condition} (revision {revision} of the data)" if revision else condition
            for condition in guarantee.conditions
        )
        zones = tuple(_dated(zone, revision) for zone in guarantee.zones)
        return replace(guarantee, condition=first, and_also=tuple(others), zones=zones)
    return guarantee


def _dated(zone: Zone, revision: int) -> Zone:
    return replace(zone, card=reading(zone.card, revision)) if zone.card else zone


def reading(card: str, revision: int) -> str:
    """Return the digest of one reading of the data: a card's fingerprint, and the revision."""
    return f"{card}@{revision}"


Guarantee = DifferentialPrivacy | ZeroConcentrated | SensitivePrivacy | ConditionalPrivacy
"""Any promise a release can make."""


# Guarantees as the ledger writes them down, read back


def guarantee(data: Mapping[str, Any]) -> Guarantee:
    """Read the JSON of a guarantee back."""
    notion = data["notion"]
    if notion == "differential":
        return DifferentialPrivacy(data["epsilon"], data["delta"], data["unit"])
    if notion == "concentrated":
        return ZeroConcentrated(data["rho"], data["unit"])
    if notion == "sensitive":
        zones = (Zone.from_json(data), *_zones(data.get("and_also", [])))
        return SensitivePrivacy.over(data["epsilon"], zones, data["delta"])
    return ConditionalPrivacy(
        data["epsilon"],
        data["condition"],
        tuple(data.get("and_also", [])),
        data["delta"],
        _zones(data.get("zones", [])),
    )


def _zones(listed: Iterable[Mapping[str, Any]]) -> tuple[Zone, ...]:
    return tuple(map(Zone.from_json, listed))
