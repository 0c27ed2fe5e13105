"""What can be asked of records, wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card
from whitecrow.data.keys import Key


class Records(Protocol):
    """Private records beside their public card: in memory, or in a warehouse.

    All that a question's ``gather`` may rely on, beside an engine that counts neighbours.
    :class:`~whitecrow.data.Dataset` and :class:`~whitecrow.data.warehouse.RemoteDataset` both have
    it; what needs a copy of whole columns is not here, for records elsewhere are never copied.
    """

    @property
    def card(self) -> Card:
        """The public facts."""

    @property
    def size(self) -> int:
        """The number of records. A fact, unless the card says that it is public."""

    @property
    def size_at_most(self) -> float:
        """A bound on the size that is known without reading records; infinity if there is none."""

    def tally(
        self, keys: Sequence[Key]
    ) -> tuple[tuple[npt.NDArray[Any], ...], npt.NDArray[np.int64]]:
        """Return the records by keys: groups, which need not differ, and how many each holds."""

    def close(self) -> None:
        """Let go of what is held open to reach the records."""
