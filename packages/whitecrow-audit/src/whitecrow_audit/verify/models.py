"""Models of anomalies, checked: who is sensitive, λ, and the loss, on every pair of databases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly import (
    ContextualAnomaly,
    CountingModel,
    DistanceAnomaly,
    KernelAnomaly,
    KthNeighbourAnomaly,
    SimilarityAnomaly,
)
from whitecrow.anomaly.graph import Counts, DatabaseGraph, Edges, Flags
from whitecrow.anomaly.law import discrepancy, is_anomaly, novelty_discrepancy
from whitecrow.anomaly.model import Judgement, record_type
from whitecrow.exhaustive import Report
from whitecrow_audit.verify.sensitive import flip_losses
from whitecrow_audit.verify.universes import Checks, together

_POINTS, _SIZE, _RATE = 5, 17, 1.0
Law = Callable[[int, int], Judgement]


@lru_cache(maxsize=2)
def _graph(points: int, size: int) -> DatabaseGraph:
    return DatabaseGraph(range(points), size)


@dataclass(frozen=True)
class Weighed:
    """What some records weigh for each other, and the threshold."""

    name: str
    weights: Counts
    threshold: int
    own: int

    @classmethod
    def by(cls, model: CountingModel, records: Sequence[Any]) -> Weighed:
        """Let a model weigh the records of a universe."""
        weights = [[model.weight(i, other) for other in records] for i in records]
        return cls(model.kind, np.array(weights), model.threshold, model.own)

    def law(self, k: int | None) -> Law:
        """Return the answer and λ of a model that weighs, from copies and weight."""
        level = self.threshold if k is None else k

        def judged(copies: int, weight: int) -> Judgement:
            bound = discrepancy(
                copies, weight, beta=self.threshold, k=level, tight=True, own=self.own
            )
            return is_anomaly(copies, weight, beta=self.threshold), bound

        return judged

    def novel(self, _: int, weight: int) -> Judgement:
        """Return what a record would be that is added, and the distance."""
        bound = novelty_discrepancy(weight, beta=self.threshold, own=self.own)
        return weight + self.own <= self.threshold, bound

    def around(self, graph: DatabaseGraph) -> Counts:
        """Return what weighs around each record in each database."""
        return np.asarray(graph.counts @ self.weights.T)


_ROW = record_type(("age", "ward"))
_WARDS = [_ROW(0, "A"), _ROW(1, "A"), _ROW(2, "A"), _ROW(0, "B"), _ROW(1, "B")]
_LINE = range(_POINTS)
MODELS: dict[str, tuple[CountingModel, Sequence[Any]]] = {
    "distance": (DistanceAnomaly(3, 1), _LINE),
    "kth-neighbour": (KthNeighbourAnomaly(4, 1), _LINE),
    "kernel": (KernelAnomaly(most=7, radii=[1, 2], heights=[3, 1]), _LINE),
    "contextual": (ContextualAnomaly(3, 1, group=["ward"]), _WARDS),
    "similarity": (SimilarityAnomaly(3, 1, weights={"age": 0.5, "ward": 0.75}), _WARDS),
}


def relations(own: int, count: int = 40) -> Iterator[Weighed]:
    """Yield weights that come from no distance: random, not symmetric, none above the own."""
    source = np.random.default_rng(own)
    for number in range(count):
        weights = source.integers(0, own + 1, (3, 3))
        np.fill_diagonal(weights, own)
        yield Weighed(f"relation {number}", weights, own + int(source.integers(0, 3 * own)), own)


def who_is_sensitive(name: str) -> Report:
    """Lemma 3: within k steps of normal, by the definition, is a weight of at least tau."""
    graph, weighed = _graph(_POINTS, _SIZE), Weighed.by(*MODELS[name])
    around = weighed.around(graph)
    normal = (graph.counts > 0) & (around > weighed.threshold)
    sizes = graph.counts.sum(axis=1)
    wrong = tried = 0
    for k in (1, 2, 3):
        inner = sizes <= _SIZE - k  # the steps must fit
        claimed = around >= weighed.threshold + 1 - k * weighed.own
        wrong += int((graph.within(normal, k) != claimed)[inner].sum())
        tried += int(inner.sum()) * _POINTS
    note = "loss: how often the lemma and the definition disagree"
    return Report(len(graph.counts), tried, float(wrong), 0.0, note=note)


def acceptable(
    weighed: Weighed, law: Callable[[int | None], Law] | None = None, *, size: int = _SIZE
) -> Report:
    """λ is at least 1, moves by at most 1 and is 1 where the answer changes; the loss is ε."""
    graph = _graph(len(weighed.weights), size)
    around, reports = weighed.around(graph), []
    for k in (1, 2, 3, None):
        tau = 0 if k is None else weighed.threshold + 1 - k * weighed.own
        pairs = graph.sensitive_pairs(around >= tau)
        report = _worst(graph, around, (law or weighed.law)(k), pairs)
        where = f"{weighed.name}, k {k}: {report.worst_edge}"
        reports.append(replace(report, worst_edge=where))
    return replace(together(reports), databases=len(graph.counts))


def as_weighed(name: str) -> Report:
    """The same for the weights of a model."""
    return acceptable(Weighed.by(*MODELS[name]))


def screened(name: str) -> Report:
    """The same for a record that need not be in the data, on every pair."""
    graph, weighed = _graph(_POINTS, _SIZE), Weighed.by(*MODELS[name])
    return _worst(graph, weighed.around(graph), weighed.novel, graph.all_pairs)


def never_above_the_distance(name: str) -> Report:
    """λ against the minimum discrepant distance (Definition 10), by brute force."""
    graph, weighed = _graph(_POINTS, 12), Weighed.by(*MODELS[name])
    around = weighed.around(graph)
    inner = graph.counts.sum(axis=1) <= 8
    above, tried = 0.0, 0
    for k in (1, 2, None):
        tau = 0 if k is None else weighed.threshold + 1 - k * weighed.own
        labels, bound = _judged(graph.counts, around, weighed.law(k))
        truth = graph.discrepancy(labels, graph.sensitive_pairs(around >= tau))
        excess = np.where(truth < 0, 0.0, bound - truth)[inner]
        above, tried = max(above, float(excess.max())), tried + excess.size
    return Report(int(inner.sum()), tried, above, 0.0, note="loss: how far λ is above the distance")


def _judged(copies: Counts, around: Counts, law: Law) -> tuple[Flags, NDArray[np.float64]]:
    pairs, back = np.unique(np.stack([copies.ravel(), around.ravel()]), axis=1, return_inverse=True)
    judged = [law(int(v), int(w)) for v, w in pairs.T]
    labels = np.array([label for label, _ in judged])
    bounds = np.array([math.inf if bound is None else bound for _, bound in judged], dtype=float)
    shape = copies.shape
    return labels[back.ravel()].reshape(shape), bounds[back.ravel()].reshape(shape)


def _worst(graph: DatabaseGraph, around: Counts, law: Law, pairs: Edges) -> Report:
    """Report the largest loss on the pairs, infinite where λ is not acceptable."""
    labels, bound = _judged(graph.counts, around, law)
    wrong = -_RATE * bound - math.log1p(math.exp(-_RATE))
    worst, where = 0.0, ""
    for smaller, larger in pairs:
        for index in range(len(graph.universe)):
            ends = [(wrong[at, index], labels[at, index]) for at in (smaller, larger)]
            losses = flip_losses((ends[0][0], ends[1][0]), (ends[0][1], ends[1][1]))
            one, other = bound[smaller, index], bound[larger, index]
            changes = labels[smaller, index] != labels[larger, index]
            broken = (np.minimum(one, other) < 1) | (changes & (np.maximum(one, other) > 1))
            losses = np.where(broken | (np.abs(one - other) > 1), math.inf, losses)
            if len(losses) and (losses.max() > worst or not where):
                at = int(losses.argmax())
                worst = float(losses[at])
                pair = f"{graph.records(smaller[at])} ~ {graph.records(larger[at])}"
                where = f"{pair}, place {index + 1}"
    edges = sum(len(smaller) for smaller, _ in pairs)
    return Report(len(graph.counts), edges, worst, _RATE, where)


def any_weights() -> Report:
    """The same on weights that come from no distance, with own weights of 1 to 4."""
    every = (weighed for own in (1, 2, 3, 4) for weighed in relations(own))
    return together(acceptable(weighed, size=12) for weighed in every)


# Mutants


def _mutant(name: str, **wrong: Any) -> Report:
    """A model whose λ is that of other parameters than its label's."""
    weighed = Weighed.by(*MODELS[name])
    other = replace(weighed, **wrong)

    def law(k: int | None) -> Law:
        def judged(copies: int, weight: int) -> Judgement:
            label = is_anomaly(copies, weight, beta=weighed.threshold)
            return label, other.law(k)(copies, max(weight, other.own * copies))[1]

        return judged

    return acceptable(weighed, law)


