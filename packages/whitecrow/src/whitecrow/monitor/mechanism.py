"""Where facts become releases: each step's weighted counts with noise, once and never again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whitecrow.histogram.facts import Counting, Counts
from whitecrow.histogram.noise_budget import Noise
from whitecrow.monitor.facts import MonitorFacts, Weighted
from whitecrow.monitor.question import Monitor
from whitecrow.monitor.showing import assembled, named, show
from whitecrow.monitor.streams import Streams
from whitecrow.noise import Source


def release(question: Monitor, facts: MonitorFacts, source: Source | None = None) -> dict[str, Any]:
    """Release all steps of the question at once; return the answer at the last."""
    answer = show(question, facts.card, resume(question, facts, {}, source))
    assert answer is not None
    return answer


def resume(
    question: Monitor,
    facts: MonitorFacts,
    kept: Mapping[str, Any],
    source: Source | None = None,
) -> dict[str, Any]:
    """Close the steps that are not closed yet; ``proof.md`` has the theorem.

    What was released before stays as it is.
    """
    streams, card = Streams.from_json(kept), facts.card
    plan = question.plan(card)

    def draw(cells: Counting, noise: Noise, groups: Counts | None) -> Counts:
        row = plan.rows[len(streams.steps)]
        weighted = Weighted(cells, question.calendar, row)
        return facts.noisy_counts(weighted, noise, source, groups)

    for step in range(len(streams.steps), question.through):
        reader = question.reader(card, streams.steps, (0, step + 1), draw)
        model = assembled(question, card, reader, streams.layout)
        streams = streams.grown(named(question, card, model, step), tuple(reader.drawn))
    return streams.to_json()
