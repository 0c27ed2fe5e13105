"""Screening, checked: every adaptive way to ask, on small universes.

Whoever asks chooses the next place from all answers so far. The worst of all such strategies is
found by going backwards: what is left to be gained depends on the past through the counters alone,
so the best place to ask next does, too. So one number covers every strategy, of which there are
4^63 with six questions about four places. Random strategies are walked through besides, answer by
answer, for the (ε, δ) that is promised.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement, pairwise, product

import numpy as np

from whitecrow.anomaly import DistanceAnomaly, KernelAnomaly
from whitecrow.data import Card, Column, Dataset
from whitecrow.exhaustive import Report
from whitecrow.neighbours import open_engine
from whitecrow.screening.law import ONE, Law, keeps, table
from whitecrow.screening.mechanism import ActiveCounts, ActiveRecords
from whitecrow.screening.question import Screening
from whitecrow_audit.verify.universes import Checks

PLACES = 4
ROUNDS = 6
CARD = Card("small", (Column("x", lower=0, upper=PLACES),))

Database = tuple[int, ...]
"""How many records stand at each place of a line; balls reach the places beside."""
State = tuple[int, ...]
"""How many flags the records of each place have counted."""
Chance = Callable[[int], float]


@dataclass(frozen=True)
class Rules:
    """How answers are given, and what they change: the model's own, or a mutant's."""

    chance: Chance  # of "anomaly", by the count
    limit: int  # after so many flags a record is left out
    twice: bool = False  # mutant: records that are left out are subtracted once more
    # Mutant: a flag counts only where the ball held at least so many records.
    by_data: int | None = None
    again: int = 0  # mutant: how often the state is that of the beginning once more
    openings: int = 1  # mutant: how many openings have a state of their own
    weights: tuple[int, ...] = (1, 1)  # what a record weighs for a place, by its distance; 0 beyond
    # How far from the place asked about records pay for a flag; a mutant's is too small.
    pays: int = 1

    def count(self, x: Database, state: State, place: int) -> int:
        weights = [(*self.weights, *[0] * PLACES)[abs(place - p)] for p in range(PLACES)]
        active = sum(x[p] * weights[p] for p in range(PLACES) if state[p] < self.limit)
        if self.twice:
            gone = sum(x[p] * weights[p] for p in range(PLACES) if state[p] >= self.limit)
            return max(0, active - gone)
        return active

    def flagged(self, x: Database, state: State, place: int) -> State:
        if self.by_data is not None and self.count(x, state, place) < self.by_data:
            return state
        return tuple(
            min(self.limit, f + 1) if abs(place - p) <= self.pays else f
            for p, f in enumerate(state)
        )


def rules_of(law: Law) -> Rules:
    """The rules of a law: who weighs more than 1 does so at the place itself."""
    return Rules(law.chance, law.limit, weights=(law.own, 1))


def worst_game(rules: Rules, x: Database, y: Database, order: int) -> float:
    """Return the largest ln E[(y's chance / x's chance)^order] that any strategy reaches."""

    @cache
    def gain(left: int, again: int, mine: tuple[State, ...], other: tuple[State, ...]) -> float:
        if not left:
            return 1.0
        best = gain(left, again - 1, start, start) if again else 1.0
        for opening, place in product(range(rules.openings), range(PLACES)):
            p, q = (
                rules.chance(rules.count(database, state[opening], place))
                for database, state in ((x, mine), (y, other))
            )
            after = [
                tuple(
                    rules.flagged(database, each, place) if number == opening else each
                    for number, each in enumerate(state)
                )
                for database, state in ((x, mine), (y, other))
            ]
            no, yes = gain(left - 1, again, mine, other), gain(left - 1, again, *after)
            best = max(
                best, (1 - p) * ((1 - q) / (1 - p)) ** order * no + p * (q / p) ** order * yes
            )
        return best

    start = ((0,) * PLACES,) * rules.openings
    return math.log(gain(ROUNDS, rules.again, start, start))


def databases(most: int) -> Iterator[Database]:
    for size in range(most + 1):
        for records in combinations_with_replacement(range(PLACES), size):
            yield tuple(records.count(place) for place in range(PLACES))


def pairs(most: int, person: int = 1) -> Iterator[tuple[Database, Database]]:
    """Databases with and without one person, who has up to so many records."""
    for x in databases(most):
        for held in range(1, person + 1):
            for records in combinations_with_replacement(range(PLACES), held):
                yield x, tuple(n + records.count(place) for place, n in enumerate(x))


def every_strategy(law: Law, change: Callable[[Rules], Rules], most: int = 3) -> Report:
    """The worst of all adaptive strategies, both ways, beside the theorem's bound."""
    rules = change(rules_of(law))
    bound = law.flags * -math.log(law.weight)
    worst, where, tried = 0.0, "", 0
    for x, y in pairs(most, law.contribution):
        for one, other in ((x, y), (y, x)):
            tried += 1
            loss = worst_game(rules, one, other, law.order)
            if loss > worst:
                worst, where = loss, f"{one} ~ {other}"
    return Report(len(list(databases(most))), tried, worst, bound, where, "loss: ln E[R^order]")


