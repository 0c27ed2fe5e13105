"""How many outliers? The chapter of ``count``."""

from __future__ import annotations

from fractions import Fraction

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.count import Count
from whitecrow.demo.stage import Asked, Chapter, Stage
from whitecrow.neighbours import count_all
from whitecrow.noise import laws
from whitecrow.rendering import Axis, Plot, escaped, figure, slider

COLUMNS = ["age", "bmi", "systolic"]
MODEL = DistanceAnomaly(beta=5, radius=9.0)
PRICES = ("1/4", "1/2", "1", "2", "4")
START = PRICES.index("1")


def chapter(stage: Stage) -> Chapter:
    """Count the outliers, and show what the same budget gives with worst-case noise."""
    question = Count(COLUMNS, model=MODEL, epsilon=1)
    figures = stage.curator.describe(question).figures
    plain = stage.curator.describe(Count(COLUMNS, model=MODEL, epsilon=1, mechanism="global"))
    release = stage.curator.ask(question)
    error = figures["median_error"]
    asked = Asked(
        "count",
        "How many outliers are there?",
        str(release.answer),
        f"± {error:.0f} (95 %: ± {figures['error_95']:.0f})",
        question.epsilon,
        release.statement,
    )
    words = (
        f"How many patients have at most {MODEL.beta} patients, themselves included, within "
        f"{MODEL.radius:g} of them in age, body mass index and blood pressure? About "
        f"{release.answer}.\n\n"
        f"One patient can change the status of up to {figures['global_sensitivity']} others. Noise "
        f"for that worst case would be off by {plain.figures['median_error']:.0f} (median). Noise "
        f"that follows the smooth sensitivity is off by {error:.0f}, at the same price and with "
        "the same promise."
    )
    return Chapter("How many outliers?", (asked,), words, _picture(stage, release.answer))


def _picture(stage: Stage, answer: int) -> str:
    """The laws of the answer about the true count; only made-up data may be shown like this."""
    degrees = count_all(stage.rows.matrix(COLUMNS), MODEL.radius, cap=MODEL.beta + 1)
    truth = int((degrees <= MODEL.beta).sum())
    low, high = truth - 80, truth + 80
    values = range(low, high + 1)
    plot = Plot(
        Axis("number released", low, high),
        Axis("probability", 0, 0.12),
        "The probability of each number that could have been released",
        height=280,
    )
    notes = []
    for frame, price in enumerate(PRICES):
        question = Count(COLUMNS, model=MODEL, epsilon=price, mechanism="smooth")
        smooth = question.calibration(stage.curator.card)
        sensitivity = smooth.expected_sensitivity(question.expected_cluster_size)
        scale = float(smooth.multiplier) * sensitivity
        spread = smooth.cap / float(question.epsilon)
        curves = (
            ("muted", "noise for the worst case",
             [(v, laws.discrete_laplace_pmf(v - truth, spread)) for v in values]),
            ("accent", "noise that follows the smooth sensitivity",
             [(v, laws.core_tail_pmf(v - truth, scale, smooth.tail)) for v in values]),
        )  # fmt: skip
        for tone, name, curve in curves:
            plot.line(curve, tone, name=name, frame=frame, shown=frame == START)
        off = "" if frame == START else ' class="off"'
        notes.append(
            f'<p data-frame="{frame}"{off}>At ε = {escaped(f"{float(question.epsilon):g}")} half '
            f"of all answers are within ± {smooth.error(0.5, sensitivity):.1f}.</p>"
        )
    plot.rule(truth, "ok", name="true number (made-up data)")
    plot.rule(answer, "ink", name="the answer")
    return figure(
        "Which numbers could have been released, and how probably. Move the slider to see what a "
        "higher or lower price does.",
        "".join(notes) + plot.svg(),
        control=slider("ε", [f"{float(Fraction(price)):g}" for price in PRICES], START),
    )
