"""A tape instead of noise: two neighbouring databases go the same public way.

Whatever a mechanism counts, it is handed the same released numbers, and what it counted is written
down. What is added up is the loss of every histogram on that way. A mechanism whose way depends on
records shows as an infinite loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.exhaustive import Report
from whitecrow.histogram.noise_budget import Noise, NoiseBudget
from whitecrow.privacy import Unit
from whitecrow_audit.verify.universes import Checks, Histogram, databases, edges


@dataclass
class Tape:
    """A noise budget that hands out fixed numbers and writes down what was counted."""

    budget: NoiseBudget
    seed: int
    tables: int | None = None
    left_out: bool = False
    highest: int = 60
    asked: list[tuple[Noise, npt.NDArray[np.int64]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.budget, name)

    def histograms(self, share: Fraction, tables: int) -> Taped:
        """Return noise that is none."""
        return Taped(self, self.budget.histograms(share, self.tables or tables))


@dataclass(frozen=True, eq=False)
class Taped:
    """Stands for noise of some size."""

    tape: Tape
    noise: Noise

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taped) and self.noise == other.noise

    def __hash__(self) -> int:
        return hash(self.noise)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.noise, name)

    def added(self, counts: npt.NDArray[np.int64], source: object) -> npt.NDArray[np.int64]:
        """Write the counts down, and return what is on the tape."""
        tape = self.tape
        tape.asked.append((self.noise, counts))
        lots = np.random.default_rng(1000 * tape.seed + len(tape.asked))
        released = lots.integers(-20, tape.highest, len(counts))
        return np.where(counts > 0, released, 0) if tape.left_out else released


@dataclass(frozen=True)
class Silent(Noise):
    """Noise that adds nothing: what leaks from broken mechanisms."""

    law: str = "laplace"
    size: Fraction = Fraction(1)

    def added(self, counts: npt.NDArray[np.int64], source: object = None) -> npt.NDArray[np.int64]:
        """Return the counts as they are."""
        return counts


def _difference(one: Tape, other: Tape) -> float:
    """Add up the loss of all histograms, in the currency of the law."""
    total = Fraction(0)
    for (noise, first), (_, second) in zip(one.asked, other.asked, strict=True):
        away = [abs(int(value)) for value in (first - second)]
        if noise.law == "laplace":
            total += sum(away) / noise.size
        else:
            total += sum(value * value for value in away) / (2 * noise.size)
    return float(total)


def neighbours(relation: Unit, values: int, most: int) -> Iterator[tuple[Histogram, Histogram]]:
    """Yield all pairs of neighbouring databases of a small universe."""
    if relation == "add_remove":
        for x, y, _ in edges(values, most):
            yield x, y
        return
    for x in databases(values, most):
        for gone in range(values):
            for come in range(values):
                if gone != come and x[gone] > 0 and x[come] < most:
                    moved = list(x)
                    moved[gone] -= 1
                    moved[come] += 1
                    yield x, tuple(moved)


def worst_of(
    release: Callable[[Histogram, Tape], Hashable],
    budget: NoiseBudget,
    values: int,
    most: int,
    seeds: int,
    **tape: Any,
) -> Report:
    """Return the worst loss of a mechanism on every edge, over some public seeds.

    ``release`` runs it on a database with a tape, and returns what is public of that.
    """
    worst, where, count, seen = 0.0, "", 0, 0
    for seed in range(seeds):
        cache = {}
        for x in databases(values, most):
            used = Tape(budget, seed, **tape)
            cache[x] = release(x, used), used
        seen += len(cache)
        for x, y in neighbours(budget.relation, values, most):
            count += 1
            (public, mine), (other, theirs) = cache[x], cache[y]
            largest = _difference(mine, theirs) if public == other else math.inf
            if largest > worst:
                worst, where = largest, f"{x} ~ {y}"
    return Report(seen, count, worst, float(budget.total), where)


def histogram_checks(run: Callable[..., Report], **mutants: dict[str, Any]) -> Checks:
    """Return the checks of ``run(law, relation, seeds, **broken)``: four claims, and mutants.

    A mutant is named by its words, with underscores for blanks.
    """
    return {
        **{
            f"loss of all histograms, {law}, {relation}": partial(run, law, relation)
            for law in ("laplace", "gaussian")
            for relation in ("add_remove", "replace_one")
        },
        **{
            f"mutant: {words.replace('_', ' ')}": partial(run, "laplace", "add_remove", 1, **how)
            for words, how in mutants.items()
        },
    }
