"""Turn a differentially private answer into a more accurate sensitively private one.

A *reconstruction*: the statement of the paper's Construction 2 survives only in part, and its
lines fix it almost uniquely. ``compiler.md`` states and proves what is built here. Construction 1
(:class:`whitecrow.Identify`) gives the same accuracy for half the price; the compiler is for a
mechanism of your own that you can run but not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from whitecrow.anomaly.law import discrepancy, error_cap, flip, flip_probability, is_anomaly
from whitecrow.errors import InvalidInput, invalid
from whitecrow.noise import Source, bernoulli_exp, bernoulli_logistic
from whitecrow.place.question import FLOOR, checked_floor, whole
from whitecrow.privacy import exact

_SLACK = 1 + 1e-12
"""How far the factor between two probabilities may exceed the promise by the rounding of doubles.

Relative, because the promise is a ratio: an answer of probability 5e-13 here and 0 there is an
infinite loss, however small the difference. (``1 - p`` is exact for p from 1/2 on, by Sterbenz,
and rounds by 2^-53 of itself below.)
"""

_LEAST = 2.0**-900
"""Doubles from here on keep their relative precision through the products of the check."""


@dataclass(frozen=True)
class Base:
    """A differentially private answer to "is this record an anomaly?" to start from.

    Parameters
    ----------
    epsilon : Fraction
        What it promises to everyone.
    most : int
        It looks at counts no further than this: larger ones are given to it as this one.
    wrong : callable
        The probability of a wrong answer, from (copies, neighbours).
    draw : callable
        One answer, from (copies, neighbours, source).
    """

    epsilon: Fraction
    most: int
    wrong: Callable[[int, int], float]
    draw: Callable[[int, int, Source | None], bool]


@dataclass(frozen=True)
class Compiled:
    """The compiled mechanism: the base's wrong answers are mostly taken back far from normal.

    It is (2ε, k)-sensitively private for a base of ε: a wrong answer is kept with probability
    ``exp(-ε λ / 2)``, where λ, by how much farther the other answer is among sensitive
    databases than among all, changes by at most 2 along an edge.
    """

    base: Base
    beta: int
    k: int

    @property
    def epsilon(self) -> Fraction:
        """What the compiled mechanism promises to sensitive records."""
        return 2 * self.base.epsilon

    def gain(self, copies: int, neighbours: int) -> int:
        """Return λ: the capped sensitive distance less the capped distance among all databases."""
        cap = self.base.most - self.beta
        far, near = (
            min(cap, _distance(copies, neighbours, beta=self.beta, k=k))
            for k in (self.k, self.beta)
        )
        return max(0, far - near)

    def wrong(self, copies: int, neighbours: int) -> float:
        """Return the probability of a wrong answer. A fact, if the counts are."""
        copies, neighbours = min(copies, self.base.most), min(neighbours, self.base.most)
        kept = math.exp(-float(self.base.epsilon * self.gain(copies, neighbours)) / 2)
        return kept * self.base.wrong(copies, neighbours)

    def draw(self, copies: int, neighbours: int, source: Source | None = None) -> bool:
        """Return one answer; the base is run once, as a black box."""
        copies, neighbours = min(copies, self.base.most), min(neighbours, self.base.most)
        truth = is_anomaly(copies, neighbours, beta=self.beta)
        answer = self.base.draw(copies, neighbours, source)
        kept = self.base.epsilon * self.gain(copies, neighbours) / 2
        return answer if answer == truth or bernoulli_exp(kept, source) else truth


def compiled(base: Base, *, beta: int, k: int) -> Compiled:
    """Compile a base mechanism, after checking on every pair of counts that it may be compiled.

    Parameters
    ----------
    base : Base
        Looks at the data through the two counts alone, and no further than ``most``, which is
        why every pair of counts can be checked.
    beta, k : int
        The anomaly model's bound and the level of sensitivity.

    Raises
    ------
    InvalidInput
        The base breaks its own promise, or the validity condition (V) of ``compiler.md`` fails:
        compiling it would cost more than 2ε. A base that errs with probability at most 1/2
        everywhere is always valid.

    Examples
    --------
    >>> mechanism = compiled(randomized_response(beta=20, epsilon="0.1"), beta=20, k=2)
    >>> mechanism.epsilon
    Fraction(1, 5)
    >>> round(mechanism.wrong(1, 1), 3), round(mechanism.wrong(1, 21), 3)
    (0.193, 0.475)
    """
    mechanism = Compiled(base, whole(beta, "compiled", "beta"), whole(k, "compiled", "k"))
    if base.most <= beta:
        raise invalid("Base", "most", f"above beta, which is {beta}", base.most)
    wrong = {
        (v, b): _probability(base.wrong(v, b)) for b in range(base.most + 1) for v in range(b + 1)
    }
    promise = math.exp(float(base.epsilon)) * _SLACK
    for pair in _edges(beta + 1 - k, base.most):
        for x, y in (pair, pair[::-1]):
            same = is_anomaly(*x, beta=beta) == is_anomaly(*y, beta=beta)
            _check_edge(mechanism, x, y, wrong[x], wrong[y], same, promise)
    return mechanism


def optimal_base(*, beta: int, epsilon: object, floor: object = FLOOR) -> Base:
    """Return the optimal mechanism under differential privacy (equation 4) as a base.

    Its distance is capped where errors fall below ``floor``.
    """
    step, cap = _step_and_cap("optimal_base", epsilon, floor)

    def distance(copies: int, neighbours: int) -> int:
        return min(cap, _distance(copies, neighbours, beta=beta, k=beta))

    def draw(copies: int, neighbours: int, source: Source | None) -> bool:
        truth = is_anomaly(copies, neighbours, beta=beta)
        return truth != flip(distance(copies, neighbours), step, source)

    return Base(step, beta + cap, lambda v, b: flip_probability(distance(v, b), step), draw)


def randomized_response(*, beta: int, epsilon: object, floor: object = FLOOR) -> Base:
    """Return the truth, turned over with probability ``1 / (1+exp(ε))`` everywhere, as a base."""
    step, cap = _step_and_cap("randomized_response", epsilon, floor)

    def draw(copies: int, neighbours: int, source: Source | None) -> bool:
        return is_anomaly(copies, neighbours, beta=beta) != bernoulli_logistic(step, source)

    return Base(step, beta + cap, lambda v, b: flip_probability(1, step), draw)


def _step_and_cap(owner: str, epsilon: object, floor: object) -> tuple[Fraction, int]:
    step = exact(epsilon, owner=owner)
    return step, error_cap(step, checked_floor(floor, owner))


def _distance(copies: int, neighbours: int, *, beta: int, k: int) -> int:
    found = discrepancy(copies, neighbours, beta=beta, k=k, tight=True)
    assert found is not None  # an exact answer exists at radius 0 only
    return found


def _edges(tau: int, most: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield every step of (copies, neighbours) that a sensitive record can make.

    At the end of the range the neighbours stand still while the copies still grow.
    """
    for neighbours in range(most + 1):
        more = min(neighbours + 1, most)
        for copies in range(neighbours + 1):
            if more > neighbours:
                yield (copies, neighbours), (copies, more)
            if neighbours + 1 >= tau and copies < more:
                yield (copies, neighbours), (copies + 1, more)


def _probability(wrong: float) -> float:
    if wrong == 0 or _LEAST <= wrong <= 1:
        return wrong
    must = "a function to probabilities: 0, or between 2^-900 and 1"
    raise invalid("Base", "wrong", must, wrong)


def _check_edge(
    mechanism: Compiled,
    x: tuple[int, int],
    y: tuple[int, int],
    here: float,
    there: float,
    same: bool,
    promise: float,
) -> None:
    """Check, in one direction, the base's promise and (V), from its error probabilities."""
    # The chances, at y, of the answers that are wrong and right at x.
    wrong, right = (there, 1 - there) if same else (1 - there, there)
    if here > promise * wrong or 1 - here > promise * right:
        raise InvalidInput(
            f"The base mechanism breaks its own promise: between counts {x} and {y} its answers "
            f"differ by more than a factor exp({mechanism.base.epsilon})."
        )
    if same and 1 - here / promise > promise * promise * right:
        raise InvalidInput(
            f"The base mechanism cannot be compiled: between counts {x} and {y} it errs so often "
            "that the validity condition fails, and the result would cost more than "
            f"{mechanism.epsilon}. A base that errs with probability at most 1/2 is always valid."
        )
