"""What became of the rows at load, for the custodian's eyes: facts, never for an analyst."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whitecrow.data._dataset import Dataset, Rejections

Intake = Mapping[str, Any]
"""``read``, ``kept``, and by reason ``left_out`` (records) and ``mended`` (values)."""


def intake_of(records: object) -> dict[str, Any] | None:
    """Return the counts as plain JSON; None of records that do not know.

    Whoever calls this shows them to the custodian alone.
    """
    from whitecrow.data.warehouse import RemoteDataset

    if not isinstance(records, Dataset | RemoteDataset):
        return None
    rejections: Rejections = records.rejections
    return {
        "read": rejections.read,
        "kept": rejections.kept,
        "left_out": dict(rejections.reasons),
        "mended": dict(rejections.mended),
    }


def intake_words(intake: Intake) -> str:
    """Say what became of the rows.

    Examples
    --------
    >>> intake_words({"read": 9, "kept": 7, "left_out": {"age: missing": 2}, "mended": {}})
    '9 rows read, 7 complete, 2 in part or not at all (age: missing 2), 0 values mended'
    """
    left = intake["read"] - intake["kept"]
    return (
        f"{intake['read']:,} rows read, {intake['kept']:,} complete, {left:,} in part or not at all"
        f"{_listed(intake['left_out'])}, {sum(intake['mended'].values()):,} values mended"
        f"{_listed(intake['mended'])}"
    )


def _listed(reasons: Mapping[str, int]) -> str:
    if not reasons:
        return ""
    most = sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
    return f" ({'; '.join(f'{reason} {number:,}' for reason, number in most)})"
