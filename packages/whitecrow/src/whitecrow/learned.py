"""A learned private detector for scikit-learn: one price at ``fit``, free scores from then on."""

from __future__ import annotations

import hashlib
import sys
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whitecrow.curator import Curator
from whitecrow.data import Card, Column
from whitecrow.data.fingerprints import RowFingerprint
from whitecrow.data.sources import table_of
from whitecrow.errors import InvalidInput, MissingExtra
from whitecrow.learning import Learn
from whitecrow.learning.threshold import allotted, enough_records
from whitecrow.ledger import Ledger
from whitecrow.place.balls import BALLS
from whitecrow.privacy import Exactly

try:
    from sklearn.base import BaseEstimator, OutlierMixin
    from sklearn.utils.validation import check_is_fitted as check_is_fitted
    from sklearn.utils.validation import validate_data
except ModuleNotFoundError:
    raise MissingExtra(
        "scikit-learn is not installed: pip install 'whitecrow[detectors]'."
    ) from None

_REFERENCES = 10_000
_CHECKED = 300


@lru_cache(maxsize=1)
def _common_ledger() -> Ledger:
    """One account in memory for each set of records that is fitted without a ledger.

    It is found by the records themselves, so that fitting again does not open a new budget.
    """
    return Ledger("sqlite://", geometry=BALLS)


class PrivateEstimator(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose records go to a curator, under an account that all its fits share."""

    # Set by the subclasses' constructors, as scikit-learn wants it.
    ledger: object
    account: str | None

    def _opened(
        self,
        table: Any,
        *,
        budget: object,
        analyst: str = "owner",
        card: Card | None = None,
        prefix: str = "",
    ) -> tuple[Curator, bool]:
        """Return a curator of the records, and whether its account is new and for them alone."""
        if (self.ledger is None) != (self.account is None):
            raise InvalidInput(
                f"{type(self).__name__} takes 'ledger' and 'account' together: where the account "
                "is kept, and what it is called. All fits with both share one budget."
            )
        ledger: Any = _common_ledger() if self.ledger is None else self.ledger
        if self.account is None:
            rows = RowFingerprint()
            for batch in table.to_batches():
                rows.add(batch)
            # It tells how many records there are; the name of an account is seen by everybody.
            name = prefix + hashlib.sha256(rows.text().encode()).hexdigest()[:32]
        else:
            name = str(self.account)
        alone = self.ledger is None and name not in ledger.datasets()
        curator = Curator.open(
            table,
            card=card,
            name=name,
            budget=budget,
            ledger=ledger,
            analyst=analyst,
            advance="fitted on other records",
        )
        return curator, alone

    def _table(self, X: Any, *, reset: bool) -> Any:
        """Return records of numbers as a table that has the features' names."""
        values = self._validated(X, reset=reset)
        return pa.table(dict(zip(self._names(), values.T, strict=True)))

    def _validated(self, X: Any, *, reset: bool) -> npt.NDArray[np.float64]:
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=reset))

    def _names(self) -> tuple[str, ...]:
        given = getattr(self, "feature_names_in_", None)
        if given is not None:
            return tuple(str(name) for name in given)
        return tuple(f"x{i}" for i in range(self.n_features_in_))


