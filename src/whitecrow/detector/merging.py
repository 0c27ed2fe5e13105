"""Several detectors as one: nothing is read and nothing is charged, for detectors are public."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import DifferentialPrivacy

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector

__all__ = ["merged"]


def merged(parts: Sequence[Detector], apart: bool, overlap: int) -> dict[str, Any]:
    """Return the fields of the merged detector; a person is in at most ``overlap`` of the data."""
    count = len(parts)
    overlap = overlap or (1 if apart else count)
    if not 1 <= overlap <= count or (apart and overlap != 1):
        raise invalid("merge", "overlap", f"from 1 to {count}, and 1 if apart", overlap)
    first = parts[0]
    for one in parts[1:]:
        same = one.card.fingerprint() == first.card.fingerprint()
        if not same or one.columns != first.columns:
            raise InvalidInput("Only detectors of equal cards and columns can be merged.")
        if one.guarantee.unit != first.guarantee.unit:
            raise InvalidInput("Detectors whose promises have different units do not merge.")
    prices = [one.guarantee for one in parts]
    joint = DifferentialPrivacy(
        _joint([price.epsilon for price in prices], overlap),
        _joint([price.delta for price in prices], overlap),
        first.guarantee.unit,
    )
    reason = _reason(overlap, count)
    note = f"Merged of {len(parts)} detectors; {reason}. A threshold of one is none of all."
    return {
        "models": tuple(model for one in parts for model in one.models),
        "card": first.card,
        "guarantee": joint,
        "statement": joint.statement(),
        "question": {"kind": "learn", "merged": [dict(one.question) for one in parts]},
        "notes": (note,),
    }


def _joint(parts: list[Fraction], overlap: int) -> Fraction:
    """A person loses what the datasets cost that hold their records: at most the dearest few."""
    return sum(sorted(parts)[-overlap:], Fraction(0))


def _reason(overlap: int, count: int) -> str:
    if overlap == 1:
        return "nobody has records in two of their datasets"
    if overlap < count:
        return f"nobody has records in more than {overlap} of their datasets"
    return "their promises add up"
