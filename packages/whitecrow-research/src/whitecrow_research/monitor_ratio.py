"""The strongest adversary against a detector that is kept current: it knows all other records.

Each hypothesis fixes, with what was released before, the number that every noise was added to. So
the log-likelihood ratio of a whole series of releases is exact, and no test has more power.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, read
from whitecrow.histogram.facts import Counting
from whitecrow.histogram.noise_budget import Noise
from whitecrow.monitor.facts import Weighted, gather
from whitecrow.monitor.mechanism import assembled
from whitecrow.monitor.question import Monitor
from whitecrow.monitor.streams import Streams
from whitecrow.noise import Source

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Heard(Noise):
    """Noise that was drawn already: it tells how likely that was with the counts it is added to."""

    released: Ints
    likelihoods: list[float]

    def added(self, counts: Ints, source: Source | None) -> Ints:
        away, size = (self.released - counts).astype(np.float64), float(self.size)
        square = float(away @ away) / 2.0 if self.law == "gaussian" else float(np.abs(away).sum())
        self.likelihoods.append(-square / size)
        return self.released


def monitor_log_ratio(
    question: Monitor, card: Card, stored: Mapping[str, Any], without: Any, joined: Any
) -> float:
    """Return the log-likelihood ratio of "joined" against "without" for a series of releases.

    ``kept`` is what ``monitor.resume`` returns; the tables are the records under the two
    hypotheses, as they were at every step.
    """
    streams = Streams.from_json(stored)
    return _likelihood(question, card, streams, joined) - _likelihood(
        question, card, streams, without
    )


def _likelihood(question: Monitor, card: Card, streams: Streams, table: Any) -> float:
    facts, plan = gather(question, read(table, card)), question.plan(card)
    losses: list[float] = []
    for step, row in enumerate(plan.rows[: len(streams.steps)]):
        blocks = iter(streams.steps[step])

        def draw(
            cells: Counting, noise: Noise, groups: Ints | None, row: Any = row, blocks: Any = blocks
        ) -> Ints:
            heard = _Heard(noise.law, noise.size, next(blocks), losses)
            return facts.noisy_counts(Weighted(cells, question.calendar, row), heard, None, groups)

        reader = question.reader(card, streams.steps[:step], (0, step + 1), draw)
        assembled(question, card, reader, streams.layout if step else None)
    return sum(losses)
