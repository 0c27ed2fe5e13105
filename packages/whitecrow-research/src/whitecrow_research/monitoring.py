"""``python -m whitecrow_research.monitoring``: detectors kept current, and their alarm.

AUC by month beside a forest without privacy, false alarms over quiet years, delay at a drift.

Made-up alarms are simulated from the alarm's own numbers (cells, counts, exact noise): a run takes
milliseconds, so that a rate can be measured. Detectors are learned by a curator, month by month.
"""

from __future__ import annotations

import argparse
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
from pyarrow import parquet

import whitecrow as wc
from whitecrow.histogram.noise_budget import NoiseBudget
from whitecrow.monitor.drift import Watch, Watched
from whitecrow.monitor.streams import strategy
from whitecrow.noise.seeded import SeededSource

MONTHS = 12
CELLS = 8
SHARE = Fraction(1, 5)

Ints = npt.NDArray[np.int64]


# --- the alarm alone


def watch_of(law: str, *, columns: int, epsilon: float, rate: float, months: int = MONTHS) -> Watch:
    """Return the alarm as a question of this price has it."""
    price = Fraction(epsilon).limit_denominator(10**6)
    delta = Fraction(1, 10**6) if law == "gaussian" else Fraction(0)
    plan = strategy(law, months)
    budget = NoiseBudget.of(price, delta, "add_remove", 1)
    noise = budget.histograms(SHARE / plan.reach(user=False), columns)
    watched = tuple(Watched(f"c{index}", CELLS, True) for index in range(columns))
    return Watch(plan, noise, watched, rate)


def _released(watch: Watch, counts: Ints, seed: int) -> list[Ints]:
    source = SeededSource(f"monitor {seed}")
    return [
        watch.noise.added(np.asarray(row, dtype=np.int64) @ counts[: len(row)], source)
        for row in watch.strategy.rows
    ]


def quiet(watch: Watch, each: int, seed: int) -> list[Ints]:
    """Return releases of months that are draws from one law."""
    return drifting(watch, each, seed, column=0, since=watch.strategy.horizon, by=0.0)


