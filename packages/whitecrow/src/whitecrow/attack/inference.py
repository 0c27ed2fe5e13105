"""The attack: from a series of releases, however it comes, to flagged segments or a value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.attack.scores import (
    Verdict,
    evaluate,
    flag_fraction,
    outlying_segments,
    score,
    simulated_threshold,
)
from whitecrow.declaration import whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.rendering import new_figure

FRACTION = 0.6  # the part of the segments that the paper's authors must have flagged


@dataclass(frozen=True)
class Series:
    """A released series.

    Parameters
    ----------
    values : float64 array
        The releases in order.
    outliers : bool array or None
        Which of them had an outlier among their records, where that is known.
    """

    values: npt.NDArray[np.float64]
    outliers: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Inference:
    """What the attack concludes.

    Parameters
    ----------
    method, width : str, int
        How it was made.
    scores : float64 array
        For segments 2, 3, ...; higher is more suspicious.
    flags : bool array
        Which of them are flagged.
    threshold : float
        The lowest flagged score, or the score that was asked for.
    verdict : Verdict or None
        How good it is, where the truth is known.
    """

    method: str
    width: int
    scores: npt.NDArray[np.float64]
    flags: npt.NDArray[np.bool_]
    threshold: float
    verdict: Verdict | None = None
    series: Series = field(default_factory=lambda: Series(np.empty(0)), repr=False)

    @property
    def flagged(self) -> list[int]:
        """The numbers of the flagged segments, counted from 1."""
        return [int(j) + 2 for j in np.flatnonzero(self.flags)]

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "width": self.width,
            "threshold": self.threshold,
            "scores": [float(value) for value in self.scores],
            "flagged": self.flagged,
            "verdict": None if self.verdict is None else self.verdict.to_json(),
        }


def attack(
    releases: object,
    *,
    width: int = 10,
    method: str = "growing",
    fraction: float | None = None,
    threshold: float | None = None,
    false_alarms: float | None = None,
    column: str | None = None,
    outliers: object = None,
) -> Inference:
    """Infer from a series of releases alone in which segments an outlier took part.

    Parameters
    ----------
    releases : path, data frame, list of numbers, points or an answer of ``Publish``
        The series, in order of time.
    width : int
        Releases in a segment.
    method : {"growing", "fixed", "levene", "overlap"}
        The score. The last compares intervals of the noise's scale; above 1 they do not overlap,
        which is its threshold unless something is said.
    fraction, threshold, false_alarms : float
        Which segments are flagged: the top part of them (0.6 unless something is said), those above
        a score, or those above a score that quiet series exceed with that probability. At most one.
    column : str, optional
        Where the releases are in a file or frame (default: a column named "value" or "release", or
        the only one of numbers).
    outliers : array of bool or str, optional
        The truth, or the column that has it; then precision, recall and AUC are computed.

    References
    ----------
    Naghizade et al. 2017, algorithm 1.

    Examples
    --------
    >>> quiet, loud = [5.0, 5.2, 4.9, 5.1], [5.0, 9.0, 5.1, 4.8]
    >>> attack(quiet * 3 + loud, width=4, fraction=1 / 3).flagged
    [4]
    """
    given = [value for value in (fraction, threshold, false_alarms) if value is not None]
    if len(given) > 1:
        raise InvalidInput("Give one of 'fraction', 'threshold' and 'false_alarms'.")
    series = read_series(releases, column=column, outliers=outliers)
    scores = score(series.values, width=width, method=method)
    if method == "overlap" and not given:
        threshold = 1.0
    if false_alarms is not None:
        threshold = simulated_threshold(
            series.values, width=width, method=method, false_alarms=false_alarms
        )
    if threshold is None:
        flags = flag_fraction(scores, FRACTION if fraction is None else fraction)
        threshold = float(scores[flags].min()) if flags.any() else float("inf")
    else:
        flags = scores > threshold
    verdict = None
    if series.outliers is not None:
        verdict = evaluate(scores, outlying_segments(series.outliers, width), flags)
    return Inference(method, width, scores, flags, threshold, verdict, series)


@dataclass(frozen=True)
class ValueEstimate:
    """What a series of means says of one record's value.

    Parameters
    ----------
    value : float
        The estimate.
    low, high : float
        Where the value lies with the wanted confidence, if the releases vary by Laplace noise.
    """

    value: float
    low: float
    high: float


def estimate_value(
    releases: object,
    *,
    size: int,
    first: int,
    last: int | None = None,
    confidence: float = 0.95,
    column: str | None = None,
) -> ValueEstimate:
    """Estimate a record's value from a series of means, knowing where it took part.

    With n records, the record among them, the mean is (n - 1) times what it was before plus the
    value, over n. Both means are estimated by medians, the noise from the releases without it; its
    scale is taken to follow the mean, as that of the naive release does.

    Parameters
    ----------
    releases : path, data frame, list of numbers, points or an answer of ``Publish``
        The series, in order of time.
    size : int
        Records behind a release, the record included.
    first, last : int
        The releases it took part in, counted from 1; to the end of the series unless said.
    confidence : float
        Of the interval.
    column : str, optional
        Where the releases are in a file or frame.

    Examples
    --------
    >>> estimate = estimate_value([5.0, 5.1, 4.9, 5.0, 6.0, 6.1, 5.9], size=100, first=5)
    >>> round(estimate.value)
    105
    """
    values = read_series(releases, column=column).values
    last = len(values) if last is None else last
    whole(size, "estimate_value", "size")
    inside = np.zeros(len(values), dtype=bool)
    inside[max(first, 1) - 1 : last] = True
    if not 1 <= first <= last <= len(values) or (~inside).sum() < 2:
        must = f"in order, from 1 to {len(values)}, with two releases or more without the record"
        raise invalid("estimate_value", "first and last", must, f"{first} and {last}")
    if not 0 < confidence < 1:
        raise invalid("estimate_value", "confidence", "between 0 and 1", confidence)
    without, joined = float(np.median(values[~inside])), float(np.median(values[inside]))
    spread = float(np.abs(values[~inside] - without).mean())
    wider = spread * max(1.0, abs(joined / without)) if without else spread
    random = np.random.default_rng(0)
    off, before = (
        scale * np.median(random.laplace(size=(2000, int(count))), axis=1)
        for scale, count in ((wider, inside.sum()), (spread, (~inside).sum()))
    )
    half = float(np.quantile(np.abs(size * off - (size - 1) * before), confidence))
    value = size * joined - (size - 1) * without
    return ValueEstimate(value, value - half, value + half)


def draw(inference: Inference, path: str | Path, *, title: str = "") -> Path:
    """Draw the series and its scores, flagged segments shaded, and return the path.

    Days that truly had an outlier are marked where the truth is known.
    """
    series, width = inference.series, inference.width
    figure = new_figure(8, 4.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    days = np.arange(len(series.values))
    above.plot(days, series.values, linewidth=0.8, color="black")
    if series.outliers is not None:
        marked = np.flatnonzero(series.outliers)
        above.plot(marked, series.values[marked], "o", color="#b3261e", label="outlier that day")
        above.legend(loc="upper right")
    starts = (1 + np.arange(len(inference.scores))) * width
    colours = np.where(inference.flags, "#d98c00", "#9aa5b1")
    below.bar(starts, inference.scores, width=width, align="edge", color=colours, edgecolor="white")
    if np.isfinite(inference.threshold):
        below.axhline(inference.threshold, linestyle=":", color="gray")
    for start, flag in zip(starts, inference.flags, strict=True):
        if flag:
            above.axvspan(start, start + width, color="#d98c00", alpha=0.15, linewidth=0)
    heading = title or f"{inference.method} window, segments of {width}"
    if (v := inference.verdict) is not None:
        heading += f" (AUC {v.auc:.2f}, precision {v.precision:.2f}, base rate {v.base_rate:.2f})"
    above.set(title=heading, ylabel="release")
    below.set(xlabel="release number", ylabel="score")
    target = Path(path)
    figure.savefig(target, dpi=110)
    return target


def read_series(releases: object, *, column: str | None = None, outliers: object = None) -> Series:
    """Read a released series from wherever it is."""
    if isinstance(releases, str | Path):
        releases = _file(Path(releases))
    for key in ("answer", "series"):
        if isinstance(releases, Mapping) and key in releases:
            releases = releases[key]
    truth = outliers
    if isinstance(releases, Sequence | np.ndarray):
        values: Any = [
            point.get("value") if isinstance(point, Mapping) else getattr(point, "value", point)
            for point in releases
        ]
    else:
        values, truth = _frame(releases, column, outliers)
    try:
        series = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("The releases must be numbers.") from None
    if series.ndim != 1:
        raise InvalidInput("The releases must be one series of numbers.")
    marks = None if truth is None else np.asarray(truth)
    if marks is not None:
        if marks.shape != series.shape:
            raise InvalidInput("The truth must be as long as the releases.")
        marks = marks.astype(bool)
    return Series(_carried(series), marks)


def _carried(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A release that could not be made repeats the one before it."""
    present = np.flatnonzero(np.isfinite(values))
    if not len(present):
        raise InvalidInput("There are no finite releases in the series.")
    index = np.searchsorted(present, np.arange(len(values)), side="right") - 1
    return values[present[np.maximum(index, 0)]]


