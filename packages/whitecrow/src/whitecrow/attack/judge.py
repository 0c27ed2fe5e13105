"""Flags and what they are worth: thresholds, precision, recall, F, AUC, and the base rate.

Precision and recall mean nothing without the base rate (erratum E27): if two segments in three hold
an outlier, flagging at random has a precision of two thirds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whitecrow.attack.scores import score, segments
from whitecrow.errors import InvalidInput, invalid

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Verdict:
    """How well flags and scores tell outlying segments from the rest.

    Parameters
    ----------
    base_rate : float
        The part of the scored segments that hold an outlier: the precision of flagging at random.
    flagged : float
        The part that was flagged: the recall of flagging at random.
    precision, recall, f : float
        As usual; precision is the base rate where nothing was flagged.
    auc : float
        The chance that an outlying segment scores above another one; 0.5 is guessing.
    """

    base_rate: float
    flagged: float
    precision: float
    recall: float
    f: float
    auc: float

    def to_json(self) -> dict[str, float]:
        return dict(vars(self))


def outlying_segments(days: npt.ArrayLike, width: int) -> Bools:
    """Say which scored segments (2, 3, ...) hold a day with an outlier."""
    marks = segments(np.asarray(days, dtype=np.float64), width)
    return np.asarray(marks.any(axis=-1))[..., 1:]


def flag_fraction(scores: npt.ArrayLike, fraction: float) -> Bools:
    """Flag the highest-scoring part of the segments (ties in order of time).

    Examples
    --------
    >>> flag_fraction([3.0, 1.0, 2.0, 0.0], 0.5).tolist()
    [True, False, True, False]
    """
    values = np.asarray(scores, dtype=np.float64)
    if not 0 <= fraction <= 1:
        raise invalid("attack", "fraction", "between 0 and 1", fraction)
    count = round(fraction * values.shape[-1])
    ranks = np.argsort(np.argsort(-values, axis=-1, kind="stable"), axis=-1, kind="stable")
    return np.asarray(ranks < count)


def simulated_threshold(
    releases: npt.ArrayLike,
    *,
    width: int = 10,
    method: str = "growing",
    false_alarms: float = 0.05,
    runs: int = 200,
    rng: np.random.Generator | int | None = 0,
) -> float:
    """Return the score that quiet series exceed with the given probability.

    Quiet series are drawn from the Laplace law fitted to the releases themselves, so the attacker
    needs nothing but the releases.
    """
    if not 0 < false_alarms < 1:
        raise invalid("attack", "false_alarms", "between 0 and 1", false_alarms)
    series = segments(releases, width).ravel()
    centre = np.median(series)
    spread = np.abs(series - centre).mean()
    quiet = np.random.default_rng(rng).laplace(centre, max(spread, 1e-300), (runs, len(series)))
    scores = score(quiet, width=width, method=method)
    return float(np.quantile(scores, 1 - false_alarms))


def auc(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Return the chance that an outlying segment scores above another; ties count half.

    Examples
    --------
    >>> auc([3, 2, 1, 0], [True, False, True, False])
    0.75
    """
    values = np.asarray(scores, dtype=np.float64).ravel()
    marks = np.asarray(truth, dtype=bool).ravel()
    positive, negative = values[marks], np.sort(values[~marks])
    if not len(positive) or not len(negative):
        return float("nan")
    below = np.searchsorted(negative, positive, side="left")
    upto = np.searchsorted(negative, positive, side="right")
    return float((below + upto).mean() / (2 * len(negative)))


def evaluate(scores: npt.ArrayLike, truth: npt.ArrayLike, flags: npt.ArrayLike) -> Verdict:
    """Compare flags and scores with the truth; several series (rows) are averaged.

    Series whose segments are all of one kind have no AUC and are left out of that average.
    """
    table = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    marks = np.broadcast_to(np.asarray(truth, dtype=bool), table.shape)
    raised = np.broadcast_to(np.asarray(flags, dtype=bool), table.shape)
    if table.shape[-1] == 0:
        raise InvalidInput("There are no scored segments to evaluate.")
    hits = (marks & raised).sum(axis=-1)
    base = marks.mean(axis=-1)
    flagged = raised.sum(axis=-1)
    outlying = marks.sum(axis=-1)
    precision = np.where(flagged > 0, hits / np.maximum(flagged, 1), base)
    recall = np.where(outlying > 0, hits / np.maximum(outlying, 1), 0.0)
    f = np.where(hits > 0, 2 * precision * recall / np.maximum(precision + recall, 1e-300), 0.0)
    areas = np.array([auc(s, m) for s, m in zip(table, marks, strict=True)])
    return Verdict(
        base_rate=float(base.mean()),
        flagged=float(raised.mean()),
        precision=float(precision.mean()),
        recall=float(recall.mean()),
        f=float(f.mean()),
        auc=float(np.nanmean(areas)) if np.isfinite(areas).any() else float("nan"),
    )
