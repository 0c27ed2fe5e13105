"""Learn, audited: what the released tables of a detector reveal about one record.

The databases are people who differ in one column of two categories, so that every table tells them
apart and the exact law of the counts in a person's cells is known: which noise is added is learned
by running the shipped stages without noise. A detector is slow to draw, so each row looks at the
one number in which a person shows most, cut where few draws tell much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, Column
from whitecrow.detector import Detector, Model, scoring
from whitecrow.detector.model import Grid
from whitecrow.histogram.facts import Bought, CellFacts, counted_rows
from whitecrow.histogram.noise_budget import Noise, NoiseBudget
from whitecrow.learning import Learn, LearnFacts, threshold
from whitecrow.learning.facts import ByColumn
from whitecrow.learning.mechanism import learn
from whitecrow.learning.training import train
from whitecrow.noise.laws import exponential_mechanism_pmf
from whitecrow.privacy import Unit
from whitecrow_audit.audit import sites
from whitecrow_audit.audit.bounds import Loss
from whitecrow_audit.audit.case import Case, Draw, Laws, Sampler, both, clipped, viewed, worst_case
from whitecrow_audit.audit.shipped import Asked
from whitecrow_audit.audit.tester import Law
from whitecrow_audit.verify.tape import Silent

CARD = Card("people", (Column("c", "category", categories=("a", "b")),))
Database = tuple[str, ...]
Pair = tuple[Database, Database]
View = Callable[[Any], Hashable]
Scores = tuple[int, ...]
"""How many records have a score in each interval."""

_MOST = 250
_FULL = 12_000
_FULL_GAUSSIAN = 40_000
"""A sum over many tables tells less a draw."""


def _model(answer: Any) -> Model:
    detector = answer if isinstance(answer, Detector) else Detector.from_json(answer)
    return detector.model


def counts_of(model: Model, person: float) -> npt.NDArray[np.int64]:
    """Return the noisy count of a person's cell in every table."""
    pairs = zip(model.grids, model.looks, strict=True)
    columns = tuple(scoring.Encoder(grid, look) for grid, look in pairs)
    coordinates = scoring.coordinates_of(columns, np.array([[person]]))
    tables = model.tables
    cells = [int(tables.cells(table, coordinates)[0]) for table in range(len(tables))]
    return model.counts[cells].astype(np.int64)


# --- the laws -------------------------------------------------------------------------------------


@dataclass
class _Quiet:
    """A noise budget without noise: shows how much the stages ask for, and for which counts."""

    budget: NoiseBudget
    asked: list[Noise]

    def histograms(self, share: Fraction, tables: int) -> Any:
        noise = self.budget.histograms(share, tables)

        def added(counts: npt.NDArray[np.int64], source: object) -> npt.NDArray[np.int64]:
            self.asked.append(noise)
            return counts

        return SimpleNamespace(deviation=noise.deviation, added=added)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.budget, name)


@lru_cache(maxsize=64)
def _noise(question: Learn, factor: Fraction) -> tuple[Noise, Noise, int]:
    """Return the noise of the first histograms and of the tables, and how many tables there are."""
    asked = question.noise_budget(CARD)
    budget: Any = _Quiet(replace(asked, total=asked.total * factor), [])
    model = train(
        question.grids(CARD),
        Bought(CellFacts(partial(counted_rows, np.zeros((1, 1)))), budget),
        question.shares[0],
        seed=question.seed,
    )
    return budget.asked[0], budget.asked[-1], len(model.tables)


def _mass(noise: Noise, span: int) -> npt.NDArray[np.float64]:
    away = np.abs(np.arange(-span, span + 1.0))
    size = float(noise.size)
    weights = np.exp(-away / size if noise.law == "laplace" else -away * away / (2 * size))
    return np.asarray(weights / weights.sum())


