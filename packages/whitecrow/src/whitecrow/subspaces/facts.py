"""What ``subspaces`` must know of the data: how many outliers each candidate has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from whitecrow.counting.facts import OutlierFacts, outlier_counts, outlier_facts
from whitecrow.data import Records
from whitecrow.neighbours import Engine
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
    # Returns the facts for a noisy count in one candidate, computed when asked for.
    count: Callable[[int], OutlierFacts]


def gather(
    question: Subspaces, dataset: Records, engine: Engine, progress: Progress | None = None
) -> SubspaceFacts:
    card = dataset.card
    candidates = question.candidates(card)
    beta = question.model.beta
    outliers = outlier_counts(
        engine,
        [question.neighbour_relation(subspace, card) for subspace in candidates],
        beta,
        progress,
    )

    def count(index: int) -> OutlierFacts:
        subspace = candidates[index]
        noise = question.count_noise(subspace, card)
        return outlier_facts(
            dataset, engine, question.neighbour_relation(subspace, card), beta, noise
        )

    return SubspaceFacts(candidates, outliers, question.caps(card), question.eta(card), count)
