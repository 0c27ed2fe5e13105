"""What is said of an explanation before it is asked, from public facts only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.detectors import FewWithin
from whitecrow.data import Card
from whitecrow.errors import invalid
from whitecrow.explain._utilities import Isolation
from whitecrow.explain.search import draws_of

if TYPE_CHECKING:
    from whitecrow.explain.question import Explain

_SURE = 0.95


def outlier_probability(margin: int, rate: float, bits: int) -> float:
    """Return a lower bound on the chance that an unconditional answer is a true outlier context.

    A context of this margin with its share of a crowd has utility ``margin`` (in units of the
    crowd), every context in which the record is no outlier has at most 0, and there are
    ``2**bits`` contexts (``proof.md``, Theorem 6).

    Examples
    --------
    >>> round(outlier_probability(20, 1.0, 22), 3)
    0.991
    """
    # ln of the number of other contexts; a single context is certain.
    others = bits * math.log(2) + math.log1p(-(2.0**-bits)) if bits else -math.inf
    return 1 / (1 + math.exp(min(700.0, others - rate * margin)))


def describe_words(question: Explain, card: Card, margin: int | None) -> tuple[str, dict[str, Any]]:
    space = question.space(card)
    kind = question.searching(space)
    eta = question.eta(card, kind)
    draws = draws_of(kind, question.samples)
    figures: dict[str, Any] = {
        "free_values": space.bits,
        "search": kind,
        "private_draws": draws,
        "weight": str(eta),
        "utility": question.preferred.kind,
    }
    if question.notion == "differential":
        said = _unconditional(question, space.bits, kind, card, margin, figures)
    else:
        said = _conditional(question, space.bits, kind, float(eta), figures)
    words = (
        f"A context over {', '.join(question.attributes)} for the record, out of 2^{space.bits} "
        f"that contain its values, where an outlier in {question.metric} is a record for which "
        f"{question.rule()}; {question.preferred.words()}. Search: {kind}, {draws} private "
        f"{'draw' if draws == 1 else 'draws'}. {said} The record asked about is part of the "
        "question: it is not protected, and what is said of it is said openly."
    )
    return words, figures


def _conditional(
    question: Explain, bits: int, kind: str, eta: float, figures: dict[str, Any]
) -> str:
    candidates = bits * math.log(2) if kind == "direct" else math.log(question.samples + 1)
    short = (candidates - math.log(1 - _SURE)) / eta
    figures["shortfall_95"] = math.ceil(short)
    among = "all matching contexts" if kind == "direct" else "the contexts visited"
    return (
        "The answer is always a context in which the record is an outlier, or that none was "
        f"found; with probability {_SURE:.0%} its utility is at most {math.ceil(short)} below "
        f"the best of {among}. Anyone who sees the answer knows for certain that the record is an "
        "outlier there; if one more or one fewer record would change in which contexts it is one, "
        "nothing is promised about that record (ask with notion='differential' for a promise "
        "without this condition)."
    )


def _unconditional(
    question: Explain,
    bits: int,
    kind: str,
    card: Card,
    margin: int | None,
    figures: dict[str, Any],
) -> str:
    detector, utility = question.detector, question.preferred
    assert isinstance(detector, DistanceAnomaly | FewWithin)
    assert isinstance(utility, Isolation)
    said = (
        "The answer is always a context, and the promise to everyone else has no condition; "
        "the price of that is that the record may be no outlier in it."
    )
    if kind != "direct":
        return said + (
            " A sampling search looks at a random part of the contexts, so no bound on that "
            "follows from public facts; the direct search has one."
        )
    rate = float(question.epsilon) / card.contribution
    beta, crowd = detector.beta, utility.spread
    full = outlier_probability(beta, rate, bits)
    needed = math.ceil((math.log(_SURE / (1 - _SURE)) + bits * math.log(2)) / rate)
    figures |= {"margin_for_95": needed, "margin_most": beta, "probability_at_most_margin": full}
    said += (
        f" If some context leaves it at most beta+1-s of {beta} records near and at least "
        f"s*{crowd}/{beta} far, it is an outlier in the answer with probability at least 95% for "
        f"s >= {needed}, and at least {_floor(full)} for the largest possible s = {beta}."
    )
    if needed > beta:
        said += " That is out of reach here: raise epsilon or beta, or use fewer free values."
    if margin is not None:
        if margin > beta:
            raise invalid("describe", "margin", f"a whole number between 0 and {beta}", margin)
        chance = outlier_probability(margin, rate, bits)
        figures["probability"] = chance
        said += f" For the margin {margin} you expect, it is at least {_floor(chance)}."
    return said


def _floor(chance: float) -> str:
    """Show a lower bound without rounding it up."""
    return f"{math.floor(chance * 1000) / 10:g}%"
