"""A learned private detector with the face of PyOD: larger scores are stranger."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card
from whitecrow.errors import MissingExtra, invalid
from whitecrow.learned import PrivateDetector as Learned
from whitecrow.privacy import Exactly

try:
    from pyod.models.base import BaseDetector
except ModuleNotFoundError:
    raise MissingExtra("PyOD is not installed: pip install 'whitecrow[detectors]'.") from None

__all__ = ["PrivateDetector"]


@dataclass(eq=False, repr=False)
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

    contamination: float = 0.1
    _: KW_ONLY
    epsilon: Exactly = "1"
    delta: Exactly = "1e-6"
    card: Card | str | Path | None = None
    bounds: Any = None
    budget: object = None
    ledger: object = None
    account: str | None = None
    seed: int = 0
    verbose: bool = True

    def __post_init__(self) -> None:
        super().__init__(contamination=self.contamination)

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn a detector at its price, and score the training records."""
        parameters = self.get_params()
        parameters["false_alarms"] = parameters.pop("contamination")
        self.learned_ = Learned(**parameters).fit(X)
        self.detector_ = self.learned_.detector_
        self.threshold_bought_ = self.learned_.threshold_bought_
        self.decision_scores_ = self.decision_function(X)
        # Other detectors take their threshold from the training scores: this one was released.
        self.threshold_ = -self.learned_.offset_
        self.labels_ = (self.decision_scores_ > self.threshold_).astype(int)
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return how strange each record is."""
        return np.asarray(-self.learned_.score_samples(X))

    def predict_proba(
        self, X: Any, method: str = "linear", return_confidence: bool = False
    ) -> npt.NDArray[np.float64] | tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return scores between 0 and 1 for both classes, scaled by those of training as PyOD does.

        Parameters
        ----------
        method : {"linear", "unify"}
            From the least to the largest training score, or by the normal law of their moments.
        return_confidence : bool
            Whether to return how sure the labels are, too.
        """
        scores, training = self.decision_function(X), self.decision_scores_
        if method == "linear":
            strange = (scores - training.min()) / (np.ptp(training) or 1.0)
        elif method == "unify":
            from scipy.special import erf

            strange = erf((scores - training.mean()) / ((training.std() or 1.0) * 2**0.5))
        else:
            raise invalid("predict_proba", "method", "linear or unify", method)
        strange = strange.clip(0.0, 1.0)
        both = np.column_stack([1.0 - strange, strange])
        return (both, self.predict_confidence(X)) if return_confidence else both
