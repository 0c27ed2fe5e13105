"""Counting the outliers of a subspace, the public side: what is asked and which noise it needs.

Shared by the questions ``count``, ``subspaces`` and ``tune``; nothing here reads a record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from whitecrow.anomaly import AnomalyModel, DistanceAnomaly, KthNeighbourAnomaly
from whitecrow.counting.ball_cover import METRICS
from whitecrow.counting.calibration import CLUSTER_SIZE, Calibration, calibrate
from whitecrow.counting.kissing import computed_exactly, global_sensitivity
from whitecrow.counting.smooth import horizon
from whitecrow.data import Card
from whitecrow.declaration import Names, Whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.limits import Limits, in_turn, sorting, worst_case
from whitecrow.neighbours.relation import SCALED
from whitecrow.privacy import exact

COUNTABLE = (*METRICS, *SCALED)
"""The metrics under which one record's influence on a count is bounded; ``mixed`` is the last."""

_SMALLEST, _LARGEST = 1e-150, 1e150
_MOST_COLUMNS = 500
_MOST_COORDINATES = 2000
"""The margins of `count/proof.md` 5 hold for so many, with room to spare."""


class ClusterSize(Whole):
    """A public guess that tunes the noise of counts."""

    def __init__(self, *, default: int = CLUSTER_SIZE) -> None:
        super().__init__(
            least=0,
            help="A public guess: how many records near the threshold one ball holds.",
            more="A wrong guess costs accuracy, never privacy.",
            label="Expected cluster size",
            default=default,
            group="details",
            former="crowding",
        )


class Subspace(Names):
    """Columns of numbers; with the metric ``mixed`` also of categories."""

    def __init__(self, *, help: str, label: str = "Columns to compare") -> None:
        super().__init__(types=("number", "integer", "date", "category"), help=help, label=label)


def counted_model(model: AnomalyModel) -> DistanceAnomaly:
    """Return the distance model that says the same, for which the sensitivity is known."""
    if isinstance(model, KthNeighbourAnomaly):
        return DistanceAnomaly(model.nth, model.radius, model.metric)
    if isinstance(model, DistanceAnomaly):
        return model
    raise InvalidInput(
        f"Outliers by the model {model.kind!r} are not counted privately: how many records one "
        "record can make outliers, or make normal, is known here for balls of one radius and "
        "weight (distance, kth-neighbour) only. Ask identify, screen or screening, which take it."
    )


def check_model(model: DistanceAnomaly) -> None:
    """Refuse a model whose counts have no bounded sensitivity."""
    if model.metric not in COUNTABLE:
        raise InvalidInput(
            f"Outliers under {model.metric} are not counted privately: no bound is known here for "
            "how many records, far from each other, may be near one record. For columns of "
            'numbers and categories use metric="mixed", whose bound is; for numbers one of '
            f"{', '.join(COUNTABLE[:-1])}."
        )
    if model.radius != 0 and not _SMALLEST <= model.radius <= _LARGEST:
        must = f"0, or between {_SMALLEST:g} and {_LARGEST:g}"
        raise invalid("DistanceAnomaly", "radius", must, model.radius)


def whole_space(owner: str, card: Card, metric: str) -> tuple[str, ...]:
    """Return the card's columns of numbers, for ``mixed`` of categories too, sorted."""
    names = tuple(
        sorted(
            column.name
            for column in card.columns
            if column.numeric or (metric == "mixed" and column.type == "category")
        )
    )
    if not names:
        raise InvalidInput(f"The card lists no column of numbers, and {owner} needs one.")
    return names


def check_columns(owner: str, columns: Sequence[str], card: Card, metric: str) -> None:
    """Refuse columns that the card does not have or that the metric cannot compare."""
    if len(columns) > _MOST_COLUMNS:
        raise invalid(owner, "columns", f"at most {_MOST_COLUMNS} columns", len(columns))
    for name in columns:
        kind = card.column(name).type
        if kind == "category" and metric != "mixed":
            raise InvalidInput(
                f"The column {name!r} is a category, and {metric} measures distances between "
                f'numbers. Ask {owner} with metric="mixed", or leave the column out.'
            )
        if kind == "text":
            raise InvalidInput(
                f"The column {name!r} is text, which has no distances. Leave the column out."
            )
    if metric in SCALED:
        relation = DistanceAnomaly(1, 1.0, metric).neighbour_relation(columns, card)
        if len(relation.form().scales) > _MOST_COORDINATES:
            must = f"so few that their categories are at most {2 * _MOST_COORDINATES} in all"
            raise invalid(owner, "columns", must, len(columns))


def normalised_model(model: DistanceAnomaly, size: int) -> DistanceAnomaly:
    """Return the model whose distance is averaged over ``size`` columns, as in the paper.

    ``sqrt(sum of squares / size) <= radius`` is ``sqrt(sum of squares) <= radius sqrt(size)``.
    """
    factor = {"euclidean": math.sqrt(size), "manhattan": float(size), "chebyshev": 1.0}
    base = SCALED.get(model.metric, model.metric)
    return DistanceAnomaly(model.beta, model.radius * factor[base], model.metric)


def cap_of(model: DistanceAnomaly, columns: Sequence[str], card: Card, relation: str) -> int:
    """Return the global sensitivity of the count, from the model and the card alone."""
    sensitivity = global_sensitivity(
        model.beta,
        len(columns),
        relation,
        metric=SCALED.get(model.metric, model.metric),
        radius=model.radius,
        exactly=model.metric not in SCALED and computed_exactly(columns, card),
        size=card.size,
        categories=_categories(model, columns, card),
    )
    return max(1, sensitivity)


def _categories(
    model: DistanceAnomaly, columns: Sequence[str], card: Card
) -> tuple[tuple[int, float], ...]:
    """Return how many categories each such column has, and how far apart they are."""
    if model.metric != "mixed":
        return ()
    relation = model.neighbour_relation(columns, card)
    return tuple(
        (level, 1.0 / scale)
        for level, scale in zip(relation.levels, relation.ranges, strict=True)
        if level
    )


def noise_for(
    model: DistanceAnomaly,
    columns: Sequence[str],
    card: Card,
    *,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    relation: str = "add_remove",
    mechanism: str = "auto",
    crowding: int = CLUSTER_SIZE,
) -> Calibration:
    """Return the noise for one count.

    Where the card protects persons with several records, every record gets its part of ε: the
    records of one person are a path of as many neighbouring databases (group privacy).
    """
    if delta and card.contribution > 1:
        raise InvalidInput(
            f"The card protects users with up to {card.contribution} records each, for which "
            "counts are released with delta 0 only. Leave delta out."
        )
    cap = cap_of(model, columns, card, relation)
    step = exact(epsilon, owner="noise_for") / card.contribution
    return calibrate(mechanism, step, delta, relation=relation, cap=cap, crowding=crowding)


def pairs_cost(width: int, records: int) -> Limits:
    """Every record is compared with every other in ``width`` columns."""
    return worst_case(float(records) ** 2 * width, values=records * width, kept=records)


def noisy_count_cost(width: int, records: int, noise: Calibration, beta: int) -> Limits:
    """All pairs, and for a smooth sensitivity the balls of each number of changes."""
    cost = pairs_cost(width, records)
    if noise.decay is None:
        return cost
    last = horizon(noise.cap, noise.decay, noise.relation, records)
    terms = (last + 1) * (min(beta, last) + 1)
    steps = sorting(records, width) * (last + 1) + 1000.0 * terms
    balls = worst_case(steps, draws=last, values=records * width, kept=records)
    return in_turn([cost, balls])
