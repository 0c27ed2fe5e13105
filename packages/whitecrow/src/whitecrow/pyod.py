"""A learned private detector with the face of PyOD: larger scores are stranger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from whitecrow.errors import MissingExtra

try:
    from pyod.models.base import BaseDetector
except ModuleNotFoundError:
    raise MissingExtra("PyOD is not installed: pip install 'whitecrow[detectors]'.") from None

from whitecrow.learned import PrivateDetector as Learned

if TYPE_CHECKING:
    from whitecrow.card import Card
    from whitecrow.privacy import Exactly

__all__ = ["PrivateDetector"]

_RATE = "contamination"


class PrivateDetector(BaseDetector):  # type: ignore[misc]
    """PyOD's interface to :class:`whitecrow.sklearn.PrivateDetector`.

    ``detector_`` and ``threshold_`` were released and may be shown. ``decision_scores_`` and
    ``labels_`` are PyOD's, one for each training record: they are for whoever holds those, and are
    no release.

    Parameters
    ----------
    contamination : float
        Which part of records like the fitted ones is called outliers: the rate of false alarms
        whose threshold is bought with the detector. Below 1/2.
    epsilon, delta, card, bounds, budget, ledger, account, seed, verbose
        As in :class:`whitecrow.sklearn.PrivateDetector`.

    Attributes
    ----------
    detector_ : Detector
        What was released.
    threshold_ : float
        The score above which a record is an outlier: bought, or from made-up records where the data
        are too few for one (``threshold_bought_`` says which).
    decision_scores_, labels_ : arrays
        Of the training records; 1 is an outlier.

    Examples
    --------
    >>> import numpy as np
    >>> crowd = np.random.default_rng(0).normal(size=(4000, 3))
    >>> made = PrivateDetector(epsilon=1, delta="1e-6", bounds=(-8, 8), verbose=False).fit(crowd)
    >>> ordinary, strange = made.decision_function(np.array([[0.0, 0, 0], [7.0, -7, 7]]))
    >>> bool(strange > ordinary)
    True
    """

    def __init__(
        self,
        contamination: float = 0.1,
        *,
        epsilon: Exactly = "1",
        delta: Exactly = "1e-6",
        card: Card | str | Path | None = None,
        bounds: Any = None,
        budget: object = None,
        ledger: object = None,
        account: str | None = None,
        seed: int = 0,
        verbose: bool = True,
    ) -> None:
        super().__init__(contamination=contamination)
        self.epsilon = epsilon
        self.delta = delta
        self.card = card
        self.bounds = bounds
        self.budget = budget
        self.ledger = ledger
        self.account = account
        self.seed = seed
        self.verbose = verbose

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn a detector at its price, and score the training records."""

        self._set_n_classes(y)
        given = {name: value for name, value in self.get_params().items() if name != _RATE}
        self.learned_ = Learned(**given, false_alarms=self.contamination).fit(X)
        self.detector_ = self.learned_.detector_
        self.threshold_bought_ = self.learned_.threshold_bought_
        self.decision_scores_ = self.decision_function(X)
        self._process_decision_scores()
        # PyOD takes its threshold from the training scores: this one was released.
        self.threshold_ = -self.learned_.offset_
        self.labels_ = (self.decision_scores_ > self.threshold_).astype(int)
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return how strange each record is."""
        found: npt.NDArray[np.float64] = -self.learned_.score_samples(X)
        return found
