"""What follows for records that a sensitive promise does not cover: Claims 1 to 3, computed.

Regular properties (Definition 8), tailored and protected differential privacy of Asif et al.,
Sections 6 and 7, on every database of small universes; ``docs/regular.md`` tells them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.graph import Counts, DatabaseGraph, Edges, Flags
from whitecrow.exhaustive import Report
from whitecrow_audit.verify.universes import Checks

Floats = NDArray[np.float64]


@lru_cache(maxsize=4)
def _graph(points: int, size: int) -> DatabaseGraph:
    return DatabaseGraph(range(points), size)


def _near(places: int, radius: int) -> Counts:
    points = np.arange(places)
    return np.asarray(np.abs(points[:, None] - points) <= radius, dtype=np.int64)


def _sensitive(graph: DatabaseGraph, near: Counts, tau: int) -> Flags:
    return np.asarray(graph.counts @ near.T >= tau)


def _settings(most: int) -> Iterator[tuple[int, int]]:
    for beta in range(1, most + 1):
        for k in range(1, beta + 2):
            yield beta, k


def components(nodes: Flags, pairs: Edges) -> Counts:
    """Number the components of the graph that some databases induce; -1 for the others."""
    labels = np.where(nodes, np.arange(len(nodes)), -1)
    while True:
        before = labels.copy()
        for smaller, larger in pairs:
            inside = nodes[smaller] & nodes[larger]
            a, b = smaller[inside], larger[inside]
            least = np.minimum(labels[a], labels[b])
            labels[a], labels[b] = np.minimum(labels[a], least), np.minimum(labels[b], least)
        if (before == labels).all():
            return labels


def claim_one() -> Report:
    """Radius 0 and k < β: not regular. Two databases with sensitive records never meet."""
    graph, near, edges, met = _graph(3, 9), _near(3, 0), 0, 0
    for beta, k in _settings(4):
        tau = beta + 1 - k
        if beta == 1 or k >= beta:
            continue
        sensitive = _sensitive(graph, near, tau)
        pairs = graph.sensitive_pairs(sensitive)
        edges += sum(len(smaller) for smaller, _ in pairs)
        # Edge by edge, so for universes of any size: no count below tau ever changes.
        met += sum(int((graph.counts[b, j] < tau).sum()) for j, (_, b) in enumerate(pairs))
        labels = components(np.asarray(sensitive.any(axis=1)), pairs)
        met += labels[graph.number([0] * tau)] == labels[graph.number([1] * tau)]
    return Report(len(graph.counts), edges, float(met), 0.0, note="loss: databases that meet")


def claim_two(radius: int = 1) -> Report:
    """A radius that connects all values: regular. All databases with a sensitive record meet."""
    graph, near, edges, excess = _graph(3, 15), _near(3, radius), 0, 0
    inner = graph.counts.sum(axis=1) <= 9  # ways need more records: beta at every place
    for beta, k in _settings(3):
        sensitive = _sensitive(graph, near, beta + 1 - k)
        pairs = graph.sensitive_pairs(sensitive)
        edges += sum(len(smaller) for smaller, _ in pairs)
        nodes = np.asarray(sensitive.any(axis=1))
        excess += len(np.unique(components(nodes, pairs)[nodes & inner])) - 1
    return Report(len(graph.counts), edges, float(excess), 0.0, note="loss: components too many")


def _loss(yes: Floats, one: Counts | int, other: Counts | int) -> Floats:
    """The loss of a yes or no between databases, from the chance of yes."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.stack([yes, 1 - yes]))
    return np.asarray(np.abs(logs[:, one] - logs[:, other]).max(axis=0))


