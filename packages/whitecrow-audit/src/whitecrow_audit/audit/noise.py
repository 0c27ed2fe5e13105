"""The samplers, audited: noise on numbers that one record moves by one, and private choices.

No curator is asked: these are the draws that every mechanism above is made of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from whitecrow.noise import (
    core_tail,
    discrete_gaussian,
    discrete_laplace,
    exponential_mechanism,
    laws,
    permute_and_flip,
)
from whitecrow_audit.audit.bounds import Claim, Loss, Rho
from whitecrow_audit.audit.case import (
    Case,
    Draw,
    Laws,
    broken_pair,
    clipped,
    doubled,
    viewed,
    worst_pair,
)
from whitecrow_audit.audit.tester import Law

Utilities = tuple[int, ...]
CUT = clipped(0, 1)


@dataclass(frozen=True)
class _Added:
    """Noise on 0 and on 1."""

    name: str
    claim: Claim
    draw: Callable[[Fraction], int]
    mass: Callable[[int, Fraction], float]
    parameter: Callable[[Fraction], Fraction]
    """The sampler's parameter at a multiple of the budget."""

    def _law(self, shift: int, factor: Fraction) -> Law:
        given = self.parameter(factor)
        found: dict[Hashable, float] = {k: self.mass(k - shift, given) for k in range(-200, 202)}
        found["above"] = (1 - sum(found.values())) / 2
        found["below"] = found["above"]
        return viewed(found, CUT)

    def laws(self, factor: Fraction) -> Laws:
        return self._law(0, factor), self._law(1, factor)

    def case(self, most: int = 20_000) -> Case:
        given = self.parameter(Fraction(1))

        def draws() -> tuple[Draw, Draw]:
            return lambda: CUT(self.draw(given)), lambda: CUT(1 + self.draw(given))

        return Case("noise", self.name, self.claim, "0 ~ 1", self.laws, draws, most=most)


@dataclass(frozen=True)
class _Chosen:
    """A choice by utilities that may rise for some candidates and fall for others, by one."""

    name: str
    draw: Callable[[Sequence[int], Fraction], int]
    law: Callable[[Sequence[int], Any], Sequence[float]]
    epsilon: int
    times: int = 1

    def _eta(self, factor: Fraction) -> Fraction:
        return self.times * self.epsilon * factor / 2

    def laws(self, pair: tuple[Utilities, Utilities], factor: Fraction) -> Laws:
        one, two = (dict(enumerate(self.law(u, self._eta(factor)))) for u in pair)
        return one, two

    def case(self) -> Case:
        claim = Loss(float(self.epsilon))
        pairs = [
            (base, tuple(map(sum, zip(base, change, strict=True))))
            for base in itertools.product((0, 1, 2), repeat=3)
            for change in itertools.product((-1, 1), repeat=3)
        ]
        mutant = self.times != 1
        pair, worst = (
            broken_pair(pairs, self.laws, claim)
            if mutant
            else worst_pair(pairs, self.laws, claim, near=0.6)
        )
        eta = self._eta(Fraction(1))

        def draws() -> tuple[Draw, Draw]:
            one, two = (partial(self.draw, utilities, eta) for utilities in pair)
            return one, two

        where = f"utilities {pair[0]} ~ {pair[1]}"
        return Case(
            "noise",
            self.name,
            claim,
            where,
            partial(self.laws, pair),
            draws,
            mutant=mutant,
            exact=worst,
        )


def cases() -> Iterator[Case]:
    laplace = _Added(
        "discrete Laplace",
        Loss(2.0),
        discrete_laplace,
        laws.discrete_laplace_pmf,
        lambda factor: 1 / (2 * factor),
    )
    yield laplace.case()
    yield doubled(laplace.case())
    gaussian = _Added(
        "discrete Gaussian",
        Rho(2.0),
        discrete_gaussian,
        laws.discrete_gaussian_pmf,
        lambda factor: 1 / (4 * factor),
    )
    yield gaussian.case()
    yield doubled(gaussian.case())
    tail = _Added(
        "Laplace core and power tail",
        Loss(2.0),
        partial(core_tail, tail=3),
        partial(laws.core_tail_pmf, tail=3),
        lambda factor: 1 / (2 * factor),
    )
    yield tail.case(most=10_000)
    yield doubled(tail.case())
    for name, draw, law in (
        ("exponential mechanism", exponential_mechanism, laws.exponential_mechanism_pmf),
        ("permute and flip", permute_and_flip, laws.permute_and_flip_pmf),
    ):
        yield _Chosen(name, draw, law, 3).case()
        yield _Chosen(f"mutant: {name}, four times the weight", draw, law, 2, 4).case()
