"""The strongest adversary against a detector that is kept current: it knows all other records.

Each hypothesis fixes, with what was released before, the number that every noise was added to. So
the log-likelihood ratio of a whole series of releases is exact, and no test has more power.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, read
from whitecrow.histogram.noise_budget import Noise
from whitecrow.monitor.assembly import assemble
from whitecrow.monitor.facts import gather
from whitecrow.monitor.question import Monitor
from whitecrow.monitor.streams import Reader, Streams
from whitecrow.noise import Source

Ints = npt.NDArray[np.int64]


class _Listening(Reader):
    """Reads what was released, and adds up how likely it was with the counts it is given."""

    likelihood = 0.0

    def released(self, block: int, noise: Noise, counts: Ints, source: Source | None) -> list[Ints]:
        away = (self.past[-1][block] - counts).astype(np.float64)
        size = float(noise.size)
        if noise.law == "gaussian":
            self.likelihood -= float(away @ away) / (2.0 * size)
        else:
            self.likelihood -= float(np.abs(away).sum()) / size
        return super().released(block, noise, counts, source)


def monitor_log_ratio(
    question: Monitor, card: Card, kept: Mapping[str, Any], without: Any, joined: Any
) -> float:
    """Return the log-likelihood ratio of "joined" against "without" for a series of releases.

    Parameters
    ----------
    question : Monitor
    card : Card
    kept : mapping
        What was released: what ``monitor.resume`` returns.
    without, joined : tables
        The records under the two hypotheses, as they were at every step.
    """
    streams = Streams.from_json(kept)
    return _likelihood(question, card, streams, joined) - _likelihood(
        question, card, streams, without
    )


def _likelihood(question: Monitor, card: Card, streams: Streams, table: Any) -> float:
    facts, plan, total = gather(question, read(table, card)), question.plan(card), 0.0
    for step in range(len(streams.steps)):
        row, past = plan.rows[step], streams.steps[: step + 1]
        reader = _Listening(question.money(card), plan, past, (0, step + 1), card.unit == "user")
        assemble(
            question,
            card,
            reader,
            partial(facts.by_column, row),
            partial(facts.by_table, row),
            streams.layout if step else None,
        )
        total += reader.likelihood
    return total
