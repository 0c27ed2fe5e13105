"""scikit-learn façades over a curator: outlier and novelty detection that is paid for.

:class:`PrivateDetector` learns once, then scores freely (:mod:`whitecrow.learned`). The others ask
one question a row:

``fit`` hands the records to a curator and reads nothing off them; each ``predict`` asks one
question a row, within the budget, and says what it cost. Fitted attributes hold releases only. A
pickled detector keeps its releases and leaves the records behind.

Two things differ from other detectors, and must:

* there is no ``decision_function`` and no ``score_samples``: an exact score is a private fact;
* ``fit_predict`` refuses: asking about exactly the records of the data gives away, by the questions
  themselves, what the data are. Ask about records that were chosen without looking.

One rule for accounts. With ``ledger`` and ``account`` there is one account: a fit on other records
(another fold, another day) is a further revision of it, and what all fits spend adds up against one
budget. Without them each set of records has an account in memory, for this process, and ``fit``
says so: whoever is in several of them loses the sum, which nobody keeps.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.curator import Curator
from whitecrow.errors import NotAllowed, RecordsElsewhere
from whitecrow.identify import Identify
from whitecrow.learned import (
    PrivateDetector,
    PrivateEstimator,
    check_is_fitted,
    expected_failed_checks,
)
from whitecrow.privacy import Exactly
from whitecrow.question import Question
from whitecrow.screen import Screen

__all__ = [
    "PrivateDetector",
    "PrivateNoveltyDetector",
    "PrivateOutlierDetector",
    "expected_failed_checks",
]

_OWN_ACCOUNT = (
    "a new account in memory, for these records alone. What other fits spend (folds, other days) "
    "is not added up; give ledger= and account= to keep one budget for all of them."
)


@dataclass(eq=False, repr=False, kw_only=True)
class _OneQuestionARow(PrivateEstimator):
    """What both detectors share: a curator behind ``fit``, a bill behind ``predict``."""

    beta: int = 20
    radius: float = 1.0
    metric: str = "euclidean"
    epsilon: Exactly = "1/10"
    budget: object = "1"
    ledger: object = None
    account: str | None = None
    analyst: str = "owner"
    verbose: bool = True
    card: Any = None

    def _question(self, record: dict[str, float]) -> Question:
        raise NotImplementedError

    def fit(self, X: Any, y: object = None) -> Self:
        """Hand the records to a curator; nothing is computed from them and nothing is spent.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            The private records.
        y : ignored
        """
        warnings.warn(
            f"{type(self).__name__} asks one question a row and goes with 0.4; PrivateDetector "
            "learns once and then scores freely, and curator.ask asks single questions.",
            DeprecationWarning,
            stacklevel=2,
        )
        curator, alone = self._opened(
            self._table(X, reset=True), budget=self.budget, analyst=self.analyst, card=self.card
        )
        self._curator: Curator | None = curator
        if self.verbose and alone:
            sys.stderr.write(f"fit: {_OWN_ACCOUNT}\n")
        self.releases_: list[Any] = []
        self.charges_: list[dict[str, Fraction]] = []
        return self

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Ask about each row: 1 for an inlier, -1 for an outlier.

        Rows must be chosen without looking at the fitted records. If the budget does not suffice
        for all of them, nothing is asked and nothing is spent. What was charged is the last of
        ``charges_``, by line of the account, and on standard error if ``verbose``.
        """
        check_is_fitted(self, "releases_")
        if self._curator is None:
            raise RecordsElsewhere(
                "This detector was pickled, and its records stayed behind; fit it where they are. "
                "What it had released is in releases_."
            )
        curator, names = self._curator, self._names()
        rows = self._validated(X, reset=False)
        questions = [self._question(dict(zip(names, map(float, row), strict=True))) for row in rows]
        plan = curator.plan(questions)
        plan.check()
        releases = [curator.ask(question) for question in questions]
        self.releases_.extend(releases)
        self.charges_.append(plan.price)
        if self.verbose:
            sys.stderr.write(f"predict: {plan} Remaining: {curator.remaining()}.\n")
        return np.array([-1 if release.answer else 1 for release in releases], dtype=np.int64)

    def fit_predict(self, X: Any, y: object = None, **parameters: object) -> NoReturn:
        """Refuse: the questions would give the records away."""
        raise NotAllowed(
            "Asking about exactly the records of the data discloses them, whatever the answers "
            "say. Use fit, then predict on records that were chosen without looking."
        )

    def remaining(self) -> Any:
        """What is left of the budget."""
        check_is_fitted(self, "releases_")
        return None if self._curator is None else self._curator.remaining()

    def _model(self) -> DistanceAnomaly:
        return DistanceAnomaly(self.beta, self.radius, self.metric)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_curator" in state:
            state["_curator"] = None
        return state


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateOutlierDetector(_OneQuestionARow):
    """Which records of the data are outliers? One :class:`whitecrow.Identify` a row.

    Deprecated. A row that is not in the data is no outlier of it.

    Parameters
    ----------
    beta : int
        An outlier has at most this many records, itself included, within the radius.
    radius, metric : float, str
        How near a neighbour is.
    k : int
        How many insertions away from normal a record may be and still be covered.
    epsilon : exact number
        The price of one row; rows far apart share it.
    notion : {"sensitive", "differential"}
        Whom the promise covers.
    budget : exact number, or anything :class:`whitecrow.ledger.Budget` reads
        What all predictions together may cost.
    ledger : str, Path or Ledger, optional
        Where the account is kept; with ``account``. By default in memory, one account for each set
        of records fitted in this process: fitting them again does not open a new budget.
    account : str, optional
        What the account is called; with ``ledger``. Fits on other records are further revisions of
        it, and what they spend adds up.
    analyst : str
        Who asks.
    verbose : bool
        Whether each ``predict`` writes what it charged to standard error.
    card : Card or path, optional
        The public facts of the columns: bounds, which leave out what lies outside, and the scales
        that ``metric="standardised"`` divides by.

    Attributes
    ----------
    releases_ : list of Release
        Everything that was released, in order.
    charges_ : list of dict
        What each ``predict`` added to each line of the account.
    """

    k: int = 1
    notion: str = "sensitive"

    def _question(self, record: dict[str, float]) -> Question:
        return Identify(
            record, model=self._model(), k=self.k, epsilon=self.epsilon, notion=self.notion
        )


class PrivateNoveltyDetector(_OneQuestionARow):
    """Would new records be outliers among the data? One :class:`whitecrow.Screen` a row.

    Deprecated. Everyone is covered (differential privacy), and the answers are accurate away from
    the boundary.

    Parameters
    ----------
    beta, radius, metric, epsilon, budget, ledger, account, analyst, verbose, card
        As in :class:`PrivateOutlierDetector`.
    """

    def _question(self, record: dict[str, float]) -> Question:
        return Screen(record, model=self._model(), epsilon=self.epsilon)
