"""Section 4 and 6.2 of the paper: the global bound, and the noise of counting (figures 1, 3, 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from whitecrow.counting.calibration import Calibration, calibrate
from whitecrow.counting.kissing import KISSING, global_sensitivity, separated
from whitecrow.counting.smooth import smooth_bound
from whitecrow_research.papers.okada.drawing import draw
from whitecrow_research.papers.okada.printed import degrees, paper_smooth_sensitivity
from whitecrow_research.papers.okada.sets import Sample, adult, synthetic_one
from whitecrow_research.papers.report import Context, Row, Section, Table, mean_interval

K = 3
DELTA = Fraction(1, 100)
EPSILONS = tuple(Fraction(tenth, 10) for tenth in range(1, 10))

E12 = (
    "E12: the published deviations cannot come from Theorem 2. Its factor alone, "
    "5 sqrt(2 ln(2/δ)) / ε, is 23.3 at ε = 0.7 and δ = 0.01, and S is at least 1."
)


def figure_1(context: Context) -> Section:
    """The bounds of the global sensitivity by dimension."""
    dimensions = list(range(1, 25))
    lower = [2 * d * K + 1 for d in dimensions]
    upper = [K * KISSING[d - 1] + 1 for d in dimensions]
    ours = [global_sensitivity(K, d, "add_remove", exactly=False) for d in dimensions]
    figure = draw(
        context.out / "okada-figure-1.png",
        dimensions,
        {"paper, lower 2dk+1": lower, "paper, upper kK+1": upper, "ours, add/remove": ours},
        ("dimension", f"global sensitivity, k = {K}"),
        log=True,
    )
    planar = f"{K * separated(2) + 1} exactly, {K * separated(2, exactly=False) + 1} in doubles"
    return Section(
        "Figure 1: bounds of the global sensitivity",
        "The upper bound is k times the kissing number plus one. Flipping records lie strictly "
        "further apart than the radius, which in the plane makes 5 of 6; in double precision six "
        "can be had (count/proof.md 5). Under add/remove the record's own flip has the opposite "
        "sign, so nothing is added.",
        rows=[
            Row("GS in one dimension", "2k+1", f"{K * separated(1) + 1} for k = 3", "reproduced"),
            Row("GS in two dimensions", "5k+1", planar, "reproduced"),
            Row(
                "lower bound min(N, 2dk+1)",
                "holds for all N",
                f"N = {K}: 0; d = 1, N = 5: {_line_sensitivity(5)} instead of 5",
                "differs",
                "E14: with N up to k nothing ever flips; it needs N of at least 2dk+1.",
            ),
        ],
        tables=[
            Table(
                ("dimension", "2dk+1", "kK+1", "ours, add/remove"),
                list(zip(dimensions, lower, upper, ours, strict=True)),
            )
        ],
        figures=figure,
    )


def _line_sensitivity(n: int) -> int:
    """The global sensitivity on the line by trying all multisets of n points of 0, 1, 2, 9."""
    import itertools

    def outliers(x: tuple[float, ...]) -> int:
        return int((degrees(np.array(x).reshape(-1, 1), 1.0) <= K).sum())

    domain = (0.0, 1.0, 2.0, 9.0)
    most = 0
    for rest in itertools.combinations_with_replacement(domain, n - 1):
        counts = [outliers((*rest, point)) for point in domain]
        most = max(most, max(counts) - min(counts))
    return most


def figure_3(context: Context) -> Section:
    """Synthetic 1."""
    return _noise(context, "Figure 3: Synthetic 1", "okada-figure-3", 1.1, synthetic_one)


def figure_4(context: Context) -> Section:
    """Adult 1."""
    path = context.dataset("adult.parquet")
    title = "Figure 4: Adult 1"
    if path is None:
        why = "put adult.parquet into the data folder"
        return Section(title, rows=[Row("σ of the noise", "<7", "-", "needs data", why)])
    return _noise(
        context, title, "okada-figure-4", 0.35, lambda generator: adult(path, 45, 5, generator)
    )


def _noise(
    context: Context,
    title: str,
    name: str,
    radius: float,
    make: Callable[[np.random.Generator], Sample],
) -> Section:
    generator = np.random.default_rng(context.seed)
    samples = [make(generator) for _ in range(5 if context.quick else 30)]
    width = samples[0].points.shape[1]
    scaled = radius * math.sqrt(width)  # the paper's distance is averaged over the columns
    series: dict[str, list[float]] = {
        "global, paper (σ)": [],
        "smooth, Theorem 2 (σ)": [],
        "smooth, smoothing ε, no factor 5 (σ)": [],
        "ours, pure ε, add/remove (median error)": [],
        "ours, 95 % error": [],
    }
    mechanisms = set()
    for epsilon in EPSILONS:
        factor = math.sqrt(2 * math.log(2 / DELTA)) / float(epsilon)
        lower = min(50, 2 * width * K + 1)
        right = calibrate("paper_gaussian", epsilon, DELTA, relation="replace_one", cap=50)
        loose = Calibration(
            "paper_gaussian", "replace_one", 50, Fraction(1), decay=Fraction(math.exp(-epsilon))
        )
        ours = calibrate(
            "auto",
            epsilon,
            Fraction(0),
            relation="add_remove",
            cap=global_sensitivity(K, width, "add_remove", exactly=False),
        )
        mechanisms.add(ours.mechanism)
        s_ours = _mean_sensitivity(samples, scaled, ours)
        series["global, paper (σ)"].append(lower * factor)
        series["smooth, Theorem 2 (σ)"].append(
            _mean_sensitivity(samples, scaled, right) * 5 * factor
        )
        series["smooth, smoothing ε, no factor 5 (σ)"].append(
            _mean_sensitivity(samples, scaled, loose) * factor
        )
        series["ours, pure ε, add/remove (median error)"].append(ours.error(0.5, s_ours))
        series["ours, 95 % error"].append(ours.error(0.95, s_ours))
    at = EPSILONS.index(Fraction(7, 10))
    correct = series["smooth, Theorem 2 (σ)"][at]
    loosely = series["smooth, smoothing ε, no factor 5 (σ)"][at]
    plain = series["global, paper (σ)"][at]
    best = series["ours, pure ε, add/remove (median error)"][at]
    rows = [
        Row(
            "σ of the smooth mechanism at ε = 0.7",
            "< 7",
            f"{correct:.0f}",
            "differs",
            f"{E12} With the smoothing parameter ε of Section 4.2.2 (E11) and without the factor "
            f"5 it would be {loosely:.1f}, and not private.",
        ),
        Row(
            "σ_global / σ_smooth",
            "10 to 30",
            f"{plain / correct:.2f}",
            "differs",
            "With the constants of the theorem the smooth mechanism is the worse one: its noise "
            "is five times the global one's for each unit of sensitivity.",
        ),
        Row(
            "error of this product's default at ε = 0.7",
            "-",
            f"median {best:.1f}, 95 % {series['ours, 95 % error'][at]:.0f} "
            f"(Theorem 2: median {0.6745 * correct:.0f})",
            "beyond the paper",
            f"pure ε, no δ, add/remove; {', '.join(sorted(mechanisms))}, chosen and tuned from "
            "public facts",
        ),
        _accuracy(samples, radius),
    ]
    figure = draw(
        context.out / f"{name}.png",
        [float(e) for e in EPSILONS],
        series,
        ("ε", "size of the noise"),
        log=True,
    )
    table = Table(
        ("ε", *series),
        [(float(e), *(values[i] for values in series.values())) for i, e in enumerate(EPSILONS)],
        f"Means over {len(samples)} samples; δ = 0.01 for the paper's mechanisms.",
    )
    return Section(title, _TEXT, rows, [table], figure)


_TEXT = (
    "The paper draws the deviation of its Gaussian noise. Here are: its global mechanism, with the "
    "lower bound it uses; its smooth mechanism with the constants of its Theorem 2; what one gets "
    "by using ε as the smoothing parameter and forgetting the factor 5; and the error of this "
    "product's default, which spends no δ."
)


def _mean_sensitivity(samples: list[Sample], radius: float, noise: Calibration) -> float:
    """The smooth sensitivity a calibration sees, over the samples."""
    if noise.decay is None:
        return float(noise.cap)
    bounds = [
        smooth_bound(
            sample.points,
            degrees(sample.points, radius),
            beta=K,
            radius=radius,
            metric="euclidean",
            relation=noise.relation,
            cap=noise.cap,
            decay=noise.decay,
        )
        for sample in samples
    ]
    return float(np.mean([float(value) for value in bounds]))


def _accuracy(samples: list[Sample], radius: float) -> Row:
    """Equation (10) at the paper's radius, and at the best of a grid of radii."""
    root = math.sqrt(samples[0].points.shape[1])

    def scores(r: float) -> np.ndarray:
        return np.array([((degrees(s.points, r * root) <= K) == s.outlying).mean()
                         for s in samples])  # fmt: skip

    grid = [radius * 1.25**step for step in range(-8, 13)]
    best = max(grid, key=lambda r: float(scores(r).mean()))
    here, there = scores(radius), scores(best)
    span = mean_interval((there - here).tolist())
    same = best == radius or span[0] <= 0
    return Row(
        "accuracy of the model against the labels",
        f"radius {radius}, tuned for accuracy",
        f"{here.mean():.2f} at {radius}, best {there.mean():.2f} at {best:.2g}; better by "
        f"({span[0]:.3f}, {span[1]:.3f})",
        "reproduced" if same else "differs",
        "the tuning looks at private data and is not accounted for (E16)"
        if same
        else "the samples, and Adult's seven columns, are not the paper's; E16: the tuning looks "
        "at private data",
        span,
    )


