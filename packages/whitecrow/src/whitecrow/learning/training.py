"""From noisy counts to a model: two rounds of tables, and post-processing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from whitecrow.detector.arithmetic import Floats, Int32s, Int64s
from whitecrow.detector.model import CUTS, PARTS, SPAN, UNIT, Grid, Model
from whitecrow.detector.scoring import Encoder
from whitecrow.histogram.facts import Answers
from whitecrow.learning import question as recipe
from whitecrow.learning.facts import ByColumn, ByTable, joined

# Stage 1: the distribution of each column, from noisy histograms on ever finer public grids.
#
# Five rounds of histograms: sixteenths of the grid, its cells, and three times the sixteen
# fullest cells cut into sixteen. Each record is in one cell of a histogram, so all that matters
# for privacy is the noise added to it; which cells are cut is read off noisy counts. The rest is
# post-processing.

_WINSOR = 0.01
_MOST_DRAWN = 0.3
_LEAST_SPREAD = 2.0**-120  # of the largest value: below, distances are beyond the largest number
_HIDDEN = 0.05  # the part of all records from which on noise hides a column's distribution
_MEANS, _SPREADS, _STEPS = np.linspace(0.0, 1.0, 51), np.geomspace(0.02, 0.6, 18), 30
_DOUBT = (1.5, 2.5)  # trust falls from 1 to 0 as noise grows from 0.2 to 0.6 of all records


@dataclass(frozen=True, eq=False)
class Marginals:
    """The released distributions."""

    grids: tuple[Grid, ...]  # the final grids
    shares: tuple[Floats, ...]  # the part of the records in each cell
    records: float  # the released number of records, at least 1
    noise: float  # about the standard deviation of a noisy cumulative count
    fitted: frozenset[int] = frozenset()  # columns whose shares are those of a normal distribution


def learn_marginals(
    grids: tuple[Grid, ...],
    answers: Answers,
    share: Fraction,
    *,
    size: int | None = None,
    fixed: tuple[Grid, ...] | None = None,
) -> Marginals:
    """Release the distribution of every column, from public grids that are not refined.

    The noisy counts are asked for five times, for this share of the price. The ``size`` is given
    where the card makes it public, and grids are ``fixed`` where it was decided earlier which cells
    are cut.
    """
    first, second, *others = (share * part for part in recipe.ROUNDS)
    # Which sixteenth of the grid each cell belongs to.
    groups = [np.arange(grid.cells) * min(CUTS, grid.cells) // grid.cells for grid in grids]
    cells = ByColumn(grids)
    noisy, wide = answers.counts(cells, first, len(grids), joined(groups))
    coarse = np.split(noisy, np.cumsum([int(group.max()) + 1 for group in groups])[:-1])
    noisy, narrow = answers.counts(cells, second, len(grids))
    fine = np.split(noisy, np.cumsum([grid.cells for grid in grids])[:-1])
    # Every column counts the same records.
    counted = float(np.mean([above.sum() for above in coarse])) if size is None else float(size)
    records = max(1.0, counted)
    estimates = [
        _reconciled(above + (records - above.sum()) / len(above), below, group, wide**2, narrow**2)
        for above, below, group in zip(coarse, fine, groups, strict=True)
    ]
    # A cumulative count adds up about four coarse and four fine cells on average.
    spread = math.sqrt(4 * wide**2 + 4 * narrow**2)
    hidden = len(grids) >= recipe.MANY and spread > _HIDDEN * records
    likely = _likely(grids, groups, estimates, wide, records) if hidden else {}
    for cut, part in enumerate(others):
        orders = (np.argsort(-values, kind="stable")[:CUTS] for values in estimates)
        chosen = (tuple(sorted(order.tolist())) for order in orders)
        grids = tuple(
            grid.refined(fullest if fixed is None else fixed[place].cuts[cut])
            if grid.ordered
            else grid
            for place, (grid, fullest) in enumerate(zip(grids, chosen, strict=True))
        )
        noisy, deviation = answers.counts(ByColumn(grids), part, len(grids))
        ends = np.cumsum([grid.cells for grid in grids])[:-1]
        for place, values in enumerate(np.split(noisy, ends)):
            if grids[place].ordered:
                # What the first rounds say of a cell is by far the more precise: it stays.
                estimates[place] = _reconciled(
                    estimates[place], values, grids[place].parents(), 0.0, deviation**2
                )
    shares = tuple(
        _normal_shares(grid, *likely[place]) if place in likely else _shares(values, records)
        for place, (grid, values) in enumerate(zip(grids, estimates, strict=True))
    )
    return Marginals(grids, shares, records, spread, frozenset(likely))


def _reconciled(above: Floats, below: Int64s, group: Int64s, high: float, low: float) -> Floats:
    """Return the counts of cells that fit both rounds best.

    Each group's count is the average of both rounds by their precision. Within a group cells
    differ from equal parts only as far as noise alone would not explain (James and Stein).
    """
    # A cell in which no value can lie has no parts, and nothing asks for its count.
    sizes = np.maximum(np.bincount(group, minlength=len(above)), 1)
    values = below.astype(np.float64)
    sums = np.bincount(group, weights=values, minlength=len(above))
    precise = sizes * low
    best = (above * precise + sums * high) / (high + precise)
    away = values - (sums / sizes)[group]
    seen = np.bincount(group, weights=away * away, minlength=len(above))
    trust = np.maximum(0.0, 1.0 - np.maximum(sizes - 1, 1) * low / np.maximum(seen, 1e-9))
    return np.asarray((best / sizes)[group] + trust[group] * away)


def _shares(values: Floats, records: float) -> Floats:
    """Return parts of the whole that are not negative, by isotonic cumulative counts."""
    from scipy.optimize import isotonic_regression

    running = np.asarray(isotonic_regression(np.cumsum(values)).x, dtype=np.float64)
    running = np.rint(np.clip(running, 0.0, records) / records * PARTS)
    running[-1] = PARTS
    return np.diff(running, prepend=0.0) / PARTS


def _likely(
    grids: tuple[Grid, ...],
    groups: list[Int64s],
    counts: list[Floats],
    noise: float,
    records: float,
) -> dict[int, tuple[float, float]]:
    """Return mean and deviation of normal distributions, as parts of the way between the bounds.

    Noise hides each of hundreds of columns, but not what most of them have in common: a mean and a
    deviation are as likely beforehand as they are common among columns (empirical Bayes).
    """
    from scipy.special import ndtr

    boxed = [
        place
        for place, grid in enumerate(grids)
        if grid.ordered and grid.lower is not None and not grid.apart and grid.cells > 1
    ]
    if not boxed:
        return {}
    fits = np.empty((len(boxed), len(_MEANS), len(_SPREADS)))
    for row, place in enumerate(boxed):
        edges = _inside(grids[place])[np.flatnonzero(np.diff(groups[place]))]
        below = ndtr((edges - _MEANS[:, None, None]) / _SPREADS[:, None])
        wanted = np.diff(below, prepend=0.0, append=1.0) * records
        away = np.bincount(groups[place], weights=counts[place]) - wanted
        fits[row] = -(away * away).sum(axis=-1) / (2.0 * noise * noise)
    fits = np.exp(fits - fits.max(axis=(1, 2), keepdims=True))
    common = np.ones(fits.shape[1:])
    for _ in range(_STEPS):
        chances = fits * common
        chances /= chances.sum(axis=(1, 2), keepdims=True)
        common = chances.mean(axis=0) + 1e-9
    means = (chances.sum(axis=2) * _MEANS).sum(axis=1)
    spreads = np.exp((chances.sum(axis=1) * np.log(_SPREADS)).sum(axis=1))
    return {place: (means[row], spreads[row]) for row, place in enumerate(boxed)}


def _inside(grid: Grid) -> Floats:
    """Return where the edges lie, as parts of the way between the bounds."""
    borders = grid.borders() * grid.unit
    return np.asarray((borders[1:-1] - borders[0]) / (borders[-1] - borders[0]))


def _normal_shares(grid: Grid, mean: float, spread: float) -> Floats:
    from scipy.special import ndtr

    below = np.rint(ndtr((_inside(grid) - mean) / spread) * PARTS)
    return np.asarray(np.diff(below, prepend=0.0, append=float(PARTS)) / PARTS)


def look_of(grid: Grid, share: Floats, records: float, noise: float) -> Int32s:
    """Return the two coordinates of each cell: logarithmic, and rank.

    The logarithmic one is ``sign(t) log(1 + |t|)`` of the standardised value, cut at 3; mean and
    deviation are those of the released distribution with its ends drawn in (1 %, or what may be
    noise), blended with the grid's bounds where noise is large. Categories have no order of their
    own: they are put in the order of how common they are.
    """
    if grid.apart:
        return _look_with_missing(grid, share, records, noise)
    if grid.ordered:
        below = np.cumsum(share)
        middle = grid.middles()
        # Ends that may be noise are drawn in.
        part = min(max(2.0 * noise / records, _WINSOR), _MOST_DRAWN)
        mean, spread = _moments(middle, share, part)
        if grid.lower is not None and grid.upper is not None:
            trust = min(1.0, max(0.0, _DOUBT[0] - _DOUBT[1] * noise / records))
            lower, upper = grid.lower * grid.unit, grid.upper * grid.unit
            width = (upper - lower) / 6.0
            mean = trust * mean + (1.0 - trust) * (lower + upper) / 2.0
            spread = math.sqrt(trust * spread**2 + (1.0 - trust) * width**2)
        away = (middle - mean) / spread
        logarithmic = np.sign(away) * np.log1p(np.abs(away))
        ranks = 3.0 * (2.0 * below - share - 1.0)
    else:
        order = np.argsort(np.argsort(-share, kind="stable"), kind="stable")
        common = np.cumsum(np.sort(share)[::-1])
        logarithmic = 6.0 * order / max(1, grid.cells - 1) - 3.0
        ranks = (3.0 * (2.0 * common - np.sort(share)[::-1] - 1.0))[order]
    both = np.stack([logarithmic, ranks])
    return np.clip(np.rint((both + 3.0) * UNIT), 0, SPAN).astype(np.int32)


def _look_with_missing(grid: Grid, share: Floats, records: float, noise: float) -> Int32s:
    """Put missing values at the low end of both coordinates, and all others a unit away from it."""
    rest = share[1:].sum()
    others = share[1:] / rest if rest > 0 else np.full(len(share) - 1, 1 / (len(share) - 1))
    look = look_of(grid.present, others, max(1.0, records * rest), noise)
    kept = np.maximum(look, UNIT)
    return np.concatenate([np.zeros((2, 1), dtype=np.int32), kept], axis=1)


def _moments(middle: Floats, share: Floats, part: float) -> tuple[float, float]:
    """Return mean and deviation with a part at either end drawn in, as if the rest were normal."""
    below = np.cumsum(share)
    drawn = np.diff(np.clip(below, part, 1.0 - part), prepend=part)
    drawn[np.argmax(below >= part)] += part
    drawn[np.argmax(below >= 1.0 - part)] += part
    drawn /= drawn.sum()
    mean = float((drawn * middle).sum())
    spread = math.sqrt(float((drawn * (middle - mean) ** 2).sum()) / _drawn_variance(part))
    # All in one cell: half of the narrowest cell stands for what is not known.
    apart = np.diff(middle)
    narrowest = float(apart[apart > 0.0].min(initial=1.0))
    largest = float(np.abs(middle).max(initial=0.0))
    return mean, max(spread, narrowest / 2.0, largest * _LEAST_SPREAD)


def _drawn_variance(part: float) -> float:
    """Return the variance that a standard normal has left when its ends are drawn in."""
    edge = NormalDist().inv_cdf(1.0 - part)
    density = math.exp(-edge * edge / 2.0) / math.sqrt(2.0 * math.pi)
    return 1.0 - 2.0 * part - 2.0 * edge * density + 2.0 * part * edge * edge


def train(
    grids: tuple[Grid, ...],
    answers: Answers,
    share: Fraction,
    *,
    seed: int = 0,
    size: int | None = None,
    layout: Model | None = None,
    wanted: Callable[[float], tuple[tuple[recipe.Family, int], ...]] | None = None,
) -> Model:
    """Release the distributions of columns, then the counts of tables, for this share of the price.

    The seed is that of the tables' layout; the ``size`` is given where it is public. Of a
    ``layout`` cells and tables are counted again. ``wanted`` says which tables there are for a
    released number of records; the recipe does unless given.
    """
    budget = answers.budget
    first = recipe.marginal_share(budget.law, budget.total)
    fixed = None if layout is None else layout.grids
    marginals = learn_marginals(grids, answers, share * first, size=size, fixed=fixed)
    records = marginals.records
    if layout is None:
        looks = tuple(
            look_of(grid, part, records, 0.0 if place in marginals.fitted else marginals.noise)
            for place, (grid, part) in enumerate(
                zip(marginals.grids, marginals.shares, strict=True)
            )
        )
        chosen = wanted(records) if wanted else recipe.families(budget.law, records, budget.total)
        tables = recipe.draw_tables(len(grids), chosen, seed)
    else:
        looks, tables = layout.looks, layout.tables
    encoders = tuple(Encoder(grid, look) for grid, look in zip(marginals.grids, looks, strict=True))
    cells = ByTable(encoders, tables)
    counts, deviation = answers.counts(cells, share * (1 - first), len(tables))
    limit = np.iinfo(np.int32)
    # Noise may hide this part of the records in a column's distribution.
    doubt = max(marginals.noise, 1.0) / records
    peak, far, tail = recipe.weights(len(grids), doubt)
    model = Model(
        grids=marginals.grids,
        shares=marginals.shares,
        looks=looks,
        tables=tables,
        counts=np.clip(np.rint(counts), limit.min, limit.max).astype(np.int32),
        records=records,
        noise=deviation,
        marginal_noise=marginals.noise,
        peak=peak,
        far=far,
        near=recipe.NEAR,
        tail=tail if marginals.fitted else 0.0,
        clear=recipe.CLEAR,
    )
    hidden = deviation / records / math.sqrt(len(tables))
    return replace(model, together=recipe.together(model.dependence, doubt, hidden))
