"""What the bytes of a detector's file say, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from whitecrow.card import Card
from whitecrow.detector.file import unpacked
from whitecrow.detector.threshold import Threshold
from whitecrow.errors import InvalidInput
from whitecrow.privacy import DifferentialPrivacy

__all__ = ["fields_of"]


def fields_of(octets: bytes) -> dict[str, Any]:
    """Return the fields of a detector.

    Raises
    ------
    InvalidInput
        The bytes are no detector, of another version, damaged, or do not fit each other.
    """
    models, about = unpacked(octets)
    try:
        thresholds = tuple(
            Threshold(Fraction(one["rate"]), _finite(one["score"])) for one in about["thresholds"]
        )
        found: dict[str, Any] = {
            "models": models,
            "card": Card.from_json(about["card"]),
            "guarantee": _guarantee(about["guarantee"]),
            "statement": str(about["statement"]),
            "question": dict(about["question"]),
            "thresholds": thresholds,
            "entry": str(about["entry"]),
            "notes": tuple(str(note) for note in about["notes"]),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise _not_whole() from error
    if not models or any(model.names != models[0].names for model in models):
        raise _not_whole()
    for name in models[0].names:
        found["card"].column(name)
    return found


def _not_whole() -> InvalidInput:
    return InvalidInput("The file of a detector is not whole. Save it again.")


def _guarantee(data: Mapping[str, Any]) -> DifferentialPrivacy:
    return DifferentialPrivacy(data["epsilon"], data["delta"], data["unit"])


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    if not math.isfinite(float(value)):
        raise ValueError
    return float(value)
