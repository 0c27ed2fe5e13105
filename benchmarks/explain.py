"""Explain: every context of one record, against the plain way and a careful one.

51,000 records, attributes with 9, 8 and 8 values, one lognormal metric: 4,194,304 contexts contain
the record. The plain way masks the records of each context and calls scikit-learn or scipy on
them; the careful way keeps the records sorted and gives scikit-learn only the nearest 60 on each
side. Both are timed on random contexts of the same record in the same run.

`ratio_lof` and `ratio_lof_careful` are against the two ways, `direct_KIND_s` and `ratio_KIND` of
each detector, `bfs_lof_s` a search breadth first, `utility_SEARCH` each search's share of the best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import best_of, emit, parser, print_table
from whitecrow.data import Card, Column, Dataset
from whitecrow.explain import Explain, ExplainFacts, gather, release
from whitecrow.explain.search import SEARCHES

SIZES = {"job": 9, "employer": 8, "year": 8}
RECORDS = 51_000
EPSILON = Fraction(1, 5)
Predicate = Callable[[int], bool]


def people(seed: int) -> Dataset:
    """Make the data: a common cell is 30 times as full as a rare one, salaries are lognormal."""
    random = np.random.default_rng(seed)
    card = Card(
        "salaries",
        (
            *(
                Column(name, "category", categories=tuple(map(str, range(size))))
                for name, size in SIZES.items()
            ),
            Column("salary", lower=0, upper=10_000_000, resolution=0.01),
        ),
    )
    columns: dict[str, NDArray[Any]] = {}
    level = np.full(RECORDS, 11.6)
    for name, size in SIZES.items():
        weights = np.geomspace(3, 1, size)
        columns[name] = random.choice(size, RECORDS, p=weights / weights.sum())
        level += random.normal(0, 0.1, size)[columns[name]]
    columns["salary"] = np.round(np.exp(random.normal(level, 0.3)), 2)
    return Dataset(card, columns)


def record_at(data: Dataset, quantile: float) -> dict[str, Any]:
    """Return the record at a quantile of the salary: an outlier in some contexts."""
    salaries = data.values("salary")
    row = int(np.argsort(salaries)[int(quantile * RECORDS)])
    record = {name: str(data.values(name)[row]) for name in SIZES}
    return {**record, "salary": float(salaries[row])}


def asked(record: dict[str, Any], detector: str, search: str) -> Explain:
    """Return the question."""
    return Explain(
        record,
        metric="salary",
        detector=detector,
        epsilon=EPSILON,
        search=search,
        notion="conditional",
    )


def direct(question: Explain, data: Dataset) -> None:
    """Answer from nothing prepared."""
    release(question, gather(question, data))


def _mask(facts: ExplainFacts, context: int) -> NDArray[np.int64]:
    """The offsets of a context's members by a boolean mask over all records, the record last."""
    population = facts.exact_graph.population
    keep = population.inside(context)[population.cell]
    return np.append(population.offsets[keep], 0)


def plain_lof(facts: ExplainFacts) -> Predicate:
    """Mask, then scikit-learn on the whole population."""
    from sklearn.neighbors import LocalOutlierFactor as Peer

    def verdict(context: int) -> bool:
        members = _mask(facts, context).reshape(-1, 1)
        if len(members) < 3:
            return False
        peer = Peer(n_neighbors=min(20, len(members) - 1))
        peer.fit(members)
        return bool(-peer.negative_outlier_factor_[-1] > 1.5)

    return verdict


def careful_lof(facts: ExplainFacts) -> Predicate:
    """Sorted once; mask, a window of 60 on each side, then scikit-learn on the window."""
    from sklearn.neighbors import LocalOutlierFactor as Peer

    population = facts.exact_graph.population
    order = np.argsort(population.offsets, kind="stable")
    offsets, cell = population.offsets[order], population.cell[order]

    def verdict(context: int) -> bool:
        members = offsets[population.inside(context)[cell]]
        index = int(np.searchsorted(members, 0))
        near = np.append(members[max(0, index - 60) : index + 60], 0).reshape(-1, 1)
        if len(near) < 3:
            return False
        peer = Peer(n_neighbors=min(20, len(near) - 1))
        peer.fit(near)
        return bool(-peer.negative_outlier_factor_[-1] > 1.5)

    return verdict


def plain_grubbs(facts: ExplainFacts) -> Predicate:
    """Mask, then numpy and scipy on the whole population."""
    from scipy import stats

    def verdict(context: int) -> bool:
        members = _mask(facts, context)
        n = len(members)
        if n < 3:
            return False
        square = stats.t.isf(0.05 / (2 * n), n - 2) ** 2
        critical = (n - 1) / math.sqrt(n) * math.sqrt(square / (n - 2 + square))
        return bool(abs(members.mean()) > critical * members.std(ddof=1))

    return verdict


