"""``python -m whitecrow_research.monitor_attack``: attacks on a detector kept current.

Two adversaries. The paper's sees a mean a day, which anybody reads off a window of one day, and
looks for segments with an outlier (Naghizade et al. 2017). The strongest one knows every record but
one and reads every released number; no test has more power than its likelihood ratio.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow

import whitecrow as wc
from whitecrow.attack import Power, auc, power_under_dp, power_under_zcdp, score
from whitecrow.attack.scores import outlying_segments
from whitecrow.attack.streams import Stream, porto_like
from whitecrow.data import read
from whitecrow.learning.question import marginal_share
from whitecrow.learning.training import learn_marginals
from whitecrow.monitor import gather, resume
from whitecrow.monitor.streams import Streams
from whitecrow.noise.seeded import SeededSource
from whitecrow_research.monitor_ratio import monitor_log_ratio

CARD = wc.Card(
    "trips",
    (wc.Column("km", lower=0, upper=150, outside="clip"), wc.Column("day", "integer", 0, 99)),
)
DAYS, WIDTH = 24, 4
FAR = 120.0
"""The trip whose presence the strongest adversary tests for, in km."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Attacked:
    """Scores of an attack, and the truth."""

    scores: Floats
    truth: npt.NDArray[np.bool_]

    @property
    def auc(self) -> float:
        """The chance that a true case scores above another."""
        return float(auc(self.scores, self.truth))

    @property
    def error(self) -> float:
        """An upper bound of the standard error of the AUC (its value under no difference)."""
        positives, zeros = int(self.truth.sum()), int((~self.truth).sum())
        return float(np.sqrt((positives + zeros + 1) / (12 * positives * zeros)))

    @property
    def power(self) -> Power:
        """The trade-off curve that was measured."""
        cuts = np.sort(self.scores)[::-1]
        alarms = [(self.scores[~self.truth] >= cut).mean() for cut in cuts]
        power = [(self.scores[self.truth] >= cut).mean() for cut in cuts]
        return Power(np.array([0.0, *alarms, 1.0]), np.array([0.0, *power, 1.0]))


def asked(**given: Any) -> wc.Monitor:
    """Return the question that is attacked."""
    settings = {"time": "day", "start": 0, "period": 1, "horizon": DAYS, "epsilon": 1}
    return wc.Monitor(["km"], **{**settings, **given})


def bound(question: wc.Monitor) -> Power:
    """Return the most power that the price allows against one record."""
    budget = question.noise_budget(CARD)
    allowed = power_under_dp if budget.law == "laplace" else power_under_zcdp
    return allowed(float(budget.total))


def _trips(rng: np.random.Generator, outliers: int) -> tuple[Stream, Any]:
    stream = porto_like(rng, size=55, days=DAYS, outliers=outliers)
    days = np.repeat(np.arange(DAYS), [len(day) for day in stream.days])
    return stream, pyarrow.table({"km": np.concatenate(stream.days), "day": days})


def _means(question: wc.Monitor, stored: Mapping[str, Any]) -> Floats:
    """Return the mean of each day's records, as an analyst reads it off a window of one day."""
    streams, means = Streams.from_json(stored), []
    assert streams.layout is not None
    grid = streams.layout.grids[0]
    share = (1 - question.drift_share) * marginal_share(
        "gaussian", question.noise_budget(CARD).total
    )
    middles = (grid.borders()[:-1] + grid.borders()[1:]) / 2.0
    for step in range(DAYS):
        reader = question.reader(CARD, streams.steps[: step + 1], (step, step + 1))
        grids = question.learns(CARD).grids(CARD)
        day = learn_marginals(grids, reader, share, fixed=(grid,))
        means.append(float(day.shares[0] @ middles))
    return np.array(means)


def by_segments(
    runs: int, seed: int = 1, monitored: int | None = None
) -> tuple[Attacked, Attacked]:
    """Attack exact means, and those read off a monitor, by the paper's growing window.

    Exact means are had at once; ``monitored`` says in how many runs there is a monitor, too.
    """
    rng, question = np.random.default_rng(seed), asked(delta="1e-6")
    exact, ours, truth = [], [], []
    for run in range(runs):
        stream, table = _trips(rng, outliers=2)
        exact.append(score([float(day.mean()) for day in stream.days], width=WIDTH))
        truth.append(outlying_segments(stream.outlying, WIDTH))
        if monitored is None or run < monitored:
            stored = resume(question, gather(question, read(table, CARD)), {}, SeededSource(run))
            ours.append(score(_means(question, stored), width=WIDTH))
    return (
        Attacked(np.concatenate(exact), np.concatenate(truth)),
        Attacked(np.concatenate(ours), np.concatenate(truth[: len(ours)])),
    )


def by_ratio(question: wc.Monitor, runs: int, seed: int = 2) -> Attacked:
    """Attack the presence of one far trip, by the likelihood ratio of everything released."""
    _, table = _trips(np.random.default_rng(seed), outliers=0)
    joined = pyarrow.concat_tables([table, pyarrow.table({"km": [FAR], "day": [1]})])
    scores = []
    for name, data in (("joined", joined), ("without", table)):
        facts = gather(question, read(data, CARD))
        for run in range(runs):
            stored = resume(question, facts, {}, SeededSource(f"{name} {run}"))
            scores.append(monitor_log_ratio(question, CARD, stored, table, joined))
    return Attacked(np.array(scores), np.arange(2 * runs) < runs)


def draw(path: Path, runs: int) -> dict[str, float]:
    """Draw what both adversaries reach beside what the price allows; return the areas."""
    from whitecrow.rendering import new_figure

    question = asked(horizon=6, delta="1e-6", epsilon=2)
    exact, ours = by_segments(runs)
    ratio, allowed = by_ratio(question, 2 * runs), bound(question)
    figure = new_figure(8, 3.6)
    left, right = figure.subplots(1, 2)
    for axes, lines, title in (
        (
            left,
            (("exact means", exact.power), ("monitor, ε = 1", ours.power)),
            "the paper's attack",
        ),
        (right, (("measured", ratio.power), ("the bound", allowed)), "the strongest, ε = 2"),
    ):
        for words, power in lines:
            axes.plot(power.alarms, power.power, label=f"{words} (area {power.auc:.2f})")
        axes.plot([0, 1], [0, 1], color="grey", linestyle=":")
        axes.set(xlabel="false alarms", ylabel="found", title=title)
        axes.legend(loc="lower right", fontsize=8)
    figure.savefig(path)
    return {
        "exact_means": exact.auc,
        "monitor": ours.auc,
        "error": ours.error,
        "strongest": ratio.auc,
        "strongest_error": ratio.error,
        "bound": allowed.auc,
    }


def main() -> None:
    """Run the attacks, draw them and print their areas."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--picture", type=Path, required=True)
    given = parser.parse_args()
    for name, value in draw(given.picture, given.runs).items():
        sys.stdout.write(f"{name} {value:.3f}\n")


if __name__ == "__main__":
    main()
