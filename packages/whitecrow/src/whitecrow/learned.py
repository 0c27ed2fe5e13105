"""A learned private detector for scikit-learn: one price at ``fit``, scores for ever after."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from whitecrow._estimator import PrivateEstimator, check_is_fitted
from whitecrow.data import Card, Column
from whitecrow.learning import Learn
from whitecrow.learning.threshold import allotted
from whitecrow.privacy import Exactly

_REFERENCES = 10_000
_CHECKED = 300


class PrivateDetector(PrivateEstimator):
    """An outlier detector that is released under differential privacy when it is fitted.

    Fitted attributes are public: scoring costs nothing, and a pickled detector holds no record.
    The signs are scikit-learn's: ``score_samples`` is lower for stranger records, and ``predict``
    is -1 for outliers.

    Parameters
    ----------
    epsilon, delta : exact numbers
        The price of one fit; a delta above 0 allows Gaussian noise, which is far smaller.
    card : Card or path, optional
        Public facts of the columns; its names must be those of the features.
    bounds : pair, optional
        Public lower and upper bounds of the features, numbers or one for each; not from the data.
        Without a card and bounds a grid is bought within the price.
    false_alarms : float
        Which part of records like the fitted ones ``predict`` calls outliers. Where the records
        are too few for a threshold at this price, ``offset_`` comes from made-up records drawn from
        the released distributions, and ``threshold_bought_`` is False.
    budget : exact number, or anything :class:`whitecrow.ledger.Budget` reads, optional
        The cap of the account; the price of one fit unless given.
    ledger, account : optional
        Where the account is kept and what it is called, together. All fits with both share one
        budget: cross-validation pays for every fold. Without them each set of records has an
        account in memory.
    seed : int
        Of the public layout.
    verbose : bool
        Whether ``fit`` says what it charged, on standard error.

    Attributes
    ----------
    detector_ : Detector
        What was released.
    offset_ : float
        ``decision_function`` is ``score_samples`` less this.
    threshold_bought_ : bool
        Whether ``offset_`` was bought from the data.

    Examples
    --------
    >>> import numpy as np
    >>> crowd = np.random.default_rng(0).normal(size=(5000, 3))
    >>> made = PrivateDetector(epsilon=1, delta="1e-6", bounds=(-8, 8), verbose=False).fit(crowd)
    >>> made.predict([[0.0, 0.0, 0.0], [7.0, -7.0, 7.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        epsilon: Exactly = "1",
        delta: Exactly = "1e-6",
        card: Card | str | Path | None = None,
        bounds: Any = None,
        false_alarms: float = 0.05,
        budget: object = None,
        ledger: object = None,
        account: str | None = None,
        seed: int = 0,
        verbose: bool = True,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.card = card
        self.bounds = bounds
        self.false_alarms = false_alarms
        self.budget = budget
        self.ledger = ledger
        self.account = account
        self.seed = seed
        self.verbose = verbose

    def question(self) -> Learn:
        """Return what ``fit`` asks."""
        return Learn(
            epsilon=self.epsilon,
            delta=self.delta,
            false_alarms=[self.false_alarms],
            seed=self.seed,
        )

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn a detector from private records, once, at the price; ``y`` is ignored."""
        values = self._validated(X, reset=True)
        question = self.question()
        price = f"{question.epsilon}, {question.delta}"
        curator, _ = self._opened(
            values,
            budget=price if self.budget is None else self.budget,
            card=self._card(self._names()),
            prefix="learned ",
        )
        release = curator.ask(question)
        if self.verbose:
            charged = f"epsilon {question.epsilon}" if release.charged else "nothing: asked before"
            sys.stderr.write(f"fit: charged {charged}. Remaining: {curator.remaining()}.\n")
        self.detector_ = release.answer
        (bought,) = self.detector_.thresholds
        self.threshold_bought_ = bought.score is not None
        limit = bought.score
        if limit is None:
            made_up = self.detector_.scores(self.detector_.sample(_REFERENCES))
            limit = float(np.quantile(made_up, 1.0 - self.false_alarms))
        self.offset_ = -limit
        return self

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return how ordinary each record is; lower is stranger."""
        check_is_fitted(self)
        found: npt.NDArray[np.float64] = -self.detector_.scores(self._validated(X, reset=False))
        return found

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ``score_samples`` less ``offset_``: below 0 is an outlier."""
        found: npt.NDArray[np.float64] = self.score_samples(X) - self.offset_
        return found

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Return 1 for ordinary records, -1 for outliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _card(self, names: tuple[str, ...]) -> Card:
        if self.card is not None:
            return Card.load(self.card) if isinstance(self.card, str | Path) else self.card
        if self.bounds is None:
            return Card("records", tuple(Column(name) for name in names))
        low, high = (np.broadcast_to(np.asarray(one, float), len(names)) for one in self.bounds)
        return Card(
            "records",
            tuple(
                Column(name, lower=float(lower), upper=float(upper), outside="clip")
                for name, lower, upper in zip(names, low, high, strict=True)
            ),
        )


def expected_failed_checks(estimator: PrivateDetector) -> dict[str, str]:
    """Return which checks of scikit-learn an estimator cannot pass, and why: from its price alone.

    For ``check_estimator(estimator, expected_failed_checks=expected_failed_checks(estimator))``,
    and for ``parametrize_with_checks``. Two checks fit 300 records and want at least one of them
    to be called an outlier. Where the price does not carry a threshold for so few records, which
    ones are outliers is just what it must not tell.

    Examples
    --------
    >>> expected_failed_checks(PrivateDetector(epsilon=10))
    {}
    >>> sorted(expected_failed_checks(PrivateDetector(epsilon=1)))
    ['check_outliers_fit_predict', 'check_outliers_train']
    """
    question = estimator.question()
    money = question.money(Card("records", (Column("x0"),)))
    if allotted(question.rates, float(_CHECKED), money, question.shares[1]):
        return {}
    reason = (
        f"epsilon {question.epsilon} does not carry a threshold for {_CHECKED} records: one that "
        "were sure to call some of them outliers would tell who they are"
    )
    return dict.fromkeys(("check_outliers_train", "check_outliers_fit_predict"), reason)
