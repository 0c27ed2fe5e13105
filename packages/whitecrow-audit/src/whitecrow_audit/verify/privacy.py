"""Composition and conversion against brute force: real mechanisms, real graphs, every edge.

A small universe is enumerated whole. For each notion its neighbour graph is built from the
definition. Mechanisms are drawn at random that keep a guarantee on *their* graph and do as they
please elsewhere: the weight of output ``o`` on database ``x`` is ``exp(-(ε/2) d(x, a_o))`` with
``d`` the distance in the graph to an anchor ``a_o``, and a fresh arbitrary weight in every other
component. Two such mechanisms, the second chosen by the first one's output, are composed, and the
loss of the joint release is measured on every edge that the reported guarantee speaks of.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from whitecrow.errors import NoConversion
from whitecrow.exhaustive import Report
from whitecrow.privacy import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Guarantee,
    SensitivePrivacy,
    ZeroConcentrated,
    Zone,
    at_least_as_strong,
    compose,
)
from whitecrow_audit.verify.universes import (
    Checks,
    Histogram,
    databases,
    neighbours_on_line,
    neighbours_on_ring,
)

CELLS, MOST = 3, 2
EPSILONS = ("1/10", "1/4", "1/2", "1", "3/2")
DELTAS = ("1/100", "1/20")
CONDITIONS = {
    "the presence of the first value stays the same": lambda x, y: (x[0] > 0) == (y[0] > 0),
    "the last value is as frequent": lambda x, y: x[-1] == y[-1],
}
CARDS: dict[str, tuple[int | None, ...]] = {
    "as written": (0, 1, 2),
    "clipped": (0, 1, 1),
    "last value rejected": (0, 1, None),
}
"""Readings of the data: which value a card makes of each (None: the record is left out)."""
_OUTPUTS = 3
_FAR = 40.0

Law = npt.NDArray[np.float64]
Edges = npt.NDArray[np.int64]


@lru_cache(maxsize=1)
def _universe() -> tuple[Histogram, ...]:
    return tuple(databases(CELLS, MOST))


def _pairs(unit: str) -> Iterator[tuple[Histogram, Histogram]]:
    for x, y in itertools.combinations(_universe(), 2):
        change = sorted(b - a for a, b in zip(x, y, strict=True) if a != b)
        if unit == "add_remove" and change in ([1], [-1]):
            yield x, y
        if unit == "replace_one" and change == [-1, 1]:
            yield x, y


def _covers(zone: Zone, x: Histogram, y: Histogram) -> bool:
    """The definition: in the larger database, at least tau records lie near the one that moves.

    Both as the zone's card reads them; under every card where it is unknown.
    """
    cards = [zone.card] if zone.card else list(CARDS)
    return all(_covers_as_read(CARDS[card], zone, x, y) for card in cards)


def _covers_as_read(seen: tuple[int | None, ...], zone: Zone, x: Histogram, y: Histogram) -> bool:
    larger = x if sum(x) > sum(y) else y
    moved = seen[next(i for i in range(CELLS) if x[i] != y[i])]
    if moved is None:  # a record that the card leaves out moves nothing
        return True
    near = neighbours_on_ring if zone.metric == "ring" else neighbours_on_line
    close = near(CELLS, int(zone.radius))[moved]
    return sum(many for value, many in enumerate(larger) if seen[value] in close) >= zone.tau


@lru_cache(maxsize=4096)
def _edges(guarantee: Guarantee) -> Edges:
    """Every pair of databases that the guarantee speaks of, as places in the universe."""
    index = {x: i for i, x in enumerate(_universe())}
    zones = getattr(guarantee, "zones", ())
    conditions = getattr(guarantee, "conditions", ())
    edges = [
        (index[x], index[y])
        for x, y in _pairs(getattr(guarantee, "unit", "add_remove"))
        if all(_covers(zone, x, y) for zone in zones)
        and all(CONDITIONS[condition](x, y) for condition in conditions)
    ]
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


@lru_cache(maxsize=4096)
def _distances(guarantee: Guarantee) -> Law:
    """All distances in the guarantee's graph, infinite between components."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path

    edges, size = _edges(guarantee), len(_universe())
    graph = csr_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(size, size))
    distances: Law = shortest_path(graph, directed=False, unweighted=True)
    return distances


