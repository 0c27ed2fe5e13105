"""Figures 1, 2 and 3, and the argument of section 4.2 put right."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.attack import epsilon_for_loss, scale_interval
from whitecrow.attack.naive import naive_loss, naive_release
from whitecrow_research.papers.openworld.experiments import (
    METHODS,
    READINGS,
    draw_samples,
    trips_by_day,
)
from whitecrow_research.papers.openworld.tables import (
    EPSILONS,
    PRINTED,
    SIZES,
    WIDTHS,
    by_epsilon,
    by_size,
    by_width,
)
from whitecrow_research.papers.report import Context, Row, Section, Table, agrees

PORTO = "a year of Porto's taxi trips is public; the paper's sample of 19,925 is not"


def pyplot() -> Any | None:
    """Return matplotlib's pyplot on a screenless backend, or None where it is not installed."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        return None
    mpl.use("Agg")
    from matplotlib import pyplot as found

    return found


def save(figure: Any, context: Context, name: str) -> list[Path]:
    """Write a figure and close it."""
    path = context.out / f"openworld-{name}.png"
    figure.savefig(path, dpi=110)
    plots = pyplot()
    assert plots is not None
    plots.close(figure)
    return [path]


def argument(context: Context) -> Section:
    """Section 4.2: the loss of one release, at the same output."""
    mean, size, epsilon = 5.45, 55, 1.0
    scale = 2 * mean / (size * epsilon)
    growth = (mean * (size - 1) + 100.0) / size / mean
    outputs = (5.45, 6.0, 7.0, 10.0, 20.0, 100.0)
    losses = [naive_loss(r, mean, growth, scale) for r in outputs]
    text = (
        "The paper compares the densities of two different outputs, which is not differential "
        "privacy, and concludes that epsilon of at least ln(c)/2 would do. At one and the same "
        "output r the log-ratio is ln c - |r - mean|/b + |r - c mean|/(c b), which has no bound in "
        "r for any c other than 1: the release is not epsilon-DP for any epsilon, not even once. "
        f"Below: a day of {size} trips, one of 100 km comes in (c = {growth:.3f}), epsilon said to "
        "be 1."
    )
    rows = [
        Row(
            "privacy loss of the naive release",
            "at most ln(c)/2 a release would do",
            "unbounded",
            "differs",
            "E25: the paper's ratio is taken at different outputs",
        )
    ]
    table = Table(
        ("released value (km)", "loss (claimed at most 1)"), list(zip(outputs, losses, strict=True))
    )
    return Section("Section 4.2: the privacy argument, put right", text, rows, [table])


def figure_1(context: Context) -> Section:
    """Noisy average salaries before and after one outlier joins (k = 100, epsilon = 0.1)."""
    rng = np.random.default_rng([context.seed, 1])
    salaries = rng.normal(35_000, 8_000, 100)
    joined = np.append(salaries, 5_000_000)
    before, after = (naive_release([day] * 2000, "0.1", rng=rng) for day in (salaries, joined))
    (_, most), (least, largest) = scale_interval(before), scale_interval(after)
    rows = [
        Row(
            "standard deviation of the noisy average",
            "changes considerably",
            f"{before.std():,.0f} before, {after.std():,.0f} after",
            "reproduced" if most < least else "differs",
            "intervals of the noise's scale that do not overlap",
            (2**0.5 * float(least), 2**0.5 * float(largest)),
        ),
        Row(
            "the average itself",
            "does not change",
            f"{salaries.mean():,.0f} before, {joined.mean():,.0f} after",
            "differs",
            "an outlier large enough to change the noise scale changes the mean by the same factor",
        ),
    ]
    figures: list[Path] = []
    plots = pyplot()
    if plots is not None:
        figure, axes = plots.subplots(figsize=(7, 3.2), layout="constrained")
        bins = np.linspace(-150_000, 350_000, 90)
        axes.hist(before, bins, alpha=0.6, density=True, label="initial release")
        axes.hist(after, bins, alpha=0.6, density=True, label="with an outlier")
        axes.set(xlabel="released average salary", yticks=[])
        axes.legend()
        figures = save(figure, context, "figure1")
    return Section("Figure 1: noisy salaries with and without an outlier", "", rows, [], figures)


