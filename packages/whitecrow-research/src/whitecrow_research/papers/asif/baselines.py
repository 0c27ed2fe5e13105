"""The paper's baselines B1 and B2 over their threshold t: coins that never look at the record.

Both answer "anomaly" if a noisy number of anomalies exceeds t times a noisy number of records, with
noise drawn anew for each record. Whatever t is, an anomaly is as likely to be flagged as any other
record, so the expected precision is the base rate. The paper shows the best t by F1, so what it
shows is the luckiest of many draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whitecrow_research.papers.asif.sets import PRINTED, Printed
from whitecrow_research.papers.report import Context, Interval

Floats = NDArray[np.float64]

EPSILON = 0.1
THRESHOLDS = np.linspace(0, 1, 101)
REPEATS = 10
"""The paper says neither how many thresholds were tried nor how often. Its recalls are no multiples
of one over the number of anomalies, so they are means; hundredths and ten draws give its rows."""

_DRAWS = 20_000


@dataclass(frozen=True)
class Baseline:
    """One family on one set.

    Parameters
    ----------
    chance : float array
        Of "anomaly" at each threshold, which is the expected recall.
    best : float array, runs by 3
        Precision, recall and F1 of the threshold with the largest F1, in each simulated study.
    """

    chance: Floats
    best: Floats

    def spans(self) -> tuple[Interval, Interval, Interval]:
        """Where precision, recall and F1 of 95 % of the studies lie."""
        low, high = np.quantile(self.best, [0.025, 0.975], axis=0)
        a, b, c = zip(low.tolist(), high.tolist(), strict=True)
        return a, b, c


def simulate(printed: Printed, scale: float, runs: int, random: np.random.Generator) -> Baseline:
    """Draw studies: at each threshold ten answers for each record, then the best threshold.

    Parameters
    ----------
    printed : Printed
        Records and anomalies of the set.
    scale : float
        Of the noise on the number of anomalies: 1/epsilon for B1, beta/epsilon for B2.
    runs : int
        How many studies.
    random : Generator
        Where the noise comes from.
    """
    count = printed.anomalies + random.laplace(0, scale, _DRAWS)
    size = printed.size + random.laplace(0, 1 / EPSILON, _DRAWS)
    ratio = np.sort(count / size)
    chance = 1 - np.searchsorted(ratio, THRESHOLDS, side="right") / _DRAWS
    true, false = REPEATS * printed.anomalies, REPEATS * (printed.size - printed.anomalies)
    right = random.binomial(true, chance, (runs, len(chance)))
    wrong = random.binomial(false, chance, (runs, len(chance)))
    precision = right / np.maximum(right + wrong, 1)
    recall = right / true
    f1 = 2 * right / (right + wrong + true)
    at = np.arange(runs), f1.argmax(axis=1)
    return Baseline(chance, np.column_stack([precision[at], recall[at], f1[at]]))


def families(name: str, context: Context) -> dict[str, Baseline]:
    """B1 and B2 on a set, by the paper's own numbers of records and anomalies."""
    printed = PRINTED[name]
    random = np.random.default_rng([context.seed, *name.encode()])
    return {
        "B1": simulate(printed, 1 / EPSILON, 400, random),
        "B2": simulate(printed, printed.beta / EPSILON, 400, random),
    }


def picture(baselines: dict[str, dict[str, Baseline]], context: Context) -> tuple[Path, ...]:
    """Draw the recall of both families over t; their precision is the base rate throughout."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return ()
    figure = Figure(figsize=(2.6 * len(baselines), 2.8), layout="constrained")
    for panel, (name, each) in zip(
        figure.subplots(1, len(baselines)), baselines.items(), strict=True
    ):
        for family, baseline in each.items():
            panel.step(THRESHOLDS, baseline.chance, label=family)
        panel.set_title(name, fontsize=9)
        panel.set_xlabel("t")
        panel.set_xlim(0, 0.4)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    path = context.out / "asif-baselines.png"
    figure.savefig(path, dpi=100)
    return (path,)
