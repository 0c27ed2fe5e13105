"""A detector is learned, or refused when priced, whatever the records are: cards at every edge."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import whitecrow as wc
from whitecrow.detector import kernels
from whitecrow.detector.model import SPAN, Grid, grid_of
from whitecrow.learning.question import draw_tables, families
from whitecrow.learning.training import cell_coordinates

MOST = sys.float_info.max
CARDS = (
    (0.0, 1e308),
    (-1e308, 1e308),
    (-MOST, MOST),
    (1e12, 1e12 + 1),
    (1e15, 1e15 + 1),
    (0.0, 5e-324),
    (1.0, float(np.nextafter(1.0, 2.0))),
    (0.0, 1.0),
)
EVERY_CARD = f"""
import warnings, sys
import numpy as np, pyarrow as pa
import whitecrow as wc
from whitecrow.detector import scoring
warnings.simplefilter("error")
scoring._FEW = 0  # compiled loops, which notice no wrong index by themselves
for lower, upper in {CARDS!r}:
    columns = wc.Column("x", lower=lower, upper=upper), wc.Column("y", lower=0, upper=1)
    card = wc.Card("t", columns)
    for size in (0, 1, 50):
        for epsilon in ("1", "1000000"):
            table = pa.table({{"x": np.full(size, upper), "y": np.full(size, 0.5)}})
            print(lower, upper, size, epsilon, flush=True)
            curator = wc.Curator.open(table, card=card, name="t", budget="1e9", ledger="sqlite://")
            found = curator.learn(epsilon=epsilon, false_alarms=[0.1]).answer
            assert np.isfinite(found.scores(table)).all()
            assert np.isfinite(found.contributions(table)["x"].to_numpy()).all()
            assert np.isfinite(found.sample(100)["x"].to_numpy()).all()
            assert found.report()
"""


def test_every_card_gives_a_detector_whatever_the_records_are() -> None:
    """In a process of its own: a wrong index may end it."""
    done = subprocess.run(
        [sys.executable, "-c", EVERY_CARD], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stdout[-100:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("bounds", CARDS)
@pytest.mark.parametrize("full", [0, -1, None])
def test_coordinates_lie_within_their_span(bounds: tuple[float, float], full: int | None) -> None:
    grid = grid_of(wc.Column("x", lower=bounds[0], upper=bounds[1]))
    for _ in range(3):
        assert (np.diff(grid.edges) > 0).all()
        assert np.isfinite(grid.borders()).all()
        share = np.zeros(grid.cells)
        share[slice(None) if full is None else full] = 1.0
        share /= share.sum()
        for noise in (0.0, 1e-19, 1.0, 1e15):
            look = cell_coordinates(grid, share, 1.0, noise)
            assert look.min() >= 0
            assert look.max() <= SPAN
        grid = grid.refined(tuple(sorted({0, grid.cells // 2, grid.cells - 1})))


def test_no_loop_goes_beyond_its_tables() -> None:
    """Coordinates that are none, handed to the loops themselves, are counted nowhere."""
    tables = draw_tables(2, families("gaussian", 1e6, Fraction(1)), 0)
    size = int(tables.base[-1])
    guard = np.zeros(size + 2_000_000, dtype=np.int64)
    counts = guard[1_000_000 : 1_000_000 + size]
    wild = np.array([-(2**31), -1, SPAN + 1, 2**20, 2**31 - 1, 0, SPAN], dtype=np.int32)
    coordinates = np.tile(wild, (4, 1))
    kernels.add_counts(coordinates, *tables.layout, counts)
    assert guard[:1_000_000].sum() == guard[1_000_000 + size :].sum() == 0
    assert counts.sum() >= 2 * len(tables)  # the two that are coordinates
    worth = np.zeros(size + 2_000_000, dtype=np.int32)
    worth[:1_000_000] = worth[1_000_000 + size :] = 1
    scores = np.zeros(len(wild), dtype=np.int64)
    narrow = (part.astype(np.uint16) for part in (tables.offset, tables.pace, tables.stride))
    layout = (tables.start, tables.axis, *narrow, tables.base)
    own = worth[1_000_000 : 1_000_000 + size]
    kernels.add_scores(coordinates.astype(np.uint16), *layout, own, scores)
    assert not scores.any()


@pytest.mark.parametrize("bounds", [(0.0, 100.0), (-1.0, 1.0), (-3.5, 1e9), (1e-3, 2e-3)])
def test_edges_of_ordinary_bounds_are_the_plain_ones(bounds: tuple[float, float]) -> None:
    """Files hold no edges: they must come out as when the detector was learned."""
    lower, upper = bounds
    grid = Grid("x", True, False, lower, upper)
    even = lower + (upper - lower) / 256 * np.arange(1.0, 256)
    assert np.isin(even, grid.edges).all()
    first = float(grid.edges[0])
    cut = lower + (first - lower) / 16 * np.arange(1.0, 16)
    assert np.isin(cut, grid.refined((0,)).edges).all()
