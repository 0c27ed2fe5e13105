"""Explain, checked: the exact law of every search against its price, on every small neighbourhood.

The laws are those of the shipped code: the searches are replayed along every sequence of
decisions (:func:`law_of`), over abstract context graphs and over real small data.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement, product
from typing import Any

from whitecrow.anomaly.detectors import Detector, FewWithin, Grubbs, Histogram, LocalOutlierFactor
from whitecrow.exhaustive import Report, exhaust
from whitecrow.explain import CustomUtility, Isolation
from whitecrow.explain.search import SEARCHES, Draws, draws_of, search
from whitecrow.explain.unaccounted import exact_release_law, law_of, matching_contexts
from whitecrow_audit.verify.universes import Checks

EPSILON = Fraction(1)
BITS = 3
WHOLE = 2**BITS - 1

Law = dict[Hashable, float]
Utilities = Mapping[int, int]


class Listed:
    """A small graph with nothing hidden: matching contexts and their utilities.

    Where these are a callable, it receives the start of the search and returns them.
    """

    def __init__(self, bits: int, utilities: Utilities | Callable[[int], Utilities]) -> None:
        self.bits = bits
        self._from_start = utilities if callable(utilities) else None
        self._utilities = dict(utilities(0) if callable(utilities) else utilities)

    @property
    def matches(self) -> list[int]:
        return sorted(self._utilities)

    def begin(self, start: int) -> None:
        if self._from_start is not None:
            self._utilities = dict(self._from_start(start))

    def match(self, contexts: Sequence[int]) -> list[bool]:
        return [context in self._utilities for context in contexts]

    def utility(self, contexts: Sequence[int]) -> list[int]:
        return [self._utilities[context] for context in contexts]

    def levels(self) -> tuple[list[int], list[int]]:
        levels = Counter(self._utilities.values())
        return list(levels), list(levels.values())

    def member(self, level: int, index: int) -> int:
        return [context for context in self.matches if self._utilities[context] == level][index]


def _law(kind: str, utilities: Utilities, samples: int, eta: Fraction, start: int) -> Law:
    def program(draws: Draws) -> int | None:
        graph = Listed(BITS, utilities)
        return search(kind, graph, draws, eta=eta, samples=samples, start=start)

    return dict(law_of(program))


# --- abstract context graphs ----------------------------------------------------------------------

Crowd = tuple[int, ...]
"""How many records need each set of free bits."""

CROWDS: tuple[Crowd, ...] = ((0,) * 8, (3, 0, 2, 1, 0, 0, 1, 4))


def _populations(matches: int, crowd: Crowd) -> dict[int, int]:
    """The population of each matching context, the record included."""
    return {
        context: 1 + sum(count for need, count in enumerate(crowd) if not need & ~context)
        for context in range(WHOLE + 1)
        if matches >> context & 1
    }


def one_more_record(kind: str, samples: int, every: int) -> Report:
    """Every matching set that holds the start, one record more of every kind; population."""
    eta = EPSILON / draws_of(kind, samples)

    def law(database: tuple[int, Crowd]) -> Law:
        return _law(kind, _populations(*database), samples, eta, WHOLE)

    def edges() -> Iterator[tuple[tuple[int, Crowd], tuple[int, Crowd]]]:
        for matches in range(1 << WHOLE, 1 << (WHOLE + 1), every):
            for crowd in CROWDS:
                for need in range(WHOLE + 1):
                    more = (*crowd[:need], crowd[need] + 1, *crowd[need + 1 :])
                    yield (matches, crowd), (matches, more)

    return exhaust(law, edges(), float(EPSILON), note=f"{samples} samples, weight {eta}")


def both_ways(kind: str, samples: int, draws_price: int) -> Report:
    """Utilities on a square of four contexts that move by -1, 0 or 1 each."""
    eta = EPSILON / (draws_price * draws_of(kind, samples))
    square = (7, 6, 5, 4)

    def law(scores: tuple[int, ...]) -> Law:
        return _law(kind, dict(zip(square, scores, strict=True)), samples, eta, 7)

    def edges() -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        for base in ((0, 0, 0, 0), (0, 5, 5, 9), (4, 0, 9, 0)):
            for change in product((-1, 0, 1), repeat=4):
                yield base, tuple(a + b for a, b in zip(base, change, strict=True))

    return exhaust(law, edges(), float(EPSILON), note=f"{samples} samples, weight {eta}")


def guided_start(kind: str) -> Report:
    """Erratum E21: the start is the matching context with the largest population."""
    eta = EPSILON / draws_of(kind, 1)

    def law(crowd: Crowd) -> Law:
        utilities = _populations((1 << 8) - 1 - (1 << 7), crowd)
        best = max(utilities, key=lambda context: (utilities[context], context))
        return _law(kind, utilities, 1, eta, best)

    def edges() -> Iterator[tuple[Crowd, Crowd]]:
        for crowd in CROWDS:
            for need in range(WHOLE):
                yield crowd, (*crowd[:need], crowd[need] + 1, *crowd[need + 1 :])

    return exhaust(law, edges(), float(EPSILON))


# --- reaching what should be reached --------------------------------------------------------------

Step = Callable[[Listed, int], list[int]]


def reached(kind: str) -> Report:
    """Every answer matches, and every context connected to the start can be the answer."""

    def answers(utilities: Utilities) -> set[Hashable]:
        # Dense graphs have many paths of eight steps; three visit everything they can reach.
        samples = 7 if len(utilities) <= 4 else 3
        return set(_law(kind, utilities, samples, Fraction(1, 10), WHOLE))

    return _answers_check(answers, whole=kind in ("direct", "uniform"))


def cumulative_flips() -> Report:
    """Erratum E19: the printed loop flips the bits of one and the same context in turn."""

    def answers(utilities: Utilities) -> set[Hashable]:
        reached, waiting = {WHOLE}, [WHOLE]
        while waiting:
            context = waiting.pop()
            for bit in range(BITS):
                context ^= 1 << bit
                if context in utilities and context not in reached:
                    reached.add(context)
                    waiting.append(context)
        return set(reached)

    return _answers_check(answers, whole=False)


def _answers_check(answers: Callable[[Utilities], set[Hashable]], *, whole: bool) -> Report:
    tried, worst, where = 0, 0.0, ""
    for matches in range(1 << WHOLE, 1 << (WHOLE + 1)):
        utilities = _populations(matches, CROWDS[1])
        if len(utilities) > 6:
            continue
        tried += 1
        wanted = set(utilities) if whole else _component(utilities)
        answered = answers(utilities)
        if (answered != wanted and len(utilities) <= 4) or not answered <= set(utilities):
            worst, where = (
                math.inf,
                f"matching {sorted(utilities)}: answers {sorted(answered, key=str)}",
            )
    return Report(tried, tried, worst, 0.0, where, "loss: infinite where an answer is wrong")


def _component(utilities: Utilities) -> set[Hashable]:
    reached, waiting = {WHOLE}, [WHOLE]
    while waiting:
        context = waiting.pop()
        near = {context ^ (1 << bit) for bit in range(BITS)} & set(utilities)
        waiting.extend(near - reached)
        reached |= near
    return set(reached)


# --- real data: shipped detectors, populations and searches ---------------------------------------

Record = tuple[int, int, int]
"""Two attribute codes and a metric value."""
Database = tuple[Record, ...]

SIZES = (2, 2)
OWN: tuple[tuple[int, ...], int] = ((0, 0), 6)


def _universe(values: Sequence[int], most: int) -> tuple[list[Record], list[Database]]:
    kinds = list(product(range(SIZES[0]), range(SIZES[1]), values))
    databases = [
        database
        for size in range(most + 1)
        for database in combinations_with_replacement(kinds, size)
    ]
    return kinds, databases


def _edges(values: Sequence[int], most: int) -> Iterator[tuple[Database, Database]]:
    """Every database of at most ``most`` records and one record more."""
    kinds, databases = _universe(values, most)
    for database in databases:
        for record in kinds:
            yield database, tuple(sorted((*database, record)))


def _arrays(database: Database) -> tuple[list[list[int]], list[int]]:
    return [list(record[:2]) for record in database], [record[2] for record in database]


def _released(database: Database, **parameters: Any) -> Law:
    parameters = {"notion": "conditional", "epsilon": EPSILON, **parameters}
    law = exact_release_law(*_arrays(database), OWN, sizes=SIZES, **parameters)
    return {answer: chance for answer, chance in law.items()}  # noqa: C416  (Hashable keys)


def conditional(detector: Detector, kind: str, utility: Any = "population") -> Report:
    """Every pair of databases in which the record is an outlier in the same contexts."""

    @cache
    def matches(database: Database) -> frozenset[Any]:
        matches = matching_contexts(*_arrays(database), OWN, sizes=SIZES, detector=detector)
        return frozenset(matches)

    parameters: dict[str, Any] = {"detector": detector, "search": kind, "samples": 1}
    parameters |= {"utility": utility}
    if utility == "overlap":
        parameters["start"] = ((0, 1), (0, 1))
    pairs = list(_edges((0, 1, 6), 2))
    covered = [(x, y) for x, y in pairs if matches(x) == matches(y)]
    note = f"{len(covered)} of {len(pairs)} pairs have equal matching sets"
    law = partial(_released, **parameters)
    return exhaust(law, covered, float(EPSILON), note=note)


def conditional_everywhere() -> Report:
    """The conditional mechanism on pairs its promise does not cover: the loss is infinite."""
    law = partial(_released, detector=FewWithin(1, 2), search="direct")
    return exhaust(law, _edges((0, 6), 2), float(EPSILON))


def unconditional(kind: str, samples: int, beta: int = 2, crowd: int = 4) -> Report:
    """The unconditional mechanism on every pair, the record's own coming and going included."""
    law = partial(
        _released,
        detector=FewWithin(beta, 2),
        utility=Isolation(crowd),
        notion="differential",
        search=kind,
        samples=samples,
    )
    return exhaust(law, _edges((0, 6), 3), float(EPSILON), note=f"{beta=} {crowd=}")


