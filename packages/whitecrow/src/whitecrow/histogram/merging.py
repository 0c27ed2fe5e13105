"""Several profiles as one: nothing is read and nothing is charged, for profiles are public.

Counts add up, and so does their noise. Sites cut a column into cells of their own; where one's cell
is cut by another's edge, its count is taken to be spread evenly over it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whitecrow.errors import InvalidInput
from whitecrow.histogram.columns import Categories, Numbers
from whitecrow.histogram.line import Line
from whitecrow.privacy.composition import joint_promise

if TYPE_CHECKING:
    from whitecrow.histogram.table import TableProfile

_SURE = 4.0

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def merged(parts: Sequence[TableProfile], apart: bool, overlap: int) -> dict[str, Any]:
    """Return the fields of the merged profile; a person is in at most ``overlap`` of the data."""
    first = parts[0]
    for one in parts[1:]:
        same = one.basis.fingerprint() == first.basis.fingerprint()
        if not same or one.names != first.names:
            raise InvalidInput("Only profiles of equal cards and columns can be merged.")
    # Noise makes every release another: equal counts are one release that is given twice.
    if len({one.columns for one in parts}) < len(parts):
        raise InvalidInput(
            "A profile cannot be merged with itself: two of those given hold the same release. "
            "Give each of them once."
        )
    joint, reason = joint_promise([one.guarantee for one in parts], apart, overlap)
    columns: list[Numbers | Categories] = []
    for name in first.names:
        found = [one.column(name) for one in parts]
        numbers = [one for one in found if isinstance(one, Numbers)]
        if numbers:
            columns.append(_numbers(numbers, first.line(name)))
        else:
            columns.append(_categories([one for one in found if isinstance(one, Categories)]))
    return {
        "columns": tuple(columns),
        "records": sum(one.records for one in parts),
        "basis": first.basis,
        "guarantee": joint,
        "statement": f"{joint.statement()} Merged of {len(parts)} profiles; {reason}.",
        "question": {"kind": "profile", "merged": [dict(one.question) for one in parts]},
    }


def _numbers(parts: Sequence[Numbers], line: Line) -> Numbers:
    edges: Floats = np.unique(np.concatenate([np.array(one.edges) for one in parts]))
    widths = line.widths(edges)
    cells, shares, full = [], [], np.zeros(len(widths), dtype=np.bool_)
    counts = np.zeros(len(widths))
    for one in parts:
        cell = np.append(0, np.searchsorted(one.edges, edges, side="right"))
        share = widths / np.bincount(cell, widths)[cell]
        held = np.array(one.counts, dtype=np.float64)[cell]
        counts += held * share
        full |= held > _SURE * one.deviation
        cells.append(cell)
        shares.append(share)
    target = max(counts.sum(), 1.0) / max(len(one.counts) for one in parts)
    group = _groups(counts, full, target)
    variance = np.zeros(group[-1] + 1)
    for one, cell, share in zip(parts, cells, shares, strict=True):
        # The parts of one noisy count that fall into one group are the same draw.
        pairs, place = np.unique(np.stack([group, cell]), axis=1, return_inverse=True)
        together = np.bincount(place.reshape(-1), share)
        variance += np.bincount(pairs[0], (together * one.deviation) ** 2)
    # Rounded as running sums, so that they add up to what was released.
    below = np.rint(np.cumsum(np.bincount(group, counts))).astype(np.int64)
    begins = np.flatnonzero(np.diff(group)) + 1
    return Numbers(
        parts[0].name,
        parts[0].kind,
        tuple(edges[begins - 1].tolist()),
        tuple(np.diff(below, prepend=0).tolist()),
        sum(one.missing for one in parts),
        math.sqrt(float(variance.max())),
    )


def _groups(counts: Floats, full: npt.NDArray[np.bool_], target: float) -> Ints:
    """Number the cells of the result: about as many as one profile had where there are records.

    A cell that holds nothing but noise stays alone, so that bounds can end there, and so does one
    that holds much, which may be one value that many share.
    """
    found, held = np.zeros(len(counts), dtype=np.int64), counts[0]
    for place in range(1, len(counts)):
        alone = not full[place] or not full[place - 1] or counts[place] >= target
        new = alone or held >= target
        found[place] = found[place - 1] + new
        held = counts[place] if new else held + counts[place]
    return found


def _categories(parts: Sequence[Categories]) -> Categories:
    """Add the counts of values up; one that a site did not name counts as 0 there."""
    counts: dict[str, int] = {}
    for one in parts:
        for value, count in zip(one.values, one.counts, strict=True):
            counts[value] = counts.get(value, 0) + count
    first = parts[0]
    listed = first.values[: first.listed]
    values = (*listed, *sorted(counts.keys() - set(listed)))
    others = [one.others for one in parts if one.others is not None]
    least = [one.threshold for one in parts if one.threshold is not None]
    return Categories(
        first.name,
        first.kind,
        values,
        tuple(counts[value] for value in values),
        sum(one.missing for one in parts),
        math.sqrt(sum(one.deviation**2 for one in parts)),
        first.listed,
        max(least) if least else None,
        sum(others) if len(others) == len(parts) else None,
    )
