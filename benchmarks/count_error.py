"""How far off a private count is: ours against the paper's Gaussian and the global mechanism.

The errors are quantiles of the noise at the sensitivity that the data have, means over several
samples; nothing is simulated. Prints, for 7 columns, beta 3 and epsilon 1, `ratio_gaussian` (median
error of the paper's Gaussian at delta 1e-6 over ours) and `ratio_global` (of the global mechanism).
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

RECORDS = 2_000
SHARE = 0.02

Points = NDArray[np.float64]
Degrees = NDArray[np.int64]


@lru_cache
def sample(columns: int, beta: int, seed: int) -> tuple[Points, float, Degrees]:
    """Points, the radius at which about SHARE of them are outliers, and their degrees."""
    points = mixture(RECORDS, columns, seed)
    low, high = 1e-3, 100.0
    for _ in range(16):
        middle = (low * high) ** 0.5
        if (count_all(points, middle, cap=beta + 1) <= beta).mean() > SHARE:
            low = middle
        else:
            high = middle
    return points, high, count_all(points, high)


def sensitivity(noise: Calibration, beta: int, columns: int, seeds: int) -> float:
    """The mean sensitivity a calibration sees on the samples."""
    if noise.decay is None:
        return float(noise.cap)
    found = []
    for seed in range(seeds):
        points, radius, degrees = sample(columns, beta, seed)
        value = smooth_bound(
            points,
            degrees,
            beta=beta,
            radius=radius,
            metric="euclidean",
            relation=noise.relation,
            cap=noise.cap,
            decay=noise.decay,
        )
        found.append(float(value))
    return float(np.mean(found))


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "").parse_args(argv)
    seeds = 2 if options.quick else 10
    dimensions = (1, 2, 7) if options.quick else (1, 2, 3, 5, 7, 10)
    betas = (3,) if options.quick else (1, 3, 10)
    delta = Fraction(1, 10**6)
    rows = []
    ratios = {}
    for d, beta, epsilon in itertools.product(
        dimensions, betas, (Fraction(1, 2), Fraction(1), Fraction(2))
    ):
        errors: dict[str, tuple[float, float]] = {}
        chosen = ""
        for name, relation, spent in (
            ("auto", "add_remove", Fraction(0)),
            ("global", "add_remove", Fraction(0)),
            ("analytic_gaussian", "add_remove", delta),
            ("paper_gaussian", "replace_one", delta),
        ):
            cap = global_sensitivity(beta, d, relation, exactly=False)
            noise = calibrate(name, epsilon, spent, relation=relation, cap=cap)
            s = sensitivity(noise, beta, d, seeds)
            errors[name] = noise.error(0.5, s), noise.error(0.95, s)
            chosen = chosen or noise.mechanism
        ours = errors["auto"]
        ratios[d, beta, epsilon] = (
            errors["paper_gaussian"][0] / ours[0],
            errors["global"][0] / ours[0],
        )
        rows.append(
            (
                d,
                beta,
                float(epsilon),
                chosen,
                *(f"{median:.3g} / {most:.3g}" for median, most in errors.values()),
                *ratios[d, beta, epsilon],
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
    gaussian, plain = ratios[7, 3, Fraction(1)]
    emit("ratio_gaussian", gaussian)
    emit("ratio_global", plain)


if __name__ == "__main__":
    main()