def _mechanism(guarantee: Guarantee, random_: random.Random) -> Law:
    """Draw a mechanism that keeps the guarantee on its graph, and reveals elsewhere."""
    distances = _distances(_bare(guarantee))
    size = len(distances)
    rate = float(_epsilon(guarantee)) / 2
    component = np.array([np.flatnonzero(np.isfinite(row))[0] for row in distances])
    weights = np.empty((size, _OUTPUTS))
    for output in range(_OUTPUTS):
        distance = distances[random_.randrange(size)]
        offsets = np.array([random_.choice((0.0, _FAR, 3.0)) for _ in range(size)])
        weights[:, output] = np.where(np.isfinite(distance), -rate * distance, -offsets[component])
    law = np.exp(weights)
    law /= law.sum(axis=1, keepdims=True)
    delta = float(getattr(guarantee, "delta", 0))
    if delta:  # with probability delta, tell everything
        law = np.hstack([(1 - delta) * law, delta * np.eye(size)])
    return law


def _epsilon(guarantee: Guarantee) -> Fraction:
    if isinstance(guarantee, ZeroConcentrated):  # ε-DP implies ε²/2-zCDP
        return Fraction(math.isqrt(int(2 * guarantee.rho * 10**12)), 10**6)
    return guarantee.epsilon


@lru_cache(maxsize=4096)
def _bare(guarantee: Guarantee) -> Guarantee:
    """The guarantee with its numbers removed: what its graph depends on."""
    if isinstance(guarantee, ZeroConcentrated | DifferentialPrivacy):
        return DifferentialPrivacy(Fraction(0), Fraction(0), guarantee.unit)
    if isinstance(guarantee, SensitivePrivacy):
        return SensitivePrivacy.over(Fraction(0), guarantee.zones)
    return ConditionalPrivacy(
        Fraction(0), guarantee.condition, guarantee.and_also, zones=guarantee.zones
    )


def _excess(law: Law, guarantee: Guarantee) -> tuple[float, str]:
    """By how much the worst edge exceeds the guarantee (0 or below: kept), and which edge."""
    edges = _edges(_bare(guarantee))
    if not len(edges):
        return -math.inf, ""
    both = np.vstack([edges, edges[:, ::-1]])
    p, q = law[both[:, 0]], law[both[:, 1]]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if isinstance(guarantee, ZeroConcentrated):
            excess = np.full(len(both), -math.inf)
            for alpha in (1.05, 1.5, 2.0, 4.0, 16.0):
                moment = np.where(p > 0, p**alpha * q ** (1 - alpha), 0).sum(axis=1)
                excess = np.maximum(
                    excess, np.log(moment) / (alpha - 1) - float(guarantee.rho) * alpha
                )
        elif guarantee.delta == 0:
            ratio = np.where(p > 0, np.log(p) - np.log(q), -math.inf)
            excess = ratio.max(axis=1) - float(guarantee.epsilon)
        else:
            beyond = np.maximum(0, p - math.exp(guarantee.epsilon) * q).sum(axis=1)
            excess = beyond - float(guarantee.delta)
    worst = int(excess.argmax())
    x, y = (_universe()[i] for i in both[worst])
    return float(excess[worst]), f"{x} ~ {y}"


def _guarantee(random_: random.Random) -> Guarantee:
    """Draw a guarantee of any notion."""
    epsilon = Fraction(random_.choice(EPSILONS))
    delta = Fraction(random_.choice(DELTAS)) if random_.random() < 0.25 else Fraction(0)
    kind = random_.randrange(6)
    if kind == 0:
        return DifferentialPrivacy(epsilon, delta)
    if kind == 1:
        return DifferentialPrivacy(epsilon, delta, "replace_one")
    if kind == 2:
        unit = random_.choice(("add_remove", "replace_one"))
        return ZeroConcentrated(
            epsilon**2 / 2, "add_remove" if unit == "add_remove" else "replace_one"
        )
    if kind == 3:
        return ConditionalPrivacy(epsilon, random_.choice(tuple(CONDITIONS)), delta=delta)
    metric = random_.choice(("line", "line", "ring"))
    tau, radius = random_.randrange(0, 6), random_.choice((0, 1, 1, 2))
    card = random_.choice(tuple(CARDS))
    return SensitivePrivacy(epsilon, tau, radius, metric, delta=delta, card=card)


def _told(guarantee: Guarantee, random_: random.Random) -> Guarantee:
    """What the account is told of a release: sometimes not under which card it was made."""
    if isinstance(guarantee, SensitivePrivacy) and random_.random() < 0.2:
        return replace(guarantee, card="")
    return guarantee


def _joint(one: Law, others: list[Law]) -> Law:
    """The law of releasing the first and then the one its output chooses."""
    parts = [one[:, [o]] * others[o % len(others)] for o in range(one.shape[1])]
    return np.hstack(parts)


