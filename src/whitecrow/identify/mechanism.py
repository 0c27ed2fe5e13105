"""Where facts become an answer: Construction 1, drawn exactly."""

from __future__ import annotations

from fractions import Fraction

from whitecrow.identify import law
from whitecrow.identify.facts import IdentifyFacts
from whitecrow.identify.question import Identify
from whitecrow.noise import Source, bernoulli_exp, bernoulli_logistic

__all__ = ["flip", "release"]


def release(question: Identify, facts: IdentifyFacts, source: Source | None = None) -> bool:
    """Return the truth, turned over with probability ``exp(-ε(λ-1)) / (1+exp(ε))``.

    λ is the tighter bound of ``proof.md`` (Theorem 2), capped at a constant from the public error
    floor; under differential privacy it is equation (4), for ``reach`` is then ``beta``.
    """
    truth = law.is_anomaly(facts.copies, facts.neighbours, beta=question.model.beta)
    bound = question.bound(facts.copies, facts.neighbours, facts.step)
    return truth != flip(bound, facts.step, source)


def flip(bound: int | None, step: Fraction, source: Source | None) -> bool:
    """Draw whether an answer at this distance is turned over.

    The probability is a product of two that are drawn exactly from rationals, so nothing
    underflows: the wrong answer keeps its exact probability however small it is.
    """
    if bound is None:
        return False
    return bernoulli_exp(step * (bound - 1), source) and bernoulli_logistic(step, source)
