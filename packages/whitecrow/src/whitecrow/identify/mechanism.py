"""Where facts become an answer: Construction 1, drawn exactly."""

from __future__ import annotations

from whitecrow.anomaly import law
from whitecrow.identify.facts import IdentifyFacts
from whitecrow.identify.question import Identify
from whitecrow.noise import Source


def release(question: Identify, facts: IdentifyFacts, source: Source | None = None) -> bool:
    """Return the truth, turned over with probability ``exp(-ε(λ-1)) / (1+exp(ε))``.

    λ is the tighter bound of ``proof.md`` (Theorem 2), capped at a constant from the public error
    floor; under differential privacy it is equation (4), for ``reach`` is then ``beta``.
    """
    truth = law.is_anomaly(facts.exact_copies, facts.exact_neighbours, beta=question.model.beta)
    bound = question.bound(facts.exact_copies, facts.exact_neighbours, facts.step)
    return truth != law.flip(bound, facts.step, source)