def printed_algorithms(context: Context) -> Section:
    """Algorithms 1 and 2 as printed, corrected, and ours, on small samples of Synthetic 1."""
    generator = np.random.default_rng(context.seed)
    smoothing, radius = 0.7, 1.1 * math.sqrt(2)
    rows = []
    for _ in range(3 if context.quick else 10):
        sample = synthetic_one(generator)
        points = np.ascontiguousarray(sample.points[-11:])
        printed, corrected = (
            paper_smooth_sensitivity(
                points, k=K, radius=radius, smoothing=smoothing, printed=printed
            )
            for printed in (True, False)
        )
        ours = smooth_bound(
            points,
            degrees(points, radius),
            beta=K,
            radius=radius,
            metric="euclidean",
            relation="replace_one",
            cap=len(points),
            decay=Fraction(math.exp(-smoothing)),
        )
        rows.append((printed, corrected, float(ours)))
    agree = max(abs(corrected - ours) for _, corrected, ours in rows)
    return Section(
        "Algorithms 1 and 2",
        "Algorithm 1 tests i < |P| and so never looks at the last point (E9); Algorithm 2 caps its "
        "bound at N but not the value it returns (E10). Corrected, they give what our sweep gives "
        "in a time that does not grow exponentially.",
        rows=[
            Row(
                "corrected Algorithm 2 against ours (same cap N)",
                "-",
                f"largest difference {agree:.1e}",
                "reproduced" if agree < 1e-9 else "differs",
                "exact disc search in the plane; 11 records of Synthetic 1, the 5 outliers among "
                "them; smoothing 0.7",
            )
        ],
        tables=[Table(("as printed", "corrected", "ours"), rows, "Smooth sensitivity")],
    )
