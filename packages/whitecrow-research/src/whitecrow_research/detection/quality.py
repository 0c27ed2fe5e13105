"""The table behind ``describe``: quality by price, columns and records, on cut-down public sets.

Sets of 4,000 records or more are cut to fewer; whitecrow at each price and an Isolation Forest
without privacy learn from the same records and score the same others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from whitecrow_research.detection.measures import roc_auc
from whitecrow_research.detection.private import Setting, scored
from whitecrow_research.detection.rivals import RIVALS
from whitecrow_research.detection.sets import Known, Split, split

SIZES = (300, 1000, 3000, 10_000, 30_000)
FEW = 12
PRICES = {
    "gaussian": {epsilon: Setting(epsilon) for epsilon in ("1/10", "1", "10")},
    "laplace": {epsilon: Setting(epsilon, "0") for epsilon in ("1/10", "1", "10")},
}
_LEAST, _DIFFERS = 4000, 0.05


def _cut(part: Split, size: int, seed: int) -> Split:
    """Keep some of the records that are learned from."""
    chosen = np.random.default_rng(seed).permutation(len(part.train))[:size]
    return Split(part.train[chosen], part.test, part.truth, part.bounds)


Row = tuple[str, str, bool, int, str, float, float]


def rows(sets: Mapping[str, Known], seeds: int, jobs: int | None = None) -> Iterator[Row]:
    """Yield law, epsilon, whether columns are few, records, set, AUC, and an Isolation Forest's.

    Sets on which the forest hardly differs from chance tell nothing about prices, and are left out.
    """
    tasks = [(name, source, seed) for name, source in sets.items() for seed in range(seeds)]
    with ProcessPoolExecutor(jobs) as pool:
        for batch in pool.map(_rows, tasks):
            yield from batch


def _rows(task: tuple[str, Known, int]) -> list[Row]:
    name, entry, seed = task
    records, truth = entry.load()
    if len(records) < _LEAST:
        return []
    few = records.shape[1] <= FEW
    part = split(records, truth, seed)
    if abs(roc_auc(part.truth, RIVALS["IForest"](part.train, part.test, seed)) - 0.5) < _DIFFERS:
        return []
    rows: list[Row] = []
    for size in SIZES:
        if size > len(part.train) * 1.05:
            continue
        less = _cut(part, size, seed)
        beside = roc_auc(part.truth, RIVALS["IForest"](less.train, less.test, seed))
        for law, settings in PRICES.items():
            for epsilon, setting in settings.items():
                auc = roc_auc(part.truth, scored(setting, less, seed))
                rows.append((law, epsilon, few, size, name, auc, beside))
    return rows


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the table that ``whitecrow.learning.question`` holds.

    Leads are means over the sets that have so many records. Sets of many records are few and easy,
    so an AUC is the forest's on its largest sample, averaged over all sets, plus the lead.
    """
    measured = list(rows)
    for law, settings in PRICES.items():
        for few in (True, False):
            kind = [row for row in measured if row[0] == law and row[2] == few]
            most = {name: max(row[3] for row in kind if row[4] == name) for *_, name, _, _ in kind}
            forest = float(np.mean([row[6] for row in kind if row[3] == most[row[4]]]))
            yield f'    ("{law}", {few}): ('
            for epsilon in settings:
                leads = [
                    np.mean(
                        [row[5] - row[6] for row in kind if row[1] == epsilon and row[3] == size]
                    )
                    for size in SIZES
                ]
                pairs = ", ".join(f"({forest + lead:.3f}, {lead:.3f})" for lead in leads)
                yield f"        ({pairs}),"
            yield "    ),"
