"""The learned detector as scikit-learn and PyOD see it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import whitecrow as wc
from whitecrow import learned
from whitecrow.sklearn import PrivateDetector, expected_failed_checks

CROWD = np.random.default_rng(3).normal(size=(6000, 3))
OUTLIER_CHECKS = {"check_outliers_train", "check_outliers_fit_predict"}
FAR = np.array([[7.0, -7.0, 7.0], [6.5, 0.0, -6.5]])


def detector(**parameters: Any) -> PrivateDetector:
    return PrivateDetector(**{"bounds": (-8, 8), "verbose": False, **parameters})


@pytest.mark.filterwarnings("ignore:About .* records are too few:UserWarning")
@pytest.mark.parametrize("epsilon", ["1", "10"])
def test_scikit_learns_own_checks_pass_but_for_what_privacy_forbids(epsilon: str) -> None:
    """At epsilon 1, 300 records carry no threshold, so none of them is sure to be an outlier."""
    learned._common_ledger.cache_clear()  # the same records, at another price
    estimator = PrivateDetector(epsilon=epsilon, verbose=False)
    forbidden = expected_failed_checks(estimator)
    assert set(forbidden) == (OUTLIER_CHECKS if epsilon == "1" else set())
    found = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=forbidden)
    ends: dict[str, list[str]] = {}
    for one in found:
        ends.setdefault(one["status"], []).append(one["check_name"])
    assert ends.get("failed", []) == []
    assert set(ends.get("xfail", [])) <= set(forbidden)
    assert set(ends.get("skipped", [])) <= {"check_array_api_input"}
    assert len(ends["passed"]) >= 42


def test_signs_are_scikit_learns() -> None:
    found = detector().fit(CROWD)
    assert found.predict(FAR).tolist() == [-1, -1]
    assert found.score_samples(FAR).max() < np.median(found.score_samples(CROWD))
    decided = found.decision_function(CROWD)
    assert (decided == found.score_samples(CROWD) - found.offset_).all()
    assert abs((decided < 0).mean() - 0.05) < 0.03
    assert found.threshold_bought_


def test_fitting_again_costs_nothing_and_gives_the_same() -> None:
    one = detector().fit(CROWD)
    two = clone(one).fit(CROWD)
    assert two.detector_ == one.detector_


def test_a_pickle_scores_on_and_holds_no_record() -> None:
    found = detector().fit(CROWD)
    octets = pickle.dumps(found)
    assert (pickle.loads(octets).score_samples(FAR) == found.score_samples(FAR)).all()
    assert len(octets) < CROWD.nbytes * 20
    assert CROWD[0].tobytes() not in octets


def test_frames_names_and_pipelines() -> None:
    frame = pd.DataFrame(CROWD, columns=["a", "b", "c"])
    found = detector().fit(frame)
    assert found.detector_.columns == ("a", "b", "c")
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame.rename(columns={"a": "z"}))
    piped = make_pipeline(FunctionTransformer(np.tanh), detector(bounds=(-1, 1)))
    assert piped.fit(CROWD).predict(CROWD[:5]).shape == (5,)


@pytest.mark.filterwarnings("ignore:About .* records are too few:UserWarning")
def test_folds_of_one_account_add_up(tmp_path: Path) -> None:
    """Each fold is other records of the same people: the second fit is beyond the budget."""
    shared = detector(ledger=str(tmp_path / "l.db"), account="people", budget="1, 1e-6")
    with pytest.raises(wc.BudgetExhausted):
        cross_val_score(shared, CROWD, scoring=lambda *_: 0.0, cv=2, error_score="raise")


def test_a_card_gives_bounds_and_types() -> None:
    columns = tuple(wc.Column(f"x{j}", lower=-8, upper=8, outside="clip") for j in range(3))
    found = detector(bounds=None, card=wc.Card("crowd", columns), epsilon=3).fit(CROWD / 2)
    assert found.detector_.card.name == "crowd"


WARDS = wc.Card(
    "stays",
    (
        wc.Column("age", lower=0, upper=120, missing="value"),
        wc.Column("ward", "category", categories=("medicine", "surgery", "icu")),
    ),
)


def stays(records: int, names: tuple[str, str] = ("age", "ward")) -> pd.DataFrame:
    source = np.random.default_rng(5)
    ages = source.integers(18, 90, records).astype(float)
    ages[::40] = np.nan
    wards = source.choice(["medicine", "surgery", "icu"], records, p=[0.6, 0.39, 0.01])
    return pd.DataFrame(dict(zip(names, (ages, wards), strict=True)))


@pytest.mark.parametrize("form", ["frame", "objects"])
def test_categories_and_missing_values_are_taken_where_the_card_declares_them(form: str) -> None:
    card, given = WARDS, stays(8000)
    if form == "objects":
        renamed = [wc.Column(f"x{j}", **_facts(column)) for j, column in enumerate(WARDS.columns)]
        card = wc.Card("stays", tuple(renamed))
        given = given.to_numpy(dtype=object)
    found = detector(bounds=None, card=card).fit(given)
    scores = found.score_samples(given)
    assert np.isfinite(scores).all()
    rare = np.asarray(given)[:, 1] == "icu"
    assert np.median(scores[rare]) < np.quantile(scores[~rare], 0.05)
    assert abs((found.predict(given) == -1).mean() - 0.05) < 0.03


def _facts(column: wc.Column) -> dict[str, Any]:
    return {key: value for key, value in column.to_json().items() if key != "name"}


def test_columns_without_a_card_must_be_numbers() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        detector(bounds=None).fit(stays(100))


@pytest.mark.parametrize(
    ("records", "source", "least", "most"),
    [(200, "made up", 0.0, 0.2), (1831, "rough", 0.02, 0.15)],
)
def test_where_records_are_too_few_a_warning_says_how_many_it_takes(
    records: int, source: str, least: float, most: float
) -> None:
    """PyOD's face; the columns hang together, so made-up records are stranger than real ones."""
    mixed = np.random.default_rng(2).normal(size=(records, 4)) @ np.ones((4, 9))
    made = pyod_detector(contamination=0.07, epsilon=1, bounds=(-12, 12))
    with pytest.warns(UserWarning, match="it takes about 4,093"):
        made.fit(mixed + np.random.default_rng(3).normal(size=mixed.shape))
    assert made.learned_.threshold_source_ == source
    assert not made.threshold_bought_
    assert least <= made.labels_.mean() <= most