def claim_three(mechanisms: int = 300) -> Report:
    """Sensitive privacy is tailored privacy with ε times the distance, for any mechanism.

    The least α for which a mechanism is (α, k)-sensitively private is the least for which every
    present record loses at most α times the distance to the database without it.
    """
    graph, worst, edges = _graph(3, 6), 0.0, 0
    source = np.random.default_rng(3)
    for beta, k, radius in ((2, 1, 1), (3, 1, 1), (3, 2, 1), (3, 1, 0), (2, 2, 2)):
        pairs = graph.sensitive_pairs(_sensitive(graph, _near(3, radius), beta + 1 - k))
        between = _all_distances(graph, pairs)
        for _ in range(mechanisms // 5):
            # Each component has chances of its own; between components all is allowed.
            yes = source.uniform(0.05, 0.95, len(graph.counts))
            sensitive = max(
                (float(_loss(yes, a, b).max()) for a, b in pairs if len(a)), default=0.0
            )
            tailored = 0.0
            for a, b in graph.all_pairs:
                far = between[a, b]
                lost = _loss(yes, a, b)[far > 0] / far[far > 0]
                tailored = max(tailored, float(lost.max(initial=0.0)))
                edges += len(a)
            worst = max(worst, abs(sensitive - tailored))
    return Report(len(graph.counts), edges, worst, 0.0, note="loss: by how much the two differ")


def _all_distances(graph: DatabaseGraph, pairs: Edges) -> Counts:
    """Return the distance of every two databases along some pairs; -1 where there is no way."""
    return graph.distances(np.eye(len(graph.counts), dtype=np.bool_), pairs)


def connected_records() -> Report:
    """A record that lacks m neighbours near a covered value is 2m + 1 steps from its absence."""
    graph, tried, wrong = _graph(3, 12), 0, 0
    near = _near(3, 1)
    around = graph.counts @ near.T
    room = graph.counts.sum(axis=1) <= 7
    for beta, k in _settings(4):
        tau = beta + 1 - k
        pairs = graph.sensitive_pairs(_sensitive(graph, near, tau))
        for index, (without, present) in enumerate(graph.all_pairs):
            # A value within the radius at which one more record would be covered without it.
            covered = ((around[without] >= tau - 1) & (near[index] == 1)).any(axis=1)
            asked = room[present] & covered & (around[present, index] < tau)
            for a, b in zip(without[asked], present[asked], strict=True):
                to = np.zeros((len(graph.counts), 1), dtype=np.bool_)
                to[a] = True
                missing = tau - int(around[b, index])
                tried += 1
                wrong += int(graph.distances(to, pairs)[b, 0]) != 2 * missing + 1
    return Report(len(graph.counts), tried, float(wrong), 0.0, note="loss: other distances")


def protected(k: int) -> Report:
    """Protected differential privacy: "normal" is a public population, and nobody else is covered.

    The graph of Definition 5 joins the pairs whose record belongs to it, whatever the data are.
    """
    graph, population = _graph(3, 8), np.array([True, False, True])
    normal = (graph.counts > 0) & population
    inner = graph.counts.sum(axis=1) <= 8 - k
    sensitive = graph.within(normal, k)
    wrong = (sensitive != population)[inner]
    pairs = graph.sensitive_pairs(sensitive)
    edges = sum(len(smaller) for smaller, _ in pairs)
    return Report(len(graph.counts), edges, float(wrong.sum()), 0.0, note="loss: other pairs")


def path_forgotten() -> Report:
    """A mutant of the conversion: ε for a record that is 3 steps away, as if it were covered."""
    graph, near, rate = _graph(3, 8), _near(3, 1), 1.0
    tau = 3
    pairs = graph.sensitive_pairs(_sensitive(graph, near, tau))
    # A mechanism that uses up its promise on the way: the chance falls by e^-ε at each step.
    to = np.zeros((len(graph.counts), 1), dtype=np.bool_)
    start = graph.number([0, 0, 0, 2])
    to[start] = True
    far = graph.distances(to, pairs)[:, 0]
    yes = np.where(far < 0, 1e-12, 0.5 * np.exp(-rate * np.maximum(far, 0)))
    without = graph.number([0, 0, 0])
    lost = float(_loss(yes, np.array([start]), np.array([without])).max())
    return Report(2, 1, lost if far[without] > 0 else math.inf, rate, f"{far[without]} steps")


CHECKS: Checks = {
    "Claim 1: at radius 0 and k < beta not regular": claim_one,
    "Claim 2: regular where the radius connects all values": claim_two,
    "Claim 3: tailored with epsilon times the distance": claim_three,
    "a record that lacks m neighbours is 2m + 1 steps away": connected_records,
    "protected differential privacy, k 1": partial(protected, 1),
    "protected differential privacy, k 3": partial(protected, 3),
    "mutant: Claim 2 at a radius that connects nothing": partial(claim_two, 0),
    "mutant: an uncovered record at the price of a covered one": path_forgotten,
}
