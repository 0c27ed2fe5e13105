"""Several detectors as one: nothing is read and nothing is charged, for detectors are public."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from whitecrow.errors import InvalidInput
from whitecrow.privacy import DifferentialPrivacy

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector

__all__ = ["merged"]


def merged(parts: Sequence[Detector], apart: bool) -> dict[str, Any]:
    """Return the fields of the merged detector."""
    first = parts[0]
    for one in parts[1:]:
        same = one.card.fingerprint() == first.card.fingerprint()
        if not same or one.columns != first.columns:
            raise InvalidInput("Only detectors of equal cards and columns can be merged.")
        if one.guarantee.unit != first.guarantee.unit:
            raise InvalidInput("Detectors whose promises have different units do not merge.")
    prices = [one.guarantee for one in parts]
    joint = DifferentialPrivacy(
        _joint([price.epsilon for price in prices], apart),
        _joint([price.delta for price in prices], apart),
        first.guarantee.unit,
    )
    reason = "nobody has records in two of their datasets" if apart else "their promises add up"
    note = f"Merged of {len(parts)} detectors; {reason}. A threshold of one is none of all."
    return {
        "models": tuple(model for one in parts for model in one.models),
        "card": first.card,
        "guarantee": joint,
        "statement": joint.statement(),
        "question": {"kind": "learn", "merged": [dict(one.question) for one in parts]},
        "notes": (note,),
    }


def _joint(parts: list[Fraction], apart: bool) -> Fraction:
    return max(parts) if apart else sum(parts, Fraction(0))