Score = Callable[[int, int], int]
"""A utility of (near, far), the record counted among the near."""


def _counts(database: Database, context: int) -> tuple[int, int]:
    """How many records of a context are near the record (itself included) and far from it."""
    inside = [z for a, b, z in (*database, (0, 0, 6)) if not (a & ~context or b & ~(context >> 1))]
    if (0, 0, 6) in database:
        inside.remove(6)
    near = sum(abs(z - 6) <= 2 for z in inside)
    return near, len(inside) - near


def scored(score: Score, spread: Fraction, beta: int) -> Report:
    """The exponential mechanism over all four contexts with a utility of one's own, priced so."""
    eta = EPSILON / spread

    def law(database: Database) -> Law:
        utilities = [score(*_counts(database, context)) for context in range(4)]
        best = max(utilities)
        weights = [math.exp(float(eta) * (u - best)) for u in utilities]
        return {context: weight / sum(weights) for context, weight in enumerate(weights)}

    return exhaust(law, _edges((0, 6), 4), float(EPSILON), note=f"{beta=}")


def population_in_isolation(beta: int = 4, crowd: int = 4) -> Report:
    """min(crowd * margin, crowd * population): a near record also raises the population."""

    def score(near: int, far: int) -> int:
        return min(crowd * (beta + 1 - near), crowd * (far + near))

    return scored(score, Fraction(crowd), beta)


