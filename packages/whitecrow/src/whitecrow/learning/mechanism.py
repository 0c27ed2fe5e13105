"""Where facts become a detector: noisy histograms, noisy tables, chosen thresholds."""

from __future__ import annotations

from typing import Any

from whitecrow.detector import Detector, Threshold, scoring
from whitecrow.histogram.facts import Bought
from whitecrow.histogram.noise_budget import NoiseBudget
from whitecrow.learning import threshold
from whitecrow.learning.facts import ByScore, LearnFacts
from whitecrow.learning.question import Learn
from whitecrow.learning.training import train
from whitecrow.noise import Source
from whitecrow.question import digest, statement

_REFERENCES = 32_768


def release(question: Learn, facts: LearnFacts, source: Source | None = None) -> dict[str, Any]:
    """Return the detector as JSON."""
    return learn(question, facts, source).to_json()


def learn(
    question: Learn,
    facts: LearnFacts,
    source: Source | None = None,
    *,
    budget: NoiseBudget | None = None,
) -> Detector:
    """Release the detector (``proof.md``); ``budget`` draws its noise together with other sites."""
    card = facts.card
    budget = budget or question.noise_budget(card)
    for_model, for_thresholds = question.shares
    answers = Bought(facts, budget, source)
    size = card.size if question.relation == "replace_one" else None
    model = train(question.grids(card), answers, for_model, seed=question.seed, size=size)
    price, asked = question.price(card), {"kind": question.kind, **question.to_json()}
    words, entry = statement(question, price, card), digest(question, card)
    bare = Detector((model,), card, price, words, asked, entry=entry)
    if not question.rates:
        return bare
    synthetic = bare.synthetic(_REFERENCES, question.seed)
    usual = scoring.raw_scores(model, scoring.encoders(model), synthetic)
    if budget.selects:
        edges = threshold.candidates(usual, scoring.least(model))
        # Which rates are tried rests on the released number of records, so it tells nothing new.
        given = question.rates, model.records, budget, for_thresholds
        tried = threshold.allotted(*given)
        cells = ByScore(model, edges)
        raw = {
            rate: float(edges[facts.chosen_edge(cells, rate, epsilon, question.relation, source)])
            for rate, epsilon in (tried or threshold.rough(*given)).items()
        }
        rough = not tried
    else:
        edges = threshold.few(usual)
        noisy, deviation = answers.counts(ByScore(model, edges), for_thresholds, 1)
        raw = threshold.read_off(noisy, edges, question.rates, model.records, deviation)
        rough = False
    scores = {rate: score / scoring.scale(model) for rate, score in raw.items()}
    sold = [(rate, scores.get(rate)) for rate in question.rates]
    return bare.with_thresholds(
        tuple(Threshold(rate, None, at) if rough else Threshold(rate, at) for rate, at in sold)
    )
