"""Where facts become an answer: peeling with the exponential mechanism, then noisy counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from whitecrow.counting.mechanism import noisy_count
from whitecrow.noise import Source, top
from whitecrow.subspaces.facts import SubspaceFacts
from whitecrow.subspaces.question import Subspaces


def release(
    question: Subspaces, facts: SubspaceFacts, source: Source | None = None
) -> list[list[str]] | list[dict[str, Any]]:
    """Return the subspaces drawn, best first, and with ``count_share`` their numbers of outliers.

    Each draw takes a candidate with probability proportional to ``exp(eta count / cap)`` among
    those not drawn yet (``proof.md``); the counts are drawn afterwards, each with its own noise.
    """
    utilities = [
        Fraction(outliers, cap)
        for outliers, cap in zip(facts.exact_outliers, facts.caps, strict=True)
    ]
    chosen = top(utilities, facts.eta, question.top, source)
    if not question.count_share:
        return [list(facts.candidates[index]) for index in chosen]
    answer = []
    for index in chosen:
        raw = noisy_count(facts.count(index), source)
        columns = list(facts.candidates[index])
        answer.append({"columns": columns, "count": max(0, raw), "raw": raw})
    return answer
