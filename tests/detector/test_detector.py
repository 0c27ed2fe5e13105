"""Detectors as public objects: files, rules for odd records, reasons."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import subprocess
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.detector import Detector, Threshold, scoring
from whitecrow.detector.contributions import contributions
from whitecrow.detector.model import grid_of
from whitecrow.histogram.facts import Bought, CellFacts, counted_rows
from whitecrow.histogram.noise_budget import NoiseBudget, concentrated
from whitecrow.learning.training import train
from whitecrow.noise.seeded import SeededSource
from whitecrow.privacy import DifferentialPrivacy

CARD = wc.Card(
    "clinic",
    (
        wc.Column("age", "integer", lower=0, upper=120),
        wc.Column("bmi", lower=10, upper=60),
        wc.Column("pulse", lower=20, upper=220, missing="fill", fill=70),
        wc.Column("ward", "category", categories=("a", "b", "c")),
        wc.Column("seen", "date", lower="2020-01-01", upper="2024-12-31"),
    ),
)


def rows(size: int, seed: int = 0) -> np.ndarray:
    source = np.random.default_rng(seed)
    return np.stack(
        [
            source.integers(18, 95, size),
            source.normal(25, 3, size).clip(11, 59),
            source.normal(75, 10, size).clip(21, 219),
            source.choice(3, size, p=[0.7, 0.25, 0.05]),
            source.integers(18_300, 19_900, size),
        ],
        axis=1,
    ).astype(np.float64)


@pytest.fixture(scope="module")
def detector() -> Detector:
    data = rows(20_000)
    model = train(
        tuple(grid_of(column) for column in CARD.columns),
        Bought(
            CellFacts(partial(counted_rows, data)),
            NoiseBudget("gaussian", concentrated(Fraction(1), Fraction(1, 10**6)), "add_remove", 1),
            SeededSource(7),
        ),
        Fraction(1),
    )
    promise = DifferentialPrivacy("1", "1e-6")
    return Detector(
        (model,),
        CARD,
        promise,
        promise.statement(),
        {"kind": "learn"},
        (Threshold(Fraction(1, 100), 9.0),),
    )


def record(**changes: object) -> dict[str, object]:
    return {"age": 50, "bmi": 25.0, "pulse": 75, "ward": "a", "seen": "2022-06-01", **changes}


def test_a_file_gives_back_the_same_detector_bit_for_bit(
    detector: Detector, tmp_path: Path
) -> None:
    detector.save(tmp_path / "clinic.detector")
    again = wc.Detector.load(tmp_path / "clinic.detector", card=CARD)
    probes = detector.sample(3000)
    assert again == detector
    assert (again.scores(probes) == detector.scores(probes)).all()
    assert again.guarantee == detector.guarantee
    assert Detector.from_json(json.loads(json.dumps(detector.to_json()))) == detector


def test_a_changed_byte_anywhere_is_refused(detector: Detector) -> None:
    octets = bytearray(detector.to_bytes())
    for place in range(0, len(octets), len(octets) // 40):
        broken = bytearray(octets)
        broken[place] ^= 1
        with pytest.raises(wc.InvalidInput):
            Detector.from_bytes(bytes(broken))
    with pytest.raises(wc.InvalidInput):
        Detector.from_bytes(bytes(octets[:-40]))


def test_a_file_that_leads_out_of_its_tables_is_refused(detector: Detector) -> None:
    """A checksum can be computed by anybody: what it covers is checked too."""
    body = detector.to_bytes()[:-32]
    wrong = body.replace(b'"counts": ', b'"counts":1', 1)
    with pytest.raises(wc.InvalidInput):
        Detector.from_bytes(wrong + hashlib.sha256(wrong).digest())


def test_a_file_with_tables_that_compiled_loops_cannot_count_through_is_refused(
    detector: Detector,
) -> None:
    """Cells of a table are numbered in 16 bits."""
    (model,) = detector.models
    table = int(np.flatnonzero(np.diff(model.tables.start) == 2)[0])
    for pace, fits in ((300, True), (3000, False)):
        paces = model.tables.pace.copy()
        paces[model.tables.start[table] : model.tables.start[table + 1]] = pace
        tables = dataclasses.replace(model.tables, pace=paces)
        counts = np.zeros(tables.base[-1], dtype=np.int32)
        changed = dataclasses.replace(model, tables=tables, counts=counts)
        octets = dataclasses.replace(detector, models=(changed,)).to_bytes()
        with contextlib.nullcontext() if fits else pytest.raises(wc.InvalidInput):
            Detector.from_bytes(octets)


def test_another_card_is_refused(detector: Detector, tmp_path: Path) -> None:
    detector.save(tmp_path / "d")
    other = wc.Card("clinic", CARD.columns[:-1])
    with pytest.raises(wc.InvalidInput, match="another card"):
        Detector.load(tmp_path / "d", card=other)


def test_what_lies_outside_the_bounds_is_never_less_strange(detector: Detector) -> None:
    ages = [50, 90, 100, 119, 120]
    scores = [float(detector.scores(record(age=age))[0]) for age in ages]
    assert scores[-1] > scores[0]
    for far in (121, 10**9, float("inf")):
        assert detector.scores(record(age=far))[0] == scores[-1]


def test_the_rules_for_odd_values(detector: Detector) -> None:
    assert np.isnan(detector.scores(record(bmi=None))[0])
    assert np.isnan(detector.scores(record(bmi=float("nan")))[0])
    assert not detector.predict(record(bmi=None))[0]
    assert detector.scores(record(pulse=None)) == detector.scores(record(pulse=70))
    assert detector.scores(record(ward="zz")) == detector.scores(record(ward="c"))
    assert detector.scores(record(extra=1)) == detector.scores(record())
    with pytest.raises(wc.InvalidInput, match="bmi"):
        detector.scores({"age": 50})
    with pytest.raises(wc.InvalidInput):
        detector.scores(np.zeros((3, 2)))
    assert (
        len(
            detector.scores(
                pa.table(
                    {name: pa.array([], pa.float64()) for name in ("age", "bmi", "pulse", "ward")}
                    | {"seen": pa.array([], pa.date32())}
                )
            )
        )
        == 0
    )


def test_frames_arrays_and_files_have_the_same_scores(detector: Detector, tmp_path: Path) -> None:
    import polars
    from pyarrow import csv, parquet

    table = detector.sample(500).drop_columns(["synthetic"])
    scores = detector.scores(table)
    parquet.write_table(table, tmp_path / "t.parquet")
    csv.write_csv(table, tmp_path / "t.csv")
    assert (detector.scores(polars.from_arrow(table)) == scores).all()
    assert (detector.scores(tmp_path / "t.parquet") == scores).all()
    assert (detector.scores(str(tmp_path / "t.csv")) == scores).all()
    assert (detector.scores(table.to_pylist()) == scores).all()


def test_the_column_that_was_planted_is_named_first(detector: Detector) -> None:
    """3 deviations beyond the 99.9 % quantile, in a column of numbers; false alarms 1e-6."""
    first = top = 0
    trials = 200
    data = rows(trials, seed=5)
    for place, value in ((1, 25 + 6.1 * 3), (2, 75 + 6.1 * 10)):
        planted = data.copy()
        planted[:, place] = value
        table = pa.table(
            {
                "age": planted[:, 0].astype(int),
                "bmi": planted[:, 1],
                "pulse": planted[:, 2],
                "ward": [("a", "b", "c")[int(code)] for code in planted[:, 3]],
                "seen": pa.array(planted[:, 4].astype(np.int32), pa.int32()).cast(pa.date32()),
            }
        )
        found = detector.contributions(table)
        values = np.stack([found.column(j).to_numpy() for j in range(5)], axis=1)
        order = np.argsort(-values, axis=1)
        first += int((order[:, 0] == place).sum())
        top += int((order[:, :3] == place).any(axis=1).sum())
    assert first >= 0.95 * 2 * trials
    assert top >= 0.99 * 2 * trials


def test_with_a_hundred_columns_and_two_thousand_records_the_planted_column_is_still_named() -> (
    None
):
    """A count has more noise than a tenth of the records; half of the columns are mostly zero."""
    source = np.random.default_rng(5)
    width, size, trials = 100, 2000, 200
    data = source.normal(50, 10, (size, width))
    data[:, ::2] = np.where(source.random((size, 50)) < 0.1, source.exponential(2, (size, 50)), 0)
    far = np.quantile(data, 0.999, axis=0) + 3 * data.std(axis=0)
    columns = [
        wc.Column(f"x{j}", lower=float(low), upper=float(high))
        for j, (low, high) in enumerate(zip(data.min(axis=0), far + data.std(axis=0), strict=True))
    ]
    model = train(
        tuple(grid_of(column) for column in columns),
        Bought(
            CellFacts(partial(counted_rows, data)),
            NoiseBudget("gaussian", concentrated(Fraction(1), Fraction(1, 10**6)), "add_remove", 1),
            SeededSource(1),
        ),
        Fraction(1),
    )
    assert model.marginal_noise > model.records / 10
    planted, places = data[:trials].copy(), source.integers(width, size=trials)
    planted[np.arange(trials), places] = far[places]
    found = contributions(model, scoring.encoders(model), planted)
    ahead = (found > found[np.arange(trials), places][:, None]).sum(axis=1)
    assert (ahead == 0).mean() >= 0.9
    assert (ahead < 3).mean() >= 0.97


def test_contributions_share_out_the_score(detector: Detector) -> None:
    table = detector.sample(300)
    parts = np.stack([column.to_numpy() for column in detector.contributions(table).columns])
    scores = detector.scores(table)
    assert np.abs(parts).sum(axis=0) == pytest.approx(np.abs(scores))
    strange = scores > np.quantile(scores, 0.95)
    assert (parts.sum(axis=0)[strange] > 0).mean() > 0.9


def test_p_values_of_synthetic_records_are_uniform(detector: Detector) -> None:
    values = detector.p_values(detector.sample(4000, seed=9))
    assert abs(values.mean() - 0.5) < 0.03
    assert values.min() > 0


def test_samples_are_marked_and_fit_the_card(detector: Detector) -> None:
    synthetic = detector.sample(200)
    assert all(synthetic["synthetic"].to_pylist())
    assert wc.read(synthetic, CARD).size == 200
    assert detector.sample(0).num_rows == 0


def test_it_says_what_it_is(detector: Detector, tmp_path: Path) -> None:
    report = detector.report()
    assert "learned from about" in report
    assert detector.statement in report
    assert "No column makes it strange" in detector.explain(record()) or "adds" in detector.explain(
        record()
    )
    assert detector.plot(tmp_path / "d.png").stat().st_size > 1000


def test_a_notebook_shows_the_detector_and_the_top_outliers_of_some_records(
    detector: Detector, tmp_path: Path
) -> None:
    shown = detector._repr_html_()
    assert ">ward</th>" in shown
    assert shown.count("<tr") == 6
    assert detector.statement in shown
    records = [record(), record(age=119, bmi=58.0), record(bmi=None)]
    found = detector.top_outliers(records, top=1)
    assert (found.records, found.unscored) == (3, 1)
    (one,) = found.rows
    assert one.row == 2
    assert one.score == detector.scores(records)[1]
    assert "bmi +" in one.why
    assert "<td>2</td>" in found._repr_html_()
    assert "row        2" in str(found)
    odd = wc.Card("<b>", (wc.Column("<i>", lower=0, upper=1), *CARD.columns[1:]))
    model = dataclasses.replace(detector.model)
    grids = (dataclasses.replace(model.grids[0], name="<i>"), *model.grids[1:])
    named = dataclasses.replace(
        detector, card=odd, models=(dataclasses.replace(model, grids=grids),)
    )
    assert "<i>" not in named._repr_html_()
    picture = tmp_path / "why.png"
    assert "adds" in detector.explain(records[1], picture=picture)
    assert picture.stat().st_size > 1000


def test_it_opens_and_scores_without_numba_and_without_a_curator(
    detector: Detector, tmp_path: Path
) -> None:
    detector.save(tmp_path / "d")
    np.save(tmp_path / "rows.npy", rows(50, seed=4)[:, :3])
    code = f"""