def _sum_law(noise: Noise, draws: int, start: int) -> Law:
    """Return the law of a number with the sum of several draws."""
    span = math.ceil(12 * noise.deviation * math.sqrt(draws)) + 12
    size = 1 << (2 * span + 1).bit_length()
    padded = np.roll(np.pad(_mass(noise, span), (0, size - 2 * span - 1)), -span)
    summed = np.fft.irfft(np.fft.rfft(padded) ** draws, size)
    offsets = range(-size // 2, size // 2)
    return {start + offset: max(0.0, float(summed[offset])) for offset in offsets}


def high_law(noise: Noise, tables: int, start: int) -> Law:
    """Return the law of how many of several counts are above 0."""
    span = math.ceil(40 * noise.deviation) + 2
    high = float(_mass(noise, span)[span + 1 - start :].sum())
    return {
        k: math.comb(tables, k) * high**k * (1 - high) ** (tables - k) for k in range(tables + 1)
    }


# --- tables ---------------------------------------------------------------------------------------


def _in_tables(answer: Any) -> Hashable:
    """Say in how many tables the cell of ``b`` is not empty; with Gaussian noise, add them up.

    For a record more or less these are all that the tables tell.
    """
    model = _model(answer)
    counts = counts_of(model, 1.0)
    if len(counts) < 100:
        return int((counts > 0).sum())
    return int(counts.sum())


def _tables_law(question: Learn, factor: Fraction, x: Database) -> Law:
    _, noise, tables = _noise(question, factor)
    held = x.count("b")
    if noise.law == "laplace":
        return high_law(noise, tables, held)
    return _sum_law(noise, tables, tables * held)


def _moved_law(question: Learn, factor: Fraction, x: Database) -> Law:
    """Of the tables in which ``b`` is not empty, less those in which ``a`` is not."""
    _, noise, tables = _noise(question, factor)
    first, second = (high_law(noise, tables, x.count(kind)) for kind in ("b", "a"))
    law: dict[Hashable, float] = {}
    for high, p in first.items():
        for low, q in second.items():
            law[high - low] = law.get(high - low, 0.0) + p * q
    return law


def _moved(answer: Any) -> Hashable:
    model = _model(answer)
    return int((counts_of(model, 1.0) > 0).sum() - (counts_of(model, 0.0) > 0).sum())


# --- the number of records ------------------------------------------------------------------------


def _size(answer: Any) -> Hashable:
    return round(_model(answer).records)


def _size_law(question: Learn, factor: Fraction, x: Database) -> Law:
    noise, _, _ = _noise(question, factor)
    return viewed(_sum_law(noise, 2, len(x)), lambda number: max(1, number))


# --- mutants ---------------------------------------------------------------------------------


@dataclass
class _Broken:
    """The question with a noise budget, or grids, of a mutant's own."""

    question: Learn
    budget_of: Callable[[NoiseBudget], Any] | None = None
    grids_of: Callable[[], tuple[Grid, ...]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.question, name)

    def noise_budget(self, card: Card) -> Any:
        budget = self.question.noise_budget(card)
        return budget if self.budget_of is None else self.budget_of(budget)

    def grids(self, card: Card) -> tuple[Grid, ...]:
        return self.question.grids(card) if self.grids_of is None else self.grids_of()


@dataclass
class _Spoiled:
    """A noise budget that has the noise of one table for all, or leaves empty cells out."""

    budget: NoiseBudget
    one_for_all: bool = False
    left_out: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.budget, name)

    def histograms(self, share: Fraction, tables: int) -> Any:
        noise = self.budget.histograms(share, 1 if self.one_for_all else tables)
        if not self.left_out:
            return noise

        def added(counts: npt.NDArray[np.int64], source: Any) -> npt.NDArray[np.int64]:
            return np.where(counts > 0, noise.added(counts, source), 0)

        return SimpleNamespace(deviation=noise.deviation, added=added)


def _one_for_all(question: Any, facts: LearnFacts, source: Any) -> Detector:
    return learn(_Broken(question, partial(_Spoiled, one_for_all=True)), facts, source)  # type: ignore[arg-type]


def _one_for_all_law(question: Learn, factor: Fraction, x: Database) -> Law:
    _, noise, tables = _noise(question, factor)
    return high_law(Noise("laplace", noise.size / tables), tables, x.count("b"))


def _left_out(question: Any, facts: LearnFacts, source: Any) -> Detector:
    return learn(_Broken(question, partial(_Spoiled, left_out=True)), facts, source)  # type: ignore[arg-type]


def _nothing(answer: Any) -> Hashable:
    """Say whether every table has nothing in the cell of ``b``."""
    return not counts_of(_model(answer), 1.0).any()


def _left_out_law(question: Learn, factor: Fraction, x: Database) -> Law:
    _, noise, tables = _noise(question, factor)
    zero = _mass(noise, 8)[8 - x.count("b")] ** tables if "b" in x else 1.0
    return {True: zero, False: 1 - zero}


def _exact_size(question: Learn, facts: LearnFacts, source: Any) -> Any:
    detector = learn(question, facts, source)
    true = int(facts.noisy_counts(ByColumn(detector.model.grids), Silent()).sum())
    return replace(detector, models=(replace(detector.model, records=float(max(1, true))),))


def _exact_size_law(question: Learn, factor: Fraction, x: Database) -> Law:
    return {max(1, len(x)): 1.0}