@dataclass(eq=False, repr=False, kw_only=True)
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
        Public facts of the columns; its names must be those of the features. Columns may be
        categories, and values missing where the card says what for; then give a data frame, or an
        array of objects.
    bounds : pair, optional
        Public lower and upper bounds of the features, numbers or one for each; not from the data.
        Without a card and bounds a grid is bought within the price.
    false_alarms : float
        Which part of records like the fitted ones ``predict`` calls outliers. Where the records
        are too few for a threshold that keeps this rate at this price, ``fit`` warns and says how
        many it takes; ``offset_`` is a rough one then, or of the detector's own made-up records.
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
    threshold_source_ : str
        Where ``offset_`` comes from: "bought", a threshold from the data that keeps its rate;
        "rough", one bought from too few, so that the part it flags may be twice as large, or
        nothing; or "made up", records of the released distributions, which are stranger than real
        ones, so that little is flagged.
    threshold_bought_ : bool
        Whether it is the first of these.

    Examples
    --------
    >>> import numpy as np
    >>> crowd = np.random.default_rng(0).normal(size=(8000, 3))
    >>> made = PrivateDetector(epsilon=1, delta="1e-6", bounds=(-8, 8), verbose=False).fit(crowd)
    >>> made.predict([[0.0, 0.0, 0.0], [7.0, -7.0, 7.0]])
    array([ 1, -1])
    """

    epsilon: Exactly = "1"
    delta: Exactly = "1e-6"
    card: Card | str | Path | None = None
    bounds: Any = None
    false_alarms: float = 0.05
    budget: object = None
    ledger: object = None
    account: str | None = None
    seed: int = 0
    verbose: bool = True

    def question(self) -> Learn:
        """Return what ``fit`` asks."""
        rates = [self.false_alarms]
        return Learn(epsilon=self.epsilon, delta=self.delta, false_alarms=rates, seed=self.seed)

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn a detector from private records, once, at the price; ``y`` is ignored."""
        records = self._records(X, reset=True)
        question = self.question()
        price = f"{question.epsilon}, {question.delta}"
        card = self._card(self._names())
        budget = price if self.budget is None else self.budget
        curator, _ = self._opened(records, budget=budget, card=card, prefix="learned ")
        release = curator.ask(question)
        if self.verbose:
            charged = f"epsilon {question.epsilon}" if release.charged else "nothing: asked before"
            sys.stderr.write(f"fit: charged {charged}. Remaining: {curator.remaining()}.\n")
        self.detector_ = release.answer
        (bought,) = self.detector_.thresholds
        self.threshold_bought_ = bought.score is not None
        if bought.score is not None:
            self.threshold_source_, limit = "bought", bought.score
        elif bought.rough is not None:
            self.threshold_source_, limit = "rough", bought.rough
        else:
            synthetic = self.detector_.scores(self.detector_.sample(_REFERENCES))
            self.threshold_source_ = "made up"
            limit = float(np.quantile(synthetic, 1.0 - self.false_alarms))
        if not self.threshold_bought_:
            self._warn(question, card)
        self.offset_ = -limit
        return self

    def _warn(self, question: Learn, card: Card) -> None:
        (rate,), share = question.rates, question.shares[1]
        needed = enough_records(rate, question.noise_budget(card), share)
        source = (
            "is a rough one: the part it flags may be twice as large, or nothing"
            if self.threshold_source_ == "rough"
            else "is of made-up records, which are stranger than real ones: it may flag nothing"
        )
        warnings.warn(
            f"About {self.detector_.records:,} records are too few for a threshold that flags "
            f"{float(rate):.2%} at this price; it takes about {needed:,}. The threshold in use "
            f"{source} (threshold_source_ is {self.threshold_source_!r}).",
            UserWarning,
            stacklevel=3,
        )

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return how ordinary each record is; lower is stranger."""
        check_is_fitted(self)
        return np.asarray(-self.detector_.scores(self._records(X, reset=False)))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ``score_samples`` less ``offset_``: below 0 is an outlier."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Return 1 for ordinary records, -1 for outliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _records(self, X: Any, *, reset: bool) -> Any:
        """Return the records as a table that has the features' names."""
        card = self._declared()
        columns = () if card is None else card.columns
        numbers = all(column.numeric for column in columns)
        if numbers and all(column.fill is None and column.absent is None for column in columns):
            return self._table(X, reset=reset)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if hasattr(X, "columns"):
            return table_of(X)
        values = np.asarray(X, dtype=object)
        if values.ndim != 2 or values.shape[1] != self.n_features_in_:
            raise InvalidInput(
                f"{type(self).__name__} takes records as rows and features as columns. "
                f"Got an array of shape {values.shape}."
            )
        return table_of(dict(zip(self._names(), values.T, strict=True)))

    def _declared(self) -> Card | None:
        return Card.load(self.card) if isinstance(self.card, str | Path) else self.card

    def _card(self, names: tuple[str, ...]) -> Card:
        card = self._declared()
        if card is not None:
            return card
        if self.bounds is None:
            return Card("records", tuple(Column(name) for name in names))
        low, high = (np.broadcast_to(np.asarray(end, float), len(names)) for end in self.bounds)
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
    budget = question.noise_budget(Card("records", (Column("x0"),)))
    if allotted(question.rates, float(_CHECKED), budget, question.shares[1]):
        return {}
    reason = (
        f"epsilon {question.epsilon} does not carry a threshold for {_CHECKED} records: one that "
        "were sure to call some of them outliers would tell who they are"
    )
    return dict.fromkeys(("check_outliers_train", "check_outliers_fit_predict"), reason)