def _file(path: Path) -> Any:
    import pyarrow
    from pyarrow import csv, parquet

    if not path.exists():
        raise InvalidInput(f"There is no file {str(path)!r}.")
    ending = path.suffix.lower()
    try:
        if ending == ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        return parquet.read_table(path) if ending in (".parquet", ".pq") else csv.read_csv(path)
    except (pyarrow.ArrowInvalid, ValueError):
        raise InvalidInput(
            f"The file {path.name!r} is not readable CSV, Parquet or JSON."
        ) from None


def _frame(frame: Any, column: str | None, outliers: object) -> tuple[Any, Any]:
    import narwhals.stable.v2 as nw

    try:
        table = nw.from_native(frame)
    except TypeError:
        raise InvalidInput(
            "Releases are a path, a data frame, a list of numbers or a published series. "
            f"Got {type(frame).__name__} instead."
        ) from None
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    numeric = [name for name, kind in table.schema.items() if kind.is_numeric()]
    if column is None:
        named = [name for name in ("value", "release") if name in numeric] or numeric
        if len(named) != 1 and named[:1] not in (["value"], ["release"]):
            raise InvalidInput(
                f"Say which column has the releases; the numbers are in {', '.join(numeric)}."
            )
        column = named[0]
    for name in (column, outliers):
        if isinstance(name, str) and name not in table.columns:
            raise InvalidInput(
                f"There is no column {name!r}; there are {', '.join(table.columns)}."
            )
    truth = table[outliers].to_numpy() if isinstance(outliers, str) else outliers
    return table[column].to_numpy(), truth