def heavier_than_itself() -> Report:
    """A record that weighs more for another than that one does itself."""
    weighed = Weighed.by(*MODELS["kernel"])
    weights = weighed.weights.copy()
    weights[0, 1] = weighed.own + 1
    return acceptable(replace(weighed, weights=weights))


def another_group() -> Report:
    """λ from the neighbours of all groups, where the label asks for those of its own."""
    weighed = Weighed.by(*MODELS["contextual"])
    everyone = DistanceAnomaly(3, 1)
    all_groups = np.array([[everyone.weight(i.age, other.age) for other in _WARDS] for i in _WARDS])
    graph = _graph(_POINTS, _SIZE)
    around, seen = weighed.around(graph), np.asarray(graph.counts @ all_groups.T)
    labels, _ = _judged(graph.counts, around, weighed.law(1))
    _, bound = _judged(graph.counts, seen, weighed.law(1))
    pairs = graph.sensitive_pairs(around >= weighed.threshold)
    changes = sum(
        int(((labels[a] != labels[b]) & ((bound[a] > 1) | (bound[b] > 1))).sum()) for a, b in pairs
    )
    edges = sum(len(smaller) for smaller, _ in pairs)
    note = "loss: answers that change at one record where λ is not 1"
    return Report(len(graph.counts), edges, float(changes), 0.0, note=note)