import sys
sys.modules['numba'] = None
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == 'numba' else real(name, *a)
from whitecrow.detector import Detector
found = Detector.load({str(tmp_path / "d")!r})
scores = found.scores(found.sample(100))
assert 'whitecrow.curator' not in sys.modules and 'whitecrow.ledger' not in sys.modules
print(scores.tobytes().hex())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == detector.scores(detector.sample(100)).tobytes().hex()


def test_forty_columns_fit_in_half_a_megabyte() -> None:
    data = np.random.default_rng(0).normal(size=(30_000, 40))
    card = wc.Card("wide", tuple(wc.Column(f"x{j}", lower=-8, upper=8) for j in range(40)))
    model = train(
        tuple(grid_of(column) for column in card.columns),
        Bought(
            CellFacts(partial(counted_rows, data)),
            NoiseBudget("gaussian", concentrated(Fraction(1), Fraction(1, 10**6)), "add_remove", 1),
            SeededSource(7),
        ),
        Fraction(1),
    )
    promise = DifferentialPrivacy("1", "1e-6")
    found = Detector((model,), card, promise, promise.statement(), {"kind": "learn"})
    assert len(found.to_bytes()) < 500_000


def test_merged_detectors_score_as_the_mean_of_their_parts(detector: Detector) -> None:
    one, two, three = detector, _like(detector, 1), _like(detector, 2)
    both = one.merge(two, apart=True)
    probes = detector.sample(200)
    assert np.allclose(both.scores(probes), (one.scores(probes) + two.scores(probes)) / 2)
    assert both.guarantee.epsilon == 1
    assert one.merge(two, apart=False).guarantee.epsilon == 2
    assert one.merge(two, three, overlap=2).guarantee.epsilon == 2
    for overlap in (-1, 3):
        with pytest.raises(wc.InvalidInput, match="overlap"):
            one.merge(two, overlap=overlap)
    assert both.records == 2 * detector.records or abs(both.records - 2 * detector.records) <= 1
    again = Detector.from_bytes(both.to_bytes())
    assert (again.scores(probes) == both.scores(probes)).all()
    assert again.notes == both.notes
    with pytest.raises(wc.InvalidInput, match="none"):
        both.threshold("0.01")


