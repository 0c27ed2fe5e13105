"""The yardstick of detectors, on made-up sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from whitecrow_research.detection.claims import planted
from whitecrow_research.detection.measures import average_precision, mean_ranks, roc_auc
from whitecrow_research.detection.mst import synthetic
from whitecrow_research.detection.page import BEGIN, END, write
from whitecrow_research.detection.pictures import critical_difference
from whitecrow_research.detection.private import SETTINGS, scored
from whitecrow_research.detection.run import run
from whitecrow_research.detection.sets import chosen_on, load, split
from whitecrow_research.detection.shapes import cluster, far_cluster

Matrix = npt.NDArray[np.float64]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = np.random.default_rng(0)
    for place, name in enumerate(("blob", "ring", "line")):
        rows = source.normal(size=(1500, 3))
        rows[:60] *= 5.0
        truth = np.arange(1500) < 60
        np.savez(tmp_path / f"{place}_{name}.npz", X=rows, y=truth)
    return tmp_path


def far(train: Matrix, test: Matrix, seed: int) -> Matrix:
    """A detector that somebody adds."""
    found: Matrix = np.abs(test - np.median(train, axis=0)).max(axis=1)
    return found


def test_a_detector_is_added_by_one_function_and_private_ones_find_what_it_finds(
    folder: Path,
) -> None:
    detectors = ["IForest", "far", "(1, 1e-6)", "private MST + IForest"]
    results = run(folder, folder / "kept.json", detectors, seeds=1, jobs=1, added={"far": far})
    for detector in ("far", "(1, 1e-6)"):
        assert min(rows[0][0] for rows in results[detector].values()) > 0.85
    again = run(folder, folder / "kept.json", detectors, seeds=1, jobs=1, anew=False)
    assert again == results


def test_the_page_has_tables_between_its_marks_and_pictures_beside_it(folder: Path) -> None:
    detectors = ["IForest", "HBOS", "(1, 1e-6)", "(1, 1e-6) loose card"]
    results = run(folder, folder / "kept.json", detectors, seeds=1, jobs=1)
    page = folder / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    (folder / "pictures").mkdir()
    write(page, results, dict.fromkeys(("blob", "ring", "line"), 1500))
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "| (1, 1e-6) loose card |" in text
    for name in ("sets", "ranks"):
        assert (folder / "pictures" / f"detection-{name}.svg").read_text().startswith("<svg")


def test_ranks_are_shared_by_ties_and_few_sets_tell_little_apart() -> None:
    ranks = mean_ranks(np.array([[0.9, 0.9], [0.9, 0.5], [0.1, 0.7]]))
    assert ranks.tolist() == [1.25, 2.25, 2.5]
    assert critical_difference(3, 2) > 2
    assert critical_difference(3, 200) < 0.3


def test_the_half_that_parameters_are_chosen_on_is_fixed() -> None:
    assert chosen_on("thyroid")
    assert not chosen_on("cover")


def test_planted_values_lie_within_the_card(folder: Path) -> None:
    part, rows, columns = planted(split(*load(folder, "blob"), 0), 0)
    assert (rows[np.arange(len(rows)), columns] <= part.bounds[columns, 1]).all()
    assert (
        rows[np.arange(len(rows)), columns] > np.quantile(part.train, 0.999, axis=0)[columns]
    ).all()


def test_synthetic_records_of_a_large_price_hang_together_like_the_data() -> None:
    source = np.random.default_rng(1)
    first = source.integers(0, 8, 5000)
    codes = np.stack(
        [first, (first + source.integers(0, 2, 5000)) % 8, source.integers(0, 8, 5000)]
    )
    made = synthetic(codes.T, 8, 1e4, 0)
    assert made.shape == (5000, 3)
    assert np.isin((made[:, 1] - made[:, 0]) % 8, (0, 1)).mean() > 0.95


def test_a_dense_cluster_of_far_outliers_is_ranked_high() -> None:
    part = split(*cluster(1, 30_000), 0)
    own = scored(SETTINGS["(1, 1e-6)"], part, 0)[0]
    assert roc_auc(part.truth, own) > 0.97


@pytest.mark.parametrize("seed", [7, 8])
def test_a_far_cluster_is_ranked_above_single_odd_records(seed: int) -> None:
    part = split(*far_cluster(seed, 60_000), seed)
    own = scored(SETTINGS["(1, 1e-6)"], part, seed)[0]
    assert average_precision(part.truth, own) > 0.8