def figure_2(context: Context) -> Section:
    """The average distance of daily trips, real (stand-in) and synthetic with n = 1,000."""
    years = [float(year.means.mean()) for year in draw_samples(context, "1000")]
    synthetic = draw_samples(context, "1000")[0].means
    real = trips_by_day(context)
    low, high = np.quantile(years, [0.025, 0.975])
    row = Row(
        "average trip of the synthetic data",
        "about 5.45 km",
        f"{np.mean(years):.2f} km ({low:.2f}, {high:.2f}), in one year daily means within "
        f"{min(synthetic):.2f} to {max(synthetic):.2f}",
        "reproduced" if agrees("5.45", float(np.mean(years)), (low, high)) else "differs",
        "a Gaussian for each day; very long trips raise the mean of their days",
        (float(low), float(high)),
    )
    rows = [row]
    if real is None:
        rows.append(Row("daily trips of Porto", "365 days", "-", "needs data", PORTO))
    else:
        means = [float(day.mean()) for day in real]
        why = f"{PORTO}; New York, March 2019, stands in"
        ours = (
            f"{np.mean(means):.2f} km on {len(real)} days of {np.mean([len(d) for d in real]):.0f}"
        )
        rows.append(Row("daily trips of Porto", "5.45 km, 55 a day", ours, "needs data", why))
    figures: list[Path] = []
    plots = pyplot()
    if plots is not None:
        figure, (left, right) = plots.subplots(1, 2, figsize=(9, 3), layout="constrained")
        if real is not None:
            left.plot([float(day.mean()) for day in real], marker=".")
        left.set(title="real (New York stand-in)", xlabel="day", ylabel="average distance (km)")
        right.plot(synthetic, linewidth=0.8)
        right.set(title="synthetic, n = 1,000", xlabel="day")
        figures = save(figure, context, "figure2")
    return Section("Figure 2: the average distance of daily trips", "", rows, [], figures)


def figure_3(context: Context) -> Section:
    """Relative error against epsilon, and F against epsilon, w and n, the paper's beside ours."""
    runs = {
        name: [of(context, reading) for reading in READINGS]
        for name, of in (("epsilon", by_epsilon), ("w", by_width), ("n", by_size))
    }
    grids: dict[str, Any] = {"epsilon": EPSILONS, "w": WIDTHS, "n": SIZES}
    tables = {"epsilon": "table2", "w": "table3", "n": "table4"}
    rows = []
    for name, (day, every) in runs.items():
        paper = [2 * p * r / (p + r) for p, r in PRINTED[tables[name]]["GWE"]]
        for value, printed, first, second in zip(grids[name], paper, day, every, strict=True):
            judged, rate = first["GWE"], first["GWE"].mean.base_rate
            low, high = judged.spans["f"]
            near = agrees(f"{printed:.2f}", judged.mean.f, (low, high))
            rows.append(
                Row(
                    f"F of GWE at {name} = {value:g}",
                    f"{printed:.2f}",
                    f"{judged.mean.f:.2f} ({low:.2f}, {high:.2f}); second reading "
                    f"{second['GWE'].mean.f:.2f}",
                    "reproduced" if near else "differs",
                    f"flagging 60 % at random gives {2 * rate * 0.6 / (rate + 0.6):.2f}",
                    (low, high),
                )
            )
    # The mean absolute value of Laplace noise is its scale: 2/(n epsilon) of the mean.
    error = [2 / (55 * e) for e in EPSILONS]
    least = math.sqrt(2 / 0.15) * 2 / (55 * 0.15)
    rows.append(
        Row(
            "relative error at epsilon 0.5 and 1, n = 55",
            "(0.15, 0.15)-bounded at 1, too large at 0.5",
            f"{error[1]:.3f} and {error[2]:.3f} on average; bounded from epsilon {least:.2f} on",
            "reproduced" if 0.5 < least <= 1 else "differs",
            "by Chebyshev's inequality, as 3.2.2 computes; the Laplace law itself gives "
            f"{epsilon_for_loss(0.15, 0.15, 55):.2f}",
        )
    )
    figures: list[Path] = []
    plots = pyplot()
    if plots is not None:
        figure, panels = plots.subplots(1, 4, figsize=(13, 3), layout="constrained")
        panels[0].plot(EPSILONS, error, marker="o")
        panels[0].set(title="(a) relative error, n = 55", xlabel="epsilon", yscale="log")
        for axes, (name, (day, _)), letter in zip(panels[1:], runs.items(), "bcd", strict=True):
            grid = grids[name]
            for method in METHODS:
                (line,) = axes.plot(grid, [v[method].mean.f for v in day], "o-", label=method)
                paper = [2 * p * r / (p + r) for p, r in PRINTED[tables[name]][method]]
                axes.plot(grid, paper, "x:", color=line.get_color())
            axes.set(title=f"({letter}) F against {name}", xlabel=name, ylim=(0, 1))
            if name == "n":
                axes.set_xscale("log")
        panels[1].legend(title="ours (dotted: paper)", fontsize=8)
        figures = save(figure, context, "figure3")
    return Section(
        "Figure 3: performance against epsilon, w and n",
        "F without the base rate says little: flagging at random reaches the values in the last "
        "column. In brackets is where 95 % of data sets like the paper's lie; the readings are "
        "those of Table 2.",
        rows,
        [],
        figures,
    )
