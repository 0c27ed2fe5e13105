"""Count, audited: noisy numbers of outliers on a line, by every mechanism."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.count import Count
from whitecrow.counting.calibration import Calibration
from whitecrow.counting.kissing import global_sensitivity
from whitecrow.counting.mechanism import OutlierFacts
from whitecrow.data import Card, Column
from whitecrow_audit.audit.bounds import Claim
from whitecrow_audit.audit.case import Case, Laws, both, clipped, doubled, viewed, worst_case
from whitecrow_audit.audit.shipped import Asked, Records
from whitecrow_audit.audit.tester import Law, visible
from whitecrow_audit.verify.point_sets import (
    Database,
    Universe,
    law,
    mixed,
    mixed_records,
    outliers,
    points,
    shipped,
    space,
)

BETA = 1
LINE = ((0.0,), (1.0,), (2.0,), (9.0,))
"""Where the global sensitivity of a line is attained (:mod:`whitecrow_audit.verify.count`)."""

MIXED = Card(
    "points",
    (
        Column("x", "integer", -9, 9, scale=1),
        *(Column(name, "category", categories=("0", "1")) for name in "ab"),
    ),
)
"""A number and two categories, as :func:`whitecrow_audit.verify.point_sets.mixed` lays them out."""

_RECORDS = {point: record for record, point in mixed_records()}

Pair = tuple[Database, Database]
Spoil = Callable[[Calibration], Calibration]
"""What a mutant does to the noise."""


def _numbers(width: int) -> Card:
    return Card("points", tuple(Column(name, "integer", 0, 9) for name in "xyz"[:width]))


class _Asking:
    """One mechanism on every pair of a small universe."""

    def __init__(
        self,
        universe: Universe,
        epsilon: str,
        ends: tuple[int, int],
        spoil: Spoil | None = None,
        **given: Any,
    ) -> None:
        self.universe = universe
        self.epsilon = Fraction(epsilon)
        self.view = clipped(*ends)
        self.spoil = spoil
        self.given = {**given, "relation": universe.relation, "raw": True}
        self.card = MIXED if universe.categories else _numbers(len(universe.domain[0]))
        self.law = lru_cache(maxsize=None)(self._law)
        self.noise = lru_cache(maxsize=None)(self._noise)

    def question(self, factor: Fraction = Fraction(1)) -> Count:
        metric = "mixed" if self.universe.categories else "euclidean"
        model = DistanceAnomaly(BETA, 1.0, metric)
        names = list(self.card.names)
        return Count(names, model=model, epsilon=self.epsilon * factor, **self.given)

    def records(self, x: Database) -> Records:
        rows = [_RECORDS[point] for point in x] if self.universe.categories else x
        columns: dict[str, list[Any]] = {}
        for index, column in enumerate(self.card.columns):
            values = [int(row[index]) for row in rows]
            columns[column.name] = list(map(str, values)) if column.categories else values
        return columns

    def _noise(self, factor: Fraction) -> Calibration:
        return self.question(factor).calibration(self.card)

    def _law(self, factor: Fraction, x: Database) -> Law:
        noise = self.noise(factor)
        sensitivity = (
            Fraction(noise.cap)
            if noise.decay is None
            else shipped(self.universe, x, BETA, noise.decay)
        )
        noise = noise if self.spoil is None else self.spoil(noise)
        return law(outliers(self.universe, x, BETA), sensitivity, noise)

    def laws(self, pair: Pair, factor: Fraction) -> Laws:
        return both(lambda x: viewed(self.law(factor, x), self.view), pair)

    def worst(self, pairs: Sequence[Pair], claim: Claim) -> float:
        """The largest loss of whole answers, on the pairs that look worst through the view."""
        whole = Fraction(1)
        ranked = sorted(pairs, key=lambda pair: -visible(self.laws(pair, whole), claim))
        return max(visible((self.law(whole, x), self.law(whole, y)), claim) for x, y in ranked[:9])

    def asked(self, pair: Pair) -> Asked:
        records = both(self.records, pair)
        return Asked(self.question(), self.card, records, self.view, spoiled=self.spoiled)

    def spoiled(self, facts: OutlierFacts) -> OutlierFacts:
        if self.spoil is None:
            return facts
        return replace(facts, calibration=self.spoil(facts.calibration))


def _case(
    name: str,
    epsilon: str,
    relation: str = "add_remove",
    *,
    universe: Universe | None = None,
    ends: tuple[int, int] = (0, 2),
    spoil: Spoil | None = None,
    most: int = 20_000,
    full: int = 0,
    **given: Any,
) -> Case:
    asking = _Asking(
        universe or Universe("line", LINE, 1.0, 3, relation), epsilon, ends, spoil, **given
    )
    pairs = list(asking.universe.edges())
    worst = asking.worst(pairs, asking.asked(pairs[0]).claim)
    more: dict[str, Any] = {"most": most, "full": full, "exact": worst}
    return worst_case(name, pairs, asking.laws, asking.asked, where=points, **more)


# Mutants


def _of_one_record(noise: Calibration) -> Calibration:
    """Scaled as if one record changed the count by one."""
    return replace(noise, multiplier=noise.multiplier / noise.cap)


def _half(noise: Calibration) -> Calibration:
    return replace(noise, multiplier=noise.multiplier / 2)


def _as_drawn(noise: Calibration) -> Calibration:
    """The noise that the paper's figures need, about a fiftieth of its theorem's (erratum E12)."""
    return replace(noise, multiplier=noise.multiplier / 50)


def _of_its_numbers(noise: Calibration) -> Calibration:
    """The noise that a count over the number alone would need: categories separate records too."""
    alone = global_sensitivity(BETA, 1, "add_remove", metric="manhattan", radius=1.0, exactly=True)
    return replace(noise, multiplier=noise.multiplier * alone / noise.cap)


def cases() -> Iterator[Case]:
    yield (case := _case("global", "2", mechanism="global"))
    yield doubled(case)
    name = "mutant: global, the noise of one record"
    yield _case(name, "2", mechanism="global", spoil=_of_one_record)
    yield _case("global, a record replaced", "2", "replace_one", mechanism="global", ends=(0, 3))
    yield _case("smooth", "2", mechanism="smooth")
    name = "mutant: smooth, half the noise"
    yield _case(name, "2", mechanism="smooth", spoil=_half)
    cube = space(3, "add_remove")
    yield _case("smooth, three columns", "2", universe=cube, mechanism="smooth", most=10_000)
    both: dict[str, Any] = {"universe": mixed(5, "add_remove"), "ends": (0, 4)}
    name = "a number and two categories"
    yield _case(f"global, {name}", "2", mechanism="global", **both)
    yield _case(f"smooth, {name}", "2", mechanism="smooth", **both)
    for mechanism in ("global", "smooth"):
        mutant = f"mutant: {mechanism}, {name} with the noise of the number alone"
        yield _case(mutant, "2", mechanism=mechanism, spoil=_of_its_numbers, **both)
    gaussian: dict[str, Any] = {"delta": "1/10", "mechanism": "analytic_gaussian", "ends": (-1, 4)}
    yield _case("analytic Gaussian", "2", most=75_000, **gaussian)
    name = "mutant: analytic Gaussian, the noise of one record"
    yield _case(name, "2", spoil=_of_one_record, **gaussian)
    paper: dict[str, Any] = {"delta": "1/100", "mechanism": "paper_gaussian", "ends": (-4, 6)}
    yield _case("the paper's Gaussian", "3", most=4_000, full=450_000, **paper)
    name = "mutant: the paper's Gaussian as its figures need it"
    yield _case(name, "3", spoil=_as_drawn, **paper)
