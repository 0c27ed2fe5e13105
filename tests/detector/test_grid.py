"""Cells of values."""

from __future__ import annotations

import numpy as np
import pytest

from whitecrow.data import Column
from whitecrow.detector import kernels as _kernels  # noqa: F401 - once loaded, kernels are used
from whitecrow.detector import scoring
from whitecrow.detector.model import Grid, grid_of

GRIDS = [
    Grid("x", True, False, -1.0, 7.0),
    Grid("x", True, False, -1.0, 7.0).refined((0, 3, 255)).refined((2, 9)),
    Grid("x", True, True, 0.0, 120.0),
    Grid("x", True, True, 0.0, 100_000.0).refined((5, 6)),
    Grid("x", True, False, None, None).refined((100, 121)),
    Grid("x", True, True, None, None).refined((40, 43)).refined((41, 50)),
    Grid("x", False, True, 0.0, 4.0),
    Grid("x", False, True, 0.0, 0.0),
]


@pytest.mark.parametrize("grid", GRIDS)
def test_cells_are_ordered_and_cover_every_number(grid: Grid) -> None:
    assert (np.diff(grid.edges) > 0).all()
    values = np.array([-np.inf, -1e300, 0.0, 1e300, np.inf])
    codes = grid.codes(values)
    assert codes[0] == 0
    assert codes[-1] == grid.cells - 1
    assert (np.diff(codes.astype(int)) >= 0).all()


@pytest.mark.parametrize(
    "grid",
    [
        *GRIDS,
        Grid("x", True, False, -1e-300, 1e-300),
        Grid("x", True, False, 1e16, 1e16 + 64),
        Grid("x", True, False, -8e307, 8e307),
        Grid("x", True, False, 0.0, 1.0).refined((3,)).refined((3,)).refined((3,)),
        Grid("x", True, False, 0.0, 9.0, absent=-np.finfo(float).max),
    ],
)
def test_the_compiled_search_finds_the_cell_of_every_value(grid: Grid) -> None:
    """At an edge, beside it, far from all, infinite; a value that is none leads nowhere else."""
    edges, drawn = grid.edges, np.random.default_rng(4)
    near = [np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf), edges / 2 + 0.25]
    odd = np.array([-np.inf, -1.7e308, -0.0, 0.0, 5e-324, 1.7e308, np.inf])
    values = np.concatenate([*near, drawn.normal(size=999), odd])
    encoder = scoring.Encoder(grid, np.arange(grid.cells, dtype=np.int32)[None, :])
    found = np.empty((1, len(values)), dtype=np.int32)
    encoder.write(values, found)
    assert (found[0] == grid.codes(values)).all()
    nowhere = np.full((1, 3), -1, dtype=np.int32)
    encoder.write(np.full(3, np.nan), nowhere)
    assert ((nowhere >= 0) & (nowhere < grid.cells)).all()


@pytest.mark.parametrize("grid", GRIDS[1:2] + GRIDS[3:6])
def test_a_refined_cell_lies_in_one_cell_of_the_grid_before(grid: Grid) -> None:
    before = Grid(grid.name, grid.ordered, grid.whole, grid.lower, grid.upper, grid.cuts[:-1])
    values = np.random.default_rng(1).uniform(-10, 200, 5000)
    values = np.rint(values) if grid.whole else values
    assert (grid.parents()[grid.codes(values)] == before.codes(values)).all()
    assert grid.cells > before.cells


def test_the_card_gives_each_type_its_grid() -> None:
    assert grid_of(Column("a", "integer", lower=1, upper=3)).edges.tolist() == [1.5, 2.5]
    assert grid_of(Column("a", "category", categories=("x", "y", "z"))).cells == 3
    assert grid_of(Column("a", "number")).lower is None
    assert grid_of(Column("a", "number", lower=5, upper=6)).cells == 256
    assert grid_of(Column("a", "date", lower="2020-01-01", upper="2020-01-31")).cells == 31


def test_bounds_ten_thousand_times_too_wide_still_part_the_values_near_zero() -> None:
    values = np.random.default_rng(2).normal(size=1000)
    wide = Grid("x", True, False, -60_000.0, 60_000.0)
    assert len(np.unique(wide.codes(values))) > 20
    assert wide.cells < 330


def test_whole_numbers_are_cells_of_their_own_and_those_beyond_are_in_the_last() -> None:
    grid = Grid("age", True, True, 0.0, 2.0)
    assert grid.edges.tolist() == [0.5, 1.5]
    assert grid.codes(np.array([0.0, 2.0, 7.0])).tolist() == [0, 2, 2]