def as_shipped(law: Law) -> Report:
    """The shipped counters beside the rules above, after any flags: 1 where they differ."""
    rules, worst, where, tried = rules_of(law), 0.0, "", 0
    model = DistanceAnomaly(law.beta, 1) if law.own == 1 else _kernel(law)
    question = Screening(model=model, epsilon=1, delta="1e-6")
    every = np.arange(PLACES, dtype=np.float64)[:, None]
    xs = list(databases(3))
    for x in xs:
        records = np.repeat(np.arange(PLACES, dtype=np.float64), x)
        data = Dataset(CARD, {"x": records})
        active = ActiveRecords(data, open_engine(data), question.balls(CARD))
        for flags in combinations_with_replacement(range(PLACES), 3):
            counters, state = active.fresh(law.limit), (0,) * PLACES
            counters.replay(np.array(flags, dtype=np.float64)[:, None])
            for place in flags:
                state = rules.flagged(x, state, place)
            counts = ActiveCounts(active, counters, every, law).counts()
            for place in range(PLACES):
                tried += 1
                if counts[place] != min(law.most, rules.count(x, state, place)):
                    worst, where = 1.0, f"{x} after flags at {flags}, asked about {place}"
    return Report(len(xs), tried, worst, 0.0, where, "loss: 1 where a count differs")


def random_strategies(law: Law, delta: Fraction, games: int) -> Report:
    """Walk through random adaptive strategies, answer by answer: what exceeds the promised ε."""
    rules, draw = rules_of(law), random.Random(13)
    edges, odds = list(pairs(4, law.contribution)), math.exp(law.promise(delta))
    worst, where = 0.0, ""
    for _ in range(games):
        x, y = draw.choice(edges)
        over = [0.0, 0.0]
        # Where the strategy goes after each past is drawn when the past is met.
        walk = [(ROUNDS, (0,) * PLACES, 1.0, 1.0)]
        while walk:
            left, state, p, q = walk.pop()
            if not left:
                over = [over[0] + max(0.0, p - odds * q), over[1] + max(0.0, q - odds * p)]
                continue
            place = draw.randrange(PLACES)
            one, other = (rules.chance(rules.count(z, state, place)) for z in (x, y))
            after = rules.flagged(x, state, place)
            walk.append((left - 1, after, p * one, q * other))
            walk.append((left - 1, state, p * (1 - one), q * (1 - other)))
        if max(over) > worst:
            worst, where = max(over), f"{x} ~ {y}"
    note = "loss: how much of the chance exceeds the promised epsilon"
    return Report(len(edges), games, worst, float(delta), where, note)


def hypothesis(law: Law, beside: Callable[[int, int], int]) -> Report:
    """The theorem's inequality between every two neighbouring entries, in whole numbers."""
    below, above = table(law.order, law.weight)
    entries = (*below[::-1], *above)
    chances = [int(chance) for chance in law.chances(np.arange(law.most + 1))]
    used = [*zip(chances, chances[law.step :], strict=False)]
    tried = [(p, beside(p, q)) for p, q in (*pairwise(entries), *used)]
    wrong = [pair for pair in tried if not keeps(*pair, law.order, law.weight)]
    where = f"{wrong[0][0] / ONE} beside {wrong[0][1] / ONE}" if wrong else ""
    note = "loss: how many break the inequality"
    return Report(1, len(tried), float(len(wrong)), 0.0, where, note)


