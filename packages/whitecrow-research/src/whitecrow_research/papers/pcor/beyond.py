"""What the paper does not have: a promise to everyone, and what it costs in utility."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.detectors import FewWithin
from whitecrow.explain import Explain
from whitecrow.explain.verdicts import Population, all_sums
from whitecrow_research.papers.pcor.data import Study, outliers, salary
from whitecrow_research.papers.report import Context, Row, Section

MODEL = DistanceAnomaly(beta=40, radius=5_000)
EPSILONS = ("0.2", "0.5", "1", "2")
CROWDS = (10 * MODEL.beta, 1000 * MODEL.beta)

Counts = NDArray[np.int64]


def unconditional(context: Context) -> Section:
    """The unconditional explanation: how often is its context a true one, and how large is it?"""
    title = "Beyond the paper: explanation without the condition"
    study = salary(context, small=context.quick)
    if study is None:
        return Section(title, rows=[Row(title, "-", "-", "needs data", "pass --data")])
    count = 2 if context.quick else 8
    first = _question(study, study.record(0), "1")
    detector = first.on_grid(study.data.card)[2]
    records = outliers(study, detector, count, context.seed, hidden=True)
    counted = [_counts(study, record) for record in records]
    bits = first.space(study.data.card).bits
    rows = []
    for crowd, price in product(CROWDS, EPSILONS):
        laws = [_law(near, size, crowd, price) for near, size in counted]
        chances, utilities = zip(*laws, strict=True)
        needed = math.ceil((math.log(19) + bits * math.log(2)) / Fraction(price))
        rows.append(
            Row(
                f"crowd {crowd:,}, epsilon {price}: a true context; share of best population",
                "-",
                f"{np.mean(chances):.3f} (worst {min(chances):.3f}); {np.mean(utilities):.2f}",
                "beyond the paper",
                f"95 % is promised where the margin is {needed} or more (of {MODEL.beta})",
            )
        )
    text = (
        f"Distance model: at most {MODEL.beta} salaries, its own included, within "
        f"{MODEL.radius:,.0f} dollars. Exact probabilities over all contexts for {len(records)} "
        "random records that are outliers in some contexts and not among all. Everyone is "
        "protected on every pair of neighbouring databases. The crowd is the asker's: isolation "
        "from more people counts more as long as it is not reached, so a larger one finds larger "
        "contexts and separates true ones less sharply."
    )
    return Section(title, text, rows)


def _question(study: Study, record: dict[str, object], epsilon: str) -> Explain:
    return Explain(
        record,
        metric=study.metric,
        attributes=study.attributes,
        detector=MODEL,
        epsilon=epsilon,
        notion="differential",
    )


def _counts(study: Study, record: dict[str, object]) -> tuple[Counts, Counts]:
    """Near records and population of every context, the record included."""
    card, question = study.data.card, _question(study, record, "1")
    space = question.space(card)
    grid, own, detector = question.on_grid(card)
    assert isinstance(detector, FewWithin)
    needs = space.needs([a.codes(study.data.values(a.name)) for a in space.attributes])
    offsets = grid.cells(study.data.values(study.metric)) - own
    population = Population(needs, offsets, space.bits)
    near = all_sums(population, population.near(detector.reach))
    return near, all_sums(population, population.size)


def _law(near: Counts, size: Counts, crowd: int, epsilon: str) -> tuple[float, float]:
    """The chance of a true outlier context, and the expected share of the best population."""
    score = np.minimum(crowd * (MODEL.beta + 1 - near), MODEL.beta * (size - near))
    weight = np.exp(float(Fraction(epsilon)) / crowd * (score - score.max()))
    weight /= weight.sum()
    true = near <= MODEL.beta
    return float(weight[true].sum()), float((weight * true) @ size / size[true].max())
