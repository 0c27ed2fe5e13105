"""From private counts to a model: two rounds of noisy tables, and post-processing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whitecrow.detector.grid import Grid
from whitecrow.detector.model import Model
from whitecrow.detector.scoring import Encoder
from whitecrow.detector.tables import Tables
from whitecrow.histogram.noise_budget import Money
from whitecrow.learn.marginals import CountBy, learn_marginals, look_of
from whitecrow.learn.recipe import draw_tables, families, marginal_share, weights_of
from whitecrow.noise import Source

CountIn = Callable[[tuple[Encoder, ...], Tables], npt.NDArray[np.int64]]
"""Counts all records in the cells of tables: private."""


def train(
    grids: tuple[Grid, ...],
    by_column: CountBy,
    by_table: CountIn,
    money: Money,
    share: Fraction,
    *,
    seed: int = 0,
    size: int | None = None,
    source: Source | None = None,
) -> Model:
    """Release the distributions of columns, then the counts of tables.

    Parameters
    ----------
    grids : tuple of Grid
        Public grids of the columns.
    by_column, by_table : callables
        The private side: they count records.
    money : Money
        What is paid with.
    share : Fraction
        The part of the money for all of this.
    seed : int
        Of the tables' layout; public.
    size : int, optional
        The number of records where it is public.
    source : Source, optional
        Of the noise; the operating system's unless given.
    """
    first = marginal_share(money.law, money.total)
    marginals = learn_marginals(grids, by_column, money, share * first, source, size=size)
    looks = tuple(
        look_of(grid, part, marginals.records, marginals.noise)
        for grid, part in zip(marginals.grids, marginals.shares, strict=True)
    )
    wanted = families(money.law, marginals.records, money.total)
    tables = draw_tables(len(grids), wanted, seed)
    noise = money.histograms(share * (1 - first), len(tables))
    encoders = tuple(Encoder(grid, look) for grid, look in zip(marginals.grids, looks, strict=True))
    counts = noise.added(by_table(encoders, tables), source)
    limit = np.iinfo(np.int32)
    return Model(
        grids=marginals.grids,
        shares=marginals.shares,
        looks=looks,
        tables=tables,
        counts=np.clip(counts, limit.min, limit.max).astype(np.int32),
        records=marginals.records,
        noise=noise.deviation,
        marginal_noise=marginals.noise,
        **weights_of(len(grids), marginals.doubt),
    )
