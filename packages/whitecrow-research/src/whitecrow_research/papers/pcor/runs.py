"""Running the searches many times: how useful is what they find, and how long does it take?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from whitecrow.anomaly.detectors import Detector
from whitecrow.explain import Explain, ExplainFacts, gather
from whitecrow.explain.search import Draws, Graph, search
from whitecrow.noise.seeded import SeededSource
from whitecrow_research.papers.pcor.data import Study
from whitecrow_research.papers.report import mean_interval

_TRIES = 100_000


class SimulatedDraws(Draws):
    """The paper's draws in floating point: the exponential mechanism. Fit for simulation only."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def below(self, n: int) -> int:
        """Return a uniform whole number in ``0 .. n-1``."""
        return int(self._random.integers(n))

    def choose(self, utilities: Sequence[int], eta: Fraction) -> int:
        """Return a place by the exponential mechanism (Gumbel noise)."""
        scores = np.asarray(utilities, dtype=np.float64) * float(eta)
        return int(np.argmax(scores + self._random.gumbel(size=len(scores))))

    def level(self, levels: Sequence[int], counts: Sequence[int], eta: Fraction) -> int:
        """Return the place of a level by the exponential mechanism over all candidates."""
        scores = np.asarray(levels, dtype=np.float64) * float(eta) + np.log(counts)
        return int(np.argmax(scores + self._random.gumbel(size=len(scores))))

    def matching(self, graph: Graph) -> int | None:
        """Return a uniform matching context."""
        for _ in range(_TRIES // 64):
            drawn = self._random.integers(0, 1 << graph.bits, 64).tolist()
            for context, fits in zip(drawn, graph.match(drawn), strict=True):
                if fits:
                    return int(context)
        return None


@dataclass(frozen=True)
class Reference:
    """One outlier with every context evaluated: the paper's reference file."""

    question: Explain
    facts: ExplainFacts
    best: int
    seconds: float


def references(
    study: Study, records: Sequence[dict[str, Any]], detector: Detector, utility: str = "population"
) -> list[Reference]:
    """Evaluate every context of each record (the direct approach), and time it."""
    listed = []
    for record in records:
        question = Explain(
            record,
            metric=study.metric,
            attributes=study.attributes,
            detector=detector,
            utility=utility,
            # No context overlaps the start more than the start itself: nothing to enumerate.
            search="direct" if utility == "population" else "bfs",
            epsilon=1,
            notion="conditional",
        )
        start = time.perf_counter()
        facts = gather(question, study.data)
        best = max(facts.exact_graph.levels()[0]) if utility == "population" else 0
        listed.append(Reference(question, facts, best, time.perf_counter() - start))
    return listed


@dataclass(frozen=True)
class Outcome:
    """Utilities (shares of the best), by record, and run times of one setting."""

    by_record: tuple[tuple[float, ...], ...]
    seconds: tuple[float, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """The utilities of all runs."""
        return tuple(share for shares in self.by_record for share in shares)

    @property
    def mean(self) -> float:
        """The mean share."""
        return float(np.mean(self.shares))

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % confidence interval of the mean; runs on one record are not independent."""
        means = [float(np.mean(shares)) for shares in self.by_record if shares]
        return mean_interval(means, 0.9)

    def shown(self) -> str:
        """Return the mean and its 90 % confidence interval, as the paper prints them."""
        low, high = self.interval
        return f"{self.mean:.2f} ({low:.2f}, {high:.2f})"

    def times(self) -> str:
        """Return the shortest, longest and mean run time."""
        low, high = min(self.seconds), max(self.seconds)
        return f"{low:.3f} s / {high:.3f} s / {np.mean(self.seconds):.3f} s"


def repeated(
    references: Sequence[Reference],
    kind: str,
    *,
    eta: Fraction,
    samples: int,
    runs: int,
    seed: int,
    shipped: bool,
    overlap: bool = False,
) -> Outcome:
    """Run a search several times on each record.

    The first run of each record is timed with nothing evaluated beforehand.

    Parameters
    ----------
    shipped : bool
        Draw as a release does (exactly, permute-and-flip), or as the paper (simulated).
    overlap : bool
        Whether the best utility is that of the start, which each run draws anew.
    """
    shares: list[tuple[float, ...]] = []
    seconds = []
    for number, reference in enumerate(references):
        own = []
        fresh = replace(reference.facts.exact_graph)  # with nothing evaluated yet
        for run in range(runs):
            key = (seed * 1_000 + number) * 1_000 + run
            draws = Draws(SeededSource(key)) if shipped else SimulatedDraws(key)
            graph = reference.facts.exact_graph if run or kind == "direct" else fresh
            start = time.perf_counter()
            context = search(
                kind, graph, draws, eta=eta, samples=samples, start=None, anchored=overlap
            )
            if run == 0:
                seconds.append(time.perf_counter() - start)
            if context is None:
                continue
            best = reference.best
            if overlap and graph.start is not None:  # no context shares more than the start has
                best = graph.utility([graph.start])[0]
            own.append(graph.utility([context])[0] / best)
        shares.append(tuple(own))
    return Outcome(tuple(shares), tuple(seconds))
