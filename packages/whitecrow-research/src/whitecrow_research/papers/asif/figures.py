"""Figures 1 to 5 of the paper, drawn again, with what they claim as numbers."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.identify.map import PrivacyMap, map_of_counts
from whitecrow.neighbours import count_all
from whitecrow_research.papers.asif.sets import PRINTED, Set, errors, load
from whitecrow_research.papers.asif.tables import missing
from whitecrow_research.papers.report import Context, Row, Section, share_interval

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

ANSWERS = 10_000  # from which the paper estimates each error
NONE_SEEN = 3 / ANSWERS  # so small that there may well be no wrong one among them


def _canvas(columns: int, width: float = 4.0, height: float = 3.6) -> tuple[Any, Any] | None:
    """Return a figure with panels side by side, or None where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return None
    figure = Figure(figsize=(width * columns, height), layout="constrained")
    return figure, np.atleast_1d(figure.subplots(1, columns))


def _save(figure: Any, context: Context, name: str) -> tuple[Path, ...]:
    path = context.out / f"asif-{name}.png"
    figure.savefig(path, dpi=100)
    return (path,)


@lru_cache(maxsize=1)
def _gaussian(size: int, seed: int) -> tuple[Floats, int, float, Counts]:
    """Return the example data of the paper's Section 5: two independent normals of variance 2."""
    points = np.random.default_rng(seed).normal(scale=math.sqrt(2), size=(size, 2))
    radius = 0.13 * 2.0
    return points, round(1.2e-3 * size), radius, count_all(points, radius)


def _example(context: Context) -> tuple[Floats, int, float, Counts]:
    return _gaussian(5_000 if context.quick else 20_000, context.seed)


def _map(counts: Counts, beta: int, k: int, notion: str) -> PrivacyMap:
    """Return the map of the paper's mechanism: equation (5), no cap; every record differs."""
    return map_of_counts(
        np.ones_like(counts),
        counts,
        beta=beta,
        k=k,
        epsilon="1/4",
        notion=notion,
        floor=None,
        tight=False,
    )


def _scatter(
    panel: Any, figure: Any, points: Floats, values: Floats, title: str, limits: tuple[float, float]
) -> None:
    order = np.argsort(np.hypot(*points.T))  # the outlying ones on top
    marks = panel.scatter(
        *points[order].T, c=values[order], s=3, cmap="viridis", vmin=limits[0], vmax=limits[1]
    )
    figure.colorbar(marks, ax=panel)
    panel.set_title(title)


def figure1(context: Context) -> Section:
    """Accuracy and privacy of each record under SP and DP."""
    points, beta, radius, counts = _example(context)
    sp, dp = (_map(counts, beta, 1, notion) for notion in ("sensitive", "differential"))
    normal, lonely = ~sp.anomalous, sp.anomalous & ~sp.covered
    rows = [
        Row(
            "(d), (e): normal records have the loss of DP",
            "0.25 for all",
            f"{sp.loss[normal].min():.6f} to {sp.loss[normal].max():.6f}",
            "reproduced" if np.allclose(sp.loss[normal], 0.25) else "differs",
        ),
        Row(
            "(e): every record has the same loss under DP",
            "0.25",
            f"{dp.loss.min():.4f} to {dp.loss.max():.4f}",
            "reproduced" if np.allclose(dp.loss, 0.25) else "differs",
        ),
        Row(
            "(b), (c): outlying records are answered more accurately under SP",
            "near 1 against near 0.56",
            f"{sp.accuracy[lonely].mean():.4f} against {dp.accuracy[lonely].mean():.4f}",
            "reproduced" if sp.accuracy[lonely].mean() > dp.accuracy[lonely].mean() else "differs",
        ),
        Row(
            "(d): the more outlying, the larger the loss",
            "shown",
            f"covered at most {sp.loss[sp.covered].max():.3f}; others up to "
            f"{sp.loss[lonely].max():.2f}",
            "reproduced" if sp.loss[lonely].max() > 0.25 else "differs",
        ),
    ]
    drawn = _canvas(5)
    figures: tuple[Path, ...] = ()
    if drawn is not None:
        figure, panels = drawn
        panels[0].hexbin(*points.T, gridsize=50, cmap="Greys", bins="log")
        panels[0].set_title("(a) the records")
        worst = float(sp.loss.max())
        for panel, values, title, limits in (
            (panels[1], sp.accuracy, "(b) accuracy, SP", (0.5, 1.0)),
            (panels[2], dp.accuracy, "(c) accuracy, DP", (0.5, 1.0)),
            (panels[3], sp.loss, "(d) loss, SP", (0.0, worst)),
            (panels[4], dp.loss, "(e) loss, DP", (0.0, worst)),
        ):
            _scatter(panel, figure, points, values, title, limits)
        figures = _save(figure, context, "figure1")
    text = (
        f"{len(points):,} records from N(0, 2I), beta {beta}, r {radius:g}, epsilon 0.25, k 1: the "
        "paper's mechanism (equation 5, no cap). Such a map is read from the private data and is "
        "for the custodian only."
    )
    return Section("Figure 1: accuracy and privacy of each record", text, rows, figures=figures)


