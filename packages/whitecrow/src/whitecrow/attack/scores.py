"""How unlike the past is this segment, and how good are flags made of that?

The scores are those of Naghizade et al. (2017), section 5.

Releases are cut into segments of ``width``; what is left over at the end is dropped. A score is
given to every segment but the first; the higher, the less the segment looks like what came before.
All functions work on the last axis, so many simulated series are scored at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from whitecrow.errors import InvalidInput, invalid

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def segments(releases: npt.ArrayLike, width: int) -> Floats:
    """Cut series (on the last axis) into segments of ``width``."""
    series = np.asarray(releases, dtype=np.float64)
    if isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 2:
        raise invalid("attack", "width", "a whole number of at least 2", width)
    if series.ndim == 0 or not np.isfinite(series).all():
        raise InvalidInput("The releases must be a list of finite numbers.")
    count = series.shape[-1] // width
    if count < 2:
        raise InvalidInput(
            f"{series.shape[-1]} releases make fewer than two segments of {width}; "
            "nothing can be compared."
        )
    return series[..., : count * width].reshape(*series.shape[:-1], count, width)


def _surprise(segment: Floats, past: Floats) -> Floats:
    """Minus the log-likelihood of a segment under the Laplace law fitted to the past.

    The fit is the maximum-likelihood one: the median, and the mean distance from it.
    """
    centre = np.median(past, axis=-1, keepdims=True)
    spread = np.abs(past - centre).mean(axis=-1, keepdims=True)
    # A past without any spread would make the least change infinitely surprising.
    spread = np.maximum(spread, np.finfo(np.float64).tiny * 1e16)
    terms = np.log(2 * spread) + np.abs(segment - centre) / spread
    return np.asarray(terms.sum(axis=-1))


def fixed_window(releases: npt.ArrayLike, width: int) -> Floats:
    """Score each segment under the law of the one before it (the paper's FWE)."""
    cut = segments(releases, width)
    return _surprise(cut[..., 1:, :], cut[..., :-1, :])


def growing_window(releases: npt.ArrayLike, width: int) -> Floats:
    """Score each segment under the law of everything before it (the paper's GWE)."""
    cut = segments(releases, width)
    flat = cut.reshape(*cut.shape[:-2], -1)
    return np.stack(
        [_surprise(cut[..., j, :], flat[..., : j * width]) for j in range(1, cut.shape[-2])],
        axis=-1,
    )


def levene(releases: npt.ArrayLike, width: int) -> Floats:
    """Score each segment by 1 - p of Levene's test, centred at medians, against the one before.

    The paper does not say how it centres (erratum E26); the median is the robust choice.
    """
    from scipy.special import betainc

    cut = segments(releases, width)
    if width < 3:
        raise invalid("attack", "width", "at least 3 for Levene's test", width)
    spread = np.abs(cut - np.median(cut, axis=-1, keepdims=True))
    means = spread.mean(axis=-1)
    within = ((spread - means[..., None]) ** 2).sum(axis=-1)
    between = width / 2.0 * (means[..., 1:] - means[..., :-1]) ** 2
    inside = within[..., 1:] + within[..., :-1]
    freedom = 2.0 * width - 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(between > 0, freedom * between / inside, 0.0)
    p = betainc(freedom / 2.0, 0.5, freedom / (freedom + statistic))
    return np.asarray(1.0 - p)


@lru_cache(maxsize=64)
def _freedom(size: int) -> float:
    """Twice the expected sum of distances from the median of so many unit Laplace draws.

    Given how many are positive, those and the others are exponential, and the expected sum of the
    j largest of m exponentials is the sum of min(i, j) / i. Beyond 300 draws it is 2n - 1 to three
    digits.
    """
    if size > 300:
        return 2 * size - 1

    def largest(j: int, m: int) -> float:
        return sum(min(i, j) / i for i in range(1, m + 1))

    half, total = size // 2, 0.0
    for positive in range(size + 1):
        rest = size - positive
        if positive >= half:
            upper = largest(half, positive)
        else:
            upper = positive - (rest - largest(size - half, rest))
        total += math.comb(size, positive) / 2.0**size * upper
    return 4 * total


def scale_interval(releases: npt.ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return between which scales the Laplace noise of a sample (the last axis) lies.

    Twice the sum of distances from the median, in units of the scale, is about chi-square. Its
    expectation are the degrees of freedom: 2n - 1 for large samples of n.

    Examples
    --------
    >>> low, high = scale_interval([4.0, 5.0, 5.5, 6.0, 9.0, 5.2, 4.1, 5.8])
    >>> bool(low < 1 < high)
    True
    """
    from scipy.stats import chi2

    sample = np.asarray(releases, dtype=np.float64)
    if sample.ndim == 0 or sample.shape[-1] < 2:
        raise InvalidInput("The scale of noise needs at least two releases.")
    if not 0 < confidence < 1:
        raise invalid("attack", "confidence", "between 0 and 1", confidence)
    total = 2 * np.abs(sample - np.median(sample, axis=-1, keepdims=True)).sum(axis=-1)
    tail, freedom = (1 - confidence) / 2, _freedom(sample.shape[-1])
    return total / chi2.ppf(1 - tail, freedom), total / chi2.ppf(tail, freedom)


def overlap(releases: npt.ArrayLike, width: int, confidence: float = 0.95) -> Floats:
    """Score each segment by the gap between its interval of the scale and those beside it.

    Above 1 it lies wholly above both of them, or wholly below: the paper's chi-square rule.
    """
    low, high = scale_interval(segments(releases, width), confidence)
    tiny = np.finfo(np.float64).tiny
    low, high = np.maximum(low, tiny), np.maximum(high, tiny)
    before, here = slice(None, -1), slice(1, None)
    least, most = low[..., before].copy(), high[..., before].copy()
    least[..., :-1] = np.minimum(least[..., :-1], low[..., 2:])
    most[..., :-1] = np.maximum(most[..., :-1], high[..., 2:])
    return np.asarray(np.maximum(low[..., here] / most, least / high[..., here]))


def score(releases: npt.ArrayLike, *, width: int = 10, method: str = "growing") -> Floats:
    """Score segments 2, 3, ... by one of :data:`METHODS`.

    Examples
    --------
    >>> quiet, loud = [5.0, 5.2, 4.9, 5.1], [5.0, 9.0, 5.1, 4.8]
    >>> scores = score(quiet * 3 + loud, width=4)
    >>> int(scores.argmax())
    2
    """
    if method not in METHODS:
        choice = " or ".join(repr(name) for name in METHODS)
        raise invalid("attack", "method", choice, method)
    return METHODS[method](releases, width)


METHODS = {"growing": growing_window, "fixed": fixed_window, "levene": levene, "overlap": overlap}


# Flags: thresholds, precision, recall, F, AUC, and the base rate, without which they mean nothing
# (erratum E27): with outliers in two segments of three, flagging at random has a precision of 2/3.


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
