"""What the tests of the samplers share: decision trees by enumeration, and chi-square."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from math import exp, expm1

from scipy.special import chdtrc

from whitecrow.noise._exact import Table
from whitecrow.noise._source import Source, uniform_below

FALSE_ALARM = 1e-6


def geometric_pmf(k: int, x: float | Fraction) -> float:
    """Return ``(1 - e^-x) e^(-xk)``."""
    return -expm1(-float(x)) * exp(-float(x) * k) if k >= 0 else 0.0


class Exhausted(Exception):
    """A script ended before the sampler did; says how many bits it wanted."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted


class Script:
    """A source that reads a given string of bits and then stops."""

    def __init__(self, value: int, length: int, width: int) -> None:
        self.value, self.length, self.width = value, length, width

    def bits(self, k: int) -> int:
        if k > self.length:
            raise Exhausted(k - self.length)
        self.length -= k
        return self.value >> self.length & ((1 << k) - 1)

    def below(self, n: int) -> int:
        return uniform_below(self, n, self.width)


class Replay:
    """A source that gives chosen words first and then follows another source."""

    def __init__(self, words: Iterable[int], then: Source) -> None:
        self.words, self.then = list(words), then

    def bits(self, k: int) -> int:
        return self.words.pop(0) if self.words else self.then.bits(k)

    def below(self, n: int) -> int:
        return uniform_below(self, n)


def decision_tree(
    draw: Callable[[Script], Hashable], depth: int, width: int
) -> tuple[dict[Hashable, Fraction], Fraction]:
    """Run ``draw`` on every string of bits up to ``depth``.

    Returns the probability of each outcome among the strings that decided one, exactly, and the
    probability of the strings that did not decide.
    """
    law: Counter[Hashable] = Counter()
    undecided = Fraction(0)
    strings = [(0, 0)]
    while strings:
        value, length = strings.pop()
        script = Script(value, length, width)
        try:
            outcome = draw(script)
        except Exhausted as end:
            if length + end.wanted > depth:
                undecided += Fraction(1, 1 << length)
            else:
                longer = length + end.wanted
                strings += [(value << end.wanted | k, longer) for k in range(1 << end.wanted)]
        else:
            assert script.length == 0, "a string is extended only where it was too short"
            law[outcome] += Fraction(1, 1 << length)
    return dict(law), undecided


def agrees(
    law: Mapping[Hashable, Fraction],
    undecided: Fraction,
    bounds: Callable[[Hashable], tuple[Fraction | float, Fraction | float]],
) -> bool:
    """Tell whether the decided part of a tree fits the true law.

    With ``p`` the true probability of an outcome and ``q`` what the tree has decided,
    ``q <= p <= q + undecided`` holds for every outcome of an exact sampler, without exception.
    """
    for outcome, decided in law.items():
        low, high = bounds(outcome)
        if decided > high or decided + undecided < low:
            return False
    return True


def chi_square(observed: Mapping[Hashable, int], expected: Mapping[Hashable, float]) -> float:
    """Return the p-value of counts against expected ones, outcomes with few expected pooled."""
    total = sum(observed.values())
    pooled_observed, pooled_expected = total, float(total)
    statistic, cells = 0.0, 0
    for outcome, expectation in expected.items():
        if expectation >= 10:
            count = observed.get(outcome, 0)
            statistic += (count - expectation) ** 2 / expectation
            pooled_observed -= count
            pooled_expected -= expectation
            cells += 1
    if pooled_expected >= 10:
        statistic += (pooled_observed - pooled_expected) ** 2 / pooled_expected
        cells += 1
    elif pooled_observed > 60:  # a Poisson count of mean 10 passes 60 less than once in 10**20
        return 0.0
    return float(chdtrc(max(1, cells - 1), statistic))


def two_samples(first: Iterable[Hashable], second: Iterable[Hashable]) -> float:
    """Return the p-value of the hypothesis that two samples of equal size have one law."""
    a, b = Counter(first), Counter(second)
    statistic, cells, rest_a, rest_b = 0.0, 0, 0, 0
    for outcome in set(a) | set(b):
        both = a[outcome] + b[outcome]
        if both >= 20:
            statistic += (a[outcome] - b[outcome]) ** 2 / both
            cells += 1
        else:
            rest_a += a[outcome]
            rest_b += b[outcome]
    if rest_a + rest_b >= 20:
        statistic += (rest_a - rest_b) ** 2 / (rest_a + rest_b)
        cells += 1
    return float(chdtrc(max(1, cells - 1), statistic))


class Branch(Exception):
    """A walk reached a primitive whose outcome is not chosen yet; carries the choices."""

    def __init__(self, choices: list[tuple[object, float]]) -> None:
        self.choices = choices


class Walk:
    """A source, and stand-ins for the two primitives, that follow a list of chosen outcomes."""

    def __init__(self, chosen: list[object]) -> None:
        self.chosen, self.step = chosen, 0

    def choose(self, choices: Callable[[], list[tuple[object, float]]]) -> object:
        if self.step == len(self.chosen):
            raise Branch(choices())
        self.step += 1
        return self.chosen[self.step - 1]

    def bits(self, k: int) -> int:
        return self.choose(lambda: [(value, 2.0**-k) for value in range(1 << k)])

    def below(self, n: int) -> int:
        return self.choose(lambda: [(value, 1 / n) for value in range(n)])


def table_draw(table: Table, walk: Walk) -> int:
    """Stand in for ``Table.draw``: every index with its exact share of the weights."""

    def choices() -> list[tuple[object, float]]:
        weights = [table._refine(index, 256)[0] for index in range(len(table.edges))]
        return [(index, weight / sum(weights)) for index, weight in enumerate(weights)]

    return walk.choose(choices)


def coin(walk: Walk, enclosure, value: int = 0, bits: int = 0, width: int = 64) -> bool:
    """Stand in for ``undercuts``: heads with the exact probability, given what is known."""

    def choices() -> list[tuple[object, float]]:
        heads = min(max(enclosure(256)[0] / 2 ** (256 - bits) - value, 0.0), 1.0)
        return [(True, heads), (False, 1 - heads)]

    return walk.choose(choices)


def primitive_tree(
    draw: Callable[[Walk], Hashable], least: float
) -> tuple[dict[Hashable, float], float]:
    """Run ``draw`` over all outcomes of the primitives it calls, while a path weighs ``least``.

    Returns the law of the decided paths and the weight of those given up.
    """
    law: dict[Hashable, float] = {}
    given_up = 0.0
    paths: list[tuple[list[object], float]] = [([], 1.0)]
    while paths:
        chosen, weight = paths.pop()
        if weight < least:
            given_up += weight
            continue
        try:
            outcome = draw(Walk(chosen))
        except Branch as branch:
            paths += [([*chosen, value], weight * share) for value, share in branch.choices]
        else:
            law[outcome] = law.get(outcome, 0.0) + weight
    return law, given_up