def figure2(context: Context) -> Section:
    """More k, more records with the promise."""
    points, beta, _, counts = _example(context)
    levels = (1, 7, 14) if beta > 14 else (1, beta // 3, 2 * beta // 3)
    maps = [_map(counts, beta, k, "sensitive") for k in levels]
    covered = [int(map_.covered.sum()) for map_ in maps]
    rows = [
        Row(
            f"records covered with epsilon 0.25, k = {', '.join(map(str, levels))}",
            "increasing",
            ", ".join(f"{count:,}" for count in covered),
            "reproduced" if covered == sorted(covered) else "differs",
            f"of {len(points):,}",
        )
    ]
    drawn = _canvas(len(levels))
    figures: tuple[Path, ...] = ()
    if drawn is not None:
        figure, panels = drawn
        for panel, map_, k in zip(panels, maps, levels, strict=True):
            title = f"exp(-loss), k = {k}"
            _scatter(panel, figure, points, np.exp(-map_.loss), title, (0.0, 1.0))
        figures = _save(figure, context, "figure2")
    text = "The same data and mechanism as in figure 1; colour is exp(-loss) as in the paper."
    return Section("Figure 2: privacy for growing k", text, rows, figures=figures)


def _sets(context: Context) -> list[Set]:
    loaded = [load(name, context) for name in PRINTED]
    return [data for data in loaded if data is not None]


def _absent(context: Context, what: str) -> list[Row]:
    """A row for each set that is not here: none is left out silently."""
    return [missing(name, what) for name in PRINTED if load(name, context) is None]


def _true_errors(data: Set, k: int, epsilon: str) -> Floats:
    true = data.true
    return errors(
        data.copies[true], data.neighbours[true], beta=data.printed.beta, k=k, epsilon=epsilon
    )


def _no_room(data: Set, epsilon: str) -> str:
    beta = data.printed.beta
    least = float(errors(np.array([1]), np.array([1]), beta=beta, k=1, epsilon=epsilon)[0])
    return (
        f"better than DP, yet not near 0: even a record alone within r has an error of {least:.3g} "
        f"with beta {beta}"
    )


def figure3(context: Context) -> Section:
    """Box plots of the error over the true anomalies."""
    rows, sets = [], _sets(context)
    for data in sets:
        for epsilon in ("1", "0.1", "0.01"):
            sp = _true_errors(data, 1, epsilon)
            dp = _true_errors(data, data.printed.beta, epsilon)
            coin = 1 / (1 + math.exp(float(epsilon)))
            low, high = share_interval(coin, ANSWERS)
            rows.append(
                Row(
                    f"{data.name}, epsilon {epsilon}: median error, SP and DP",
                    f"SP near 0, DP about {coin:.4f}",
                    f"SP {np.median(sp):.3g}, DP {np.median(dp):.4f}",
                    "reproduced"
                    if np.median(sp) <= NONE_SEEN and low <= np.median(dp) <= high
                    else "differs",
                    data.note if np.median(sp) <= NONE_SEEN else _no_room(data, epsilon),
                    (low, high),
                )
            )
    drawn = _canvas(len(sets)) if sets else None
    figures: tuple[Path, ...] = ()
    if drawn is not None:
        figure, panels = drawn
        for panel, data in zip(panels, sets, strict=True):
            boxes = [
                _true_errors(data, k, epsilon)
                for epsilon in ("1", "0.1", "0.01")
                for k in (1, data.printed.beta)
            ]
            panel.boxplot(boxes)
            panel.set_xticks(range(1, 7), ["SP", "DP"] * 3)
            panel.set_title(f"{data.name}\nepsilon 1, 0.1, 0.01", fontsize=9)
            panel.set_ylim(-0.02, 0.55)
        figures = _save(figure, context, "figure3")
    rows += _absent(context, "median error, SP and DP")
    text = (
        "Exact error probabilities; the paper estimates each from 10,000 answers: an error counts "
        "as near 0 if 10,000 answers may well have none wrong (at most 3 in 10,000), and as the "
        "coin's if it lies in the interval of 10,000 tosses. The plots print no numbers."
    )
    return Section("Figure 3: error over the true anomalies", text, rows, figures=figures)


def figure4(context: Context) -> Section:
    """The error of each true anomaly, ranked, for growing k."""
    rows, sets = [], _sets(context)
    drawn = _canvas(len(sets)) if sets else None
    for index, data in enumerate(sets):
        beta = data.printed.beta
        curves = {"k = 1": 1} | {
            f"k = {percent}% of beta": max(1, round(beta * percent / 100))
            for percent in (10, 20, 30)
        }
        ranked = {
            label: np.sort(_true_errors(data, k, "0.1"))[::-1]
            for label, k in {**curves, "DP": beta}.items()
        }
        means = [float(values.mean()) for values in ranked.values()]
        rows.append(
            Row(
                f"{data.name}: mean error, k = 1, 10, 20, 30 % of beta, DP",
                "increasing",
                ", ".join(f"{mean:.3g}" for mean in means),
                "reproduced" if means == sorted(means) else "differs",
                data.note,
            )
        )
        if drawn is not None:
            panel = drawn[1][index]
            for label, values in ranked.items():
                panel.plot(np.arange(1, len(values) + 1), values, label=label)
            panel.set_yscale("log")
            panel.set_title(data.name)
            panel.set_xlabel("rank")
    figures: tuple[Path, ...] = ()
    if drawn is not None:
        drawn[1][0].legend(fontsize=7)
        figures = _save(drawn[0], context, "figure4")
    rows += _absent(context, "mean error for growing k")
    return Section("Figure 4: error for growing k, epsilon 0.1", "", rows, figures=figures)


def figure5(context: Context) -> Section:
    """The mean error over normal records: SP and DP alike."""
    rows, sets, means = [], _sets(context), []
    for data in sets:
        normal = ~data.flagged
        both = [
            np.average(
                errors(
                    data.copies[normal],
                    data.neighbours[normal],
                    beta=data.printed.beta,
                    k=k,
                    epsilon="0.1",
                ),
                weights=data.weights[normal],
            )
            for k in (1, data.printed.beta)
        ]
        means.append(both)
        rows.append(
            Row(
                f"{data.name}: mean error over normal records, SP and DP",
                "equal",
                f"{both[0]:.3g} and {both[1]:.3g}",
                "reproduced" if both[0] == both[1] else "differs",
                data.note,
            )
        )
    drawn = _canvas(1, width=7) if sets else None
    figures: tuple[Path, ...] = ()
    if drawn is not None:
        figure, (panel,) = drawn
        positions = np.arange(len(sets))
        for shift, (label, values) in enumerate(
            zip(("SP", "DP"), zip(*means, strict=True), strict=True)
        ):
            panel.bar(positions + 0.4 * shift, values, width=0.38, label=label)
        panel.set_xticks(positions + 0.2, [data.name for data in sets], fontsize=8)
        panel.set_yscale("log")
        panel.legend()
        figures = _save(figure, context, "figure5")
    rows += _absent(context, "mean error over normal records")
    text = "A normal record is sensitive for every k, so both mechanisms have the same distance."
    return Section("Figure 5: error over normal records, epsilon 0.1", text, rows, figures=figures)