def pyod_detector(**parameters: Any) -> Any:
    from whitecrow.pyod import PrivateDetector as ForPyod

    return ForPyod(**{"bounds": (-8, 8), "epsilon": 4, "verbose": False, **parameters})


def test_pyod_sees_its_own_interface() -> None:
    found = pyod_detector(contamination=0.05).fit(CROWD / 3)
    assert found.decision_function(FAR).min() > np.median(found.decision_scores_)
    assert found.predict(FAR).tolist() == [1, 1]
    assert abs(found.labels_.mean() - 0.05) < 0.02
    assert found.predict_proba(FAR).shape == (2, 2)
    assert found.labels_.tolist() == found.predict(CROWD / 3).tolist()


def test_what_pyod_decides_by_was_released() -> None:
    """The threshold is the detector's, not a quantile of the training scores."""
    found = pyod_detector(contamination=0.05).fit(CROWD / 3)
    assert found.threshold_bought_
    assert found.threshold_ == found.detector_.thresholds[0].score


def test_pyod_pipelines_and_copies_keep_the_parameters() -> None:
    piped = make_pipeline(FunctionTransformer(np.tanh), pyod_detector(bounds=(-1, 1)))
    assert set(piped.fit(CROWD / 2).predict(CROWD / 2).tolist()) == {0, 1}
    copied = clone(pyod_detector(contamination=0.02, seed=7))
    assert copied.get_params()["seed"] == 7
    assert copied.get_params()["contamination"] == 0.02


def test_pyod_averages_it_with_other_detectors() -> None:
    from pyod.models.ecod import ECOD
    from pyod.utils.utility import standardizer

    crowd = CROWD * 0.9  # records of its own: a second fit at another price would be refused
    both = [pyod_detector().fit(crowd), ECOD().fit(crowd)]
    columns = np.stack([one.decision_function(np.vstack([crowd, FAR])) for one in both], axis=1)
    together = standardizer(columns).mean(axis=1)
    assert together[-2:].min() > np.quantile(together[:-2], 0.99)
