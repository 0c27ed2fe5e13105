"""Where facts become releases: each step's weighted counts with noise, once and never again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from whitecrow.monitor.assembly import assemble
from whitecrow.monitor.facts import MonitorFacts
from whitecrow.monitor.question import Monitor
from whitecrow.monitor.showing import named, show
from whitecrow.monitor.streams import Streams
from whitecrow.noise import Source


def release(question: Monitor, facts: MonitorFacts, source: Source | None = None) -> dict[str, Any]:
    """Release all steps of the question at once; return the answer at the last."""
    found = show(question, facts.card, resume(question, facts, {}, source))
    assert found is not None
    return found


def resume(
    question: Monitor,
    facts: MonitorFacts,
    kept: Mapping[str, Any],
    source: Source | None = None,
) -> dict[str, Any]:
    """Close the steps that are not closed yet; ``proof.md`` has the theorem.

    Parameters
    ----------
    question : Monitor
    facts : MonitorFacts
    kept : mapping
        What was released before: it stays as it is.
    source : Source, optional
    """
    streams, card = Streams.from_json(kept), facts.card
    plan = question.plan(card)
    for step in range(len(streams.steps), question.through):
        row = plan.rows[step]
        reader = question.reader(card, streams.steps, (0, step + 1))
        model, _ = assemble(
            question,
            card,
            reader,
            partial(facts.by_column, row),
            partial(facts.by_table, row),
            streams.layout,
            source,
        )
        streams = streams.grown(named(question, card, model, step), tuple(reader.drawn))
    return streams.to_json()
