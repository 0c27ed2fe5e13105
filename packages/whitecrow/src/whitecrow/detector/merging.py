"""Several detectors as one: nothing is read and nothing is charged, for detectors are public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whitecrow.detector.file import packed
from whitecrow.errors import InvalidInput
from whitecrow.privacy.composition import joint_promise

if TYPE_CHECKING:
    from whitecrow.detector.detector import Detector


def merged(parts: Sequence[Detector], apart: bool, overlap: int) -> dict[str, Any]:
    """Return the fields of the merged detector; a person is in at most ``overlap`` of the data."""
    first = parts[0]
    for one in parts[1:]:
        same = one.card.fingerprint() == first.card.fingerprint()
        if not same or one.columns != first.columns:
            raise InvalidInput("Only detectors of equal cards and columns can be merged.")
    models = tuple(model for one in parts for model in one.models)
    # Noise makes every release another: equal counts are one release that is given twice.
    if len({packed([model], {}) for model in models}) < len(models):
        raise InvalidInput(
            "A detector cannot be merged with itself: two of those given hold the same release. "
            "Give each of them once."
        )
    joint, reason = joint_promise([one.guarantee for one in parts], apart, overlap)
    note = f"Merged of {len(parts)} detectors; {reason}. A threshold of one is none of all."
    return {
        "models": models,
        "card": first.card,
        "guarantee": joint,
        "statement": joint.statement(),
        "question": {"kind": "learn", "merged": [dict(one.question) for one in parts]},
        "notes": (note,),
    }
