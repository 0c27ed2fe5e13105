"""The yardstick of detectors, on made-up sets."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from whitecrow_research.detection.claims import planted
from whitecrow_research.detection.measures import mean_ranks, paired, roc_auc
from whitecrow_research.detection.mst import synthetic
from whitecrow_research.detection.page import BEGIN, END, write
from whitecrow_research.detection.pictures import critical_difference
from whitecrow_research.detection.private import ABLATIONS, SETTINGS, Setting, scored
from whitecrow_research.detection.report import About
from whitecrow_research.detection.run import run
from whitecrow_research.detection.sets import Known, find, split
from whitecrow_research.detection.shapes import cluster

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
    sets, kept = find([folder]), folder / "kept"
    results = run(sets, kept, detectors, seeds=1, jobs=1, added={"far": far})
    for detector in ("far", "(1, 1e-6)"):
        assert min(rows[0][0] for rows in results[detector].values()) > 0.85
    lines = {path.name: path.read_text() for path in kept.iterdir()}
    assert run(sets, kept, detectors, seeds=1, jobs=1) == results
    assert {path.name: path.read_text() for path in kept.iterdir()} == lines


def test_every_rule_of_the_score_can_be_taken_out(folder: Path) -> None:
    sets = {"blob": find([folder])["blob"]}
    results = run(sets, folder / "kept", ["(1, 1e-6)", *ABLATIONS], seeds=1, jobs=1)
    assert all(len(rows["blob"]) == 1 for rows in results.values())


def failing(train: Matrix, test: Matrix, seed: int) -> Matrix:
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write("x")
    raise ZeroDivisionError


def test_what_fails_stops_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows would be computed, and thrown away."""
    monkeypatch.setenv("CALLS", str(folder / "calls"))
    sets = find([folder])
    with pytest.raises(ZeroDivisionError):
        run(sets, folder / "kept", ["failing"], seeds=100, jobs=2, added={"failing": failing})
    assert len((folder / "calls").read_text()) < 100


def test_a_run_that_was_stopped_goes_on_and_other_code_is_learned_anew(folder: Path) -> None:
    sets, kept = find([folder]), folder / "kept"
    nothing = run(sets, kept, ["(1, 1e-6)"], seeds=1, jobs=1, minutes=0.0)
    assert nothing["(1, 1e-6)"] == {"blob": [], "line": [], "ring": []}
    run(sets, kept, ["(1, 1e-6)"], seeds=1, jobs=1)
    own = kept / "own.jsonl"
    first = own.read_text().splitlines()
    own.write_text(first[0] + "\n")
    run(sets, kept, ["(1, 1e-6)"], seeds=1, jobs=1)
    again = own.read_text().splitlines()
    assert again[0] == first[0]
    assert len(again) == 3
    own.write_text(own.read_text().replace('"code": "', '"code": "other '))
    run(sets, kept, ["(1, 1e-6)"], seeds=1, jobs=1)
    assert len(own.read_text().splitlines()) == 6


def test_settings_that_differ_in_the_score_alone_share_what_was_released(folder: Path) -> None:
    # The noise is drawn once: a change that changes nothing has the same figures.
    same = {"same": Setting("1", head=replace), "other": Setting("1", width=1.5)}
    results = run(
        find([folder]), folder / "kept", ["(1, 1e-6)", *same], seeds=2, jobs=1, added=same
    )
    for name, rows in results["(1, 1e-6)"].items():
        assert [row[:2] for row in rows] == [row[:2] for row in results["same"][name]]
        assert [row[:2] for row in rows] != [row[:2] for row in results["other"][name]]


def test_the_page_has_tables_between_its_marks_and_pictures_beside_it(folder: Path) -> None:
    detectors = ["IForest", "KNN", "(1, 1e-6)", "(1, 1e-6) loose card"]
    results = run(find([folder]), folder / "kept", detectors, seeds=1, jobs=1)
    page = folder / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    (folder / "pictures").mkdir()
    about = {name: About(1500, name, name == "ring") for name in ("blob", "ring", "line")}
    write(page, results, about)
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "|(1, 1e-6) loose card|" in text
    assert "Lead over KNN" in text
    for name in ("sets", "ranks"):
        assert (folder / "pictures" / f"detection-{name}.svg").read_text().startswith("<svg")


def test_sets_are_found_by_name_with_their_families(folder: Path) -> None:
    (folder / "sources.csv").write_text("name,family\nblob,round\nring,round\n")
    sets = find([folder])
    assert {name: known.family for name, known in sets.items()} == {
        "blob": "round",
        "line": "line",
        "ring": "round",
    }


def test_intervals_draw_whole_families() -> None:
    # Twenty sets of one family tell no more than one: the interval is that of two families.
    gaps = np.array([0.1] * 20 + [-0.1])
    alone = paired(gaps, np.zeros(21), [str(place) for place in range(21)])
    together = paired(gaps, np.zeros(21), ["a"] * 20 + ["b"])
    assert alone[1] > 0.05
    assert together[1:] == pytest.approx((-0.1, 0.1))


def test_ranks_are_shared_by_ties_and_few_sets_tell_little_apart() -> None:
    ranks = mean_ranks(np.array([[0.9, 0.9], [0.9, 0.5], [0.1, 0.7]]))
    assert ranks.tolist() == [1.25, 2.25, 2.5]
    assert critical_difference(3, 2) > 2
    assert critical_difference(3, 200) < 0.3


def test_the_half_that_parameters_are_chosen_on_is_fixed() -> None:
    assert Known(Path("thyroid.npz"), "thyroid").chosen_on
    assert not Known(Path("cover.npz"), "cover").chosen_on


def test_planted_values_lie_within_the_card(folder: Path) -> None:
    part, rows, columns = planted(split(*find([folder])["blob"].load(), 0), 0)
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
    assert roc_auc(part.truth, scored(SETTINGS["(1, 1e-6)"], part, 0)) > 0.97