def best_separation(beta: int = 3, crowd: int = 6) -> Report:
    """Theorem 5: isolation is the highest on outlier contexts and the lowest on the others.

    By linear relaxation: along every chain of single steps a utility with the allowed slopes that
    is at most 0 where the record is no outlier, or nobody is far, cannot exceed isolation.
    """
    most = 12
    highest = {
        (near, far): 0 if near > beta or far == 0 else math.inf
        for near in range(1, most + 1)
        for far in range(most + 1)
    }
    for _ in range(2 * most):
        for near, far in highest:
            # One near record more lowers by at most crowd, one far record more raises by beta.
            steps = [highest[near, far]]
            if near < most:
                steps.append(highest[near + 1, far] + crowd)
            if far:
                steps.append(highest[near, far - 1] + beta)
            highest[near, far] = min(steps)
    worst, where = 0.0, ""
    for (near, far), bound in highest.items():
        mine = min(crowd * (beta + 1 - near), beta * far)
        if near <= beta and abs(bound - mine) > worst:
            worst, where = abs(bound - mine), f"{near=} {far=}"
    return Report(len(highest), len(highest), worst, 0.0, where, "loss: distance from the bound")


def _two_sided(sizes: Any, values: Mapping[str, int]) -> Any:
    return -abs(sizes - 3)