def _law(
    beta: int, limit: int, order: int = 3, weight: str = "1/2", person: int = 1, own: int = 1
) -> Law:
    return Law(beta, order, Fraction(weight), limit, person, own)


def _kernel(law: Law) -> KernelAnomaly:
    """The model of :func:`rules_of`: a record weighs most at the place itself, and 1 beside it."""
    return KernelAnomaly(law.beta + law.own - 1, radii=[0.5, 1.0], heights=[law.own, 1])


def _one_direction(rules: Rules, law: Law) -> Rules:
    """Chances that keep only the first of the two inequalities: far too steep on one side."""
    entries = [ONE - (ONE >> 12)]
    for _ in range(8):  # the lowest that the second inequality alone allows
        low, high = 1, entries[-1]
        while high - low > max(1, high >> 20):
            middle = (low + high) // 2
            yes, no = middle ** (law.order - 1), (ONE - middle) ** (law.order - 1)
            p, z = entries[-1], law.weight
            sides = (ONE - p) ** law.order * yes * z.denominator + p**law.order * no * z.numerator
            low, high = (low, middle) if sides <= ONE * yes * no * z.denominator else (middle, high)
        entries.append(high)
    return Rules(lambda count: entries[min(count, len(entries) - 1)] / ONE, rules.limit)


LAWS = {
    "one flag": _law(2, 1),
    "two flags": _law(2, 2, order=2, weight="2/3"),
    "two flags, a sharp law": _law(1, 2, order=4, weight="1/8"),
    "persons of two records": _law(2, 1, person=2),
    "weights up to two": _law(2, 1, own=2),
    "weights up to three, two flags": _law(1, 2, order=2, weight="2/3", own=3),
}
_BROKEN = _law(2, 1, order=2, weight="2/3")
_CHOSEN = Law.chosen(beta=2, epsilon=Fraction(1, 2), delta=Fraction(1, 20), limit=1)

MUTANTS: dict[str, Callable[[Rules], Rules]] = {
    "flags that count by the data": lambda rules: Rules(rules.chance, rules.limit, by_data=2),
    "who is left out is subtracted twice": lambda rules: Rules(
        rules.chance, rules.limit, twice=True
    ),
    "left out one flag later": lambda rules: Rules(rules.chance, rules.limit + 1),
    "one direction only": lambda rules: _one_direction(rules, _BROKEN),
    "the state of an old backup": lambda rules: Rules(rules.chance, rules.limit, again=1),
    "two openings, each with a state": lambda rules: Rules(rules.chance, rules.limit, openings=2),
    "weights of two in a law for one": lambda rules: replace(rules, weights=(2, 1)),
    "who is farther off does not pay": lambda rules: replace(rules, pays=0),
}

_MILLIONTH = Law.chosen(beta=200, epsilon=Fraction(1), delta=Fraction(1, 10**6), contribution=3)
CHECKS: Checks = {
    **{
        f"every strategy: {name}": partial(every_strategy, law, lambda rules: rules)
        for name, law in LAWS.items()
    },
    **{
        f"counters as shipped: {name}": partial(as_shipped, law)
        for name, law in LAWS.items()
        if law.contribution == 1
    },
    "5,000 random strategies, answer by answer": partial(
        random_strategies, _CHOSEN, Fraction(1, 20), 5000
    ),
    "the inequality of every entry": partial(hypothesis, _MILLIONTH, lambda p, q: q),
    "mutant: entries one part in a thousand apart more": partial(
        hypothesis, _CHOSEN, lambda p, q: q - (q >> 10) if q < p else q
    ),
    **{
        f"mutant: {name}": partial(every_strategy, _BROKEN, change, 2)
        for name, change in MUTANTS.items()
    },
}