def plain_histogram(facts: ExplainFacts) -> Predicate:
    """Mask, then numpy's histogram on the whole population."""

    def verdict(context: int) -> bool:
        members = _mask(facts, context)
        counts, edges = np.histogram(members, bins="sqrt")
        index = min(max(int(np.searchsorted(edges, 0, "right")) - 1, 0), len(counts) - 1)
        return bool(counts[index] < len(members) / 400)

    return verdict


def seconds_each(predicate: Predicate, contexts: Sequence[int]) -> float:
    """Return the mean time of one verdict."""
    start = time.perf_counter()
    for context in contexts:
        predicate(context)
    return (time.perf_counter() - start) / len(contexts)


def agreement(predicate: Predicate, facts: ExplainFacts, contexts: Sequence[int]) -> str:
    """Compare a peer's verdicts with ours."""
    ours = facts.exact_graph.match(contexts)
    same = sum(predicate(context) == mine for context, mine in zip(contexts, ours, strict=True))
    return f"{same}/{len(contexts)}"


def utilities(data: Dataset, quantiles: Sequence[float], runs: int) -> dict[str, float]:
    """Return the mean share of the best population that each search finds, LOF."""
    reached: dict[str, list[float]] = {search: [] for search in SEARCHES}
    for quantile in quantiles:
        record = record_at(data, quantile)
        facts = {s: gather(asked(record, "lof", s), data) for s in SEARCHES}
        levels, _ = facts["direct"].graph.levels()
        if not levels:
            continue
        for search, gathered in facts.items():
            for _ in range(runs):
                answer = release(asked(record, "lof", search), gathered)
                context = gathered.space.context(answer["context"])
                reached[search].append(gathered.exact_graph.utility([context])[0] / max(levels))
    return {search: float(np.mean(values)) for search, values in reached.items()}


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables and the figures."""
    options = parser(__doc__ or "").parse_args(argv)
    data = people(5)
    record = record_at(data, 0.999)
    for kind in ("grubbs", "histogram", "lof"):  # compile first
        direct(asked(record, kind, "direct"), _few(data))
    release(asked(record, "lof", "bfs"), gather(asked(record, "lof", "bfs"), _few(data)))

    repeat = 1 if options.quick else 3
    random = np.random.default_rng(7)
    contexts = [int(c) for c in random.integers(0, 2**22, 400)]
    plain: dict[str, tuple[Callable[[ExplainFacts], Predicate], int]] = {
        "grubbs": (plain_grubbs, 200),
        "histogram": (plain_histogram, 100),
        "lof": (plain_lof, 20),
    }
    rows, figures = [], {}
    for kind, (peer, tried) in plain.items():
        question = asked(record, kind, "direct")
        ours = best_of(lambda question=question: direct(question, data), repeat)
        facts = gather(question, data)
        predicate = peer(facts)
        predicate(contexts[0])
        theirs = seconds_each(predicate, contexts[:tried]) * 2**22
        same = agreement(predicate, facts, contexts[:tried])
        rows.append((kind, ours, theirs / 3600, theirs / ours, same))
        figures[f"direct_{kind}_s"] = ours
        figures[f"ratio_{kind}"] = theirs / ours
        if kind == "lof":
            careful = careful_lof(facts)
            slow = seconds_each(careful, contexts[: tried * 10]) * 2**22
            same = agreement(careful, facts, contexts[: tried * 10])
            rows.append(("lof, careful", ours, slow / 3600, slow / ours, same))
            figures["ratio_lof_careful"] = slow / ours
    question = asked(record, "lof", "bfs")
    prepare = best_of(lambda: gather(question, data), repeat)
    gathered = [gather(question, data) for _ in range(10)]
    bfs = best_of(lambda: release(question, gathered.pop()), 10)
    figures["bfs_lof_s"] = bfs
    print_table(("all 4,194,304 contexts", "ours, s", "peer, h", "ratio", "equal verdicts"), rows)
    print(f"breadth first, 50 samples, LOF: {bfs:.4f} s once prepared ({prepare:.3f} s)\n")

    quantiles = (0.999, 0.9995) if options.quick else (0.998, 0.999, 0.9995, 0.9998, 0.9999)
    means = utilities(data, quantiles, 10 if options.quick else 40)
    print_table(("search, epsilon 0.2, LOF", "share of the best"), list(means.items()))
    for name in ("ratio_lof", "ratio_lof_careful"):
        emit(name, figures.pop(name))
    for name, value in figures.items():
        emit(name, value)
    for search, mean in means.items():
        emit(f"utility_{search}", mean)


def _few(data: Dataset) -> Dataset:
    """A small part, for compilation."""
    return Dataset(data.card, {name: data.values(name)[:500] for name in (*SIZES, "salary")})


if __name__ == "__main__":
    main()