def _like(detector: Detector, more: int) -> Detector:
    """A detector of as many records, whose noise was another."""
    counts = detector.model.counts.copy()
    counts[0] += more
    return dataclasses.replace(
        detector, models=(dataclasses.replace(detector.model, counts=counts),)
    )


@pytest.mark.parametrize("apart", [True, False])
def test_a_detector_does_not_merge_with_itself(detector: Detector, apart: bool) -> None:
    """Nor with what was merged of it: as if nobody had records in both."""
    again = dataclasses.replace(Detector.from_bytes(detector.to_bytes()), notes=("a copy",))
    other = _like(detector, 1)
    for parts in ((again,), (other, again), (other.merge(again),)):
        with pytest.raises(wc.InvalidInput, match="same release"):
            detector.merge(*parts, apart=apart)


def test_detectors_of_other_cards_do_not_merge(detector: Detector) -> None:
    card = wc.Card("clinic", (wc.Column("age", "integer", lower=0, upper=121), *CARD.columns[1:]))
    other = Detector(
        detector.models, card, detector.guarantee, detector.statement, detector.question
    )
    with pytest.raises(wc.InvalidInput, match="equal cards"):
        detector.merge(other, apart=True)


def test_a_rough_threshold_is_kept_by_the_file_and_refused_as_a_threshold(
    detector: Detector,
) -> None:
    rough = detector.with_thresholds((Threshold(Fraction(1, 20), None, 0.75),))
    again = Detector.from_bytes(rough.to_bytes())
    assert again.thresholds == rough.thresholds
    assert "very roughly, scores above 0.750" in again.report()
    with pytest.raises(wc.InvalidInput, match="too few"):
        again.threshold("1/20")


