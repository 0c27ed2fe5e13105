"""Counting the outliers of a subspace, the public side: what is asked and which noise it needs.

Shared by the questions ``count``, ``subspaces`` and ``tune``; nothing here reads a record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from whitecrow.anomaly.ball_cover import METRICS
from whitecrow.anomaly.calibration import CROWDING, MECHANISMS, Calibration, calibrate
from whitecrow.anomaly.kissing import computed_exactly, global_sensitivity
from whitecrow.anomaly.model import DistanceAnomaly
from whitecrow.anomaly.smooth import RELATIONS
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import exact

__all__ = [
    "canonical_columns",
    "cap_of",
    "check_columns",
    "check_mechanism",
    "check_model",
    "check_relation",
    "noise_for",
    "normalised_model",
    "numeric_columns",
    "whole",
]

_SMALLEST, _LARGEST = 1e-150, 1e150
_MOST_COLUMNS = 500
_GAUSSIANS = ("analytic_gaussian", "paper_gaussian")


def check_model(owner: str, model: object) -> DistanceAnomaly:
    """Return a model whose counts have a bounded sensitivity, or refuse it."""
    if not isinstance(model, DistanceAnomaly):
        hint = "Write DistanceAnomaly(beta=..., radius=...)."
        raise invalid(owner, "model", "a DistanceAnomaly", model, hint)
    if model.metric not in METRICS:
        raise InvalidInput(
            f"Outliers under {model.metric} cannot be counted privately: one record may be near "
            "any number of records that are far from each other, so nothing bounds its influence. "
            f"Use one of {', '.join(METRICS)}."
        )
    if model.radius != 0 and not _SMALLEST <= model.radius <= _LARGEST:
        must = f"0, or between {_SMALLEST:g} and {_LARGEST:g}"
        raise invalid("DistanceAnomaly", "radius", must, model.radius)
    return model


def canonical_columns(owner: str, columns: object) -> tuple[str, ...]:
    """Return names in sorted order (a subspace is a set), or refuse them."""
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise invalid(owner, "columns", "a list of column names", columns)
    names = tuple(columns)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise invalid(owner, "columns", "a list of at least one column name", list(names))
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"{owner} names the column {name!r} twice; name it once.")
    return tuple(sorted(names))


def numeric_columns(owner: str, card: Card) -> tuple[str, ...]:
    """Return the card's columns of numbers, sorted: the whole space."""
    names = tuple(sorted(column.name for column in card.columns if column.numeric))
    if not names:
        raise InvalidInput(f"The card lists no column of numbers, and {owner} needs one.")
    return names


def check_columns(owner: str, columns: Sequence[str], card: Card) -> None:
    """Refuse columns that the card does not have or that hold no numbers."""
    if len(columns) > _MOST_COLUMNS:
        raise invalid(owner, "columns", f"at most {_MOST_COLUMNS} columns", len(columns))
    for name in columns:
        kind = card.column(name).type
        if kind not in ("number", "integer", "date"):
            raise InvalidInput(
                f"The column {name!r} is {'text' if kind == 'text' else 'a category'}, and "
                f"{owner} measures distances between numbers. Leave the column out."
            )


def check_relation(owner: str, relation: object) -> str:
    """Return the neighbour relation, or refuse it."""
    if relation not in RELATIONS:
        raise invalid(owner, "relation", " or ".join(map(repr, RELATIONS)), relation)
    return str(relation)


def check_mechanism(owner: str, mechanism: object, delta: Fraction) -> str:
    """Return the mechanism, or refuse one that is not known or needs a δ."""
    if mechanism not in ("auto", *MECHANISMS):
        raise invalid(owner, "mechanism", f"one of auto, {', '.join(MECHANISMS)}", mechanism)
    if mechanism in _GAUSSIANS and delta == 0:
        hint = "Gaussian noise is never purely private; the default mechanism is."
        raise invalid(owner, "delta", f"above 0 for {mechanism}", 0, hint)
    if delta >= 1:
        raise invalid(owner, "delta", "at least 0 and below 1", str(delta))
    return str(mechanism)


def whole(owner: str, parameter: str, value: object, least: int = 1) -> int:
    """Return a whole number that is large enough, or refuse it."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise invalid(owner, parameter, f"a whole number of at least {least}", value)
    return value


def normalised_model(model: DistanceAnomaly, size: int) -> DistanceAnomaly:
    """Return the model whose distance is averaged over ``size`` columns, as in the paper.

    ``sqrt(sum of squares / size) <= radius`` is ``sqrt(sum of squares) <= radius sqrt(size)``.
    """
    factor = {"euclidean": math.sqrt(size), "manhattan": float(size), "chebyshev": 1.0}
    return DistanceAnomaly(model.beta, model.radius * factor[model.metric], model.metric)


def cap_of(model: DistanceAnomaly, columns: Sequence[str], card: Card, relation: str) -> int:
    """Return the global sensitivity of the count, from the model and the card alone."""
    found = global_sensitivity(
        model.beta,
        len(columns),
        relation,
        metric=model.metric,
        radius=model.radius,
        exactly=computed_exactly(columns, card),
        size=card.size,
    )
    return max(1, found)


def noise_for(
    model: DistanceAnomaly,
    columns: Sequence[str],
    card: Card,
    *,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    relation: str = "add_remove",
    mechanism: str = "auto",
    crowding: int = CROWDING,
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