def _fitted_grids(question: Any, facts: LearnFacts, source: Any) -> Detector:
    """Take the last category from the data instead of from the card."""

    def grids() -> tuple[Grid, ...]:
        (whole,) = question.grids(CARD)
        counts = facts.noisy_counts(ByColumn((whole,)), Silent())
        last = float(np.flatnonzero(counts).max(initial=0))
        return (replace(whole, upper=last),)

    return learn(_Broken(question, grids_of=grids), facts, source)  # type: ignore[arg-type]


def _last_category(answer: Any) -> Hashable:
    return _model(answer).grids[0].upper


def _fitted_law(question: Learn, factor: Fraction, x: Database) -> Law:
    return {float("b" in x): 1.0}


# --- thresholds -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Choosing:
    """The shipped choice of a threshold among two, by how many records lie between them."""

    relation: Unit
    epsilon: int
    times: int = 1
    rate: Fraction = Fraction(1, 3)

    def laws(self, pair: tuple[Scores, Scores], factor: Fraction) -> Laws:
        steps = 2 * threshold.sensitivity(self.rate, self.relation, 1)
        eta = self.times * self.epsilon * factor / steps

        def law(x: Scores) -> Law:
            utilities = threshold.utilities(np.array(x), self.rate)
            return dict(enumerate(exponential_mechanism_pmf(utilities, eta)))

        return both(law, pair)

    def sampler(self, pair: tuple[Scores, Scores]) -> Sampler:
        def draw(x: Scores) -> Draw:
            spent = Fraction(self.times * self.epsilon)
            return partial(threshold.choose, np.array(x), self.rate, spent, self.relation, 1, None)

        return Sampler("learn", Loss(float(self.epsilon)), lambda: both(draw, pair))

    def pairs(self) -> Iterator[tuple[Scores, Scores]]:
        for x in np.ndindex(4, 4, 4):
            for cell in range(3):
                if self.relation == "add_remove":
                    y = list(x)
                    y[cell] += 1
                    yield x, tuple(y)
                    continue
                for other in range(3):
                    if other != cell and x[cell]:
                        y = list(x)
                        y[cell] -= 1
                        y[other] += 1
                        yield x, tuple(y)

    def case(self) -> Case:
        def where(pair: tuple[Scores, Scores]) -> str:
            return f"scores in three intervals {pair[0]} ~ {pair[1]}"

        name = f"a threshold, {self.relation}"
        if self.times > 1:
            name = f"mutant: {name}, {self.times} times its price"
        return worst_case(name, self.pairs(), self.laws, self.sampler, where=where, near=0.6)


# --- rows -----------------------------------------------------------------------------------------


def _case(
    name: str,
    question: Learn,
    pair: Pair,
    law: Callable[[Learn, Fraction, Database], Law],
    view: View,
    cut: View = lambda number: number,
    **broken: Any,
) -> Case:
    def laws(factor: Fraction) -> Laws:
        return both(lambda x: viewed(law(question, factor, x), cut), pair)

    def seen(answer: Any) -> Hashable:
        return cut(view(answer))

    records = {"c": list(pair[0])}, {"c": list(pair[1])}
    asked = Asked(question, CARD, records, seen, **broken)
    where = f"people {', '.join(pair[0])} ~ {', '.join(pair[1])}"
    full = _FULL_GAUSSIAN if question.delta else _FULL
    return asked.case(name, where, laws, most=_MOST, full=full)


def cases() -> Iterator[Case]:
    yield from sites.cases()
    more, moved = (("a",), ("a", "b")), (("a",), ("b",))
    pure, cut = Learn(epsilon=12), clipped(5, 6)
    yield _case("tables, Laplace", pure, more, _tables_law, _in_tables, cut)
    name = "mutant: the noise of one table for all"
    cheap = Learn(epsilon=2)
    law, release = _one_for_all_law, _one_for_all
    yield _case(name, cheap, more, law, _in_tables, cut, release=release)
    name = "mutant: empty cells left out"
    yield _case(name, cheap, more, _left_out_law, _nothing, release=_left_out)
    name = "mutant: categories from the data"
    yield _case(name, cheap, more, _fitted_law, _last_category, release=_fitted_grids)
    swap = Learn(epsilon=16, relation="replace_one")
    yield _case(
        "tables, Laplace, a record replaced", swap, moved, _moved_law, _moved, clipped(0, 1)
    )
    loose = Learn(epsilon=24, delta="1/100")
    yield _case("tables, Gaussian", loose, more, _tables_law, _in_tables, clipped(70, 71))
    dear = Learn(epsilon=20)
    yield _case("the number of records", dear, more, _size_law, _size, clipped(1, 2))
    name = "mutant: the exact number of records"
    yield _case(name, cheap, more, _exact_size_law, _size, release=_exact_size)
    for relation in ("add_remove", "replace_one"):
        yield _Choosing(relation, 3).case()
        yield _Choosing(relation, 2, times=4).case()
