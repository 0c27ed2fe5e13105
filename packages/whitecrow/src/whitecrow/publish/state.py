"""The publisher's state, and where it is kept between two updates.

A state holds exact sums and the noise already drawn: it is private, it stays with the custodian,
and it is written down *before* a release made from it is shown. A crash between two updates then
neither repeats noise (the release that was shown is in the state) nor loses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whitecrow.custodian import failure
from whitecrow.privacy import Facts
from whitecrow.publish.counters import Memory
from whitecrow.publish.plan import Point, PublicationPlan

NOTHING = np.empty(0)


@dataclass(frozen=True, repr=False, eq=False)
class Day(Facts):
    """The events of one period."""

    # exact_joins, exact_leaves: The values of records that come and of records that go; NaN stands
    # for no value.
    exact_joins: npt.NDArray[np.float64] = field(default_factory=lambda: NOTHING)
    exact_leaves: npt.NDArray[np.float64] = field(default_factory=lambda: NOTHING)
    # exact_join_users, exact_leave_users: Who they belong to, where the unit of privacy is a user.
    exact_join_users: Sequence[str] | None = None
    exact_leave_users: Sequence[str] | None = None


@dataclass(frozen=True, repr=False, eq=False)
class Position(Facts):
    """Where the running sums stand; private."""

    # epoch, within: Which epoch runs and how many of its periods are closed.
    epoch: int
    within: int
    exact_memories: tuple[Memory, ...]  # one counter memory for each channel
    base: tuple[int, ...]  # the released totals of the epochs that are over, one for each channel


@dataclass(frozen=True, repr=False, eq=False)
class PublisherState(Facts):
    """Everything a publisher must remember; private."""

    plan: PublicationPlan  # the public side
    exact_position: Position  # where the running sums stand
    done: int = 0  # how many periods are closed; also the version of the stored state
    # Joins and leaves that wait for the private choice of the clip; None once it is made.
    exact_waiting: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] | None = None
    # How many joins and leaves each user has made, where the unit of privacy is a user.
    exact_used: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    last: tuple[Point, ...] = ()  # what the latest update released


class StateStore(Protocol):
    """Where states are kept: a compare-and-swap on (key, version)."""

    def load(self, key: str) -> tuple[int, Mapping[str, Any]] | None:
        """Return the latest version and its state, or None if there is none."""

    def save(self, key: str, version: int, state: Mapping[str, Any]) -> bool:
        """Write ``version`` durably if the latest is ``version - 1`` (none for version 0).

        Returns False, having written nothing, if another writer was first.
        """

    def fail(self) -> None:
        """Record that an update failed: nothing more is released before somebody has looked."""


class MemoryStore:
    """A store that lives as long as the process: for tests, simulations and short streams.

    Examples
    --------
    >>> store = MemoryStore()
    >>> store.save("k", 0, {"done": 0}), store.save("k", 0, {"done": 0})
    (True, False)
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self._failed = False

    def fail(self) -> None:
        """Take no further state: there is no custodian here who could look."""
        self._failed = True

    def load(self, key: str) -> tuple[int, Mapping[str, Any]] | None:
        """Return the latest version and its state, or None if there is none."""
        return self._kept.get(key)

    def save(self, key: str, version: int, state: Mapping[str, Any]) -> bool:
        """Write ``version`` if the latest is ``version - 1``."""
        if self._failed:
            raise failure()
        kept = self._kept.get(key)
        if version != (0 if kept is None else kept[0] + 1):
            return False
        self._kept[key] = (version, state)
        return True