def _title(axes: Any) -> str:
    """Wherever a style that another test set has put it."""
    return axes.get_title() or axes.get_title("left")


def test_plots_return_axes_and_show_what_they_say(detector: Detector, tmp_path: Path) -> None:
    frame = detector.sample(300)
    scores = detector.plot(frame)
    assert sum(bar.get_height() for bar in scores.patches) == 300
    assert [line.get_xdata()[0] for line in scores.lines] == [9.0]  # the threshold
    assert "made-up" in _title(detector.plot())
    top = detector.plot(frame, top=4)
    outliers = detector.top_outliers(frame, top=4)
    assert [tick.get_text() for tick in top.get_yticklabels()] == [
        f"row {one.row:,}" for one in outliers.rows
    ]
    column = detector.plot(record(age=119), column="age")
    assert column.lines[-1].get_xdata()[0] == 119
    assert "here it is 119" in _title(column)
    assert detector.plot(column="ward", axes=column) is column
    assert detector.plot(str(tmp_path / "all.png")) == tmp_path / "all.png"
    with pytest.raises(wc.InvalidInput, match="column"):
        detector.plot(column="shoe size")


def test_contributions_come_back_as_the_frames_own_kind(detector: Detector) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = detector.sample(5).drop_columns(["synthetic"])
    plain = detector.contributions(table)
    assert isinstance(plain, pa.Table)
    frame = table.to_pandas().set_index(pandas.Index(list("abcde")))
    own = detector.contributions(frame)
    assert list(own.index) == list("abcde")
    assert own["age"].tolist() == plain["age"].to_pylist()
    assert isinstance(detector.contributions(polars.from_arrow(table)), polars.DataFrame)


def test_a_row_of_pandas_is_explained_like_a_mapping(detector: Detector) -> None:
    pandas = pytest.importorskip("pandas")
    strange = record(age=119)
    assert detector.explain(pandas.Series(strange)) == detector.explain(strange)
    with pytest.raises(wc.InvalidInput, match="A record is a mapping"):
        detector.explain([1, 2])
