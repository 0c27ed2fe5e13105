"""A learned private detector with the face of PyOD: larger scores are stranger."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from whitecrow.errors import MissingExtra

try:
    from pyod.models.base import BaseDetector
except ModuleNotFoundError:
    raise MissingExtra("PyOD is not installed: pip install 'whitecrow[detectors]'.") from None

from whitecrow.learned import PrivateDetector as Learned

__all__ = ["PrivateDetector"]


class PrivateDetector(BaseDetector):  # type: ignore[misc]
    """PyOD's interface to :class:`whitecrow.sklearn.PrivateDetector`.

    ``decision_scores_``, ``threshold_`` and ``labels_`` are PyOD's and computed from scores of the
    training records: they are for whoever holds those, and are no release. What may be shown is
    ``detector_``.

    Parameters
    ----------
    contamination : float
        As in PyOD: which part of the training records ``labels_`` marks.
    **learning
        Parameters of :class:`whitecrow.sklearn.PrivateDetector`.

    Examples
    --------
    >>> import numpy as np
    >>> crowd = np.random.default_rng(0).normal(size=(4000, 3))
    >>> made = PrivateDetector(epsilon=1, delta="1e-6", bounds=(-8, 8), verbose=False).fit(crowd)
    >>> ordinary, strange = made.decision_function(np.array([[0.0, 0, 0], [7.0, -7, 7]]))
    >>> bool(strange > ordinary)
    True
    """

    def __init__(self, contamination: float = 0.1, **learning: Any) -> None:
        super().__init__(contamination=contamination)
        self.learning = learning

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn a detector at its price, and score the training records."""
        self._set_n_classes(y)
        self.learned_ = Learned(**self.learning).fit(X)
        self.detector_ = self.learned_.detector_
        self.decision_scores_ = self.decision_function(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return how strange each record is."""
        found: npt.NDArray[np.float64] = -self.learned_.score_samples(X)
        return found
