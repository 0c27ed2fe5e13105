"""How many outliers? The chapter of ``count``."""

from __future__ import annotations

from pathlib import Path

from whitecrow._figures import can_draw, new_figure
from whitecrow.anomaly import DistanceAnomaly
from whitecrow.count import Count
from whitecrow.demo.stage import Chapter, Stage
from whitecrow.neighbours import count_all
from whitecrow.noise import laws

__all__ = ["chapter"]

COLUMNS = ["age", "bmi", "systolic"]
MODEL = DistanceAnomaly(beta=5, radius=9.0)


def chapter(stage: Stage) -> Chapter:
    """Count the outliers, and show what the same budget gives with worst-case noise."""
    question = Count(COLUMNS, model=MODEL, epsilon=1)
    figures = stage.curator.describe(question).figures
    plain = stage.curator.describe(Count(COLUMNS, model=MODEL, epsilon=1, mechanism="global"))
    release = stage.curator.ask(question)
    words = (
        f"How many patients have at most {MODEL.beta} patients, themselves included, within "
        f"{MODEL.radius:g} of them in age, body mass index and blood pressure? The curator says "
        f"{release.answer}.\n\n"
        "One patient can change the status of many others: in three columns of up to "
        f"{figures['global_sensitivity']}. Noise for that worst case is off by "
        f"{plain.figures['median_error']:.0f} (median). The smooth sensitivity follows the data "
        f"instead: {figures['median_error']:.1f} (median) and {figures['error_95']:.0f} (95 %) "
        "expected, at the same price and with the same promise to everyone.\n\n"
        f"{release.statement}"
    )
    return Chapter("How many outliers?", words, _picture(stage, release.answer))


def _picture(stage: Stage, answer: int) -> tuple[Path, ...]:
    """The laws of the answer about the true count; only made-up data may be shown like this."""
    if not can_draw():
        return ()
    degrees = count_all(stage.rows.matrix(COLUMNS), MODEL.radius, cap=MODEL.beta + 1)
    truth = int((degrees <= MODEL.beta).sum())
    question = Count(COLUMNS, model=MODEL, epsilon=1, mechanism="smooth")
    smooth = question.calibration(stage.curator.card)
    scale = float(smooth.multiplier) * smooth.expected_sensitivity(question.expected_cluster_size)
    values = range(truth - 60, truth + 61)
    figure = new_figure(7, 3.2)
    axes = figure.subplots()
    axes.plot(
        values,
        [laws.core_tail_pmf(v - truth, scale, smooth.tail) for v in values],
        label="smooth sensitivity (expected)",
    )
    axes.plot(
        values,
        [laws.discrete_laplace_pmf(v - truth, smooth.cap) for v in values],
        label="global sensitivity",
    )
    axes.axvline(truth, color="gray", linestyle=":", label="true number (made-up data)")
    axes.axvline(answer, color="black", label="the answer")
    axes.set(xlabel="number released", ylabel="probability")
    axes.legend()
    path = stage.figure("count")
    figure.savefig(path, dpi=110)
    return (path,)
