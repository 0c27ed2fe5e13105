"""How far off a private count is: ours against the paper's Gaussian and the global mechanism.

The errors are quantiles of the noise at the sensitivity that the data have, means over several
samples; nothing is simulated. Prints, for 7 columns, beta 3 and epsilon 1, `ratio_gaussian` (median
error of the paper's Gaussian at delta 1e-6 over ours) and `ratio_global` (of the global mechanism).
The last rows are of mixed spaces: numbers divided by scales beside two columns of three categories,
whose weight of 1 is above the radius.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import emit, parser, print_table
from benchmarks.count import mixture
from whitecrow.counting.calibration import Calibration, calibrate
from whitecrow.counting.kissing import global_sensitivity
from whitecrow.counting.smooth import smooth_bound
from whitecrow.neighbours import count_all
from whitecrow.neighbours.relation import NeighbourRelation

RECORDS = 2_000
SHARE = 0.02

Points = NDArray[np.float64]
Degrees = NDArray[np.int64]


CATEGORIES = ((3, 1.0), (3, 1.0))
"""Of the mixed spaces: how many, and the distance of two of them."""

Space = tuple[int, bool]
"""How many columns of numbers, and whether there are categories beside them."""


def metric_of(space: Space) -> str:
    """What distances are, once the records are laid out."""
    return "manhattan" if space[1] else "euclidean"


@lru_cache
def sample(space: Space, beta: int, seed: int) -> tuple[Points, float, Degrees]:
    """Points, the radius at which about SHARE of them are outliers, and their degrees."""
    columns, is_mixed = space
    points = mixture(RECORDS, columns, seed)
    low, high, metric = 1e-3, 100.0, metric_of(space)
    if is_mixed:
        codes = np.random.default_rng(seed).choice(3, (RECORDS, 2), p=(0.6, 0.3, 0.1))
        names = tuple(f"c{k}" for k in range(columns + 2))
        scales, levels = (60.0,) * columns + (1.0, 1.0), (0,) * columns + (3, 3)
        form = NeighbourRelation(names, "mixed", 1.0, scales, levels).form()
        points = form.placed(np.hstack([points, codes]))
        high = 0.99
    for _ in range(16):
        middle = (low * high) ** 0.5
        if (count_all(points, middle, metric, cap=beta + 1) <= beta).mean() > SHARE:
            low = middle
        else:
            high = middle
    return points, high, count_all(points, high, metric)


def sensitivity(noise: Calibration, beta: int, space: Space, seeds: int) -> float:
    """The mean sensitivity a calibration sees on the samples."""
    if noise.decay is None:
        return float(noise.cap)
    errors = []
    for seed in range(seeds):
        points, radius, degrees = sample(space, beta, seed)
        value = smooth_bound(
            points,
            degrees,
            beta=beta,
            radius=radius,
            metric=metric_of(space),
            relation=noise.relation,
            cap=noise.cap,
            decay=noise.decay,
        )
        errors.append(float(value))
    return float(np.mean(errors))


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "").parse_args(argv)
    seeds = 2 if options.quick else 10
    dimensions = (1, 2, 7) if options.quick else (1, 2, 3, 5, 7, 10)
    spaces = [(d, False) for d in dimensions] + [(1, True), (2, True)]
    betas = (3,) if options.quick else (1, 3, 10)
    delta = Fraction(1, 10**6)
    rows = []
    ratios = {}
    for space, beta, epsilon in itertools.product(
        spaces, betas, (Fraction(1, 2), Fraction(1), Fraction(2))
    ):
        d, is_mixed = space
        categories = CATEGORIES if is_mixed else ()
        errors: dict[str, tuple[float, float]] = {}
        chosen = ""
        for name, relation, spent in (
            ("auto", "add_remove", Fraction(0)),
            ("global", "add_remove", Fraction(0)),
            ("analytic_gaussian", "add_remove", delta),
            ("paper_gaussian", "replace_one", delta),
        ):
            cap = global_sensitivity(
                beta,
                d + len(categories),
                relation,
                metric=metric_of(space),
                radius=0.5,
                exactly=False,
                categories=categories,
            )
            noise = calibrate(name, epsilon, spent, relation=relation, cap=cap)
            s = sensitivity(noise, beta, space, seeds)
            errors[name] = noise.error(0.5, s), noise.error(0.95, s)
            chosen = chosen or noise.mechanism
        ours = errors["auto"]
        ratios[space, beta, epsilon] = (
            errors["paper_gaussian"][0] / ours[0],
            errors["global"][0] / ours[0],
        )
        rows.append(
            (
                f"{d} + 2 categories" if is_mixed else str(d),
                beta,
                float(epsilon),
                chosen,
                *(f"{median:.3g} / {most:.3g}" for median, most in errors.values()),
                *ratios[space, beta, epsilon],
            )
        )
    print_table(
        (
            "columns",
            "beta",
            "epsilon",
            "ours is",
            "ours",
            "global",
            "analytic Gaussian",
            "paper's Gaussian",
            "paper / ours",
            "global / ours",
        ),
        rows,
    )
    gaussian, plain = ratios[(7, False), 3, Fraction(1)]
    emit("ratio_gaussian", gaussian)
    emit("ratio_global", plain)


if __name__ == "__main__":
    main()
