"""When two records are close: columns, metric and radius as a value, one function for each metric.

The guarantees of sensitive privacy hold for any fixed relation between two records
(docs/mechanisms.md 1.1), so what matters is that the answer for a pair never depends on other
records, on the batch it came in or on the plan that found it. :func:`step` is the only place where
that answer is defined: plain Python runs it on numbers, numpy on arrays, and the compiled kernels
are made from it.

Two records are close when their *measure* is at most a threshold that :func:`lower` computes once
from the radius. The measure is accumulated in double precision, column after column, from direct
differences, hence

* exactly symmetric: ``a - b`` and ``b - a`` differ in sign only, and the sign is dropped;
* monotone in each ``|a - b|`` also after rounding, because IEEE subtraction, multiplication,
  division and addition round monotonically. The box certificate of `proof.md` rests on that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from whitecrow._arrays import Floats, Matrix
from whitecrow.card import LEAST_SCALE, MOST_SCALE, Card, Column
from whitecrow.errors import InvalidInput, invalid
from whitecrow.neighbours.sphere import EARTH_RADIUS_KM, on_sphere

SQUARES, SUM, LARGEST, MIXED = range(4)
"""The four measures to which the metrics come down."""

SCALED = {
    "standardised": "euclidean",
    "standardised_manhattan": "manhattan",
    "standardised_chebyshev": "chebyshev",
    "mixed": "manhattan",
}
"""The metrics that compare columns divided by their scales, and what they then are."""

METRICS = ("euclidean", "manhattan", "chebyshev", "hamming", "haversine", "gower", *SCALED)

_FEW = 256  # points that plain Python moves to the sphere sooner than the compiler is loaded


@dataclass(frozen=True)
class NeighbourRelation:
    """A fixed reflexive and symmetric relation between two records.

    Examples
    --------
    >>> neighbour_relation = NeighbourRelation(("age", "bmi"), "euclidean", 5.0)
    >>> neighbour_relation.close([61, 24], [64, 28])
    True
    """

    columns: tuple[str, ...]  # the columns that are compared, in this order
    # ``euclidean``, ``manhattan`` and ``chebyshev`` compare numbers as they are; ``hamming`` is the
    # *number* of columns that differ; ``haversine`` takes two columns, latitude and longitude in
    # degrees, and a radius in kilometres on a sphere of radius 6371.0088 km; ``gower`` is the mean
    # over the columns of ``|a - b| / range`` for numbers and of 0 or 1 for categories.
    # ``standardised``, ``standardised_manhattan`` and ``standardised_chebyshev`` divide each column
    # by its scale first; ``mixed`` is the sum over the columns of ``|a - b| / scale`` for numbers
    # and of ``1 / scale`` where categories differ.
    metric: str = "euclidean"
    radius: float = 0.0  # two records are close when their distance is at most the radius
    # For ``gower``: the public range (upper minus lower) of each column, 0 for a column of
    # categories. For the metrics with scales: the scales.
    ranges: tuple[float, ...] = ()
    # For ``mixed``: how many categories each column has, 0 for a column of numbers.
    levels: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        owner = "NeighbourRelation"
        given: object = self.columns
        columns = () if isinstance(given, str) else tuple(self.columns)
        if not columns or len(set(columns)) != len(columns):
            raise invalid(owner, "columns", "name at least one column, each once", given)
        if self.metric not in METRICS:
            raise invalid(owner, "metric", f"one of {', '.join(METRICS)}", self.metric)
        if self.metric == "haversine" and len(columns) != 2:
            must = "name two columns, latitude and longitude in degrees, for haversine"
            raise invalid(owner, "columns", must, columns)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "radius", checked_radius(owner, self.radius))
        ranges = checked_ranges(owner, self.metric, self.ranges, len(columns))
        object.__setattr__(self, "ranges", ranges)
        if len(self.levels) != (len(columns) if self.metric == "mixed" else 0):
            must = "given for mixed, one for each column, and for no other metric"
            raise invalid(owner, "levels", must, self.levels)

    def form(self) -> Form:
        """Return what the relation comes down to: vectors, a measure and a threshold."""
        return _form(self)

    @property
    def metric_name(self) -> str:
        """The metric's name for a guarantee, whose columns are kept sorted.

        Latitude and longitude are not interchangeable, so an unsorted pair names its latitude.
        """
        if self.metric == "haversine" and list(self.columns) != sorted(self.columns):
            return f"haversine with latitude {self.columns[0]}"
        return self.metric

    def close(self, a: Sequence[float], b: Sequence[float]) -> bool:
        """Say whether two records are close: the reference that every plan agrees with."""
        for record in (a, b):
            if len(record) != len(self.columns) or not all(math.isfinite(v) for v in record):
                must = f"{len(self.columns)} finite numbers"
                raise invalid("NeighbourRelation.close", "record", must, record)
        form = self.form()
        both = np.array([[float(v) for v in record] for record in (a, b)])
        first, second = form.placed(both).tolist()
        return bool(measure(form.kind, first, second, form.scales) <= form.threshold)


def relation_on(
    card: Card, columns: Sequence[str], metric: str, radius: float
) -> NeighbourRelation:
    """Return the relation "within the radius" over some columns of a card."""
    for name in columns:
        kind = card.column(name).type
        if kind == "text":
            raise InvalidInput(
                f"The column {name!r} is text, which has no distances. Leave it out, or list its "
                'values on the card as type = "category".'
            )
        if kind == "category" and metric not in ("hamming", "gower", "mixed") and radius > 0:
            raise InvalidInput(
                f"The column {name!r} is a category, which {metric} cannot measure. "
                'Use metric="mixed", "gower" or "hamming", or leave the column out.'
            )
    listed = [card.column(name) for name in columns]
    ranges: tuple[float, ...] = ()
    levels: tuple[int, ...] = ()
    if metric == "gower":
        ranges = tuple(map(_range, listed))
    elif metric in SCALED:
        ranges = tuple(_scale(column, metric) for column in listed)
    if metric == "mixed":
        levels = tuple(len(column.categories or ()) for column in listed)
    return _relation(tuple(columns), metric, radius, ranges, levels)


_relation = lru_cache(maxsize=256, typed=True)(NeighbourRelation)


def _scale(column: Column, metric: str) -> float:
    """Return the difference that counts as 1; categories that differ count as 1 unless told."""
    if column.scale is not None:
        return float(column.scale)
    if column.type == "category":
        return 1.0
    raise InvalidInput(
        f"The column {column.name!r} has no scale on the card, and {metric} divides by it. Give "
        "'scale', the difference that counts as 1, from knowledge, public data or a priced "
        "question."
    )


def _range(column: Column) -> float:
    """Return the public range that gower divides by; 0 marks a column of categories."""
    if column.type == "category":
        return 0.0
    if column.lower is None or column.upper is None:
        raise InvalidInput(
            f"The column {column.name!r} has no bounds on the card, and gower divides by their "
            "distance. Give 'lower' and 'upper', from knowledge or public data."
        )
    return float(column.upper) - float(column.lower)


@lru_cache(maxsize=256)
def _form(relation: NeighbourRelation) -> Form:
    metric, ranges, levels = relation.metric, relation.ranges, relation.levels
    if metric == "haversine":
        return lower(metric, relation.radius, (), 3)
    if metric not in SCALED:
        return lower(metric, relation.radius, ranges, len(relation.columns))
    width = sum((level + 1) // 2 if level else 1 for level in levels or (0,) * len(ranges))
    return replace(lower(metric, relation.radius, (), width), divisors=ranges, levels=levels)


@dataclass(frozen=True)
class Form:
    """What a metric and a radius come down to: vectors, and when two of them are close.

    Records become vectors (:meth:`placed`), and two are close when
    ``measure(kind, a, b, scales) <= threshold``. ``haversine`` compares points of the unit sphere.
    The metrics with scales compare ``value / scale``, divided once and here alone, so that every
    engine compares the same doubles. ``mixed`` puts the m categories of a column at the corners
    ``+h e_i, -h e_i`` of ``m / 2`` further coordinates, ``h = 1 / (2 scale)``: any two of them are
    ``2h`` apart as sums of differences go, so that ``mixed`` is ``manhattan`` on these vectors.
    Everything else is compared as it is.
    """

    kind: int  # one of the four measures
    threshold: float  # the largest measure of a close pair
    scales: tuple[float, ...]  # for each coordinate, see :func:`step`
    sphere: bool = False  # whether records are latitudes and longitudes
    divisors: tuple[float, ...] = ()  # what the columns are divided by; empty if they are not
    levels: tuple[int, ...] = ()  # for ``mixed``, see :class:`NeighbourRelation`

    @property
    def plain(self) -> bool:
        """Whether records are compared as they are."""
        return not self.sphere and not self.divisors

    @property
    def radius(self) -> float:
        """The threshold as a distance."""
        return math.sqrt(self.threshold) if self.kind == SQUARES else self.threshold

    @cached_property
    def same_place(self) -> Form:
        """The form of "one place by the metric": equal in all that it compares.

        These are the columns; for haversine the coordinates on the sphere, where a pole has every
        longitude and the date line has two.
        """
        return replace(self, kind=MIXED, threshold=0.0, scales=(0.0,) * len(self.scales))

    @cached_property
    def space(self) -> Form:
        """What the forms have in common that one index of the same columns serves."""
        kind = MIXED if self.kind == MIXED else SQUARES
        return replace(self, kind=kind, threshold=0.0)

    def placed(self, values: Matrix) -> Matrix:
        """Return the vectors that the measure compares."""
        if self.plain:
            return values
        if self.sphere:
            return embedded(values, "haversine")
        # A quotient that is too large for a double is cut, whatever the other records are.
        with np.errstate(over="ignore"):
            scaled: Matrix = np.clip(values / np.array(self.divisors), -_FARTHEST, _FARTHEST)
        if not any(self.levels):
            return scaled
        parts = []
        for column, (scale, level) in enumerate(zip(self.divisors, self.levels, strict=True)):
            if level == 0:
                parts.append(scaled[:, column : column + 1])
                continue
            codes = values[:, column].astype(np.int64)
            corners = np.zeros((len(values), (level + 1) // 2))
            corners[np.arange(len(values)), codes // 2] = np.where(codes % 2, -0.5, 0.5) / scale
            parts.append(corners)
        return np.ascontiguousarray(np.concatenate(parts, axis=1))


_FARTHEST = 1e300


def lower(metric: str, radius: float, ranges: Sequence[float], width: int) -> Form:
    """Bring a metric down to one of the four measures that :func:`step` adds up.

    ``haversine`` becomes euclidean on the unit sphere: a great circle of length ``radius`` has
    the chord ``2 sin(radius / 2R)``. ``hamming`` becomes ``mixed`` without numbers. The mean of
    ``gower`` is compared as a sum: the threshold is the largest sum whose mean, as rounded by
    the division, is at most the radius.

    Radius 0 is equality of what is compared (for ``haversine`` of points of the sphere), an
    equivalence, as the mechanisms at radius 0 need it. The squares and quotients of tiny
    differences underflow to 0: records that are close to one would not be close to each other.
    """
    plain = (1.0,) * width
    metric = SCALED.get(metric, metric)
    if metric == "euclidean" and radius > 0.0:
        return Form(SQUARES, radius * radius, plain)
    if metric == "euclidean":
        return Form(LARGEST, 0.0, plain)
    if metric == "manhattan":
        return Form(SUM, radius, plain)
    if metric == "chebyshev":
        return Form(LARGEST, radius, plain)
    if metric == "hamming":
        return Form(MIXED, radius, (0.0,) * width)
    if metric == "haversine" and radius == 0.0:
        return Form(LARGEST, 0.0, (1.0, 1.0, 1.0), sphere=True)
    if metric == "haversine":
        angle = radius / (2.0 * EARTH_RADIUS_KM)
        chord = 2.0 * math.sin(angle) if angle < math.pi / 2.0 else math.inf
        return Form(SQUARES, chord * chord, (1.0, 1.0, 1.0), sphere=True)
    if radius == 0.0:
        return Form(MIXED, 0.0, (0.0,) * width)
    return Form(MIXED, _largest_sum(radius, width), tuple(ranges))


def embedded(values: Matrix, metric: str) -> Matrix:
    """Return the vectors that the measure compares: for haversine, points of the unit sphere."""
    if metric != "haversine":
        return values
    if len(values) > _FEW:
        with suppress(ImportError):  # beside a GPU the compiler may be missing
            from whitecrow.neighbours._kernels.metric import on_spheres

            points: Matrix = on_spheres(values)
            return points
    return np.array([on_sphere(*point) for point in values.tolist()]).reshape(-1, 3)


def checked_form(
    metric: str, radius: float, ranges: Sequence[float], width: int, owner: str
) -> Form:
    """Return the measure and the threshold of a metric and a radius."""
    if metric not in METRICS:
        raise invalid(owner, "metric", f"one of {', '.join(METRICS)}", metric)
    if metric == "haversine" and width != 2:
        raise invalid(owner, "data", "have two columns for haversine", width)
    if metric in SCALED:
        hint = "A NeighbourRelation has scales; place the records with its form."
        raise invalid(owner, "metric", "one without scales", metric, hint)
    checked = checked_ranges(owner, metric, ranges, width)
    return lower(metric, checked_radius(owner, radius), checked, width)


def checked_radius(owner: str, radius: object) -> float:
    """Return the radius as a double, or refuse it."""
    try:
        value = float(radius)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if isinstance(radius, bool | str) or not (math.isfinite(value) and value >= 0.0):
        raise invalid(owner, "radius", "a finite number of at least 0", radius)
    return value


def checked_ranges(
    owner: str, metric: str, ranges: Sequence[float], width: int
) -> tuple[float, ...]:
    """Return the public ranges of the columns for gower, scales, and none for any other metric."""
    values = tuple(float(v) for v in ranges)
    if metric in SCALED:
        if len(values) != width or not all(LEAST_SCALE <= v <= MOST_SCALE for v in values):
            must = f"{width} scales between {LEAST_SCALE:g} and {MOST_SCALE:g}, one for each column"
            raise invalid(owner, "ranges", must, ranges)
        return values
    if metric != "gower":
        if values:
            raise invalid(owner, "ranges", f"empty for {metric}", ranges)
        return ()
    if len(values) != width or not all(math.isfinite(v) and v >= 0.0 for v in values):
        must = f"{width} finite numbers of at least 0, one for each column"
        raise invalid(owner, "ranges", must, ranges, "A column of categories has the range 0.")
    return values


def _largest_sum(radius: float, width: int) -> float:
    result = radius * width
    while result / width > radius:
        result = math.nextafter(result, -math.inf)
    while (above := math.nextafter(result, math.inf)) / width <= radius:
        result = above
    return result


def step(kind: int, total: Any, difference: Any, scale: float) -> Any:
    """Add a column's ``difference`` ``|a - b|`` to the measure of the columns before it.

    ``SQUARES`` is for euclidean and haversine, ``SUM`` for manhattan, ``LARGEST`` for chebyshev and
    ``MIXED`` for gower and hamming: there the scale is the range of a column of numbers, or 0 for a
    column of categories, which adds 1 where the records differ.
    """
    if kind == SQUARES:
        return total + difference * difference
    if kind == SUM:
        return total + difference
    if kind == LARGEST:
        return np.maximum(total, difference)
    if scale > 0.0:
        return total + difference / scale
    return total + 1.0 * (difference > 0.0)


def measure(kind: int, a: Any, b: Any, scales: Any) -> Any:
    """Return the measure of a pair: each column in order through :func:`step`."""
    total = 0.0
    for c in range(len(scales)):
        total = step(kind, total, abs(a[c] - b[c]), scales[c])
    return total


def measures(form: Form, columns: Floats, record: Floats) -> Any:
    """Return the measure between one record and many, given column by column.

    One beyond the largest number is infinite, as in compiled loops, and no radius is.
    """
    total = np.zeros(columns.shape[1:])
    with np.errstate(over="ignore"):
        for c, scale in enumerate(form.scales):
            total = step(form.kind, total, np.abs(columns[c] - record[c]), scale)
    return total
