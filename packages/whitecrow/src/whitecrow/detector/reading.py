"""What the bytes of a detector's file say, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from whitecrow.card import Card
from whitecrow.detector.file import unpacked
from whitecrow.detector.grid import grid_of
from whitecrow.detector.model import Model
from whitecrow.detector.threshold import Threshold
from whitecrow.errors import InvalidInput
from whitecrow.privacy import DifferentialPrivacy


def fields_of(octets: bytes) -> dict[str, Any]:
    """Return the fields of a detector.

    Raises
    ------
    InvalidInput
        The bytes are no detector, of another version, damaged, or do not fit each other.
    """
    try:
        return _fields(*unpacked(octets))
    except InvalidInput:
        raise
    except Exception:  # noqa: BLE001 - bytes that somebody made can be wrong in any way
        raise _not_whole() from None


def _fields(models: tuple[Model, ...], about: Mapping[str, Any]) -> dict[str, Any]:
    card = Card.from_json(about["card"])
    names = models[0].names
    columns = [grid_of(card.column(name)) for name in names]
    for model in models:
        if [replace(grid, cuts=()) for grid in model.grids] != columns:
            raise _not_whole()
    return {
        "models": models,
        "card": card,
        "guarantee": _guarantee(about["guarantee"]),
        "statement": str(about["statement"]),
        "question": dict(about["question"]),
        "thresholds": tuple(
            Threshold(Fraction(one["rate"]), _finite(one["score"])) for one in about["thresholds"]
        ),
        "entry": str(about["entry"]),
        "notes": tuple(str(note) for note in about["notes"]),
    }


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
