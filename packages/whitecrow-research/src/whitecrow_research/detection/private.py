"""whitecrow's learned detector, as a function of the training part, at a given price and card."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from whitecrow.detector import scoring
from whitecrow.detector.arithmetic import softlog
from whitecrow.detector.model import Grid, Model
from whitecrow.histogram.facts import Bought, CellFacts, counted_rows
from whitecrow.histogram.noise_budget import NoiseBudget
from whitecrow.learning.question import Family, families
from whitecrow.learning.training import train
from whitecrow_research.detection.sets import Split

Vector = npt.NDArray[np.float64]


def _as_learned(model: Model) -> Model:
    return model


def _without_peak(model: Model) -> Model:
    return replace(model, peak=0.0)


def _without_distance(model: Model) -> Model:
    return replace(model, far=0.0)


def _peak_in_noise(model: Model) -> Model:
    """Return the model with a peak that does not go down where noise rules."""
    return replace(model, peak=4.0 * min(1.0, (6 / len(model.grids)) ** 2))


def _usual_by_records(model: Model) -> Model:
    """Return the model whose cells say what is usual by their records, clear of noise or not."""
    return replace(model, clear=0.0)


def _apart(model: Model) -> Model:
    """Return the model whose cells count for what single columns say, too."""
    return replace(model, together=0.0)


class _NotStandardised(Model):
    """A model that adds up the logarithms of counts as they are."""

    @cached_property
    def surprises(self) -> Vector:
        return -softlog(self.counts, max(self.noise, 1.0))


def _not_standardised(model: Model) -> Model:
    held = {field.name: getattr(model, field.name) for field in fields(model)}
    return _NotStandardised(**{**held, "peak": 0.0, "together": 0.0})


def _families_but(wanted: Callable[[Family], bool]) -> AbstractContextManager[object]:
    """Learn with tables of some families alone, as many in all."""

    def some(law: str, records: float, total: Fraction) -> tuple[tuple[Family, int], ...]:
        every = families(law, records, total)
        chosen = [(family, count) for family, count in every if wanted(family)]
        more = sum(count for _, count in every) / sum(count for _, count in chosen)
        return tuple((family, round(count * more)) for family, count in chosen)

    return patch("whitecrow.learning.question.families", some)


def _without_ranks() -> AbstractContextManager[object]:
    return _families_but(lambda family: not family.ranks)


def _without_six() -> AbstractContextManager[object]:
    return _families_but(lambda family: family.columns < 6)


def _of_version_2(model: Model) -> Model:
    """Return the model with the weights of version 0.2."""
    columns = len(model.grids)
    few = min(1.0, (6 / columns) ** 2)
    doubt = max(model.marginal_noise, 1.0) / model.records
    clear = few / (1.0 + (10.0 * doubt) ** 2)
    tail = 0.3 * min(1.0, 12 / columns) * (1.0 - clear)
    return replace(
        _usual_by_records(_apart(model)),
        peak=4.0 * few,
        tail=tail,
        far=2.0 * clear,
        near=0.0,
        ranks=1.0 - 0.5 * clear,
    )


@dataclass(frozen=True)
class Setting:
    """A price and how much the card knows.

    Parameters
    ----------
    epsilon, delta : str
    width : float or None
        How many times too wide the card's bounds are; None if it has none.
    rules : callable
        Returns a context in which records are learned from by other rules; for ablations.
    head : callable
        Returns the model with another score; for ablations.
    """

    epsilon: str
    delta: str = "1/1000000"
    width: float | None = 1.0
    rules: Callable[[], AbstractContextManager[object]] = nullcontext
    head: Callable[[Model], Model] = _as_learned

    @property
    def release(self) -> tuple[object, ...]:
        """What the released counts depend on: settings that share it differ in the score alone."""
        return self.epsilon, self.delta, self.width, self.rules

    def grids(self, split: Split) -> tuple[Grid, ...]:
        middle = split.bounds.mean(axis=1)
        half = (split.bounds[:, 1] - split.bounds[:, 0]) / 2
        half = np.where(half > 0, half, 0.5) * (self.width or 1.0)
        return tuple(
            Grid(f"x{index}", True, False, float(centre - spread), float(centre + spread))
            if self.width
            else Grid(f"x{index}", True, False, None, None)
            for index, (centre, spread) in enumerate(zip(middle, half, strict=True))
        )


def learned(setting: Setting, split: Split, seed: int) -> Model:
    """Learn from the training part. The noise is the operating system's."""
    epsilon, delta = Fraction(setting.epsilon), Fraction(setting.delta)
    budget = NoiseBudget.of(epsilon, delta, "add_remove", 1)
    answers = Bought(CellFacts(partial(counted_rows, split.train)), budget)
    with setting.rules():
        return train(setting.grids(split), answers, Fraction(1), seed=seed)


def scores_of(setting: Setting, model: Model, rows: Vector) -> Vector:
    """Return the scores of records."""
    model = setting.head(model)
    return scoring.raw_scores(model, scoring.encoders(model), rows) / scoring.scale(model)


def scored(setting: Setting, split: Split, seed: int) -> Vector:
    """Learn from the training part, score the other."""
    return scores_of(setting, learned(setting, split, seed), split.test)


SETTINGS: dict[str, Setting] = {
    "(1, 1e-6)": Setting("1"),
    "(1, 1e-6) loose card": Setting("1", width=3.0),
    "(1, 1e-6) no bounds": Setting("1", width=None),
    "(1, 1e-6) bounds x 10,000": Setting("1", width=10_000.0),
    "(0.1, 1e-6)": Setting("1/10"),
    "(10, 1e-6)": Setting("10"),
    "pure 1": Setting("1", "0"),
    "pure 0.1": Setting("1/10", "0"),
}
"""By the name in the tables."""

_HEADS: dict[str, Callable[[Model], Model]] = {
    "weights of version 0.2": _of_version_2,
    "no peak": _without_peak,
    "no distances": _without_distance,
    "peak in noise, too": _peak_in_noise,
    "what is usual by records": _usual_by_records,
    "single columns in full": _apart,
    "no peak, tables not standardised": _not_standardised,
}
_RULES = {"no tables of ranks": _without_ranks, "no tables of six columns": _without_six}
_JUDGED = ("(1, 1e-6)", "pure 1", "(0.1, 1e-6)")

ABLATIONS: dict[str, tuple[str, Setting]] = {
    f"{price}: {name}": (price, setting)
    for price in _JUDGED
    for name, setting in (
        *((name, replace(SETTINGS[price], head=head)) for name, head in _HEADS.items()),
        *((name, replace(SETTINGS[price], rules=rules)) for name, rules in _RULES.items()),
    )
}
"""By the name in the tables: what one is compared with, and the setting with a rule changed."""
