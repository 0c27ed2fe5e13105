"""The crossing: each step's weighted counts with noise, once and never again, and what they show.

From what was released to an answer, a detector and the columns that moved, all is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.detector import Detector, Model
from whitecrow.histogram.facts import Counting, Counts
from whitecrow.histogram.noise_budget import Noise
from whitecrow.learning.facts import ByColumn, joined
from whitecrow.learning.question import Family, families
from whitecrow.learning.training import train
from whitecrow.monitor.answer import Monitored
from whitecrow.monitor.drift import Watch, groups, watched_columns
from whitecrow.monitor.facts import MonitorFacts, Weighted
from whitecrow.monitor.question import Monitor
from whitecrow.monitor.streams import Reader, Streams
from whitecrow.noise import Source
from whitecrow.question import series_digest, statement


def release(question: Monitor, facts: MonitorFacts, source: Source | None = None) -> dict[str, Any]:
    """Release all steps of the question at once; return the answer at the last."""
    answer = show(question, facts.card, resume(question, facts, {}, source))
    assert answer is not None
    return answer


def resume(
    question: Monitor, facts: MonitorFacts, state: Mapping[str, Any], source: Source | None = None
) -> dict[str, Any]:
    """Close the steps that are not closed yet (``proof.md``); what was released before stays."""
    streams, card = Streams.from_json(state), facts.card
    plan = question.plan(card)

    def draw(cells: Counting, noise: Noise, groups: Counts | None) -> Counts:
        row = plan.rows[len(streams.steps)]
        weighted = Weighted(cells, question.calendar, row)
        return facts.noisy_counts(weighted, noise, source, groups)

    for step in range(len(streams.steps), question.through):
        reader = question.reader(card, streams.steps, (0, step + 1), draw)
        model = assembled(question, card, reader, streams.layout)
        first = streams.first or named(question, card, model, step)
        streams = Streams(first, (*streams.steps, tuple(reader.drawn)))
    return streams.to_json()


def show(question: Monitor, card: Card, state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the answer at the question's step; None where it is not closed yet."""
    streams, last = Streams.from_json(state), question.through
    layout = streams.layout
    if layout is None or len(streams.steps) < last:
        return None
    span = (max(0, last - question.window) if question.window else 0, last)
    reader = question.reader(card, streams.steps[:last], span)
    model = assembled(question, card, reader, layout)
    columns, plan, label = watched_columns(layout), question.plan(card), question.calendar.label
    releases = [step[-1] for step in streams.steps[:last]]
    noise = question.watch_noise(card, len(columns))
    watch = Watch(plan, noise, columns, float(question.false_alarm))
    series = []
    for step, moves in enumerate(watch.scan(releases)):
        counts = plan.weights(step, step + 1) @ np.stack(releases[: step + 1])
        moved = [
            {
                "column": move.column,
                "since": label(move.since),
                "shift": round(move.shift, 6),
                "ratio": round(move.ratio, 6),
                "moved": move.alarm,
            }
            for move in moves
        ]
        records = round(float(counts.sum()) / len(columns))
        series.append({"period": label(step), "records": records, "columns": moved})
    return Monitored(
        detector=named(question, card, model, last - 1),
        period=label(last - 1),
        step=last,
        horizon=question.horizon,
        window=question.window,
        false_alarm=str(question.false_alarm),
        series=tuple(series),
    ).to_json()


def assembled(question: Monitor, card: Card, reader: Reader, layout: Model | None) -> Model:
    """Read all blocks of a step in their order: the stages of ``learn``, then the alarm's counts.

    ``layout`` is the model of the first step; None at that step itself.
    """
    horizon = reader.strategy.horizon

    def wanted(records: float) -> tuple[tuple[Family, int], ...]:
        """Choose tables for as many records as there may be at the end, and the noise then."""
        worse = Fraction(reader.strategy.deviation(0, horizon, user=reader.user))
        budget = reader.budget
        worse = worse if budget.law == "laplace" else worse * worse
        return families(budget.law, records * horizon, budget.total / worse)

    share, learns = 1 - question.drift_share, question.learns(card)
    grids, seed = learns.grids(card), learns.seed
    model = train(grids, reader, share, seed=seed, layout=layout, wanted=wanted)
    watched = joined(groups(layout or model))
    reader.counts(ByColumn(model.grids), question.drift_share, len(model.grids), watched)
    return model


def following(question: Monitor, state: Mapping[str, Any]) -> Monitor:
    """Return the question of the first step that is not closed yet."""
    return Monitor.from_json({**question.to_json(), "through": len(state.get("steps", ())) + 1})


def named(question: Monitor, card: Card, model: Model, step: int) -> Detector:
    """Return a step's model as a detector, with the promise of the whole series."""
    price = question.price(card)
    asked = {"kind": question.kind, **question.to_json()}
    of = "all periods" if not question.window else f"{question.window} periods"
    note = f"Step {step + 1} of {question.horizon}: {of} up to {question.calendar.label(step)}."
    words, entry = statement(question, price, card), series_digest(question, card)
    return Detector((model,), card, price, words, asked, entry=entry, notes=(note,))
