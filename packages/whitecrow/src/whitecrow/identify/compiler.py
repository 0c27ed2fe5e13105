"""Turn a differentially private answer into a more accurate sensitively private one.

A *reconstruction*: the statement of the paper's Construction 2 survives only in part, and its
lines fix it almost uniquely. ``compiler.md`` states and proves what is built here. Construction 1
(:class:`whitecrow.Identify`) gives the same accuracy for half the price; the compiler is for a
mechanism of your own that you can run but not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly import AnomalyModel
from whitecrow.anomaly.graph import Counts, Database, DatabaseGraph, Edges, Flags, Universe
from whitecrow.anomaly.law import error_cap, flip_probability
from whitecrow.declaration import whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.noise import Source, bernoulli, bernoulli_exp, bernoulli_logistic
from whitecrow.place.question import FLOOR
from whitecrow.privacy import Exactly, exact

_SLACK = 1 + 1e-12
"""How far the factor between two probabilities may exceed the promise by the rounding of doubles.

Relative, because the promise is a ratio: an answer of probability 5e-13 here and 0 there is an
infinite loss, however small the difference. (``1 - p`` is exact for p from 1/2 on, by Sterbenz,
and rounds by 2^-53 of itself below.)
"""

_LEAST = 2.0**-900
"""Doubles from here on keep their relative precision through the products of the check."""

_AGREES = 1e-9
_MOST_COINS = 12

Floats = NDArray[np.float64]


class Coins:
    """What a base mechanism tosses: its only randomness, so that its law can be computed."""

    def __init__(self, source: Source | None = None) -> None:
        self._source = source

    def bernoulli(self, probability: Exactly) -> bool:
        """Return True with a rational probability."""
        return bernoulli(_rational(probability), self._source)

    def exponential(self, exponent: Exactly) -> bool:
        """Return True with probability ``exp(-exponent)``."""
        return bernoulli_exp(_rational(exponent), self._source)

    def logistic(self, exponent: Exactly) -> bool:
        """Return True with probability ``1 / (1 + exp(exponent))``."""
        return bernoulli_logistic(_rational(exponent), self._source)


def _rational(value: Exactly) -> Fraction:
    return exact(value, owner="Coins", parameter="probability", positive=False)


class _Followed(Coins):
    """Takes the coins as a path says, then the first side; notes how likely that was."""

    def __init__(self, path: Sequence[bool]) -> None:
        self._path, self.probability = path, 1.0
        self.taken: list[bool] = []

    def _toss(self, chance: float) -> bool:
        if len(self.taken) >= _MOST_COINS or not 0 <= chance <= 1:
            raise InvalidInput(f"A base tosses at most {_MOST_COINS} coins, each a probability.")
        side = self._path[len(self.taken)] if len(self.taken) < len(self._path) else True
        self.taken.append(side)
        self.probability *= chance if side else 1 - chance
        return side

    def bernoulli(self, probability: Exactly) -> bool:
        return self._toss(float(_rational(probability)))

    def exponential(self, exponent: Exactly) -> bool:
        return self._toss(math.exp(-float(_rational(exponent))))

    def logistic(self, exponent: Exactly) -> bool:
        return self._toss(1.0 / (1.0 + math.exp(float(_rational(exponent)))))


Draw = Callable[[Sequence[Any], Any, Coins], bool]


@dataclass(frozen=True)
class Base:
    """A differentially private answer to "is this record an anomaly?" to start from.

    Parameters
    ----------
    epsilon : exact number
        What it promises to everyone.
    wrong : callable
        Its law: the probability of a wrong answer, from (records, i).
    draw : callable
        One answer, from (records, i, coins); it tosses :class:`Coins` and nothing else.
    """

    epsilon: Fraction
    wrong: Callable[[Sequence[Any], Any], float]
    draw: Draw

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon, owner="Base"))
        for name in ("wrong", "draw"):
            if not callable(getattr(self, name)):
                raise invalid("Base", name, "a function of the records", getattr(self, name))


def chance_of_yes(draw: Draw, records: Database, i: Any) -> float:
    """Return the exact probability of "yes", by following every way its coins may fall."""
    yes = 0.0
    pending: list[list[bool]] = [[]]
    while pending:
        path = pending.pop()
        coins = _Followed(path)
        answer = draw(list(records), i, coins)
        if not isinstance(answer, bool):
            raise invalid("Base", "draw", "True or False", answer)
        yes += coins.probability * answer
        pending += [[*coins.taken[:at], False] for at in range(len(path), len(coins.taken))]
    return yes


@dataclass(frozen=True)
class Compiled:
    """The compiled mechanism: the base's wrong answers are mostly taken back far from normal.

    It is (2ε, k)-sensitively private for a base of ε: a wrong answer is kept with probability
    ``exp(-ε λ / 2)``, where λ, by how much farther the other answer is among sensitive
    databases than among all, changes by at most 2 along an edge.
    """

    base: Base
    model: AnomalyModel
    k: int

    @property
    def epsilon(self) -> Fraction:
        """What the compiled mechanism promises to sensitive records."""
        return 2 * self.base.epsilon

    def gain(self, records: Sequence[Any], i: Any) -> int:
        """Return λ: the capped sensitive distance less the capped distance among all databases."""
        cap = error_cap(self.base.epsilon, FLOOR)
        level = None if self.model.everyone(self.k) else self.k
        far, near = (min(cap, self.model.bound(list(records), i, k) or cap) for k in (level, None))
        return max(0, far - near)

    def wrong(self, records: Sequence[Any], i: Any) -> float:
        """Return the probability of a wrong answer. A fact, if the records are."""
        chance = math.exp(-float(self.base.epsilon * self.gain(records, i)) / 2)
        return chance * self.base.wrong(records, i)

    def draw(self, records: Sequence[Any], i: Any, source: Source | None = None) -> bool:
        """Return one answer; the base is run once, as a black box."""
        truth, _ = self.model.judged(list(records), i, None)
        answer = self.base.draw(list(records), i, Coins(source))
        exponent = self.base.epsilon * self.gain(records, i) / 2
        return answer if answer == truth or bernoulli_exp(exponent, source) else truth


def compiled(
    base: Base, *, model: AnomalyModel, k: int, universe: Universe, size: int = 5
) -> Compiled:
    """Compile a base mechanism, after checking on a whole small universe that it may be compiled.

    For each database and record the base's law is computed from its own code, along every way its
    coins may fall, and held against what it declares; then its promise, and condition (V) of
    ``compiler.md``, on every pair of neighbours. Outside the universe they are the author's word.

    Parameters
    ----------
    base : Base
        Any function of a database that tosses coins, with its law.
    model : AnomalyModel
        What an anomaly is; it has λ at the level ``k`` and, for None, among all databases.
    k : int
        The level of sensitivity.
    universe : iterable, or mapping of column to values
        The records there could be in the check.
    size : int, default=5
        The most records of a database in the check.

    Raises
    ------
    InvalidInput
        The base does not do what it declares, cannot be read, breaks its own promise, or the
        validity condition (V) fails: compiling it would cost more than 2ε. A base that errs with
        probability at most 1/2 everywhere is always valid.

    Examples
    --------
    >>> from whitecrow import DistanceAnomaly
    >>> model = DistanceAnomaly(beta=20, radius=1)
    >>> base = randomized_response(model, epsilon="0.1")
    >>> mechanism = compiled(base, model=model, k=2, universe=range(3), size=4)
    >>> mechanism.epsilon, round(mechanism.wrong([0], 0), 3)
    (Fraction(1, 5), 0.193)
    >>> liar = Base(base.epsilon, base.wrong, lambda records, i, coins: False)
    >>> compiled(liar, model=model, k=2, universe=range(3), size=4)
    Traceback (most recent call last):
    ...
    whitecrow.errors.InvalidInput: The base mechanism is not what it declares: about 0 in (), it
    errs with probability 0, not 0.475.
    """
    for name, given, kind in (("base", base, Base), ("model", model, AnomalyModel)):
        if not isinstance(given, kind):
            raise invalid("compiled", name, f"a {kind.__name__}", given)
    mechanism = Compiled(base, model, whole(k, "compiled", "k"))
    graph = DatabaseGraph(universe, whole(size, "compiled", "size"))
    labels = graph.labels(lambda records, i: bool(model.label(list(records), i)))
    wrong = _declared(graph, base, labels)
    sensitive = np.ones_like(labels)
    if not model.everyone(k):
        sensitive = graph.computed(
            lambda records, i: bool(model.sensitive(list(records), i, k)), np.bool_
        )
    _check_pairs(graph, mechanism, labels, wrong, sensitive)
    return mechanism


def optimal_base(model: AnomalyModel, *, epsilon: Exactly) -> Base:
    """Return Construction 1 for everyone (equation 4, for a distance model) as a base."""
    step = exact(epsilon, owner="optimal_base")
    cap = error_cap(step, FLOOR)

    def distance(records: Sequence[Any], i: Any) -> int:
        return min(cap, model.bound(list(records), i, None) or cap)

    def draw(records: Sequence[Any], i: Any, coins: Coins) -> bool:
        truth, _ = model.judged(list(records), i, None)
        flips = coins.exponential(step * (distance(records, i) - 1)) and coins.logistic(step)
        return truth != flips

    return Base(step, lambda records, i: flip_probability(distance(records, i), step), draw)


def randomized_response(model: AnomalyModel, *, epsilon: Exactly) -> Base:
    """Return the truth, turned over with probability ``1 / (1+exp(ε))`` everywhere, as a base."""
    step = exact(epsilon, owner="randomized_response")

    def draw(records: Sequence[Any], i: Any, coins: Coins) -> bool:
        truth, _ = model.judged(list(records), i, None)
        return truth != coins.logistic(step)

    return Base(step, lambda records, i: flip_probability(1, step), draw)


def _declared(graph: DatabaseGraph, base: Base, labels: Flags) -> Floats:
    """Return the declared chances of error, once the base was seen to have them."""

    def checked(records: Database, i: Any) -> float:
        declared = base.wrong(list(records), i)
        if not isinstance(declared, int | float) or not (declared == 0 or _LEAST <= declared <= 1):
            must = "a function to probabilities: 0, or between 2^-900 and 1"
            raise invalid("Base", "wrong", must, declared)
        yes = chance_of_yes(base.draw, records, i)
        does = 1 - yes if labels[graph.number(records), graph.index(i)] else yes
        if not math.isclose(declared, does, rel_tol=_AGREES, abs_tol=1e-15):
            raise InvalidInput(
                f"The base mechanism is not what it declares: about {i!r} in {records}, it errs "
                f"with probability {does:.3g}, not {declared:.3g}."
            )
        return float(declared)

    try:
        return np.asarray(graph.computed(checked, np.float64))
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(
            f"The base mechanism cannot be read: it raised {type(error).__name__}: {error}."
        ) from error


def _check_pairs(
    graph: DatabaseGraph, mechanism: Compiled, labels: Flags, wrong: Floats, sensitive: Flags
) -> None:
    """Check, both ways, the base's own promise on every pair, and (V) on those it is needed on."""
    promise = math.exp(float(mechanism.base.epsilon)) * _SLACK

    def unkept(x: Counts, y: Counts) -> Flags:
        # The chances, at y, of the answers that are wrong and right at x.
        errs = np.where(labels[x] == labels[y], wrong[y], 1 - wrong[y])
        return np.asarray((wrong[x] > promise * errs) | (1 - wrong[x] > promise * (1 - errs)))

    def invalid_at(x: Counts, y: Counts) -> Flags:
        same = labels[x] == labels[y]
        return np.asarray(same & (1 - wrong[x] / promise > promise * promise * (1 - wrong[y])))

    if where := _first(graph, graph.all_pairs, unkept):
        raise InvalidInput(
            f"The base mechanism breaks its own promise: {where} its answers differ by more than a "
            f"factor exp({mechanism.base.epsilon})."
        )
    if where := _first(graph, graph.sensitive_pairs(sensitive), invalid_at):
        raise InvalidInput(
            f"The base mechanism cannot be compiled: {where} it errs so often that the validity "
            f"condition fails, and the result would cost more than {mechanism.epsilon}. A base "
            "that errs with probability at most 1/2 is always valid."
        )


def _first(graph: DatabaseGraph, pairs: Edges, broken: Callable[[Counts, Counts], Flags]) -> str:
    """Say where the first pair is that is broken in one of its directions."""
    for smaller, larger in pairs:
        for x, y in ((smaller, larger), (larger, smaller)):
            for at, column in np.argwhere(broken(x, y))[:1]:
                between = f"{graph.records(x[at])} and {graph.records(y[at])}"
                return f"about {graph.universe[column]!r}, between {between},"
    return ""
