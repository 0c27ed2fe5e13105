"""Is the λ of a model what it says? Computed on every pair of databases of a small universe."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.graph import (
    Counts,
    Database,
    DatabaseGraph,
    Edges,
    Flags,
    Universe,
    records_of,
    size_for,
)
from whitecrow.declaration import whole
from whitecrow.errors import invalid
from whitecrow.privacy import Exactly, exact
from whitecrow.rendering import new_figure

Floats = NDArray[np.float64]

_SLACK = 1e-9
_SHOWN = 36
_DATABASES = 20_000
_NONE = math.inf  # λ where there is none


class Distances(Mapping[tuple[Database, Hashable], "int | None"]):
    """The minimum discrepant distance of each database and record; None where there is none."""

    def __init__(self, graph: DatabaseGraph, distances: Counts, inner: Counts) -> None:
        self._graph, self._distances, self._inner = graph, distances, inner

    def __getitem__(self, key: tuple[Database, Hashable]) -> int | None:
        """Return it for a database, as its records in any order, and a record."""
        database, record = key
        value = int(self._distances[self._graph.number(database), self._graph.index(record)])
        return None if value < 0 else value

    def __iter__(self) -> Iterator[tuple[Database, Hashable]]:
        """List the databases with each record."""
        for number in self._inner:
            database = self._graph.records(number)
            yield from ((database, record) for record in self._graph.universe)

    def __len__(self) -> int:
        return len(self._inner) * len(self._graph.universe)


@dataclass(frozen=True, repr=False)
class ModelReport:
    """What :func:`check_model` found.

    Parameters
    ----------
    passed : bool
        Whether λ is an α-acceptable lower bound and no pair loses more than ε.
    discrepancy : mapping
        The minimum discrepant distance (Definition 10) by (database, record), a database being its
        records in any order: the largest λ there is. None where no database of the universe with
        the other answer can be reached.
    counterexample : pair of databases or None
        Where it fails.
    reason : str
        Why, in words.
    record : object
        The record asked about there.
    databases, edges : int
        How many databases there are, and how many pairs are sensitive neighbours.
    worst_loss : float
        The largest loss of Construction 1 with this λ on any pair.
    below : int
        For how many databases and records λ is below the distance: more accuracy is possible.
    """

    passed: bool
    discrepancy: Mapping[tuple[Database, Hashable], int | None]
    counterexample: tuple[Database, Database] | None
    reason: str
    record: Any
    databases: int
    edges: int
    worst_loss: float
    below: int
    _graph: DatabaseGraph = field(repr=False)
    _pairs: Edges = field(repr=False)
    _labels: Flags = field(repr=False)

    def __repr__(self) -> str:
        """Say what was found, and where it fails."""
        if not self.passed:
            return f"<check_model: failed. {self.reason}>"
        return (
            f"<check_model: passed on {self.databases:,} databases and {self.edges:,} pairs; "
            f"loss at most {self.worst_loss:.4g}; λ below the distance in {self.below:,} cases>"
        )

    def plot(self, record: Hashable | None = None, *, axes: Any = None) -> Any:
        """Draw the graph of sensitive neighbours, as Figure 4 of the paper's first version does.

        Databases stand by their number of records, with the distance to the other answer about one
        record; filled where it is an anomaly. The smallest are shown, and a counterexample.

        Parameters
        ----------
        record : object, optional
            Which record is asked about: that of the counterexample, or the first.
        axes : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib Axes
        """
        graph = self._graph
        asked = self.record if record is None else record
        column = graph.index(graph.universe[0] if asked is None else asked)
        sizes = graph.counts.sum(axis=1)
        bad = [graph.number(database) for database in self.counterexample or ()]
        shown = dict.fromkeys([*bad, *np.argsort(sizes, kind="stable")[:_SHOWN].tolist()])
        spots: dict[int, tuple[float, int]] = {}
        for size in sorted({int(sizes[number]) for number in shown}):
            row = [number for number in shown if sizes[number] == size]
            spots |= {n: (at - (len(row) - 1) / 2, size) for at, n in enumerate(row)}
        if axes is None:
            axes = new_figure(9, 5).add_subplot()
        for smaller, larger in self._pairs:
            for a, b in zip(smaller.tolist(), larger.tolist(), strict=True):
                if a in spots and b in spots:
                    ends = zip(spots[a], spots[b], strict=True)
                    wrong = set(bad) == {a, b}
                    axes.plot(*ends, color="C3" if wrong else "0.7", lw=3 if wrong else 1, zorder=1)
        for number, (x, y) in spots.items():
            distance = self.discrepancy[graph.records(number), graph.universe[column]]
            colour = "skyblue" if self._labels[number, column] else "white"
            axes.scatter(x, y, s=420, zorder=2, edgecolors="C0", color=colour)
            counts = "".join(map(str, graph.counts[number].tolist()))
            text = f"{counts}\n{'⊥' if distance is None else distance}"
            axes.text(x, y, text, ha="center", va="center", fontsize=6, zorder=3)
        axes.set_title(f"distance to the other answer about {graph.universe[column]!r}", fontsize=9)
        axes.set(ylabel="records", xticks=[], yticks=sorted({y for _, y in spots.values()}))
        return axes


def check_model(
    model: Any, *, universe: Universe, k: int | None, epsilon: Exactly, size: int | None = None
) -> ModelReport:
    """Compute whether Construction 1 keeps its promise with a model, on a whole small universe.

    The graph of k-sensitive neighbours is built from the label (Definitions 5 to 7), the minimum
    discrepant distance is computed on it (Definition 10), and λ is held against both: at least 1,
    at most α apart on every pair, 1 on both sides of a pair that changes the answer, and never
    above the distance. A wrong λ at a single place is found, and the pair is shown.

    Parameters
    ----------
    model : AnomalyModel or callable
        The model; or only its label, a function of the records and of the record asked about,
        which is one of them. Then λ is the distance itself, the best there is.
    universe : iterable, or mapping of column to values
        The records there could be; from columns all combinations are made, as named tuples.
    k : int or None
        The level of sensitivity; None covers everyone, as differential privacy does.
    epsilon : exact number
        The promise.
    size : int, optional
        The most records of a database that λ is checked on; as many as can be computed in seconds,
        if not given. Distances are computed on larger ones too, so that ways through them count;
        whether a still larger one has a shorter way is known where few records are left to add.

    Examples
    --------
    >>> def rare(records, i):
    ...     return sum(abs(one - i) <= 1 for one in records) <= 3
    >>> report = check_model(rare, universe=range(1, 6), k=1, epsilon=1, size=7)
    >>> report.passed, report.discrepancy[(1, 1, 1, 5), 5], report.discrepancy[(1, 1, 1, 3, 5), 5]
    (True, 6, 3)
    """
    if not callable(getattr(model, "label", model)):
        must = "an AnomalyModel, or a function label(records, i)"
        raise invalid("check_model", "model", must, model)
    step = exact(epsilon, owner="check_model")
    level = 0 if k is None else whole(k, "check_model", "k")
    records = records_of(universe)
    room = size_for(len(records), _DATABASES)
    size = max(1, 2 * (room - level) // 3) if size is None else whole(size, "check_model", "size")
    graph = DatabaseGraph(records, max(size + level, min(room, 2 * size + level)))
    return _Check(model, graph, None if k is None else level, step, size).report()


class _Check:
    """One run of :func:`check_model`."""

    def __init__(
        self, model: Any, graph: DatabaseGraph, k: int | None, epsilon: Fraction, size: int
    ) -> None:
        self.model, self.graph, self.k, self.epsilon = model, graph, k, epsilon
        self.label: Callable[..., bool] = getattr(model, "label", model)
        self.alpha = int(getattr(model, "alpha", 1))
        self.is_inner = graph.counts.sum(axis=1) <= size
        self.inner = np.flatnonzero(self.is_inner)
        self.labels = graph.labels(self.label)
        self.sensitive = np.ones_like(self.labels)
        if k is not None:  # present and no anomaly, within k insertions and removals
            self.sensitive = graph.within((graph.counts > 0) & ~self.labels, k)
        self.failure: tuple[str, int, int, int] | None = None

    def report(self) -> ModelReport:
        """Compute everything; the first failure is kept."""
        graph = self.graph
        self._check_order()
        if self.k is not None and hasattr(self.model, "sensitive"):
            self._check_sensitive()
        every = graph.sensitive_pairs(self.sensitive)
        distance = graph.discrepancy(self.labels, every)
        exact_distance = np.where(distance < 0, _NONE, distance)
        pairs = []
        for smaller, larger in every:
            inside = self.is_inner[larger]
            pairs.append((smaller[inside], larger[inside]))
        bound = self._bounds() if hasattr(self.model, "bound") else exact_distance
        for number, column in np.argwhere(~(bound >= 1) & self.is_inner[:, None])[:1]:
            self._fail(f"λ is {bound[number, column]:g}, below 1", number, number, column)
        for smaller, larger in pairs:
            self._check_pairs(bound, smaller, larger)
        self._check_distance(bound, exact_distance, every)
        worst = self._worst_loss(bound, pairs)
        if self.failure is None and worst > float(self.epsilon) * (1 + _SLACK):
            raise AssertionError("an acceptable λ lost more than ε")  # Theorem 2 says it does not
        reason, counterexample, record = "", None, None
        if self.failure is not None:
            reason, one, other, column = self.failure
            counterexample = graph.records(one), graph.records(other)
            record = graph.universe[column]
        return ModelReport(
            passed=self.failure is None,
            discrepancy=Distances(graph, distance, self.inner),
            counterexample=counterexample,
            reason=reason,
            record=record,
            databases=len(self.inner),
            edges=sum(len(smaller) for smaller, _ in pairs),
            worst_loss=worst,
            below=int((bound < exact_distance)[self.inner].sum()),
            _graph=graph,
            _pairs=pairs,
            _labels=self.labels,
        )

    def _fail(self, why: str, one: int, other: int, column: int) -> None:
        if self.failure is None:
            record = self.graph.universe[column]
            shown = f"{self.graph.records(one)} and {self.graph.records(other)}"
            self.failure = f"About {record!r}, {why}: between {shown}.", one, other, column

    def _check_order(self) -> None:
        backwards = self.graph.labels(lambda records, i: self.label(records[::-1], i), self.inner)
        for number, column in np.argwhere((backwards != self.labels) & self.is_inner[:, None])[:1]:
            self._fail("the label depends on the order of the records", number, number, column)

    def _check_sensitive(self) -> None:
        """The promise must cover whom Definition 5 covers; then its own graph is taken."""
        declared = self.graph.computed(
            lambda records, i: bool(self.model.sensitive(records, i, self.k)), np.bool_
        )
        for column, (smaller, larger) in enumerate(self.graph.all_pairs):
            covered = declared[smaller, column] | declared[larger, column]
            missing = (self.sensitive[smaller, column] | self.sensitive[larger, column]) & ~covered
            for at in np.flatnonzero(missing)[:1]:
                why = f"it is {self.k}-sensitive and the model does not say so"
                self._fail(why, smaller[at], larger[at], column)
        self.sensitive = self.sensitive | declared

    def _bounds(self) -> Floats:
        def value(records: Database, i: Hashable) -> float:
            bound = self.model.bound(list(records), i, self.k)
            return _NONE if bound is None else float(bound)

        return self.graph.computed(value, np.float64, self.inner)

    def _check_pairs(self, bound: Floats, smaller: Counts, larger: Counts) -> None:
        one, other = bound[smaller], bound[larger]
        gap = _gap(one, other)
        changes = self.labels[smaller] != self.labels[larger]
        ones = (one == 1) & (other == 1)
        for wrong, why in (
            (gap > self.alpha, f"λ changes by more than {self.alpha} at one record"),
            (changes & ~ones, "the answer changes at one record and λ is not 1 on both sides"),
        ):
            for at, column in np.argwhere(wrong)[:1]:
                values = f" ({one[at, column]:g} and {other[at, column]:g})"
                self._fail(why + values.replace("inf", "none"), smaller[at], larger[at], column)

    def _check_distance(self, bound: Floats, distance: Floats, pairs: Edges) -> None:
        for number, column in np.argwhere((bound > distance) & self.is_inner[:, None])[:1]:
            to = np.zeros_like(self.labels)
            to[number] = True
            away = self.graph.distances(to, pairs)[:, column]
            other = self.labels[:, column] != self.labels[number, column]
            nearest = np.flatnonzero(other & (away == distance[number, column]))[0]
            least, most = bound[number, column], distance[number, column]
            why = f"λ is {least:g} and {most:g} steps are enough"
            self._fail(why.replace("inf", "none"), number, int(nearest), column)

    def _worst_loss(self, bound: Floats, pairs: Edges) -> float:
        """Return the loss of Construction 1, run at ε / α."""
        rate = float(self.epsilon) / self.alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            wrong = -rate * bound - math.log1p(math.exp(-rate))
            right = np.log1p(-np.exp(wrong))
        yes = np.where(self.labels, right, wrong)
        no = np.where(self.labels, wrong, right)
        worst = 0.0
        for smaller, larger in pairs:
            for answer in (yes, no):
                losses = _gap(answer[smaller], answer[larger])
                worst = max(worst, float(losses.max(initial=0.0)))
        return worst


def _gap(one: Floats, other: Floats) -> Floats:
    """How far apart two are; what is infinite on both sides is not."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 0.0, np.abs(one - other))
