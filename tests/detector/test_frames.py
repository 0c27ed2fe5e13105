"""Frames go in wherever records are taken, and tables come back as the frame's own kind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.sklearn import PrivateDetector

CARD = wc.Card("t", (wc.Column("x", lower=0, upper=9), wc.Column("y", lower=0, upper=9)))
MODEL = wc.DistanceAnomaly(beta=5, radius=1.0)
VALUES = np.random.default_rng(7).uniform(0, 9, (400, 2))
COLUMNS = {"x": VALUES[:, 0], "y": VALUES[:, 1]}
KINDS = {
    "pandas": (pd.DataFrame(COLUMNS, index=[f"p{row}" for row in range(400)]), lambda f: f.iloc[3]),
    "pandas, one row": (pd.DataFrame(COLUMNS), lambda f: f.iloc[3:4]),
    "polars": (pl.DataFrame(COLUMNS), lambda f: f[3]),
    "arrow": (pa.table(COLUMNS), lambda f: f.slice(3, 1)),
}
FOURTH = {name: float(values[3]) for name, values in COLUMNS.items()}


@pytest.fixture(scope="module")
def detector():
    return wc.learn(KINDS["arrow"][0], card=CARD, epsilon=50, ledger="sqlite://").answer


@pytest.mark.parametrize(("frame", "row"), KINDS.values(), ids=KINDS)
def test_a_detector_takes_frames_and_gives_them_back(frame, row, detector):
    expected = detector.scores(VALUES)
    assert detector.scores(frame).tolist() == expected.tolist()
    assert detector.p_values(frame).tolist() == detector.p_values(VALUES).tolist()
    added = detector.contributions(frame)
    outliers = detector.top_outliers(frame, top=4)
    order = np.argsort(-expected, kind="stable")[:4]
    for table, size in ((added, 400), (outliers.table, 4)):
        assert type(table) is type(frame)
        assert len(table) == size
    assert [int(str(value)) for value in outliers.table["row"]] == (order + 1).tolist()
    if isinstance(frame, pd.DataFrame):
        assert added.index.equals(frame.index)
        assert outliers.table.index.equals(frame.index[order])
    assert detector.explain(row(frame)) == detector.explain(FOURTH)
    assert detector.scores(row(frame)).tolist() == [expected[3]]


def test_the_former_name_of_top_outliers_still_answers_with_a_warning(detector):
    with pytest.warns(DeprecationWarning, match="use top_outliers"):
        former = detector.strangest(VALUES, top=3)
    assert former == detector.top_outliers(VALUES, top=3)


@pytest.mark.parametrize(("frame", "row"), KINDS.values(), ids=KINDS)
def test_a_curator_takes_frames_and_their_rows(frame, row):
    assert wc.read(frame, CARD).size == 400
    curator = wc.Curator.open(frame, card=CARD, budget="9, 1e-5", ledger="sqlite://", name="t")
    assert wc.Screen(row(frame), model=MODEL, epsilon="1") == wc.Screen(
        FOURTH, model=MODEL, epsilon="1"
    )
    with curator.screening(model=MODEL, columns=["x", "y"], epsilon="8", delta="1e-6") as screening:
        assert screening.ask_all(frame).shape == (400,)
        assert screening.ask(row(frame)).answer in (True, False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_facade_takes_frames(kind):
    frame, _ = KINDS[kind]
    fitted = PrivateDetector(epsilon=50, card=CARD, verbose=False).fit(frame)
    assert fitted.score_samples(frame).shape == (400,)
    assert set(fitted.predict(frame)) <= {-1, 1}


def test_what_is_no_record_is_refused(detector):
    with pytest.raises(wc.InvalidInput, match="a frame of one row"):
        detector.explain(KINDS["polars"][0])
    with pytest.raises(wc.InvalidInput, match="one row of a frame"):
        wc.Screen(KINDS["polars"][0], model=MODEL, epsilon="1")
