"""Where facts become a detector: noisy histograms, noisy tables, chosen thresholds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from whitecrow.detector import Detector, Threshold, scoring
from whitecrow.detector.model import Model
from whitecrow.histogram.noise_budget import Money
from whitecrow.learn import threshold
from whitecrow.learn.facts import LearnFacts
from whitecrow.learn.question import Learn
from whitecrow.learn.training import train
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
    money: Money | None = None,
) -> Detector:
    """Release the detector; ``proof.md`` has the theorem.

    ``money`` draws the noise in another way at the same price: together with other sites.
    """
    card = facts.card
    money = money or question.money(card)
    for_model, for_thresholds = question.shares
    model = train(
        question.grids(card),
        facts.by_column,
        facts.by_table,
        money,
        for_model,
        seed=question.seed,
        size=card.size if question.relation == "replace_one" else None,
        source=source,
    )
    price = question.price(card)
    bare = Detector(
        (model,),
        card,
        price,
        statement(question, price, card),
        {"kind": question.kind, **question.to_json()},
        entry=digest(question, card),
    )
    if not question.rates:
        return bare
    edges = threshold.score_edges(model, bare.made_up(_REFERENCES, question.seed))
    if money.selects:
        found = _chosen(question, facts, model, edges, money, source)
    else:
        edges, noise = threshold.few(edges), money.histograms(for_thresholds, 1)
        noisy = noise.added(facts.by_score(model, edges), source)
        found = threshold.read_off(noisy, edges, question.rates, model.records, noise.deviation)
    worth = scoring.scale(model)
    return bare.with_thresholds(
        tuple(
            Threshold(rate, found[rate] / worth if rate in found else None)
            for rate in question.rates
        )
    )


def _chosen(
    question: Learn,
    facts: LearnFacts,
    model: Model,
    edges: threshold.Counts,
    money: Money,
    source: Source | None,
) -> dict[Fraction, float]:
    """Choose a candidate for each rate that so many records carry."""
    # Which rates are tried rests on the released number of records, so it tells nothing new.
    tried = threshold.allotted(question.rates, model.records, money, question.shares[1])
    if not tried:
        return {}
    counts, contribution = facts.by_score(model, edges), facts.card.contribution
    return {
        rate: float(
            edges[threshold.choose(counts, rate, epsilon, question.relation, contribution, source)]
        )
        for rate, epsilon in tried.items()
    }
