"""What questions about one place must know of the data, and where it becomes an answer.

Construction 1 of Asif et al., drawn exactly: the truth is turned over with probability
``exp(-ε(λ-1)) / (1+exp(ε))``, where λ is the model's bound on the distance to a database with the
other answer, capped at a constant from the public error floor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from whitecrow.anomaly.law import capped, error_cap, flip
from whitecrow.anomaly.model import Judgement, record_type
from whitecrow.anomaly.weights import CountingModel
from whitecrow.card import Card
from whitecrow.data import Records
from whitecrow.data.dataset import Plain
from whitecrow.neighbours import Engine
from whitecrow.noise import Source
from whitecrow.place.question import AtPlace
from whitecrow.privacy import Facts


@dataclass(frozen=True, repr=False, eq=False)
class PlaceFacts(Facts):
    """The truth and λ, as far as the mechanism looks."""

    exact_truth: bool  # the right answer
    # λ, the bound on the distance to a database with the other answer; None if there is none.
    exact_bound: int | None
    # The loss allowed for one record (public): ε over the card's contribution bound and α.
    step: Fraction


def release(question: AtPlace, facts: PlaceFacts, source: Source | None = None) -> bool:
    """Return the truth, turned over as often as λ says."""
    return facts.exact_truth != flip(facts.exact_bound, facts.step, source)


def gather(
    question: AtPlace,
    dataset: Records,
    engine: Engine,
    progress: Callable[[int, int, str], None] | None = None,
) -> PlaceFacts:
    """Let the engine count what the model weighs; a model without balls reads the records."""
    step = question.step(dataset.card.contribution)
    cap = error_cap(step, question.error_floor)
    if isinstance(question.model, CountingModel) and question.balls(dataset.card):
        truth, bound = question.of_counts(*_counted(question, dataset.card, engine, cap))
    else:
        truth, bound = _read(question, dataset)
    return PlaceFacts(truth, capped(bound, cap), step)


def _counted(question: AtPlace, card: Card, engine: Engine, cap: int) -> tuple[int, int]:
    """Count copies and weights up to the caps beyond which no answer changes its law."""
    model, balls = question.model, question.balls(card)
    assert isinstance(model, CountingModel)
    point = np.array([question.place(card)])
    within = model.threshold // model.own  # so many copies an anomaly may have
    if model.alone:
        # Within 0 is one place, an equivalence: copies and neighbours are the same records.
        copies = int(engine.copies(point, balls[-1][1], within + cap)[0])
        return copies, model.own * copies
    copies = int(engine.copies(point, balls[-1][1], within)[0]) if question.counts_copies else 0
    enough = model.threshold + cap * model.own
    counts = (
        weight * int(engine.neighbours(point, relation, -(-enough // weight))[0])
        for weight, relation in balls
    )
    return copies, sum(counts)


def _read(question: AtPlace, dataset: Records) -> Judgement:
    """Let the model look at the records, in an order that depends on their values alone."""
    names, card = question.columns, dataset.card
    row = record_type(names)
    texts: list[dict[float, str]] = [
        dict(enumerate(card.column(name).categories or ())) for name in names
    ]

    def decoded(values: list[float]) -> Any:
        return row(*(text.get(value, value) for value, text in zip(values, texts, strict=True)))

    groups, times = dataset.tally([Plain(name) for name in names])
    matrix = np.column_stack([group.astype(np.float64) for group in groups]) + 0.0
    order = np.lexsort(matrix.T[::-1])
    records = [
        record
        for values, count in zip(matrix[order].tolist(), times[order].tolist(), strict=True)
        for record in [decoded(values)] * count
    ]
    return question.on_records(records, decoded(question.place(card)))
