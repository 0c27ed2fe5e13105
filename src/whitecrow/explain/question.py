"""The question ``explain``: in which context is this record an outlier?"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.detectors import (
    Detector,
    FewWithin,
    FittedDetector,
    detector_from_json,
)
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow.explain.contexts import Space
from whitecrow.explain.grid import Grid
from whitecrow.explain.search import SEARCHES, draws_of
from whitecrow.explain.utilities import (
    CustomUtility,
    Isolation,
    Overlap,
    Population,
    Utility,
    utility_from_json,
)
from whitecrow.privacy import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Guarantee,
    exact,
    text,
    unrounded,
)
from whitecrow.question import Description

__all__ = ["Explain"]

NOTIONS = ("differential", "conditional")
MOST_SAMPLES = 10_000
DIRECT_BITS, FITTED_BITS = 26, 12
_OWNER = "Explain"
_LINE_METRICS = ("euclidean", "manhattan", "chebyshev")


@dataclass(frozen=True, init=False)
class Explain:
    """Name a context (a set of values for each attribute) in which this record is an outlier.

    The record is part of the question: its values are public, it belongs to every context whether
    or not the data hold it, and nothing about it is protected. Everyone else is, in one of two
    ways:

    * ``notion="differential"`` (default): the promise covers everyone with no condition. The
      answer is always a context, and may be one in which the record is no outlier;
      :meth:`describe` says how probable that is. Needs the distance model.
    * ``notion="conditional"`` (the paper's output-constrained privacy): the answer is always a
      context in which the record *is* an outlier, or "none". The promise covers a pair of
      databases only if the record is an outlier in the same contexts of both.

    Parameters
    ----------
    record : mapping of column to value
        The record's value of every attribute and of the metric; further columns are dropped.
    metric : str
        The numeric column in which it may be an outlier.
    attributes : sequence of str, optional
        The columns that make contexts (default: every other column of the record).
    detector : Detector, DistanceAnomaly or str
        When a record is an outlier: ``"lof"``, ``"grubbs"``, ``"histogram"`` and the names that
        :class:`~whitecrow.anomaly.detectors.FittedDetector` takes have their defaults.
    utility : str, CustomUtility or Isolation, optional
        ``"isolation"`` under the differential notion, which takes no other; ``"population"``
        (default), ``"overlap"`` (with the start), ``"isolation"`` or one's own under the
        conditional one.
    search : {"auto", "direct", "uniform", "walk", "dfs", "bfs"}
        ``"auto"`` is direct up to 26 free values (12 for a fitted detector), then bfs. Direct is
        better than all the others wherever it is possible.
    samples : int
        How many contexts the sampling searches visit.
    start : mapping of attribute to values, optional
        A *public* context to begin at, and to measure overlap with; one found by looking at the
        data would disclose it. The record's own values are always part of it; attributes left
        out have all their values.
    epsilon : exact number
        The price.
    notion : {"differential", "conditional"}
        Whom the promise covers; the conditional one must be named.

    References
    ----------
    Shafieinejad, Kerschbaum, Ilyas, PCOR (SIGMOD 2021), corrected as in ``proof.md``.

    Examples
    --------
    >>> question = Explain(
    ...     {"Employer": "A", "Year": 2004, "Salary": 312_000.0},
    ...     metric="Salary", detector=DistanceAnomaly(beta=5, radius=20_000.0), epsilon="0.2")
    >>> question.attributes, question.notion
    (('Employer', 'Year'), 'differential')
    """

    record: Mapping[str, Any]
    metric: str
    attributes: tuple[str, ...]
    detector: Detector | DistanceAnomaly
    utility: Utility
    search: str
    samples: int
    start: Mapping[str, tuple[Any, ...]] | None
    epsilon: Fraction
    notion: str
    kind: ClassVar[str] = "explain"
    caveat: ClassVar[str] = (
        "All this is said of the other records: the record asked about is named in the question "
        "and is not protected."
    )

    def __init__(
        self,
        record: Mapping[str, Any],
        *,
        metric: str,
        detector: Detector | DistanceAnomaly | str,
        epsilon: object,
        attributes: Sequence[str] | None = None,
        utility: Utility | str | None = None,
        search: str = "auto",
        samples: int = 50,
        start: Mapping[str, Any] | None = None,
        notion: str = "differential",
    ) -> None:
        if not isinstance(record, Mapping) or not record:
            raise invalid(_OWNER, "record", "a mapping of columns to values", record)
        if not isinstance(metric, str):
            raise invalid(_OWNER, "metric", "the name of a column", metric)
        if isinstance(attributes, str):
            raise invalid(_OWNER, "attributes", "a list of column names", attributes)
        names = tuple(sorted({*(attributes if attributes is not None else record)} - {metric}))
        if not names:
            raise invalid(_OWNER, "attributes", "at least one column beside the metric", attributes)
        if search not in ("auto", *SEARCHES):
            raise invalid(_OWNER, "search", f"one of auto, {', '.join(SEARCHES)}", search)
        whole = isinstance(samples, int) and not isinstance(samples, bool)
        if not whole or not 1 <= samples <= MOST_SAMPLES:
            must = f"a whole number between 1 and {MOST_SAMPLES}"
            raise invalid(_OWNER, "samples", must, samples)
        if notion not in NOTIONS:
            raise invalid(_OWNER, "notion", f"one of {', '.join(NOTIONS)}", notion)
        rule = _detector(detector)
        fixed: dict[str, object] = {
            "record": {name: _plain(record, name) for name in (*names, metric)},
            "metric": metric,
            "attributes": names,
            "detector": rule,
            "utility": _utility(utility, rule, notion),
            "search": search,
            "samples": samples,
            "start": _start(start),
            "epsilon": exact(epsilon, owner=_OWNER),
            "notion": notion,
        }
        for name, value in fixed.items():
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        return hash((tuple(self.record.items()), self.detector, self.search, self.epsilon))

    # --- JSON -------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        detector = self.detector
        if isinstance(detector, DistanceAnomaly):
            written = {"kind": FewWithin.kind, **detector.to_json()}
        else:
            written = detector.to_json()
        start = self.start
        return {
            "record": dict(self.record),
            "metric": self.metric,
            "attributes": list(self.attributes),
            "detector": written,
            "utility": self.utility.to_json(),
            "search": self.search,
            "samples": self.samples,
            "start": None if start is None else {k: list(v) for k, v in start.items()},
            "epsilon": text(self.epsilon),
            "notion": self.notion,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the question that :meth:`to_json` wrote; the optional parts may be left out."""
        detector = data["detector"]
        if isinstance(detector, Mapping):
            far = detector.get("kind") == FewWithin.kind and "radius" in detector
            detector = DistanceAnomaly.from_json(detector) if far else detector_from_json(detector)
        utility = data.get("utility")
        return cls(
            data["record"],
            metric=data["metric"],
            attributes=data.get("attributes"),
            detector=detector,
            utility=None if utility is None else utility_from_json(utility),
            search=data.get("search", "auto"),
            samples=data.get("samples", 50),
            start=data.get("start"),
            epsilon=data["epsilon"],
            notion=data.get("notion", "differential"),
        )

    # --- what the card makes of it ----------------------------------------------------------------

    def space(self, card: Card) -> Space:
        """Return the contexts of this record."""
        return Space.of(self.attributes, self.record, card)

    def on_grid(self, card: Card) -> tuple[Grid, int, Detector]:
        """Return the metric's grid, the record's own step, and the detector on that grid."""
        grid = Grid.of(self.metric, card)
        value = self.record[self.metric]
        column = card.column(self.metric)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise invalid(_OWNER, self.metric, "a number", value)
        if not math.isfinite(value):
            raise invalid(_OWNER, self.metric, "a finite number", value)
        if column.lower is not None and column.upper is not None:
            if column.outside == "clip":
                value = min(max(value, column.lower), column.upper)
            elif not column.lower <= value <= column.upper:
                must = f"between the card's bounds {column.lower:g} and {column.upper:g}"
                raise invalid(_OWNER, self.metric, must, value)
        own = int(grid.cells(np.array([float(value)]))[0])
        detector = self.detector
        if isinstance(detector, DistanceAnomaly):
            return grid, own, FewWithin.of(detector, grid.step)
        return grid, own, detector

    def searching(self, space: Space) -> str:
        """Return the search that will be used; refuse direct where there are too many contexts."""
        most = FITTED_BITS if isinstance(self.detector, FittedDetector) else DIRECT_BITS
        if self.search == "auto":
            return "direct" if space.bits <= most else "bfs"
        if self.search == "direct" and space.bits > most:
            raise InvalidInput(
                f"The direct search takes at most {most} free values and this question has "
                f"{space.bits} (2^{space.bits} contexts). Use search='bfs', group values on the "
                "card, or leave an attribute out."
            )
        return self.search

    def begin(self, space: Space) -> int | None:
        """Return the public starting context, if one was given."""
        return None if self.start is None else space.context(self.start)

    def eta(self, card: Card, kind: str) -> Fraction:
        """Return the weight of one unit of utility in each private draw.

        Every draw costs ``eta`` times the utility's spread, for each record a person may have
        (``proof.md``, Theorem 3).
        """
        draws = draws_of(kind, self.samples)
        return self.epsilon / (draws * self.utility.spread * card.contribution)

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        space = self.space(card)
        self.on_grid(card)
        self.searching(space)
        self.begin(space)
        if isinstance(self.detector, FittedDetector):
            self.detector.ready()
        if isinstance(self.utility, CustomUtility):
            self.utility.check({a.name: a.size for a in space.attributes})

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise."""
        self.check(card)
        if self.notion == "differential":
            return DifferentialPrivacy(self.epsilon)
        return ConditionalPrivacy(self.epsilon, self.condition(card))

    def rule(self) -> str:
        """Say when a record is an outlier."""
        if isinstance(self.detector, DistanceAnomaly):
            beta, radius = self.detector.beta, self.detector.radius
            return f"at most {beta} records, itself included, lie within {unrounded(radius)} of it"
        return self.detector.words()

    def condition(self, card: Card) -> str:
        """Return the clause on which the conditional promise depends.

        Two releases under one clause count as one condition, so the clause must tell apart
        whatever decides the matching contexts (``proof.md``, "One condition or two"). The words
        may read alike for two questions; the digest at their end does not.
        """
        record = ", ".join(f"{name} {value}" for name, value in self.record.items())
        grid, reading = Grid.of(self.metric, card), card.fingerprint()
        decides = [
            self.to_json()["detector"],
            self.rule(),
            self.metric,
            [grid.origin, text(grid.step)],
            [[name, self.record[name]] for name in (*self.attributes, self.metric)],
            reading,
        ]
        return (
            f"the contexts over {', '.join(self.attributes)} in which the record ({record}) is an "
            f"outlier in {self.metric}, in steps of {text(grid.step)} ({self.rule()}), stay the "
            f"same under the card {reading} (condition {_digest(decides)})"
        )

    def describe(self, card: Card, **public: object) -> Description:
        """Say what will be released, at which price, and how good it will be.

        Parameters
        ----------
        card : Card
            The dataset's public facts.
        margin : int, optional
            Under the differential notion, a public guess: by how many records the record is
            within its beta in the best context that has a crowd.
        """
        from whitecrow.explain.words import describe_words

        price = self.price(card)
        words, figures = describe_words(self, card, public)
        return Description(f"{words} {price.statement()}", price, figures)


def _digest(decides: list[Any]) -> str:
    written = json.dumps(decides, sort_keys=True, allow_nan=False)
    return hashlib.sha256(written.encode()).hexdigest()[:32]


def _plain(record: Mapping[str, Any], name: str) -> Any:
    if name not in record:
        raise InvalidInput(f"The record has no value for {name!r}, which the question needs.")
    value = record[name]
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise invalid(_OWNER, name, "a text or a finite number in the record", value)
    return value


def _start(start: Mapping[str, Any] | None) -> dict[str, tuple[Any, ...]] | None:
    if start is None:
        return None
    if not isinstance(start, Mapping):
        raise invalid(_OWNER, "start", "a mapping of attributes to lists of values", start)
    listed = {
        name: tuple(values) if isinstance(values, list | tuple | set | frozenset) else (values,)
        for name, values in start.items()
    }
    return {name: tuple(sorted(set(listed[name]), key=str)) for name in sorted(listed)}


def _detector(given: Detector | DistanceAnomaly | str) -> Detector | DistanceAnomaly:
    if isinstance(given, str):
        if given in _DEFAULTS:
            return detector_from_json({"kind": given, **_DEFAULTS[given]})
        try:
            return FittedDetector(given)
        except InvalidInput:
            must = (
                f"one of {', '.join(_DEFAULTS)}, a registered detector's name, "
                "a DistanceAnomaly or a detector"
            )
            raise invalid(_OWNER, "detector", must, given) from None
    if isinstance(given, DistanceAnomaly):
        if given.metric not in _LINE_METRICS:
            must = f"measured by one of {', '.join(_LINE_METRICS)} (equal on one column)"
            raise invalid(_OWNER, "detector", must, given.metric)
        return given
    if not isinstance(given, Detector):
        raise invalid(_OWNER, "detector", "a detector, a DistanceAnomaly or a name", given)
    return given


_DEFAULTS: dict[str, dict[str, Any]] = {
    "lof": {"k": 20, "threshold": "3/2"},
    "grubbs": {"level": "1/20", "sides": "both"},
    "histogram": {"bins": "sqrt", "frequency": "1/400"},
}


def _utility(
    given: Utility | str | None, detector: Detector | DistanceAnomaly, notion: str
) -> Utility:
    distance = isinstance(detector, DistanceAnomaly | FewWithin)
    if notion == "differential" and not distance:
        raise invalid(
            _OWNER,
            "detector",
            "the distance model (a DistanceAnomaly) under the differential notion",
            getattr(detector, "kind", detector),
            "Other detectors have no margin that one record changes little; "
            "use notion='conditional' for them.",
        )
    if given is None:
        given = "isolation" if notion == "differential" else "population"
    found = utility_from_json(given) if isinstance(given, str) else given
    if not isinstance(found, Population | Overlap | Isolation | CustomUtility):
        must = "population, overlap, isolation or a CustomUtility"
        raise invalid(_OWNER, "utility", must, found)
    if notion == "differential" and not isinstance(found, Isolation):
        raise invalid(
            _OWNER,
            "utility",
            "isolation under the differential notion",
            found.kind,
            "Any other would find large contexts, outlier or not.",
        )
    if isinstance(found, Isolation):
        if not isinstance(detector, DistanceAnomaly | FewWithin):
            must = "another than isolation without the distance model"
            raise invalid(_OWNER, "utility", must, found.kind)
        return found.of(detector.beta)
    return found
