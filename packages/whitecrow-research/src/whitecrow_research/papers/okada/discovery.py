"""Section 5 and 6.3 of the paper: finding subspaces (figures 5 to 7)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whitecrow.counting.kissing import global_sensitivity
from whitecrow_research.papers.okada.drawing import draw
from whitecrow_research.papers.okada.printed import degrees
from whitecrow_research.papers.okada.sets import Sample, adult, ionosphere, synthetic_two
from whitecrow_research.papers.report import Context, Row, Section, Table, Verdict

K = 3
EPSILONS = (0.2, 0.4, 0.8, 1.6, 3.2)
TOPS = (1, 2, 3, 4)

E13 = (
    "E13: Algorithm 3 uses e^(u ε/h) for each of h draws and claims ε in all; it costs up to 2ε. "
    "The corrected lines spend ε."
)


def figure_5(context: Context) -> Section:
    """Synthetic 2: the first two of ten columns hold the outliers."""
    sample = synthetic_two(np.random.default_rng(context.seed))
    return _discovery(context, "Figure 5: Synthetic 2", "okada-figure-5", 0.13, sample, (0, 1))


def figure_6(context: Context) -> Section:
    """Adult 2."""
    return _real(
        context,
        "Figure 6: Adult 2",
        "okada-figure-6",
        0.02,
        "adult.parquet",
        lambda path, generator: adult(path, 369, 10, generator),
    )


def figure_7(context: Context) -> Section:
    """Ionosphere."""
    return _real(
        context, "Figure 7: Ionosphere", "okada-figure-7", 0.06, "ionosphere.parquet", ionosphere
    )


def _real(
    context: Context,
    title: str,
    name: str,
    radius: float,
    file: str,
    make: Callable[[Path, np.random.Generator], Sample],
) -> Section:
    path = context.dataset(file)
    if path is None:
        why = f"put {file} into the data folder"
        return Section(title, rows=[Row("precision, recall", "-", "-", "needs data", why)])
    sample = make(path, np.random.default_rng(context.seed))
    counts = _counts(sample, radius)
    best = tuple(np.argsort(-counts, kind="stable")[:2].tolist())
    return _discovery(context, title, name, radius, sample, best, by_count=True)


def _counts(sample: Sample, radius: float) -> NDArray[np.int64]:
    """The number of outliers in each single column."""
    columns = sample.points.T[:, :, None]
    return np.array([(degrees(c, radius) <= K).sum() for c in columns])


def _discovery(
    context: Context,
    title: str,
    name: str,
    radius: float,
    sample: Sample,
    true: tuple[int, ...],
    *,
    by_count: bool = False,
) -> Section:
    generator = np.random.default_rng(context.seed + 1)
    counts = _counts(sample, radius)
    sensitivity = global_sensitivity(K, 1, "replace_one")
    cap = global_sensitivity(K, 1, "add_remove")
    rules: dict[str, Callable[[float, int], float]] = {
        "printed": lambda epsilon, h: epsilon / h / sensitivity,
        "corrected": lambda epsilon, h: epsilon / (2 * h) / sensitivity,
        "ours": lambda epsilon, h: epsilon / h / (cap + 1),
    }
    runs = 200 if context.quick else 1000
    scores = {
        rule: np.array(
            [
                [_score(counts, rate(epsilon, h), h, true, runs, generator) for epsilon in EPSILONS]
                for h in TOPS
            ]
        )
        for rule, rate in rules.items()
    }
    series = {
        f"{rule}, h = {h}": scores[rule][i, :, 0].tolist()
        for rule in ("printed", "ours")
        for i, h in enumerate(TOPS[:3])
    }
    figures = draw(
        context.out / f"{name}.png",
        EPSILONS,
        series,
        ("ε", "precision"),
        dashed=[name for name in series if name.startswith("printed")],
    )
    ours = scores["ours"]
    names = ", ".join(sample.columns[i] for i in true)
    truth = (
        f"the two columns with the most outliers ({names}); the paper does not say which are true"
        if by_count
        else f"columns {names}, by construction"
    )
    printed = scores["printed"]
    error = 1.96 * np.sqrt(2 * 0.25 / runs)  # of a difference of two shares over so many draws
    rises = [round(float(rise), 3) for rise in np.diff(printed[:, :, 0], axis=0).max(axis=1)]
    falls = max(rises) <= error
    gain = float(printed[0, -1, 0] - printed[0, 0, 0])
    rows = [
        Row(
            "precision falls as h grows",
            "yes",
            f"from h to h + 1 it changes by at most {', '.join(map(str, rises))}",
            _verdict(falls),
            "" if falls else "where ε is small the answers are near chance for every h",
            (-float(error), float(error)),
        ),
        Row(
            "precision rises with ε",
            "yes",
            f"by {gain:.2f} from {EPSILONS[0]} to {EPSILONS[-1]}, h = 1",
            _verdict(gain > -error),
            "",
            (gain - float(error), gain + float(error)),
        ),
        Row(
            "precision at ε = 1.6, h = 2",
            "-",
            f"printed {scores['printed'][1, 3, 0]:.2f} (spends up to 3.2), "
            f"corrected {scores['corrected'][1, 3, 0]:.2f}, ours {ours[1, 3, 0]:.2f}",
            "beyond the paper",
            f"{E13} Ours spends ε under add/remove, where utilities move apart by half as much "
            "(subspaces/proof.md 1): the printed weights, with a promise that holds.",
        ),
    ]
    if not by_count:  # said of Figure 5 alone
        recalls = printed[:, :, 1]
        falling = bool((np.diff(recalls, axis=0).max(axis=0) <= error).all())
        rows.append(
            Row(
                "smaller h has the larger recall",
                "yes",
                f"at ε = 1.6 {', '.join(f'{value:.2f}' for value in recalls[:, 3])} for h = 1 to 4",
                _verdict(falling),
                "one of two true subspaces is the most that h = 1 can find, and h of ten at random "
                "already have a recall of h/10",
                (-float(error), float(error)),
            )
        )
    table = Table(
        ("h", "ε", *(f"{rule}: {score}" for rule in rules for score in ("precision", "recall"))),
        [
            (h, epsilon, *(float(scores[rule][i, j, s]) for rule in rules for s in (0, 1)))
            for i, h in enumerate(TOPS)
            for j, epsilon in enumerate(EPSILONS)
        ],
        f"Means over {runs} draws. True subspaces: {truth}. Outliers by column: "
        f"{', '.join(map(str, counts.tolist()))}.",
    )
    return Section(title, _TEXT, rows, [table], figures)


_TEXT = (
    "Subspaces of one column; the analyst asks for h of them. Precision is the share of the h that "
    "are true, recall the share of the true ones that are found."
)


def _verdict(same: bool) -> Verdict:
    return "reproduced" if same else "differs"


def _score(
    counts: NDArray[np.int64],
    rate: float,
    h: int,
    true: tuple[int, ...],
    runs: int,
    generator: np.random.Generator,
) -> tuple[float, float]:
    """Precision and recall of peeling, by its one-shot form: the h largest of u + Gumbel noise."""
    noise = generator.gumbel(size=(runs, len(counts)))
    chosen = np.argsort(-(rate * counts + noise), axis=1)[:, :h]
    hits = float(np.isin(chosen, true).sum(axis=1).mean())
    return hits / h, hits / len(true)
