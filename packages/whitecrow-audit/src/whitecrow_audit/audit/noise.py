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
    Sampler,
    both,
    clipped,
    doubled,
    viewed,
    worst_case,
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
        law: dict[Hashable, float] = {k: self.mass(k - shift, given) for k in range(-200, 202)}
        law["above"] = (1 - sum(law.values())) / 2
        law["below"] = law["above"]
        return viewed(law, CUT)

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
        return both(lambda utilities: self._law(utilities, factor), pair)

    def _law(self, utilities: Utilities, factor: Fraction) -> Law:
        return dict(enumerate(self.law(utilities, self._eta(factor))))

    def sampler(self, pair: tuple[Utilities, Utilities]) -> Sampler:
        eta = self._eta(Fraction(1))
        draws = both(lambda utilities: partial(self.draw, utilities, eta), pair)
        return Sampler("noise", Loss(float(self.epsilon)), lambda: draws)

    def case(self) -> Case:
        pairs = [
            (base, tuple(map(sum, zip(base, change, strict=True))))
            for base in itertools.product((0, 1, 2), repeat=3)
            for change in itertools.product((-1, 1), repeat=3)
        ]

        def where(pair: tuple[Utilities, Utilities]) -> str:
            return f"utilities {pair[0]} ~ {pair[1]}"

        return worst_case(self.name, pairs, self.laws, self.sampler, where=where, near=0.6)


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