@dataclass
class _Tally:
    cases: int = 0
    refused: int = 0
    edges: int = 0
    worst: float = -math.inf
    where: str = ""

    def add(self, law: Law, guarantee: Guarantee, what: str) -> None:
        self.cases += 1
        self.edges += len(_edges(_bare(guarantee)))
        excess, edge = _excess(law, guarantee)
        if excess > self.worst:
            self.worst, self.where = excess, f"{what} at {edge}"

    def report(self, note: str) -> Report:
        worst = max(0.0, self.worst)
        words = f"{note}: {self.cases} cases, {self.refused} refused"
        return Report(len(_universe()), self.edges, worst, 0.0, self.where, words)


Rule = Callable[[list[Guarantee]], Guarantee]


def _compose(parts: list[Guarantee]) -> Guarantee:
    return compose(parts, delta=Fraction(1, 1000))


def check_composition(cases: int, seed: int = 1, rule: Rule = _compose) -> Report:
    """Compose random pairs and measure every edge of what the rule reports."""
    random_ = random.Random(seed)
    tally = _Tally()
    while tally.cases < cases:
        pair = [_guarantee(random_), _guarantee(random_)]
        try:
            reported = rule([_told(part, random_) for part in pair])
        except NoConversion:
            tally.refused += 1
            continue
        law = _joint(_mechanism(pair[0], random_), [_mechanism(pair[1], random_) for _ in range(2)])
        tally.add(law, reported, f"{pair[0]} then {pair[1]}, reported {reported}")
    return tally.report("composition")


def check_order(cases: int, seed: int = 2) -> Report:
    """Where one guarantee is said to imply another, a mechanism of the first keeps the second."""
    random_ = random.Random(seed)
    tally = _Tally()
    while tally.cases < cases:
        one, other = _guarantee(random_), _guarantee(random_)
        if not at_least_as_strong(one, other):
            tally.refused += 1
            continue
        tally.add(_mechanism(one, random_), other, f"{one} said to imply {other}")
    return tally.report("conversion")


def _sensitive(parts: list[Guarantee]) -> list[SensitivePrivacy]:
    """The parts, which must be pure sensitive ones: what a mutant composes."""
    sensitive = [p for p in parts if isinstance(p, SensitivePrivacy) and not p.delta]
    if len(sensitive) < len(parts):
        raise NoConversion("only sensitive pairs")
    return sensitive


def _union_of_zones(parts: list[Guarantee]) -> Guarantee:
    """A mutant: two sensitive releases reported at (min tau, max radius)."""
    first, second = _sensitive(parts)
    if (first.metric, first.card) != (second.metric, second.card):
        raise NoConversion("only one metric and one card")
    return SensitivePrivacy(
        first.epsilon + second.epsilon,
        min(first.tau, second.tau),
        max(first.radius, second.radius),
        first.metric,
        card=first.card,
    )


def _zones_across_cards(parts: list[Guarantee]) -> Guarantee:
    """A mutant: zones of two cards merged as if one card had read the data both times."""
    first, second = _sensitive(parts)
    if first.card == second.card or not (first.card and second.card):
        raise NoConversion("only two known cards")
    return _compose([first, replace(second, card=first.card)])


def _sensitive_as_differential(parts: list[Guarantee]) -> Guarantee:
    """A mutant: a sensitive release counted as differential privacy."""
    if any(
        getattr(part, "delta", 1) != 0 or getattr(part, "unit", "") == "replace_one"
        for part in parts
    ):
        raise NoConversion("only pure add/remove")
    return DifferentialPrivacy(sum((_epsilon(part) for part in parts), Fraction(0)))


def _replace_as_add(parts: list[Guarantee]) -> Guarantee:
    """A mutant: replace-one epsilons added up as if they were add/remove ones."""
    if not all(isinstance(p, DifferentialPrivacy) and not p.delta for p in parts):
        raise NoConversion("only pure")
    return DifferentialPrivacy(sum((_epsilon(part) for part in parts), Fraction(0)))


def _forgotten_delta(parts: list[Guarantee]) -> Guarantee:
    """A mutant: the deltas of a composition are dropped to the larger one."""
    plain = [p for p in parts if isinstance(p, DifferentialPrivacy) and p.unit == "add_remove"]
    if len(plain) < len(parts):
        raise NoConversion("only add/remove")
    return DifferentialPrivacy(plain[0].epsilon + plain[1].epsilon, max(p.delta for p in plain))


CHECKS: Checks = {
    "composition keeps what it reports": partial(check_composition, 1500),
    "what is said to follow does follow": partial(check_order, 1500),
    **{
        f"mutant: {words}": partial(check_composition, 60, rule=rule)
        for words, rule in (
            ("two sensitive releases at the union of their edges", _union_of_zones),
            ("sensitive releases under two cards at one zone", _zones_across_cards),
            ("a sensitive release counted as differential privacy", _sensitive_as_differential),
            ("replace-one counted as add/remove", _replace_as_add),
            ("deltas of a composition not added", _forgotten_delta),
        )
    },
}
