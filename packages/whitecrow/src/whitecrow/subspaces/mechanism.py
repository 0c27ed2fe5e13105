"""What ``subspaces`` must know of the data, and where it becomes an answer.

Candidates are drawn by peeling with the exponential mechanism, then counted with noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from whitecrow.counting.mechanism import OutlierFacts, noisy_count, outlier_counts, outlier_facts
from whitecrow.data import Records
from whitecrow.neighbours import Engine
from whitecrow.noise import Source, top
from whitecrow.privacy import Facts
from whitecrow.question import Progress
from whitecrow.subspaces.question import Subspace, Subspaces


@dataclass(frozen=True, repr=False, eq=False)
class SubspaceFacts(Facts):
    """The counts to choose by, and a way to the sensitivity of the few that are chosen."""

    candidates: tuple[Subspace, ...]  # what there is to choose from (public)
    exact_outliers: tuple[int, ...]  # how many outliers each candidate has
    caps: tuple[int, ...]  # the global sensitivity of each of these counts (public)
    eta: Fraction  # the weight of ``outliers / cap`` in the choice (public)
    count: Callable[[int], OutlierFacts]  # for a noisy count in one candidate, when asked for


def gather(
    question: Subspaces, dataset: Records, engine: Engine, progress: Progress | None = None
) -> SubspaceFacts:
    card, beta = dataset.card, question.model.beta
    candidates = question.candidates(card)
    relations = [question.neighbour_relation(subspace, card) for subspace in candidates]
    outliers = outlier_counts(engine, relations, beta, progress)

    def count(index: int) -> OutlierFacts:
        noise = question.count_noise(candidates[index], card)
        return outlier_facts(dataset, engine, relations[index], beta, noise)

    return SubspaceFacts(candidates, outliers, question.caps(card), question.eta(card), count)


def release(
    question: Subspaces, facts: SubspaceFacts, source: Source | None = None
) -> list[list[str]] | list[dict[str, Any]]:
    """Return the subspaces drawn, best first, and with ``count_share`` their numbers of outliers.

    Each draw takes a candidate with probability proportional to ``exp(eta count / cap)`` among
    those not drawn yet (``proof.md``); the counts are drawn afterwards, each with its own noise.
    """
    utilities = list(map(Fraction, facts.exact_outliers, facts.caps))
    chosen = top(utilities, facts.eta, question.top, source)
    if not question.count_share:
        return [list(facts.candidates[index]) for index in chosen]
    counted = [(index, noisy_count(facts.count(index), source)) for index in chosen]
    return [
        {"columns": list(facts.candidates[index]), "count": max(0, raw), "raw": raw}
        for index, raw in counted
    ]
