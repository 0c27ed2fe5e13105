"""What only a custodian sees, made where the records are: the privacy map, and their scores."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Dataset
from whitecrow.data.sources import open_source
from whitecrow.detector import Detector
from whitecrow.identify.map import privacy_map
from whitecrow.neighbours.relation import SCALED


def drawn(
    dataset: Dataset,
    *,
    columns: Sequence[str],
    model: Mapping[str, Any],
    question: Mapping[str, Any],
    most: int,
) -> dict[str, Any]:
    """Return the counts of a map and its most telling points: facts, for custodians only."""
    measured = DistanceAnomaly(**model)
    relation = measured.neighbour_relation(columns, dataset.card)
    points = dataset.matrix(columns)
    compared, metric, ranges = points, relation.metric, relation.ranges
    if metric in SCALED:
        compared, metric, ranges = relation.form().placed(points), SCALED[metric], ()
    how = {**measured.to_json(), "metric": metric, **question}
    found = privacy_map(compared, ranges=ranges, **how)
    finite = found.loss[np.isfinite(found.loss)]
    cuts = np.quantile(finite, [0.5, 0.9, 1.0]) if len(finite) else np.zeros(3)
    # All that is unusual is drawn, and as many others as a page can hold.
    order = np.argsort(~(found.anomalous | ~found.covered), kind="stable")[:most]
    return {
        "records": len(found.loss),
        "anomalous": int(found.anomalous.sum()),
        "covered": int(found.covered.sum()),
        "unbounded": len(found.loss) - len(finite),
        "cuts": cuts.tolist(),
        "points": points[order].tolist(),
        "loss": np.minimum(found.loss, cuts[2] if len(finite) else 1.0)[order].tolist(),
        "accuracy": found.accuracy[order].tolist(),
    }


_REASONS_A_BATCH = 1_000


def scored(
    source: object, card: Card, *, detector: Mapping[str, Any], top: int, whole: bool
) -> dict[str, Any]:
    """Score a source's own records: the strangest first and, if ``whole``, all as CSV text."""
    import pyarrow

    learned, opened = Detector.from_json(detector), open_source(source, card)
    left_out: Counter[str] = Counter()
    limit = next((one.score for one in learned.thresholds if one.score is not None), None)
    number = unscored = outliers = 0
    best: list[dict[str, Any]] = []
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("row", "score", "outlier", "why"))
    for batch in opened.batches(list(learned.columns), lambda: left_out.update(("fields",))):
        table = pyarrow.Table.from_batches([batch])
        for part in learned.scored(table, why=max(top, _REASONS_A_BATCH)):
            for score, why in zip(part["score"].to_pylist(), part["why"].to_pylist(), strict=True):
                number += 1
                known = score == score
                outlier = limit is not None and known and score > limit
                unscored, outliers = unscored + (not known), outliers + outlier
                row = {"row": number, "score": score, "outlier": outlier, "why": why or ""}
                if whole:
                    lines.writerow((number, f"{score:.6g}" if known else "", int(outlier), why))
                elif known and why is not None:
                    best.append(row)
        best = sorted(best, key=lambda one: -one["score"])[:top]
    found = {"records": number, "unscored": unscored, "limit": limit, "outliers": outliers}
    return {**found, "left_out": left_out.total(), "rows": best, "csv": text.getvalue()}