def drifting(
    watch: Watch, each: int, seed: int, *, column: int, since: int, by: float
) -> list[Ints]:
    """Return releases in which a part of a column's records moves to its upper half."""
    rng = np.random.default_rng(seed)
    even = np.full(CELLS, 1 / CELLS)
    moved = even + np.where(np.arange(CELLS) < CELLS // 2, -1, 1) * by / (CELLS // 2)
    counts = np.array(
        [
            np.concatenate(
                [
                    rng.multinomial(each, moved if index == column and month >= since else even)
                    for index in range(len(watch.columns))
                ]
            )
            for month in range(watch.strategy.horizon)
        ]
    )
    return _released(watch, counts, seed)


def first_alarm(watch: Watch, releases: list[Ints]) -> int | None:
    """Return the month of the first alarm."""
    for month, moves in enumerate(watch.scan(releases)):
        if any(move.alarm for move in moves):
            return month
    return None


def false_alarms(runs: int, *, each: int, columns: int = 6, rate: float = 0.05) -> dict[str, Any]:
    """Return how many quiet years had any alarm, and how close the largest shift came."""
    summary: dict[str, Any] = {"runs": runs, "records_a_month": each, "bound": rate}
    for law in ("gaussian", "laplace"):
        watch = watch_of(law, columns=columns, epsilon=1.0, rate=rate)
        alarms, nearest = 0, 0.0
        for seed in range(runs):
            moves = watch.scan(quiet(watch, each, seed))
            ratio = max(move.ratio for step in moves for move in step)
            alarms, nearest = alarms + (ratio > 1), max(nearest, ratio)
        summary[law] = {"alarms": alarms, "largest_ratio": round(nearest, 3)}
    return summary


def delays(runs: int, *, each: int, columns: int = 6) -> list[dict[str, Any]]:
    """Return how many months after a planted drift the alarm comes, by its size."""
    watch = watch_of("gaussian", columns=columns, epsilon=1.0, rate=0.05)
    rows = []
    for by in (0.05, 0.1, 0.2, 0.3):
        late = [
            first_alarm(watch, drifting(watch, each, seed, column=1, since=6, by=by))
            for seed in range(runs)
        ]
        seen = [month - 6 for month in late if month is not None]
        rows.append(
            {
                "records_a_month": each,
                "moved": by,
                "seen": round(len(seen) / runs, 3),
                "median_delay": float(np.median(seen)) if seen else None,
            }
        )
    return rows


# --- detectors


def year(
    rng: np.random.Generator, each: int, *, since: int, months: int = MONTHS
) -> dict[str, Any]:
    """Return a made-up year: three clusters in six columns; from a month on one of them moves away.

    One record in fifty is strange: a mixture of the columns of different records, and a tenth of
    them far out.
    """
    month = np.repeat(np.arange(months), each)
    size = len(month)
    centres = np.array(
        [[0.0] * 6, [2.5, -2.0, 2.0, 0.0, 1.5, -1.0], [-2.0, 2.5, 0.0, 2.0, -1.5, 1.0]]
    )
    kind = rng.choice(3, size, p=[0.5, 0.3, 0.2])
    values = centres[kind] + 0.5 * rng.normal(size=(size, 6))
    values[(kind == 1) & (month >= since)] += np.array([2.5, 0.0, -2.0, 0.0, 0.0, 0.0])
    strange = rng.random(size) < 0.02
    mixed = rng.permuted(values[strange], axis=0)
    far = rng.random(len(mixed)) < 0.1
    mixed[far] += rng.choice([-4.0, 4.0], (int(far.sum()), 6))
    values[strange] = mixed
    return {"values": values, "month": month, "strange": strange}


TAXI_BOX = [(0.0, 5.0), (0.0, 7.0), (0.0, 6.0), (0.0, 24.0), (0.0, 9.0)]
"""Public bounds of distance, minutes and fare (by logarithms), hour and passengers."""


def _taxis(path: Path) -> tuple[npt.NDArray[np.float64], Ints]:
    """Return the trips of the sample of New York's taxis, and the day of March of each."""
    table = parquet.read_table(path).to_pandas()
    minutes = (table["dropoff"] - table["pickup"]).dt.total_seconds() / 60.0
    values = np.stack(
        [
            np.log1p(table["distance_km"].to_numpy()),
            np.log1p(np.clip(minutes.to_numpy(), 0, 600)),
            np.log1p(table["fare"].to_numpy()),
            table["pickup"].dt.hour.to_numpy(),
            table["passengers"].to_numpy(),
        ],
        axis=1,
    ).astype(np.float64)
    day = np.where(table["pickup"].dt.month == 3, table["pickup"].dt.day, 0)
    return values, np.asarray(day, dtype=np.int64)


def _mixed(rng: np.random.Generator, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Give one trip in fifty the fare of another: the sample has no labels, and this makes some."""
    strange = rng.random(len(values)) < 0.02
    values[strange, 2] = rng.permutation(values[:, 2])[: int(strange.sum())]
    return strange


def taxi_month(path: Path) -> dict[str, Any]:
    """Return the sample as it is, one month, in ten steps of three days."""
    values, day = _taxis(path)
    strange = _mixed(np.random.default_rng(0), values)
    return {"values": values, "month": np.minimum((day + 2) // 3, 10) - 1, "strange": strange}


def taxi_year(path: Path, *, since: int) -> dict[str, Any]:
    """Return a year of months drawn from the sample; fares rise by a fifth from a month on."""
    trips, _ = _taxis(path)
    rng = np.random.default_rng(3)
    values = trips[rng.integers(len(trips), size=MONTHS * len(trips))]
    month = np.repeat(np.arange(MONTHS), len(trips))
    strange = _mixed(rng, values)
    dearer = month >= since
    values[dearer, 2] = np.log1p(1.2 * np.expm1(values[dearer, 2]))
    return {"values": values, "month": month, "strange": strange}


def auc_by_step(
    data: dict[str, Any],
    bounds: list[tuple[float, float]],
    steps: int,
    *,
    epsilon: str = "1",
    window: int = 3,
) -> list[dict[str, Any]]:
    """Keep a detector current; score each step's records by the detectors of that step.

    Beside ours, learned anew at each step from the same periods without privacy: the same kind of
    detector (at so large an epsilon that there is no noise), and an Isolation Forest.
    """
    from sklearn.ensemble import IsolationForest
    from sklearn.metrics import roc_auc_score

    curator = _curator(data, bounds, f"{epsilon}, 1e-6")
    asked = {"time": "month", "start": 0, "period": 1, "horizon": steps, "delta": "1e-6"}
    rows = []
    for step in range(steps):
        now = data["month"] == step
        truth, shown = data["strange"][now], data["values"][now]
        row: dict[str, Any] = {"step": step + 1, "records": int(now.sum())}
        for name, span in (("all", 0), ("window", window)):
            release = curator.monitor(**asked, epsilon=epsilon, through=step + 1, window=span)
            first = max(0, step + 1 - span) if span else 0
            past = (data["month"] >= first) & (data["month"] <= step)
            forest = IsolationForest(random_state=0).fit(data["values"][past])
            part = {key: values[past] for key, values in data.items()}
            exact = _curator(part, bounds, "100000, 1e-6").learn(
                [f"x{index}" for index in range(len(bounds))], epsilon="100000", delta="1e-6"
            )
            for what, scores in (
                ("ours", release.answer.detector.scores(shown)),
                ("exact", exact.answer.scores(shown)),
                ("forest", -forest.score_samples(shown)),
            ):
                row[f"{what}_{name}"] = round(float(roc_auc_score(truth, scores)), 4)
            row["moved"] = list(release.answer.moved)
            newest = release.answer.series[-1]["columns"]
            row["ratio"] = round(max((move["ratio"] for move in newest), default=0.0), 3)
        rows.append(row)
    return rows


def _curator(data: dict[str, Any], bounds: list[tuple[float, float]], budget: str) -> wc.Curator:
    names = [f"x{index}" for index in range(len(bounds))]
    columns = [
        wc.Column(name, lower=low, upper=high, outside="clip")
        for name, (low, high) in zip(names, bounds, strict=True)
    ]
    card = wc.Card("year", (*columns, wc.Column("month", "integer", lower=-1, upper=64)))
    values = dict(zip(names, data["values"].T, strict=True))
    table = pyarrow.table({**values, "month": data["month"]})
    return wc.Curator.open(table, card=card, budget=budget, ledger="sqlite://", name="year")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the AUC by month, and the alarm below it."""
    from whitecrow.rendering import new_figure

    figure = new_figure(8, 5)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    steps = [row["step"] for row in rows]
    for name, words, color, style in (
        ("ours_all", "ours, all months", "#1f4e79", "-"),
        ("ours_window", "ours, three months", "#c55a11", "-"),
        ("exact_all", "without privacy, all months", "#1f4e79", ":"),
        ("exact_window", "without privacy, three months", "#c55a11", ":"),
    ):
        above.plot(steps, [row[name] for row in rows], style, color=color, label=words)
    above.set(ylabel="ROC-AUC of the month", title="A cluster moves in month 7")
    above.legend(fontsize=8)
    below.plot(steps[1:], [row["ratio"] for row in rows[1:]], color="black", marker="o")
    below.axhline(1.0, color="#b02318", linestyle=":")
    below.set(ylabel="largest shift\nover its bound", xlabel="month", ylim=(0, None))
    figure.savefig(path)


def main() -> None:
    """Run the study and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="quiet years to simulate")
    parser.add_argument("--each", type=int, default=5000, help="records a month")
    parser.add_argument("--data", type=Path, help="a folder with nyc_taxi_sample.parquet")
    parser.add_argument("--out", type=Path, help="write the result into this file (JSON)")
    parser.add_argument("--picture", type=Path, help="draw the year with a drift into this file")
    asked = parser.parse_args()
    summary: dict[str, Any] = {
        "false_alarms": false_alarms(asked.runs, each=asked.each),
        "delays": [
            row for each in (1000, 5000, 20_000) for row in delays(asked.runs // 10, each=each)
        ],
    }
    box = [(-10.0, 10.0)] * 6
    for name, since in (("quiet_year", MONTHS), ("drift_from_month_7", 6)):
        data = year(np.random.default_rng(1), asked.each, since=since)
        summary[name] = auc_by_step(data, box, MONTHS)
    if asked.data is not None:
        path = asked.data / "nyc_taxi_sample.parquet"
        summary["taxis_of_one_month"] = auc_by_step(taxi_month(path), TAXI_BOX, 10)
        summary["taxis_of_a_year_drawn"] = auc_by_step(taxi_year(path, since=8), TAXI_BOX, MONTHS)
    text = json.dumps(summary, indent=1)
    if asked.out is not None:
        asked.out.write_text(text, encoding="utf-8")
    if asked.picture is not None:
        draw(summary["drift_from_month_7"], asked.picture)
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