def _below_less_above(counts: Any, values: Mapping[str, int]) -> Any:
    return 2 * counts[0] - counts[1]


BANDS = CustomUtility(
    "below less above", _below_less_above, sensitivity=2, monotone=True, limit=4, edges=(1, 7)
)
"""Records of the first band raise it by 2, those of the second lower it by 1."""


def _by_shape(counts: Any, values: Mapping[str, int]) -> Any:
    return counts[0] if sum(values.values()) % 2 else -counts[0]


class _Unchecked(CustomUtility):
    """Monotone in contexts of each shape, and not in all of them together."""

    def check(self, sizes: Mapping[str, int]) -> None:
        """Look at each shape alone, which :meth:`table` does."""


class _Undeclared(CustomUtility):
    """A utility whose sensitivity nobody checks: it is charged for 1 and moves by 2."""

    def table(self, values: Mapping[str, int]) -> Any:
        """Return scores that are not what was declared."""
        return BANDS.table(values)

    def check(self, sizes: Mapping[str, int]) -> None:
        """Accept whatever is declared."""


DETECTORS: tuple[Detector, ...] = (
    Grubbs(level=Fraction(1, 2)),
    LocalOutlierFactor(k=1, threshold=Fraction(1)),
    Histogram(bins=2, frequency=Fraction(3, 5)),
    FewWithin(beta=1, reach=2),
)


_FEW = FewWithin(1, 2)
CHECKS: Checks = {
    **{
        f"{s}: one record more, {words}": partial(one_more_record, s, samples, every)
        for words, samples, every in (("every matching set", 1, 1), ("two samples", 2, 9))
        for s in SEARCHES[samples - 1 :]
    },
    **{
        f"{s}: utilities that move both ways": partial(both_ways, s, 1 + (s == "uniform"), 2)
        for s in SEARCHES
    },
    **{
        f"{s}: answers match, and all can be reached": partial(reached, s)
        for s in ("direct", "walk", "dfs", "bfs")
    },
    **{
        f"{detector.kind}: pairs with equal matching sets": partial(conditional, detector, s)
        for detector, s in zip(DETECTORS, ("direct", "bfs", "dfs", "walk"), strict=True)
    },
    "overlap with a start": partial(conditional, _FEW, "bfs", "overlap"),
    "a utility of one's own, two-sided": partial(
        conditional, _FEW, "direct", CustomUtility("near three", _two_sided, limit=10)
    ),
    "conditional, a utility that sees bands of the metric": partial(
        conditional, _FEW, "direct", BANDS
    ),
    **{
        f"unconditional, {s}: every pair": partial(unconditional, s, 1 + (s == "uniform"))
        for s in SEARCHES
    },
    "isolation separates best": best_separation,
    "mutant: equation (2) read as the price of a draw": partial(both_ways, "direct", 1, 1),
    "mutant: equation (2), breadth first": partial(both_ways, "bfs", 1, 1),
    "mutant: a start found by population": partial(guided_start, "bfs"),
    "mutant: bands whose declared sensitivity is not checked": partial(
        conditional,
        _FEW,
        "direct",
        _Undeclared("undeclared", _below_less_above, monotone=True, limit=4, edges=(1, 7)),
    ),
    "mutant: bands that raise the score in contexts of one shape and lower it in another": partial(
        conditional,
        _FEW,
        "direct",
        _Unchecked("by shape", _by_shape, monotone=True, limit=4, edges=(1,)),
    ),
    "mutant: cumulative flips": cumulative_flips,
    "mutant: the conditional promise without its condition": conditional_everywhere,
    "mutant: isolation backed by the population": population_in_isolation,
}
