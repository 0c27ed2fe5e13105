"""The sentences of a promise: by how much odds change, and who is covered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whitecrow.privacy.bounds import odds_factor
from whitecrow.privacy.numbers import rounded_up, unrounded
from whitecrow.rendering import notebook

if TYPE_CHECKING:
    from whitecrow.privacy.guarantees import Zone

UNITS = {
    "add_remove": "whether any one record is in the data or not",
    "replace_one": "whichever values any one record has",
}


class Shown:
    """Prints a guarantee as one would write it: exact numbers as text, defaults left out."""

    __slots__ = ()

    def __repr__(self) -> str:
        parts = []
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            if one.repr and (one.default is MISSING or value != one.default):
                shown = str(value) if isinstance(value, Fraction) else repr(value)
                parts.append(f"{one.name}={shown}")
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
    names = (one if isinstance(one, str) else " ".join(one) for one in zone.columns)
    over = f" over {', '.join(names)}" if zone.columns else ""
    under = f", {_reading(zone)}" if which_card else ""
    return (
        f"at least {zone.tau} records that pass the card (itself included) within "
        f"{unrounded(zone.radius)} of it ({zone.metric}{over}{under})"
    )


def _reading(zone: Zone) -> str:
    if not zone.card:
        return "under every card that was in force"
    fingerprint, _, revision = zone.card.partition("@")
    return f"card {fingerprint[:8]}" + (f", revision {revision}" if revision else "")
