"""Which promise follows from which, and what several releases promise together.

Every rule of conversion holds edge by edge, so it needs only that the target's edges are among the
source's (or are short paths of them). What does not follow is refused with the reason.

A joint release keeps the *sum* of the budgets on the *intersection* of the edge sets; that single
rule is proved edge by edge and holds for adaptively chosen releases of pure, approximate and
concentrated privacy alike. A sensitive entry is the pair (tau, radius) of one metric and one
reading of the data, and the intersection of two such graphs contains the graph at (max tau, min
radius). Across two cards or two revisions nothing is nested: there the intersection is a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from whitecrow.errors import InvalidInput, NoConversion, invalid
from whitecrow.privacy.guarantees import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Guarantee,
    SensitivePrivacy,
    ZeroConcentrated,
    Zone,
    clause,
    intersect,
)
from whitecrow.privacy.numbers import Exactly, exact, exp_upper, log_inverse_upper, sqrt_upper

_SP_TO_DP = (
    "Sensitive privacy says nothing about records with few neighbours, so no differential-privacy "
    "bound follows from it; the total for differential privacy is unbounded."
)
_CONDITIONAL = (
    "A conditional guarantee says nothing where its condition fails, so nothing unconditional "
    "follows from it; the unconditional total is unbounded."
)
_REPLACE_ONE = (
    "A replace-one guarantee treats the number of records as public, so nothing follows from it "
    "for adding or removing a record; recalibrate the mechanism to add/remove instead."
)
_DELTA_ZERO = (
    "Zero-concentrated privacy has no finite epsilon at delta 0; choose a delta above 0 and below "
    "1."
)


def to_replace_one(guarantee: Guarantee) -> DifferentialPrivacy | ZeroConcentrated:
    """Replace-one privacy from add/remove privacy: a replacement is a removal and an addition.

    Pure and approximate: (ε, δ) becomes (2ε, (1+e^ε)δ); concentrated: ρ becomes 4ρ.

    Examples
    --------
    >>> to_replace_one(DifferentialPrivacy("0.1")).epsilon
    Fraction(1, 5)
    """
    if isinstance(guarantee, ZeroConcentrated):
        if guarantee.unit == "replace_one":
            return guarantee
        return ZeroConcentrated(4 * guarantee.rho, "replace_one")
    same = to_differential(guarantee)
    if same.unit == "replace_one":
        return same
    delta = same.delta + _grown(same.delta, same.epsilon)
    return DifferentialPrivacy(2 * same.epsilon, delta, "replace_one")


def _grown(delta: Fraction, exponent: Fraction) -> Fraction:
    """Return at least ``delta e^exponent``, or 1 where that promises nothing.

    So the power is never taken where it would be too long to write down.
    """
    if not delta:
        return delta
    if exponent >= log_inverse_upper(delta):
        return Fraction(1)
    return delta * exp_upper(exponent)


def to_differential(guarantee: Guarantee) -> DifferentialPrivacy:
    """Differential privacy with the same numbers, if the guarantee is that.

    Sensitive privacy qualifies only when its zones cover everyone (tau at most 1, i.e. k >= beta).
    """
    if isinstance(guarantee, DifferentialPrivacy):
        return guarantee
    if isinstance(guarantee, SensitivePrivacy):
        if all(zone.everyone for zone in guarantee.zones):
            return DifferentialPrivacy(guarantee.epsilon, guarantee.delta)
        raise NoConversion(_SP_TO_DP)
    if isinstance(guarantee, ConditionalPrivacy):
        raise NoConversion(_CONDITIONAL)
    raise NoConversion(_DELTA_ZERO)


def to_approximate(guarantee: Guarantee, delta: Exactly) -> DifferentialPrivacy:
    """(ε, δ)-differential privacy from ρ-zCDP: ε = ρ + 2 sqrt(ρ ln(1/δ)), rounded up.

    Examples
    --------
    >>> round(float(to_approximate(ZeroConcentrated("1/2"), "1e-6").epsilon), 4)
    5.7565
    """
    delta = exact(delta, owner="to_approximate", parameter="delta", positive=False)
    if not isinstance(guarantee, ZeroConcentrated):
        return to_differential(guarantee)
    if not 0 < delta < 1:
        raise NoConversion(_DELTA_ZERO)
    epsilon = guarantee.rho + 2 * sqrt_upper(guarantee.rho * log_inverse_upper(delta))
    return DifferentialPrivacy(Fraction(in_units(epsilon), UNITS_OF_LOSS), delta, guarantee.unit)


ORDERS = tuple(2**power for power in range(11))
"""Orders of moments, less 1, at which sums of rho are read: fixed before any answer is seen."""


def at_any_stop(guarantee: ZeroConcentrated, delta: Exactly) -> DifferentialPrivacy:
    """(ε, δ)-differential privacy of a *sum* of ρ that was chosen, and ended, by the answers.

    :func:`to_approximate` reads a ρ that was fixed beforehand, at the moment that is best for it.
    Whoever looks at a running sum and stops when the answers suit them chooses the moment after
    the fact; here the orders are fixed and share the delta::

        ε = min over λ in ORDERS of (1 + λ) ρ + penalty of λ, rounded up (see :func:`penalties`).

    *Proof.* ``ledger/proof.md``. Releases of pure privacy add at most their epsilon to the loss,
    and may be asked in between.

    Examples
    --------
    >>> round(float(at_any_stop(ZeroConcentrated("1/2"), "1e-6").epsilon), 4)
    5.9278
    """
    delta = exact(delta, owner="at_any_stop", parameter="delta", positive=False)
    if not 0 < delta < 1:
        raise NoConversion(_DELTA_ZERO)
    rho = in_units(guarantee.rho)
    epsilon = min((1 + order) * rho + extra for order, extra in penalties(delta))
    return DifferentialPrivacy(Fraction(epsilon, UNITS_OF_LOSS), delta, guarantee.unit)


UNITS_OF_LOSS = 1 << 80
"""Computed losses are whole multiples of one over this: rounded up they are sound, and short."""


def in_units(loss: Fraction) -> int:
    """Return a loss in those units, rounded up."""
    return -(-loss.numerator * UNITS_OF_LOSS // loss.denominator)


@lru_cache(maxsize=256)
def penalties(delta: Fraction, chosen: int = 0) -> tuple[tuple[int, int], ...]:
    """Orders λ (of moments, less 1), each with what it adds to a loss to hold but for ``delta``.

    For one order that is ln(c/(w δ))/λ, at least 0, in units and rounded up, where w is the order's
    share of the delta and c = λ^λ/(1 + λ)^(1 + λ) the most that 1 - e^(-x) is of e^(λ x). All of
    :data:`ORDERS` share the delta; with a further ``chosen`` order, they share one half of it.
    """
    share = delta / len(ORDERS) / (2 if chosen else 1)
    fixed = tuple((order, _penalty(order, share)) for order in ORDERS)
    return (*fixed, (chosen, _penalty(chosen, delta / 2))) if chosen else fixed


def _penalty(order: int, delta: Fraction) -> int:
    chance: Fraction = delta * Fraction((1 + order) ** (1 + order), order**order)
    return in_units(log_inverse_upper(chance) / order) if chance < 1 else 0


@lru_cache(maxsize=256)
def best_order(epsilon: Fraction, delta: Fraction) -> int:
    """Return the order at which the largest sum of rho stays within epsilon at half of delta."""
    orders: list[int] = [*range(1, 8), *(m << power for power in range(7) for m in range(8, 16))]
    most = in_units(epsilon)
    fits = {Fraction(most - _penalty(order, delta / 2), 1 + order): order for order in orders}
    return fits[max(fits)]


def to_concentrated(guarantee: Guarantee) -> ZeroConcentrated:
    """ρ-zCDP from pure differential privacy: ρ = ε²/2."""
    if isinstance(guarantee, ZeroConcentrated):
        return guarantee
    pure = to_differential(guarantee)
    if pure.delta:
        raise NoConversion(
            "A guarantee with delta above 0 implies no zero-concentrated privacy: the loss may be "
            "unbounded with probability delta."
        )
    return ZeroConcentrated(pure.epsilon**2 / 2, pure.unit)


def to_sensitive(guarantee: Guarantee, zones: tuple[Zone, ...]) -> SensitivePrivacy:
    """Sensitive privacy on the edges common to ``zones``, each of which must be implied."""
    if isinstance(guarantee, ConditionalPrivacy):
        raise NoConversion(_CONDITIONAL)
    epsilon, delta, missing = _beyond(guarantee, zones)
    if missing is not None:
        raise NoConversion(
            "This sensitive guarantee covers fewer records than the one asked for: "
            f"it covers only those with {clause(missing, which_card=True)}."
        )
    return SensitivePrivacy.over(epsilon, zones, delta)


def _beyond(
    guarantee: Guarantee, zones: tuple[Zone, ...]
) -> tuple[Fraction, Fraction, Zone | None]:
    """Return epsilon and delta, and a zone of the guarantee that does not follow from others."""
    if isinstance(guarantee, SensitivePrivacy | ConditionalPrivacy):
        needed = (zone for zone in guarantee.zones if not zone.everyone)
        missing = (zone for zone in needed if not any(mine.inside(zone) for mine in zones))
        return guarantee.epsilon, guarantee.delta, next(missing, None)
    same = to_differential(guarantee)
    if same.unit == "replace_one":
        raise NoConversion(_REPLACE_ONE)
    return same.epsilon, same.delta, None


def to_conditional(
    guarantee: Guarantee, conditions: tuple[str, ...], zones: tuple[Zone, ...] = ()
) -> ConditionalPrivacy:
    """Conditional privacy where all conditions hold, from anything that covers those edges."""
    if isinstance(guarantee, ConditionalPrivacy):
        for condition in guarantee.conditions:
            if condition not in conditions:
                words = f"This guarantee holds only under a further condition: {condition}."
                raise NoConversion(words)
    epsilon, delta, missing = _beyond(guarantee, zones)
    if missing is not None:
        raise NoConversion(_SP_TO_DP)
    return ConditionalPrivacy(epsilon, conditions[0], conditions[1:], delta, zones)


def at_least_as_strong(one: Guarantee, other: Guarantee) -> bool:
    """Whether every mechanism that keeps ``one`` also keeps ``other``, by the rules above.

    Examples
    --------
    >>> sensitive = SensitivePrivacy.of("0.1", beta=18, k=2, radius=0.148)
    >>> at_least_as_strong(DifferentialPrivacy("0.1"), sensitive)
    True
    >>> at_least_as_strong(sensitive, DifferentialPrivacy("0.1"))
    False
    """
    try:
        if getattr(other, "unit", "add_remove") == "replace_one":
            one = to_replace_one(one)
        if isinstance(other, ZeroConcentrated):
            concentrated = to_concentrated(one)
            return concentrated.unit == other.unit and concentrated.rho <= other.rho
        if isinstance(one, ZeroConcentrated):  # of which only that with rho 0 is pure
            pure = DifferentialPrivacy(Fraction(0), unit=one.unit)
            one = to_approximate(one, other.delta) if one.rho else pure
        same: DifferentialPrivacy | SensitivePrivacy | ConditionalPrivacy
        if isinstance(other, SensitivePrivacy):
            same = to_sensitive(one, other.zones)
        elif isinstance(other, ConditionalPrivacy):
            same = to_conditional(one, other.conditions, other.zones)
        else:
            same = to_differential(one)
            if same.unit != other.unit:
                return False
        return same.epsilon <= other.epsilon and same.delta <= other.delta
    except NoConversion:
        return False


def to_tailored(guarantee: Guarantee, distance: int | None) -> Fraction:
    """Return ε(i, x) of tailored differential privacy: what one record may lose in one database.

    Sensitive privacy is tailored privacy in which a record loses at most ε times its distance: the
    number of steps, along pairs that the promise covers, from the database to the one without it
    (Asif et al., Claim 3). A covered record is 1 step away; one that lacks m neighbours, within
    the radius of a value that is covered without it, 2m + 1. ``None``: no way leads there.

    Examples
    --------
    >>> sensitive = SensitivePrivacy.of("0.1", beta=18, k=2, radius=0.148)
    >>> to_tailored(sensitive, 1), to_tailored(sensitive, 2 * 3 + 1)
    (Fraction(1, 10), Fraction(7, 10))
    """
    if isinstance(guarantee, SensitivePrivacy) and not all(z.everyone for z in guarantee.zones):
        if guarantee.delta:
            raise NoConversion("A total with a delta has no tailored epsilon: convert it at 0.")
        if distance is None:
            raise NoConversion(
                "No way leads from this database to the one without the record along pairs that "
                "the promise covers, so nothing bounds what the record loses."
            )
        if isinstance(distance, bool) or not isinstance(distance, int) or distance < 1:
            raise invalid("to_tailored", "distance", "a whole number of at least 1", distance)
        return distance * guarantee.epsilon
    same = to_differential(guarantee)
    if same.unit == "replace_one" or same.delta:
        no_delta = "Tailored differential privacy has no delta."
        raise NoConversion(_REPLACE_ONE if same.unit == "replace_one" else no_delta)
    return same.epsilon


def to_protected(guarantee: Guarantee, population: str) -> ConditionalPrivacy:
    """Protected differential privacy: ε for the records of a population that is public.

    It is sensitive privacy whose "normal" does not depend on the data (Asif et al., Section 7), so
    it follows from differential privacy for any population, and from sensitive privacy only where
    that covers everyone.

    Examples
    --------
    >>> to_protected(DifferentialPrivacy("0.1"), "the patients of ward 3").condition
    'the record that comes or goes is one of the patients of ward 3'
    """
    condition = f"the record that comes or goes is one of {population}"
    return to_conditional(to_differential(guarantee), (condition,))


def group_privacy(guarantee: Guarantee, size: int) -> Guarantee:
    """What the guarantee says of ``size`` records that come or go together.

    For sensitive privacy it speaks of groups that can be added one by one with each record
    sensitive at its turn (a path of the sensitive graph).
    """
    if isinstance(guarantee, ConditionalPrivacy):
        raise NoConversion(
            "A conditional guarantee has no group version: the condition may fail on the way."
        )
    if isinstance(guarantee, ZeroConcentrated):
        return ZeroConcentrated(size**2 * guarantee.rho, guarantee.unit)
    grown = size * _grown(guarantee.delta, (size - 1) * guarantee.epsilon)
    if isinstance(guarantee, SensitivePrivacy):
        return SensitivePrivacy.over(size * guarantee.epsilon, guarantee.zones, grown)
    return DifferentialPrivacy(size * guarantee.epsilon, grown, guarantee.unit)


# What several releases promise together

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
    parts = list(guarantees)
    if any(getattr(part, "unit", "add_remove") != "add_remove" for part in parts):
        parts = [to_replace_one(part) for part in parts]  # the other way is unsound
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
    stated = (part.conditions for part in parts if isinstance(part, ConditionalPrivacy))
    conditions = tuple(dict.fromkeys(chain.from_iterable(stated)))
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
        common = [to_differential(part) for part in parts]
    epsilon = sum((part.epsilon for part in common), Fraction(0))
    spent = sum((part.delta for part in common), Fraction(0))
    return replace(common[0], epsilon=epsilon, delta=spent)


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
        lines = dict.fromkeys((self.differential, self.sensitive, self.conditional))
        promises = tuple(total.statement() for total in lines if total is not None)
        if self.differential is None:
            return ("The guarantee for everyone no longer covers the total.", *promises)
        return promises


def totals(guarantees: Sequence[Guarantee], *, delta: Exactly | None = None) -> Totals:
    """Return what all releases promise together, one line for each notion.

    Examples
    --------
    >>> together = totals([DifferentialPrivacy("0.1"), SensitivePrivacy("0.1", 17, 0.148)])
    >>> together.differential is None, together.sensitive.epsilon
    (True, Fraction(1, 5))
    """
    joint: Guarantee | None = None
    with suppress(NoConversion):
        joint = compose(guarantees, delta=delta)
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


def joint_promise(
    prices: Sequence[DifferentialPrivacy], apart: bool, overlap: int
) -> tuple[DifferentialPrivacy, str]:
    """Return the promise of releases that were made by several sites, and why it is that.

    A person loses what the datasets cost that hold their records: at most the dearest few. Each
    site's release is private for every person, whatever the other sites' data are, so the losses
    of those that a person is in add up, and the others have none. One person may have records at
    ``overlap`` of the sites (0: at all of them, or at one where they are ``apart``).
    """
    count = len(prices)
    overlap = overlap or (1 if apart else count)
    if not 1 <= overlap <= count or (apart and overlap != 1):
        raise invalid("merge", "overlap", f"from 1 to {count}, and 1 if apart", overlap)
    if len({price.unit for price in prices}) > 1:
        raise InvalidInput("Releases whose promises have different units do not merge.")
    reason = "their promises add up"
    if overlap == 1:
        reason = "nobody has records in two of their datasets"
    elif overlap < count:
        reason = f"nobody has records in more than {overlap} of their datasets"
    epsilon = sum(sorted(price.epsilon for price in prices)[-overlap:], Fraction(0))
    delta = sum(sorted(price.delta for price in prices)[-overlap:], Fraction(0))
    return DifferentialPrivacy(epsilon, delta, prices[0].unit), reason
