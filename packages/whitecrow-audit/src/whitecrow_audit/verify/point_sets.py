"""Small universes of point sets: every database, every pair, and the law of a noisy count."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from whitecrow.counting.calibration import Calibration
from whitecrow.counting.kissing import global_sensitivity
from whitecrow.counting.smooth import smooth_bound
from whitecrow.neighbours.relation import NeighbourRelation
from whitecrow.noise import laws

Point = tuple[float, ...]
Database = tuple[Point, ...]


@dataclass(frozen=True)
class Universe:
    """Every multiset of at most ``most`` points of a domain (replace_one: exactly ``most``).

    With ``categories`` (see :func:`~whitecrow.counting.kissing.separated_mixed`) the points are
    laid out as the metric ``mixed`` lays out ``numbers`` columns of numbers beside them.
    """

    name: str
    domain: tuple[Point, ...]
    radius: float
    most: int
    relation: str
    exactly: bool = True
    metric: str = "euclidean"
    numbers: int | None = None
    categories: tuple[tuple[int, float], ...] = ()

    def databases(self) -> Iterator[Database]:
        """Yield every database, its points in order."""
        sizes = range(self.most + 1) if self.relation == "add_remove" else [self.most]
        for size in sizes:
            yield from itertools.combinations_with_replacement(self.domain, size)

    def edges(self) -> Iterator[tuple[Database, Database]]:
        """Yield every pair that differs in one record."""
        for x in self.databases():
            if self.relation == "add_remove":
                if len(x) < self.most:
                    for point in self.domain:
                        yield x, tuple(sorted((*x, point)))
                continue
            for i, old in enumerate(x):
                for point in self.domain:
                    if point > old:
                        yield x, tuple(sorted((*x[:i], point, *x[i + 1 :])))

    def cap(self, k: int) -> int:
        """Return the global sensitivity of the number of outliers."""
        return global_sensitivity(
            k,
            (len(self.domain[0]) if self.numbers is None else self.numbers) + len(self.categories),
            self.relation,
            metric=self.metric,
            radius=self.radius,
            exactly=self.exactly,
            size=self.most if self.relation == "replace_one" else None,
            categories=self.categories,
        )


def line(most: int, relation: str, *, radius: float = 1.0, length: int = 6) -> Universe:
    """Return the points 0 .. length - 1 of a line."""
    domain = tuple((float(i),) for i in range(length))
    return Universe(f"line, {relation}", domain, radius, most, relation)


def plane(most: int, relation: str) -> Universe:
    """Return a grid of 3 by 3 points."""
    domain = tuple((float(i), float(j)) for i in range(3) for j in range(3))
    return Universe(f"plane, {relation}", domain, 1.0, most, relation)


def space(most: int, relation: str) -> Universe:
    """Return the corners of a cube."""
    domain = tuple(itertools.product((0.0, 1.0), repeat=3))
    return Universe(f"space, {relation}", domain, 1.0, most, relation)


def mixed_records() -> list[tuple[tuple[int, int, int], Point]]:
    """Return the records of :func:`mixed`, and the points as which they are laid out."""
    names = ("number", "first", "second")
    form = NeighbourRelation(names, "mixed", 1.0, (1.0, 1.0, 1.0), (0, 2, 2)).form()
    records = ((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1))
    laid_out = form.placed(np.array(records, dtype=np.float64)).tolist()
    points = [tuple(map(float, point)) for point in laid_out]
    return list(zip(records, points, strict=True))


def mixed(most: int, relation: str) -> Universe:
    """Return a number and two categories of two values, around one place, as they are laid out."""
    domain = tuple(sorted(point for _, point in mixed_records()))
    categories = ((2, 1.0), (2, 1.0))
    name = f"a number and two categories, {relation}"
    return Universe(name, domain, 1.0, most, relation, True, "manhattan", 1, categories)


HEXAGON: Database = (
    (0.0, 0.0),
    (1.4327141887634882, 0.3411025838006822),
    (0.4209535915138428, 1.4113181757319355),
    (-1.0117605972496453, 1.0702155919312533),
    (-1.4327141887634882, -0.3411025838006822),
    (-0.4209535915138428, -1.4113181757319355),
    (1.0117605972496453, -1.0702155919312533),
)
"""A centre and six corners, for the radius 1.4727596271488845: in double precision each corner is
close to the centre and no two corners are close to each other."""


def as_array(x: Database, width: int) -> NDArray[np.float64]:
    """Return a database as a matrix."""
    return np.array(x, dtype=np.float64).reshape(len(x), width)


@lru_cache(maxsize=100_000)
def degrees(x: Database, radius: float, metric: str = "euclidean") -> tuple[int, ...]:
    """Count the records within the radius of each record, itself included, pair by pair.

    The sum of squares is that of the product's predicate; its fast ways of counting are not used.
    """
    points = np.array(x, dtype=np.float64)
    power = 2 if metric == "euclidean" else 1
    sums = np.zeros((len(x), len(x)))
    for column in points.T:
        sums += np.abs(column[:, None] - column[None, :]) ** power
    return tuple((sums <= radius**power).sum(axis=1).tolist())


def outliers(universe: Universe, x: Database, k: int) -> int:
    """Count the records with at most k records within the radius, themselves included."""
    return sum(degree <= k for degree in degrees(x, universe.radius, universe.metric))


def shipped(universe: Universe, x: Database, k: int, decay: Fraction) -> Fraction:
    """Return the smooth sensitivity as the product computes it."""
    return smooth_bound(
        as_array(x, len(universe.domain[0])),
        np.array(degrees(x, universe.radius, universe.metric), dtype=np.int64),
        beta=k,
        radius=universe.radius,
        metric=universe.metric,
        relation=universe.relation,
        cap=universe.cap(k),
        decay=decay,
    )


def count_in(
    points: NDArray[np.float64], centres: NDArray[np.float64], radius: float
) -> NDArray[np.int64]:
    """Count the points within the radius of each centre."""
    squares = ((points[None] - centres[:, None]) ** 2).sum(axis=2)
    return np.asarray((squares <= radius * radius).sum(axis=1), dtype=np.int64)


def short(x: Database) -> str:
    """Write a database as its points."""
    return "(" + ", ".join("/".join(f"{c:g}" for c in point) for point in x) + ")"


def points(pair: tuple[Database, Database]) -> str:
    """Write a pair of databases as their points."""
    return f"points {short(pair[0])} ~ {short(pair[1])}"


def law(count: int, sensitivity: Fraction, noise: Calibration) -> Mapping[Hashable, float]:
    """Return the exact law of a noisy count; what lies far out is two lumps."""
    amplitude = noise.multiplier * sensitivity
    span = 60
    if noise.mechanism == "smooth":
        mass = partial(laws.core_tail_pmf, scale=amplitude, tail=noise.tail)
    elif noise.mechanism == "global":
        mass = partial(laws.discrete_laplace_pmf, scale=amplitude)
    else:
        mass = partial(laws.discrete_gaussian_pmf, variance=amplitude * amplitude)
        span = math.ceil(7 * float(amplitude)) + count
    law: dict[Hashable, float] = {y: mass(y - count) for y in range(-span, span + 1)}
    rest = (1 - sum(law.values())) / 2
    # The noise beyond the range is cut off `count` further out on one side than on the other.
    drift = sum(mass(y) for y in range(span - count + 1, span + count + 1)) / 2
    if rest - drift > 1e-12:
        law["below"], law["above"] = rest - drift, rest + drift
    return law
