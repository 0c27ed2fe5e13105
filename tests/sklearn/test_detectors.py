"""The façades: what scikit-learn expects, where it makes sense, and what privacy expects."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_validate
from sklearn.utils.estimator_checks import check_estimator

import whitecrow as wc
from whitecrow.ledger import Ledger
from whitecrow.ledger.revisions import revisions
from whitecrow.sklearn import PrivateNoveltyDetector, PrivateOutlierDetector

pytestmark = pytest.mark.filterwarnings("ignore:.*goes with 0.4:DeprecationWarning")

CROWD = np.random.default_rng(3).normal(size=(300, 2))
DATA = np.vstack([CROWD, [[9.0, 9.0]]])
DETECTORS = (PrivateOutlierDetector, PrivateNoveltyDetector)

NOT_FOR_US = {
    "check_estimators_pickle": "wants predictions from a pickle: the records stay behind",
    "check_fit_score_takes_y": "wants fit_predict, whose questions give the records away",
    "check_outliers_train": "wants decision_function: an exact score is a private fact",
    "check_outliers_fit_predict": "wants fit_predict, whose questions give the records away",
}


@pytest.mark.parametrize("kind", DETECTORS)
def test_a_class_that_asks_a_question_a_row_says_that_it_goes(kind: Any) -> None:
    with pytest.warns(DeprecationWarning, match=f"{kind.__name__} .* goes with 0.4"):
        kind(verbose=False).fit(2 * CROWD)


@pytest.mark.parametrize("kind", DETECTORS)
def test_scikit_learns_own_checks_pass_but_for_those_named(kind: Any) -> None:
    asking = kind(radius=1e-6, epsilon="1/1000", budget="1000000", verbose=False)
    found = check_estimator(asking, expected_failed_checks=NOT_FOR_US, on_skip=None, on_fail=None)
    ends: dict[str, set[str]] = {}
    for one in found:
        ends.setdefault(one["status"], set()).add(one["check_name"])
    assert ends.get("failed", set()) == set()
    assert ends["xfail"] == set(NOT_FOR_US)
    assert len(ends["passed"]) > 30


def detector(kind: Any = PrivateOutlierDetector, **parameters: Any) -> Any:
    given = {"beta": 3, "radius": 1.0, "epsilon": 20, "budget": 100, "verbose": False}
    return kind(**{**given, **parameters})


@pytest.mark.parametrize("kind", DETECTORS)
def test_outliers_are_minus_one_and_the_crowd_is_one(kind: Any) -> None:
    rows = [[9.0, 9.0], [0.0, 0.0], [-20.0, 4.0]]
    found = detector(kind).fit(DATA).predict(rows)
    absent = -1 if kind is PrivateNoveltyDetector else 1  # who is not there is no outlier
    assert found.tolist() == [-1, 1, absent]


def test_every_predict_shows_its_charge(capsys: pytest.CaptureFixture[str]) -> None:
    asking = detector(epsilon="1/4", budget="1", verbose=True).fit(DATA + 100)
    asking.predict([[100.0, 100.0], [150.0, 100.0]])
    assert asking.charges_[-1]["sensitive"] == Fraction(1, 4)
    said = capsys.readouterr().err
    assert "2 to be charged. Total ε 0.25 (0.50 if they were added up" in said
    assert "sensitive 0.75" in said
    asking.predict([[100.0, 100.0]])
    assert asking.charges_[-1]["sensitive"] == 0
    assert len(asking.releases_) == 3


def test_a_batch_that_does_not_fit_is_not_asked_at_all() -> None:
    asking = detector(epsilon="1/2", budget="1").fit(DATA + 200)
    rows = [[200.0, 200.0], [200.1, 200.0], [200.2, 200.0]]
    with pytest.raises(wc.BudgetExhausted, match=r"none of it was asked.*short by 1/2"):
        asking.predict(rows)
    assert asking.remaining()["sensitive"] == 1
    assert asking.predict(rows[:2]).shape == (2,)


@pytest.mark.parametrize("kind", DETECTORS)
def test_fitting_again_does_not_open_a_new_budget(kind: Any) -> None:
    data = CROWD + (300 if kind is PrivateOutlierDetector else 400)
    first = detector(kind, epsilon="3/4", budget="1").fit(data)
    answer = first.predict([data[0] + 0.5])
    again = clone(first).fit(data)
    assert again.predict([data[0] + 0.5]).tolist() == answer.tolist()
    assert again.remaining()["differential"] == Fraction(1, 4)
    with pytest.raises(wc.BudgetExhausted):
        again.predict([data[0] + 0.7])
    with pytest.raises(wc.PolicyViolation, match="already promises"):
        detector(kind, budget="9").fit(data)


def test_fit_predict_refuses_with_the_reason() -> None:
    with pytest.raises(wc.PolicyViolation, match="discloses them"):
        detector().fit_predict(DATA)
    assert not hasattr(detector(), "decision_function")
    assert not hasattr(detector(), "score_samples")


def test_pickling_keeps_the_releases_and_drops_the_records() -> None:
    canary = np.vstack([CROWD, [[77654.321, 77654.321]]])
    asking = detector().fit(canary)
    asking.predict([[1.0, 2.0]])
    written = pickle.dumps(asking)
    assert np.float64(77654.321).tobytes() not in written
    assert CROWD[0].tobytes() not in written
    back = pickle.loads(written)
    assert back.releases_ == asking.releases_
    with pytest.raises(wc.Unavailable, match="stayed behind"):
        back.predict([[1.0, 2.0]])
    assert back.remaining() is None


def test_fitted_attributes_hold_no_records() -> None:
    asking = detector().fit(DATA)
    asking.predict([[9.0, 9.0]])
    public = {name: value for name, value in vars(asking).items() if not name.startswith("_")}
    assert not any(isinstance(value, np.ndarray) for value in public.values())
    assert "records" not in repr(asking)


def test_frames_keep_their_names_and_ledgers_their_accounts(tmp_path: Path) -> None:
    frame = pd.DataFrame(DATA, columns=["age", "bmi"])
    where = tmp_path / "l.whitecrow.db"
    asking = detector(ledger=where, account="patients").fit(frame)
    asking.predict(pd.DataFrame({"age": [9.0], "bmi": [9.0]}))
    assert asking.releases_[0].question["record"] == {"age": 9, "bmi": 9}
    with pytest.raises(ValueError, match="feature names"):
        asking.predict(pd.DataFrame({"a": [9.0], "b": [9.0]}))
    again = detector(ledger=where, account="patients").fit(frame)
    assert again.remaining()["sensitive"] == 80


def flagged(asking: Any, rows: Any, y: object = None) -> float:
    """A score for cross-validation that needs no labels: how much of the fold is an outlier."""
    return float((asking.predict(rows) == -1).mean())


FOLDS = 4
APART = np.arange(float(FOLDS))[:, None] * [100.0, 0.0]
"""One place for each fold to ask about, no two of which meet."""


class OnePlaceEach:
    """Splits that fit on all but one fold and ask about one place outside."""

    def split(self, rows: Any, y: object = None, groups: object = None) -> Any:
        for fold in range(FOLDS):
            kept = [i for i in range(FOLDS, len(rows)) if i % FOLDS != fold]
            yield np.array(kept), np.array([fold])

    def get_n_splits(self, *given: object) -> int:
        return FOLDS


def test_in_cross_validation_every_fold_adds_to_one_account(tmp_path: Path) -> None:
    where = f"sqlite:///{tmp_path}/folds.db"
    rows = np.vstack([APART, CROWD])
    asking = detector(
        PrivateNoveltyDetector, epsilon="1", budget="4", ledger=where, account="patients"
    )
    found = cross_validate(asking, rows, scoring=flagged, cv=OnePlaceEach(), return_estimator=True)
    assert len(found["test_score"]) == FOLDS
    # The balls do not meet, but the folds are different data: a person is in three of the four.
    with Ledger(where) as ledger:
        spent = ledger.snapshot("patients").spent
        assert spent.totals(Fraction(0)).differential.epsilon == FOLDS
        assert len(revisions(ledger, "patients")) == FOLDS
    assert found["estimator"][0].remaining()["differential"] == 0
    with pytest.raises(wc.BudgetExhausted):
        clone(asking).fit(CROWD).predict([[0.0, 0.0]])


def test_without_a_ledger_a_fit_says_that_other_fits_do_not_add_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asking = detector(PrivateNoveltyDetector, epsilon="1", budget="1", verbose=True)
    for data in (CROWD + 500, CROWD + 600):
        asking.fit(data)
        assert "is not added up; give ledger= and account=" in capsys.readouterr().err
        assert asking.remaining()["differential"] == 1
    asking.fit((CROWD + 600)[::-1])  # the same records in another order: the same account
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("given", [{"ledger": "sqlite://"}, {"account": "patients"}])
def test_a_ledger_and_the_name_of_an_account_come_together(given: dict[str, str]) -> None:
    with pytest.raises(wc.InvalidInput, match="together"):
        detector(**given).fit(DATA)


def test_before_fitting_there_is_nothing_to_ask() -> None:
    with pytest.raises(NotFittedError):
        detector().predict([[1.0, 2.0]])
