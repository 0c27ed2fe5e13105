"""From noisy counts to a model: two rounds of tables, and post-processing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from whitecrow.detector.grid import Grid
from whitecrow.detector.model import Model
from whitecrow.detector.scoring import Encoder
from whitecrow.histogram.facts import Answers
from whitecrow.learning.cells import ByTable
from whitecrow.learning.marginals import learn_marginals, look_of
from whitecrow.learning.recipe import Family, draw_tables, families, marginal_share, weights_of


def train(
    grids: tuple[Grid, ...],
    answers: Answers,
    share: Fraction,
    *,
    seed: int = 0,
    size: int | None = None,
    layout: Model | None = None,
    wanted: Callable[[float], tuple[tuple[Family, int], ...]] | None = None,
) -> Model:
    """Release the distributions of columns, then the counts of tables.

    Parameters
    ----------
    grids : tuple of Grid
        Public grids of the columns.
    answers : Answers
        Noisy counts, for parts of the price.
    share : Fraction
        The part of the price for all of this.
    seed : int
        Of the tables' layout; public.
    size : int, optional
        The number of records where it is public.
    layout : Model, optional
        Whose cells and tables are counted again; laid out anew unless given.
    wanted : callable, optional
        Which tables there are for a released number of records; the recipe's unless given.
    """
    money = answers.money
    first = marginal_share(money.law, money.total)
    fixed = None if layout is None else layout.grids
    marginals = learn_marginals(grids, answers, share * first, size=size, fixed=fixed)
    records = marginals.records
    if layout is None:
        looks = tuple(
            look_of(grid, part, records, marginals.noise)
            for grid, part in zip(marginals.grids, marginals.shares, strict=True)
        )
        chosen = wanted(records) if wanted else families(money.law, records, money.total)
        tables = draw_tables(len(grids), chosen, seed)
    else:
        looks, tables = layout.looks, layout.tables
    encoders = tuple(Encoder(grid, look) for grid, look in zip(marginals.grids, looks, strict=True))
    cells = ByTable(encoders, tables)
    counts, deviation = answers.counts(cells, share * (1 - first), len(tables))
    limit = np.iinfo(np.int32)
    return Model(
        grids=marginals.grids,
        shares=marginals.shares,
        looks=looks,
        tables=tables,
        counts=np.clip(np.rint(counts), limit.min, limit.max).astype(np.int32),
        records=records,
        noise=deviation,
        marginal_noise=marginals.noise,
        **weights_of(len(grids), marginals.doubt),
    )
