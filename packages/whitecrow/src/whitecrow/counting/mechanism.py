"""What a count of outliers must know of the data, and where it becomes an answer, with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from whitecrow.counting.calibration import Calibration, draw
from whitecrow.counting.smooth import degrees_needed, horizon, smooth_bound
from whitecrow.data import Records
from whitecrow.data.reading import Progress
from whitecrow.neighbours import Engine, NeighbourRelation
from whitecrow.neighbours.relation import SCALED
from whitecrow.noise import Source
from whitecrow.privacy import Facts


@dataclass(frozen=True, repr=False, eq=False)
class OutlierFacts(Facts):
    """How many outliers there are, the sensitivity of that number, and the noise (public)."""

    exact_outliers: int
    exact_sensitivity: Fraction
    calibration: Calibration


def outlier_facts(
    dataset: Records,
    engine: Engine,
    neighbour_relation: NeighbourRelation,
    beta: int,
    calibration: Calibration,
) -> OutlierFacts:
    """Count the outliers and bound the sensitivity as the calibration needs it."""
    if calibration.decay is None:
        outliers = len(engine.sparse(neighbour_relation, beta + 1)[1])
        return OutlierFacts(outliers, Fraction(calibration.cap), calibration)
    # Any bound on the size gives the same sensitivity; the size itself may take a reading of all.
    most = dataset.size_at_most
    last = horizon(calibration.cap, calibration.decay, calibration.relation, most)
    points, degrees = engine.sparse(neighbour_relation, degrees_needed(beta, last))
    outliers = int((degrees <= beta).sum())
    metric = neighbour_relation.metric
    sensitivity = smooth_bound(
        neighbour_relation.form().placed(points),
        degrees,
        beta=beta,
        radius=neighbour_relation.radius,
        metric=SCALED.get(metric, metric),
        relation=calibration.relation,
        cap=calibration.cap,
        decay=calibration.decay,
        size=most,
    )
    return OutlierFacts(outliers, sensitivity, calibration)


def outlier_counts(
    engine: Engine,
    subspaces: Sequence[NeighbourRelation],
    beta: int,
    progress: Progress | None = None,
) -> tuple[int, ...]:
    """Count the outliers of each of several subspaces; neighbours only up to ``beta + 1``."""
    counts = []
    for done, neighbour_relation in enumerate(subspaces):
        if progress is not None:
            progress(done, len(subspaces), "counting outliers in subspaces")
        counts.append(len(engine.sparse(neighbour_relation, beta + 1)[1]))
    return tuple(counts)


def noisy_count(facts: OutlierFacts, source: Source | None = None) -> int:
    """Return the count with its noise: any whole number, also below 0."""
    return facts.exact_outliers + draw(facts.calibration, facts.exact_sensitivity, source)