def one_place_too_large(name: str) -> Report:
    """λ is 1 too large for one pair of copies and weight only, each of a few pairs in turn."""
    weighed = Weighed.by(*MODELS[name])
    caught = tried = edges = 0
    for copies, extra in product((1, 2), (0, weighed.own)):
        spoiled = copies, weighed.own * copies + extra

        def law(k: int | None, spoiled: tuple[int, int] = spoiled) -> Law:
            def judged(v: int, w: int) -> Judgement:
                label, bound = weighed.law(k)(v, w)
                return label, bound if bound is None else bound + ((v, w) == spoiled)

            return judged

        report = acceptable(weighed, law)
        tried, caught, edges = tried + 1, caught + (not report.ok), edges + report.edges
    note = f"loss: 1 if all of {tried} places were found"
    return Report(tried, edges, float(caught == tried), 0.0, note=note)


CHECKS: Checks = {
    **{
        claim.format(name): partial(run, name)
        for name in MODELS
        for claim, run in (
            ("{}: sensitive means a weight of tau", who_is_sensitive),
            ("{}: λ is acceptable, loss on every pair", as_weighed),
            ("{}: λ is never above the distance", never_above_the_distance),
            ("{}: screened, loss on every pair", screened),
            ("mutant: {}, λ too large by one at one place", one_place_too_large),
        )
    },
    "any weights: λ is acceptable, loss on every pair": any_weights,
    "mutant: kernel, λ as if records were counted": partial(_mutant, "kernel", own=1),
    "mutant: kth-neighbour, the record itself not counted": partial(
        _mutant, "kth-neighbour", threshold=5
    ),
    "mutant: similarity, λ of another threshold": partial(_mutant, "similarity", threshold=2),
    "mutant: kernel, another record heavier than itself": heavier_than_itself,
    "mutant: contextual, λ from all groups": another_group,
}
