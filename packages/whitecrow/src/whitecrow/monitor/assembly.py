"""From released blocks to a model: the stages of ``learn``, laid out once, at the first step."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card
from whitecrow.detector import Model
from whitecrow.detector.grid import Grid
from whitecrow.detector.scoring import Encoder
from whitecrow.detector.tables import Tables
from whitecrow.learn.marginals import learn_marginals, look_of
from whitecrow.learn.recipe import Family, draw_tables, families, marginal_share, weights_of
from whitecrow.monitor.drift import groups
from whitecrow.monitor.streams import Reader
from whitecrow.noise import Source

if TYPE_CHECKING:
    from whitecrow.monitor.question import Monitor

Ints = npt.NDArray[np.int64]
CountColumns = Callable[[tuple[Grid, ...]], list[Ints]]
CountTables = Callable[[tuple[Encoder, ...], Tables], Ints]


def assemble(
    question: Monitor,
    card: Card,
    reader: Reader,
    by_column: CountColumns,
    by_table: CountTables,
    layout: Model | None,
    source: Source | None = None,
) -> tuple[Model, npt.NDArray[np.float64]]:
    """Read all blocks of a step in their order; return the model and the alarm's counts.

    Parameters
    ----------
    question : Monitor
    card : Card
    reader : Reader
        Draws the newest step, or reads it again.
    by_column, by_table : callables
        The private side, asked only when a step is drawn: weighted counts.
    layout : Model or None
        The model of the first step; None at that step itself.
    source : Source, optional
    """
    share, part = 1 - question.drift_share, marginal_share(reader.law, reader.total)
    fixed = None if layout is None else layout.grids
    money: Any = reader
    marginals = learn_marginals(
        question.grids(card), by_column, money, share * part, source, fixed=fixed
    )
    if layout is None:
        looks = tuple(
            look_of(grid, one, marginals.records, marginals.noise)
            for grid, one in zip(marginals.grids, marginals.shares, strict=True)
        )
        tables = draw_tables(len(looks), _families(reader, marginals.records), question.seed)
    else:
        looks, tables = layout.looks, layout.tables
    noise = reader.histograms(share * (1 - part), len(tables))
    encoders = tuple(Encoder(grid, look) for grid, look in zip(marginals.grids, looks, strict=True))
    counts = noise.added(by_table(encoders, tables), source)
    limit = np.iinfo(np.int32)
    width = len(marginals.grids)
    model = Model(
        grids=marginals.grids,
        shares=marginals.shares,
        looks=looks,
        tables=tables,
        counts=np.clip(np.rint(counts), limit.min, limit.max).astype(np.int32),
        records=marginals.records,
        noise=noise.deviation,
        marginal_noise=marginals.noise,
        **weights_of(width, marginals.doubt),
    )
    alarm = reader.histograms(question.drift_share, width)
    watched = [
        np.bincount(group, weights=cells, minlength=int(group.max()) + 1)
        for group, cells in zip(groups(layout or model), by_column(model.grids), strict=True)
    ]
    return model, alarm.added(np.concatenate(watched).astype(np.int64), source)


def _families(reader: Reader, records: float) -> tuple[tuple[Family, int], ...]:
    """Choose tables for as many records as there may be at the end, and the noise then."""
    horizon = reader.strategy.horizon
    worse = Fraction(reader.strategy.deviation(0, horizon, user=reader.user))
    worse = worse if reader.law == "laplace" else worse * worse
    return families(reader.law, records * horizon, reader.total / worse)


def nothing_by_column(grids: tuple[Grid, ...]) -> list[Ints]:
    """Stand for counts where nothing is drawn."""
    return [np.zeros(grid.cells, dtype=np.int64) for grid in grids]


def nothing_by_table(columns: tuple[Encoder, ...], tables: Tables) -> Ints:
    """Stand for counts where nothing is drawn."""
    return np.zeros(int(tables.base[-1]), dtype=np.int64)
