"""The privacy map as the custodian's page shows it: made where the records are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Dataset
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
