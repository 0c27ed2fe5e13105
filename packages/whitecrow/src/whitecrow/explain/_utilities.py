"""What makes one context better than another, and how much one record can change it.

The price of a private draw is ``eta`` times the *spread* of the utility: the largest difference
between the changes of two contexts' utilities when one record comes or goes (``proof.md``,
Lemma 2). It is 1 for a utility of sensitivity 1 that every record moves the same way, and twice
the sensitivity for one that may move both ways.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whitecrow.declaration import whole
from whitecrow.errors import InvalidInput, invalid

_MOST_WORK = 2**28
_MOST_CELLS = 2**18
_MOST_CROWD = 2**30
_MOST_SCORE = 2**62
"""Utilities are 64-bit numbers: within these bounds none can wrap around, whatever the data."""


class Utility:
    """The public description of a utility."""

    kind: ClassVar[str]
    prefers: ClassVar[str] = ""

    @property
    def spread(self) -> int:
        """The cost of one draw in units of ``eta``."""
        return 1

    def words(self) -> str:
        """Say what is preferred."""
        return f"contexts {self.prefers} are preferred"

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"kind": self.kind}


@dataclass(frozen=True)
class Population(Utility):
    """The number of records in the context: the outlier stands out from many."""

    kind: ClassVar[str] = "population"
    prefers: ClassVar[str] = "with many records"


@dataclass(frozen=True)
class Overlap(Utility):
    """The number of records shared with the starting context."""

    kind: ClassVar[str] = "overlap"
    prefers: ClassVar[str] = "that share many records with the starting context"


@dataclass(frozen=True)
class Isolation(Utility):
    """The margin by which the record is isolated, as far as a crowd backs it: unconditional.

    With B records within the radius of the record (itself included) and F further away, the
    utility is ``min(crowd * (beta + 1 - B), beta * F)``: positive only where the record is an
    outlier, largest where nobody is near and at least ``crowd`` are far. A near record only lowers
    it (by at most ``crowd``), a far one only raises it (by at most ``beta``), so that its spread is
    ``crowd`` and not twice that. No utility with these slopes separates outlier contexts from
    others better (``proof.md``, Theorem 5).
    """

    # How many far records isolation needs to count fully; at least the model's beta (default: ten
    # times that) and at most 2^30. A larger crowd finds larger contexts, where there are any, and
    # separates outlier contexts from others less sharply.
    crowd: int | None = None
    kind: ClassVar[str] = "isolation"

    def __post_init__(self) -> None:
        if self.crowd is not None:
            whole(self.crowd, "Isolation", "crowd", most=_MOST_CROWD)

    def of(self, beta: int) -> Isolation:
        """Return this utility with its crowd settled for a model."""
        crowd = 10 * beta if self.crowd is None else self.crowd
        if crowd < beta:
            raise invalid("Isolation", "crowd", f"at least the model's beta ({beta})", crowd)
        return Isolation(crowd)

    @property
    def spread(self) -> int:
        assert self.crowd is not None
        return self.crowd

    def words(self) -> str:
        return (
            f"contexts in which few records are near it and many (up to {self.crowd}) are far "
            "away are preferred"
        )

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "crowd": self.crowd}


Score = Callable[[NDArray[np.int64], Mapping[str, int]], NDArray[np.int64]]


@dataclass(frozen=True)
class CustomUtility(Utility):
    """A utility of one's own: any function of the context's records, by number, and its shape.

    The function is only ever called with public arguments, all sizes ``1 .. limit`` at once and
    how many values of each attribute the context has; the results become a table. The declared
    sensitivity is checked on that whole table before anything is spent, so it cannot be wrong.
    Populations above ``limit`` count as ``limit``.

    With ``edges`` the function sees the records themselves, as a histogram of the metric: how many
    lie below the first edge, between two, and from the last on. All numbers ``0 .. limit`` of each
    band are tried together.

    Parameters
    ----------
    name : str
        How the question names it; register it (:func:`register_utility`) to read such questions.
    score : callable
        ``score(sizes, values)`` with ``sizes`` an int64 array and ``values`` a mapping from
        attribute to the number of chosen values; returns whole numbers of the same shape. With
        edges, ``sizes`` has a row for each band, and one number is returned for each column.
    sensitivity : int
        The most the score changes when the population changes by one.
    monotone : bool
        Whether a larger population never lowers the score, or with edges, whether records of each
        band all raise it or all lower it; halves the price.
    limit : int
        The largest population, or number of records in a band, told apart.
    edges : sequence of float
        Public cuts of the metric, ascending.

    Examples
    --------
    >>> brief = CustomUtility(
    ...     "brief", lambda sizes, values: np.minimum(sizes, 500) - 10 * sum(values.values()),
    ...     sensitivity=1, monotone=True)
    >>> brief.check({"Employer": 8})
    >>> modest = CustomUtility(  # many earn below 120,000, and few more
    ...     "modest", lambda counts, values: counts[0] - counts[1], monotone=True, limit=500,
    ...     edges=(120_000,))
    >>> modest.check({"Employer": 8})
    """

    name: str
    score: Score
    sensitivity: int = 1
    monotone: bool = False
    limit: int = 100_000
    edges: tuple[float, ...] = ()
    kind: ClassVar[str] = "custom"

    def __post_init__(self) -> None:
        owner = "CustomUtility"
        if not isinstance(self.name, str) or not self.name.strip():
            raise invalid(owner, "name", "a non-empty text", self.name)
        if not callable(self.score):
            raise invalid(owner, "score", "a function of sizes and values", self.score)
        whole(self.sensitivity, owner, "sensitivity")
        whole(self.limit, owner, "limit")
        edges = tuple(self.edges)
        finite = all(isinstance(edge, int | float) and math.isfinite(edge) for edge in edges)
        if not finite or list(edges) != sorted(set(edges)):
            raise invalid(owner, "edges", "finite numbers in ascending order", self.edges)
        object.__setattr__(self, "edges", edges)

    @property
    def spread(self) -> int:
        return self.sensitivity if self.monotone else 2 * self.sensitivity

    @property
    def cells(self) -> int:
        return prod(self._shape)

    def table(self, values: Mapping[str, int]) -> NDArray[np.int64]:
        """Return the checked scores in a context of this shape.

        Of populations ``1 .. limit``; with edges, of all numbers of records in the bands, those of
        the last band running fastest.
        """
        sizes = np.indices(self._shape).reshape(len(self._shape), -1)
        table = np.asarray(self.score(sizes if self.edges else sizes[0] + 1, dict(values)))
        if table.shape != (self.cells,) or not np.issubdtype(table.dtype, np.integer):
            must = "a function that returns one whole number for each size"
            raise invalid("CustomUtility", "score", must, f"{table.dtype} of shape {table.shape}")
        if int(table.min()) < -_MOST_SCORE or int(table.max()) > _MOST_SCORE:
            must = "a function whose scores lie within 2^62 of 0"
            raise invalid("CustomUtility", "score", must, "a larger one")
        table = table.astype(np.int64)
        for band, steps in enumerate(self._steps(table)):
            one_way = self.monotone and not (self.edges and (steps <= 0).all())
            wrong = np.argwhere((steps < (0 if one_way else -self.sensitivity))
                                | (steps > self.sensitivity))  # fmt: skip
            if len(wrong):
                self._refuse(wrong[0], band, int(steps[tuple(wrong[0])]), values)
        return table

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.limit + 1,) * (len(self.edges) + 1) if self.edges else (self.limit,)

    def _steps(self, table: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """By how much one record more changes the score, for each band."""
        return [np.diff(table.reshape(self._shape), axis=at) for at in range(len(self._shape))]

    def ways(self, values: Mapping[str, int]) -> NDArray[np.int64]:
        """Return for each band whether its records raise (1) or lower (-1) the score, or neither.

        Of a table that is monotone in each band, in contexts of this shape.
        """
        return np.sign([steps.sum() for steps in self._steps(self.table(values))])

    def _refuse(
        self, at: NDArray[np.intp], band: int, step: int, values: Mapping[str, int]
    ) -> None:
        """Say where the declared sensitivity is not that of the score."""
        size = int(at[0]) + 1
        where = f"from a population of {size} to {size + 1}"
        if self.edges:
            where = f"when band {band + 1} of {at.tolist()} gets one record more"
        raise InvalidInput(
            f"The utility {self.name!r} declares sensitivity {self.sensitivity}"
            f"{' and monotone' if self.monotone else ''}, but changes by {step} {where} where the "
            f"context has {dict(values)} values."
        )

    def check(self, sizes: Mapping[str, int]) -> None:
        """Check the declared sensitivity for every shape of context and every population.

        ``sizes`` says how many values each attribute has on the card.
        """
        work = prod(sizes.values()) * self.cells
        if work > _MOST_WORK or (self.edges and self.cells > _MOST_CELLS):
            must = "small enough to check every shape of context"
            hint = "Lower it, or use fewer attributes or edges."
            raise invalid("CustomUtility", "limit", must, self.limit, hint)
        _check_everywhere(self, tuple(sorted(sizes.items())))

    def words(self) -> str:
        return f"contexts are preferred by the custodian's utility {self.name!r}"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "sensitivity": self.sensitivity,
            "monotone": self.monotone,
            "limit": self.limit,
            **({"edges": list(self.edges)} if self.edges else {}),
        }


@lru_cache(maxsize=64)
def _check_everywhere(utility: CustomUtility, sizes: tuple[tuple[str, int], ...]) -> None:
    names = [name for name, _ in sizes]
    before = np.zeros(len(utility.edges) + 1, dtype=np.int64)
    for shape in product(*(range(1, size + 1) for _, size in sizes)):
        values = dict(zip(names, shape, strict=True))
        if not (utility.edges and utility.monotone):
            utility.table(values)
            continue
        ways = utility.ways(values)
        if (ways * before < 0).any():  # one record would move two contexts apart by twice the step
            band = int(np.argmin(ways * before)) + 1
            raise InvalidInput(
                f"The utility {utility.name!r} declares monotone, but records of band {band} raise "
                f"the score in contexts of some shapes and lower it in others, as with {values}."
            )
        before = np.where(before == 0, ways, before)


_REGISTERED: dict[str, CustomUtility] = {}


def register_utility(utility: CustomUtility) -> CustomUtility:
    """Make a utility known by its name, so that questions written as JSON can refer to it."""
    _REGISTERED[utility.name] = utility
    return utility


def utility_from_json(data: str | Mapping[str, Any]) -> Utility:
    """Build a utility from its name or from the JSON object it wrote."""
    document: dict[str, Any] = {"kind": data} if isinstance(data, str) else dict(data)
    kind, name = document.get("kind"), document.get("name")
    for simple in (Population, Overlap):
        if kind == simple.kind:
            return simple()
    if kind == Isolation.kind:
        return Isolation(document.get("crowd"))
    if kind == CustomUtility.kind and isinstance(name, str):
        utility = _REGISTERED.get(name)
        if utility is not None and utility.to_json() == document:
            return utility
        raise InvalidInput(f"The utility {name!r} is not registered here in this form.")
    must = "one of population, overlap, isolation, or a CustomUtility"
    raise invalid("Explain", "utility", must, data)
