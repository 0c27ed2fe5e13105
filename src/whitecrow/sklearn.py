"""scikit-learn façades over a curator: outlier and novelty detection that is paid for.

:class:`PrivateDetector` learns once and scores for ever (``whitecrow.learned``). The others ask
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

import hashlib
import sys
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from whitecrow.data.marks import RowMark
from whitecrow.errors import InvalidInput, MissingExtra, NotAllowed, RecordsElsewhere

try:
    from sklearn.base import BaseEstimator, OutlierMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError:
    raise MissingExtra(
        "scikit-learn is not installed: pip install 'whitecrow[detectors]'."
    ) from None

if TYPE_CHECKING:
    from whitecrow.curator import Curator
    from whitecrow.learned import PrivateDetector
    from whitecrow.ledger import Ledger
    from whitecrow.privacy import Exactly
    from whitecrow.question import Question

__all__ = ["PrivateDetector", "PrivateNoveltyDetector", "PrivateOutlierDetector"]


@lru_cache(maxsize=1)
def _common_ledger() -> Ledger:
    """One account in memory for each set of records that is fitted without a ledger.

    It is found by the records themselves, so that fitting again does not open a new budget.
    """
    from whitecrow.curator.spatial import new_atlas
    from whitecrow.ledger import Ledger

    return Ledger("sqlite://", atlas=new_atlas)


class _PrivateDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """What both detectors share: a curator behind ``fit``, a bill behind ``predict``."""

    _curator: Curator | None
    _notion: ClassVar[str]

    # Set by the subclasses' constructors, as scikit-learn wants it.
    budget: object
    ledger: object
    account: str | None
    analyst: str
    verbose: bool

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
        from whitecrow.curator import Curator

        values = self._validated(X, reset=True)
        table = _table(values, self._names())
        if (self.ledger is None) != (self.account is None):
            raise InvalidInput(
                f"{type(self).__name__} takes 'ledger' and 'account' together: where the account "
                "is kept, and what it is called. All fits with both share one budget."
            )
        if self.ledger is None:
            ledger: Any = _common_ledger()
            name = _mark(table)
            if self.verbose and name not in ledger.datasets():
                sys.stderr.write(f"fit: {_OWN_ACCOUNT}\n")
        else:
            ledger, name = self.ledger, str(self.account)
        self._curator = Curator.open(
            table,
            name=name,
            budget=self.budget,
            ledger=ledger,
            analyst=self.analyst,
            advance="fitted on other records",
        )
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

    def _validated(self, X: Any, *, reset: bool) -> npt.NDArray[np.float64]:
        found: npt.NDArray[np.float64] = validate_data(self, X, dtype=np.float64, reset=reset)
        return found

    def _names(self) -> tuple[str, ...]:
        given = getattr(self, "feature_names_in_", None)
        if given is not None:
            return tuple(str(name) for name in given)
        return tuple(f"x{i}" for i in range(self.n_features_in_))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_curator" in state:
            state["_curator"] = None
        return state


_OWN_ACCOUNT = (
    "a new account in memory, for these records alone. What other fits spend (folds, other days) "
    "is not added up; give ledger= and account= to keep one budget for all of them."
)


def _mark(table: Any) -> str:
    """Return what the records are recognised by, in whichever order."""
    mark = RowMark()
    for batch in table.to_batches():
        mark.add(batch)
    # The mark tells how many records there are; the name of an account is seen by everybody.
    return hashlib.sha256(mark.text().encode()).hexdigest()[:32]


def _table(values: npt.NDArray[np.float64], names: tuple[str, ...]) -> Any:
    import pyarrow as pa

    return pa.table(dict(zip(names, values.T, strict=True)))


class PrivateOutlierDetector(_PrivateDetector):
    """Which records of the data are outliers? One :class:`whitecrow.Identify` a row.

    A row that is not in the data is no outlier of it.

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

    Attributes
    ----------
    releases_ : list of Release
        Everything that was released, in order.
    charges_ : list of dict
        What each ``predict`` added to each line of the account.

    Examples
    --------
    >>> import numpy as np
    >>> crowd = np.random.default_rng(0).normal(size=(200, 2))
    >>> detector = PrivateOutlierDetector(beta=3, radius=1.0, epsilon=20, budget=40, verbose=False)
    >>> detector.fit(np.vstack([crowd, [[9.0, 9.0]]])).predict([[9.0, 9.0]])
    array([-1])
    >>> detector.charges_[-1]["sensitive"]
    Fraction(20, 1)
    """

    def __init__(
        self,
        *,
        beta: int = 20,
        radius: float = 1.0,
        metric: str = "euclidean",
        k: int = 1,
        epsilon: Exactly = "1/10",
        notion: str = "sensitive",
        budget: object = "1",
        ledger: object = None,
        account: str | None = None,
        analyst: str = "owner",
        verbose: bool = True,
    ) -> None:
        self.beta = beta
        self.radius = radius
        self.metric = metric
        self.k = k
        self.epsilon = epsilon
        self.notion = notion
        self.budget = budget
        self.ledger = ledger
        self.account = account
        self.analyst = analyst
        self.verbose = verbose

    def _question(self, record: dict[str, float]) -> Question:
        from whitecrow.anomaly import DistanceAnomaly
        from whitecrow.identify import Identify

        model = DistanceAnomaly(self.beta, self.radius, self.metric)
        return Identify(record, model=model, k=self.k, epsilon=self.epsilon, notion=self.notion)


class PrivateNoveltyDetector(_PrivateDetector):
    """Would new records be outliers beside the data? One :class:`whitecrow.Screen` a row.

    Everyone is covered (differential privacy), and the answers are accurate away from the boundary.

    Parameters
    ----------
    beta, radius, metric, epsilon, budget, ledger, account, analyst, verbose
        As in :class:`PrivateOutlierDetector`.

    Examples
    --------
    >>> import numpy as np
    >>> crowd = np.random.default_rng(0).normal(size=(200, 2))
    >>> detector = PrivateNoveltyDetector(beta=3, radius=1.0, epsilon=20, budget=40, verbose=False)
    >>> detector.fit(crowd).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    >>> detector.charges_[-1]["differential"]
    Fraction(20, 1)
    """

    def __init__(
        self,
        *,
        beta: int = 20,
        radius: float = 1.0,
        metric: str = "euclidean",
        epsilon: Exactly = "1/10",
        budget: object = "1",
        ledger: object = None,
        account: str | None = None,
        analyst: str = "owner",
        verbose: bool = True,
    ) -> None:
        self.beta = beta
        self.radius = radius
        self.metric = metric
        self.epsilon = epsilon
        self.budget = budget
        self.ledger = ledger
        self.account = account
        self.analyst = analyst
        self.verbose = verbose

    def _question(self, record: dict[str, float]) -> Question:
        from whitecrow.anomaly import DistanceAnomaly
        from whitecrow.screen import Screen

        model = DistanceAnomaly(self.beta, self.radius, self.metric)
        return Screen(record, model=model, epsilon=self.epsilon)


def __getattr__(name: str) -> Any:
    if name == "PrivateDetector":
        from whitecrow.learned import PrivateDetector

        return PrivateDetector
    raise AttributeError(f"whitecrow.sklearn has no {name!r}")
