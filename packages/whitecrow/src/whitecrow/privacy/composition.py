"""What several releases promise together.

A joint release keeps the *sum* of the budgets on the *intersection* of the edge sets; that single
rule is proved edge by edge and holds for adaptively chosen releases of pure, approximate and
concentrated privacy alike. A sensitive entry is the pair (tau, radius) of one metric and one
reading of the data, and the intersection of two such graphs contains the graph at (max tau, min
radius). Across two cards or two revisions nothing is nested: there the intersection is a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from whitecrow.errors import InvalidInput, NoConversion, invalid
from whitecrow.privacy.conversion import (
    at_any_stop,
    to_approximate,
    to_concentrated,
    to_conditional,
    to_replace_one,
    to_sensitive,
)
from whitecrow.privacy.guarantees import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Guarantee,
    SensitivePrivacy,
    ZeroConcentrated,
    intersect,
)
from whitecrow.privacy.numbers import Exactly

NOTHING = DifferentialPrivacy(Fraction(0))
"""The promise of releasing nothing."""


def compose(guarantees: Sequence[Guarantee], *, delta: Exactly | None = None) -> Guarantee:
    """Return the guarantee of releasing all of these, chosen adaptively or not.

    Parameters
    ----------
    guarantees : sequence
        The promises of the single releases.
    delta : exact number, optional
        At which delta concentrated releases are read when they meet another notion. It is spent
        once, on the sum of all concentrated releases, and so that the promise holds even if the
        answers decided which releases there are.

    Raises
    ------
    PolicyViolation
        Where no common statement exists: replace-one beside a sensitive or conditional release, or
        concentrated beside another notion without a delta.

    Examples
    --------
    >>> compose([DifferentialPrivacy("0.1"), DifferentialPrivacy("0.2")]).epsilon
    Fraction(3, 10)
    >>> joint = compose([DifferentialPrivacy("0.1"), SensitivePrivacy("0.1", 17, 0.148)])
    >>> joint.notion, joint.epsilon
    ('sensitive', Fraction(1, 5))
    """
    if not guarantees:
        return NOTHING
    parts = _one_unit(guarantees)
    concentrated = [part for part in parts if isinstance(part, ZeroConcentrated)]
    if concentrated:
        rest = [part for part in parts if not isinstance(part, ZeroConcentrated)]
        if all(isinstance(part, DifferentialPrivacy) and not part.delta for part in rest):
            rho = sum((to_concentrated(part).rho for part in parts), Fraction(0))
            return ZeroConcentrated(rho, concentrated[0].unit)
        if delta is None:
            raise NoConversion(
                "Zero-concentrated releases beside another notion need a delta at which to read "
                "them; name one."
            )
        rho = sum((part.rho for part in concentrated), Fraction(0))
        parts = [*rest, at_any_stop(ZeroConcentrated(rho, concentrated[0].unit), delta)]
    conditions = _unique(
        c for part in parts if isinstance(part, ConditionalPrivacy) for c in part.conditions
    )
    zones = intersect(
        zone
        for part in parts
        if isinstance(part, SensitivePrivacy | ConditionalPrivacy)
        for zone in part.zones
    )
    common: list[DifferentialPrivacy] | list[SensitivePrivacy] | list[ConditionalPrivacy]
    if conditions:
        common = [to_conditional(part, conditions, zones) for part in parts]
    elif zones:
        common = [to_sensitive(part, zones) for part in parts]
    else:
        common = [to_approximate(part, Fraction(0)) for part in parts]
    epsilon = sum((part.epsilon for part in common), Fraction(0))
    spent = sum((part.delta for part in common), Fraction(0))
    if conditions:
        return ConditionalPrivacy(epsilon, conditions[0], conditions[1:], spent, zones)
    if zones:
        return SensitivePrivacy.over(epsilon, zones, spent)
    first_part = common[0]
    unit = first_part.unit if isinstance(first_part, DifferentialPrivacy) else "add_remove"
    return DifferentialPrivacy(epsilon, spent, unit)


def _one_unit(guarantees: Sequence[Guarantee]) -> list[Guarantee]:
    """Bring all parts to replace-one if any of them is (the other way is unsound)."""
    if all(getattr(part, "unit", "add_remove") == "add_remove" for part in guarantees):
        return list(guarantees)
    return [to_replace_one(part) for part in guarantees]


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


@dataclass(frozen=True)
class Totals:
    """One line for each notion; ``None`` means that no finite bound holds.

    Parameters
    ----------
    differential : DifferentialPrivacy or ZeroConcentrated or None
        The joint promise to everyone, or None once a sensitive or conditional release exists.
    sensitive : SensitivePrivacy or DifferentialPrivacy or ZeroConcentrated or None
        The joint promise to sensitive records, or None once a conditional release exists.
    conditional : Guarantee or None
        The joint promise of all releases.
    """

    differential: Guarantee | None
    sensitive: Guarantee | None
    conditional: Guarantee | None

    def statements(self) -> tuple[str, ...]:
        """One sentence a notion, the strongest first."""
        found = []
        if self.differential is None:
            found.append("The guarantee for everyone no longer covers the total.")
        lines = dict.fromkeys((self.differential, self.sensitive, self.conditional))
        return (*found, *(total.statement() for total in lines if total is not None))


def totals(guarantees: Sequence[Guarantee], *, delta: Exactly | None = None) -> Totals:
    """Return what all releases promise together, one line for each notion.

    Examples
    --------
    >>> found = totals([DifferentialPrivacy("0.1"), SensitivePrivacy("0.1", 17, 0.148)])
    >>> found.differential is None, found.sensitive.epsilon
    (True, Fraction(1, 5))
    """
    joint = _composed(guarantees, delta)
    has_condition = any(isinstance(g, ConditionalPrivacy) for g in guarantees)
    has_zone = any(
        isinstance(g, SensitivePrivacy | ConditionalPrivacy) and intersect(g.zones)
        for g in guarantees
    )
    return Totals(
        differential=None if has_condition or has_zone else joint,
        sensitive=None if has_condition else joint,
        conditional=joint,
    )


def _composed(guarantees: Sequence[Guarantee], delta: Exactly | None) -> Guarantee | None:
    try:
        return compose(guarantees, delta=delta)
    except NoConversion:
        return None


def joint_promise(
    prices: Sequence[DifferentialPrivacy], apart: bool, overlap: int
) -> tuple[DifferentialPrivacy, str]:
    """Return the promise of releases that were made by several sites, and why it is that.

    A person loses what the datasets cost that hold their records: at most the dearest few. Each
    site's release is private for every person, whatever the other sites' data are, so the losses
    of those that a person is in add up, and the others have none.

    Parameters
    ----------
    prices : sequence of DifferentialPrivacy
        One a site, in one unit.
    apart : bool
        Whether nobody has records at two sites.
    overlap : int
        At how many sites one person may have records; 0 for all of them, or one if apart.

    Examples
    --------
    >>> prices = [DifferentialPrivacy(one) for one in ("1", "1/2", "1/4")]
    >>> joint_promise(prices, False, 2)[0].epsilon
    Fraction(3, 2)
    """
    count = len(prices)
    overlap = overlap or (1 if apart else count)
    if not 1 <= overlap <= count or (apart and overlap != 1):
        raise invalid("merge", "overlap", f"from 1 to {count}, and 1 if apart", overlap)
    if len({price.unit for price in prices}) > 1:
        raise InvalidInput("Releases whose promises have different units do not merge.")
    joint = DifferentialPrivacy(
        _dearest([price.epsilon for price in prices], overlap),
        _dearest([price.delta for price in prices], overlap),
        prices[0].unit,
    )
    return joint, _reason(overlap, count)


def _dearest(parts: list[Fraction], overlap: int) -> Fraction:
    return sum(sorted(parts)[-overlap:], Fraction(0))


def _reason(overlap: int, count: int) -> str:
    if overlap == 1:
        return "nobody has records in two of their datasets"
    if overlap < count:
        return f"nobody has records in more than {overlap} of their datasets"
    return "their promises add up"
