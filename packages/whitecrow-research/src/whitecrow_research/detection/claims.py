"""Two more promises, measured on the same sets: false-alarm rates, and the columns that are named.

Here detectors are learned as a custodian would: a card, a table, a question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whitecrow.data import Card, Column, read
from whitecrow.detector import Detector
from whitecrow.learning import Learn, gather
from whitecrow.learning.mechanism import learn
from whitecrow_research.detection.sets import Known, Split, split

Matrix = npt.NDArray[np.float64]

RATES = (0.01, 0.05)
LARGE = 10_000
_PLANTED = 300


def learned(part: Split, question: Learn) -> Detector:
    """Learn from the training part, with the card's bounds."""
    table = pa.table({f"x{j}": column for j, column in enumerate(part.train.T)})
    card = Card(
        "records",
        tuple(
            Column(f"x{j}", lower=float(low), upper=float(high) + 1e-9, outside="clip")
            for j, (low, high) in enumerate(part.bounds)
        ),
    )
    return learn(question, gather(question, read(table, card)))


def alarm_rates(
    sets: Mapping[str, Known], seeds: range
) -> Iterator[tuple[str, int, list[float | None]]]:
    """Yield a set, a seed and the realised part of alarms at each of the rates, None if refused.

    On sets of more than 10,000 records, at (1, 1e-6), a fifth of it for both thresholds; counted on
    the records learned from, which is what a threshold promises.
    """
    question = Learn(epsilon="1", delta="1e-6", false_alarms=RATES, threshold_share="1/5")
    for name, entry in sets.items():
        records, truth = entry.load()
        if len(records) <= LARGE:
            continue
        for seed in seeds:
            part = split(records, truth, seed)
            detector = learned(part, question)
            scores = detector.scores(part.train)
            yield (
                name,
                seed,
                [
                    None if threshold.score is None else float((scores > threshold.score).mean())
                    for threshold in detector.thresholds
                ],
            )


def planted(part: Split, seed: int) -> tuple[Split, Matrix, npt.NDArray[np.int64]]:
    """Return ordinary records with one column each moved far out, and which column that is.

    Far out is three deviations beyond the 99.9 % quantile of the column; the bounds of the returned
    division hold these values, so that the card allows them. Columns that hold one value only are
    left alone.
    """
    source = np.random.default_rng(seed)
    ordinary = part.test[~part.truth]
    rows = ordinary[source.integers(len(ordinary), size=_PLANTED)].copy()
    spread = part.train.std(axis=0)
    columns = source.choice(np.flatnonzero(spread > 0), size=_PLANTED)
    far = np.quantile(part.train, 0.999, axis=0) + 3 * spread
    rows[np.arange(_PLANTED), columns] = far[columns]
    upper = np.maximum(part.bounds[:, 1], far + spread)
    wider = replace(part, bounds=np.stack([part.bounds[:, 0], upper], axis=1))
    return wider, rows, columns


def named_columns(
    sets: Mapping[str, Known], seeds: range, least: int = 1000
) -> Iterator[tuple[str, float, float]]:
    """Yield a set, how often the planted column is named first, and among the first three."""
    question = Learn(epsilon="1", delta="1e-6")
    for name, entry in sets.items():
        records, truth = entry.load()
        if len(records) < least:
            continue
        ranks = []
        for seed in seeds:
            part, rows, columns = planted(split(records, truth, seed), seed)
            added = learned(part, question).contributions(rows)
            values = np.stack([column.to_numpy() for column in added.columns], axis=1)
            own = values[np.arange(len(rows)), columns]
            ranks.append((values > own[:, None]).sum(axis=1))
        ranks_named = np.concatenate(ranks)
        yield name, float((ranks_named == 0).mean()), float((ranks_named < 3).mean())
