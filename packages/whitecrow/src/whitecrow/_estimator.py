"""What the scikit-learn estimators share: records handed to a curator, one account for all fits."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whitecrow.curator import Curator
from whitecrow.data import Card
from whitecrow.data.fingerprints import RowMark
from whitecrow.errors import InvalidInput, MissingExtra
from whitecrow.ledger import Ledger
from whitecrow.place.balls import BALLS

try:
    from sklearn.base import BaseEstimator, OutlierMixin
    from sklearn.utils.validation import check_is_fitted as check_is_fitted
    from sklearn.utils.validation import validate_data as validate_data
except ModuleNotFoundError:
    raise MissingExtra(
        "scikit-learn is not installed: pip install 'whitecrow[detectors]'."
    ) from None


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
        name = f"{prefix}{_mark(table)}" if self.account is None else str(self.account)
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
        found: npt.NDArray[np.float64] = validate_data(self, X, dtype=np.float64, reset=reset)
        return found

    def _names(self) -> tuple[str, ...]:
        given = getattr(self, "feature_names_in_", None)
        if given is not None:
            return tuple(str(name) for name in given)
        return tuple(f"x{i}" for i in range(self.n_features_in_))


def _mark(table: Any) -> str:
    """Return what the records are recognised by, in whichever order."""
    mark = RowMark()
    for batch in table.to_batches():
        mark.add(batch)
    # The mark tells how many records there are; the name of an account is seen by everybody.
    return hashlib.sha256(mark.text().encode()).hexdigest()[:32]
