"""Every engine gives the integers of the reference predicate, whatever the records are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import whitecrow as wc
from whitecrow.count import gather
from whitecrow.data import Card, Column
from whitecrow.data.warehouse import open_remote
from whitecrow.neighbours import Engine, NeighbourRelation, copies, count_close
from whitecrow.neighbours._remote import Bounds, RemoteEngine
from whitecrow.neighbours.cells import COMPILED, Lattice
from whitecrow.neighbours.plans import count_plain
from whitecrow.neighbours.relation import SCALED, lower

Matrix = NDArray[np.float64]
Opening = Callable[..., tuple[Any, Engine]]

TINY = Bounds(sample=400, cells=1 << 18, held=50, asked=300, few=8, moved=1000)
"""So little may come to this process that all work is done elsewhere, in several turns."""


@dataclass(frozen=True)
class Case:
    """Records, and what is asked of them: metric, radius, ranges, cap."""

    values: Matrix
    asked: tuple[tuple[str, float, int | None], ...]
    ranges: tuple[float, ...] = ()
    levels: tuple[int, ...] = ()


def names(count: int) -> tuple[str, ...]:
    return tuple(f"c{place}" for place in range(count))


def table(values: Matrix) -> pa.Table:
    return pa.table(dict(zip(names(values.shape[1]), values.T, strict=True)))


def heavy(rows: int, columns: int, seed: int = 0) -> Matrix:
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 5, (4, columns))[rng.integers(0, 4, rows)]
    return centres + rng.standard_t(3, size=(rows, columns))


def lattice() -> Matrix:
    """Whole and quarter steps: many pairs exactly at the radius, and copies."""
    rng = np.random.default_rng(1)
    return rng.integers(0, 12, (1500, 2)) * 0.25


def huge_cell() -> Matrix:
    """One place holds most records; others lie right at the radius around it, and far away."""
    around = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [0.0, np.nextafter(1.0, 2.0)]])
    rng = np.random.default_rng(2)
    return np.vstack([np.zeros((1200, 2)), around, rng.normal(0, 40, (80, 2)), [[1e300, -1e300]]])


def mixed() -> Matrix:
    rng = np.random.default_rng(3)
    return np.column_stack([rng.integers(0, 3, 900), rng.integers(0, 4, 900), heavy(900, 1)])


def globe() -> Matrix:
    rng = np.random.default_rng(4)
    return np.column_stack([rng.uniform(-90, 90, 700), rng.uniform(-180, 180, 700)])


def one_place() -> Matrix:
    """Places of the globe with two names: the date line, a pole, the two zeros."""
    places = [[10, 180], [10, -180], [90, 0], [90, 77], [-90, 5], [0.0, -0.0], [-0.0, 0.0]]
    return np.vstack([np.tile(places, (3, 1)), globe()[:100]])


def underflows() -> Matrix:
    """The smallest steps: their squares and quotients are 0."""
    steps = np.array([0.0, -0.0, 5e-324, 1e-323, 2e-323, 1.0])
    return np.column_stack([np.repeat(steps, 6), np.tile(steps, 6)])


ALL = (("euclidean", 1.0, 30), ("manhattan", 1.5, 20), ("chebyshev", 0.75, 40))
CASES = {
    "ties at the radius": Case(
        lattice(), (*ALL, ("euclidean", 0.0, 20), ("euclidean", 1.25, None))
    ),
    "one huge cell": Case(huge_cell(), (("euclidean", 1.0, 900), ("manhattan", 1.0, 5000))),
    "one column": Case(heavy(2000, 1), (("euclidean", 0.05, 25), ("chebyshev", 0.2, None))),
    "three columns": Case(heavy(2500, 3), (("euclidean", 1.0, 15), ("manhattan", 2.0, 12))),
    "five columns": Case(heavy(1500, 5), (("chebyshev", 2.0, 20),)),
    "seven columns": Case(heavy(1500, 7), (("euclidean", 3.5, 12), ("manhattan", 7.0, 12))),
    "twelve columns": Case(heavy(900, 12), (("euclidean", 6.0, 20),)),
    "tiny numbers": Case(
        heavy(300, 2) * 1e-160, (("euclidean", 1e-160, 9), ("manhattan", 1e-160, 9))
    ),
    "categories and a number": Case(
        mixed(), (("hamming", 1.0, 500), ("gower", 0.1, 90)), (0, 0, 30)
    ),
    "columns with scales": Case(
        heavy(1200, 2) * [1.0, 1000.0],
        (("standardised", 0.3, 15), ("standardised_manhattan", 0.5, 12)),
        (3.0, 700.0),
    ),
    "quotients that tie, overflow and underflow": Case(
        np.vstack([lattice()[:500], [[1e300, -1e300], [1.7e308, 5e-324], [1e-320, 3.0]]]),
        (("standardised_chebyshev", 0.75, 30), ("standardised", 0.0, 9)),
        (1 / 3, 1e-90),
    ),
    "numbers with scales and categories with weights": Case(
        mixed(), (("mixed", 0.9, 60), ("mixed", 1.3, 90)), (1.0, 2.0, 0.7), (3, 4, 0)
    ),
    "latitude and longitude": Case(globe(), (("haversine", 900.0, 12), ("haversine", 0.0, 2))),
    "one place on the globe": Case(one_place(), (("haversine", 0.0, None), ("haversine", 0.0, 4))),
    "steps that underflow": Case(
        underflows(), (("gower", 0.0, None), ("euclidean", 0.0, 5)), (10, 1000)
    ),
    "no records": Case(np.empty((0, 2)), (("euclidean", 1.0, 3),)),
    "one record": Case(np.array([[3.0, -4.0]]), (("euclidean", 1.0, None), ("manhattan", 1.0, 5))),
}


def expected(
    values: Matrix, records: Matrix, asked: NeighbourRelation, cap: int | None
) -> list[int]:
    form = asked.form()
    most = len(values) if cap is None else min(cap, len(values))
    vectors, points = form.placed(values), form.placed(records)
    if len(values) == 0 or len(records) == 0:
        return [0] * len(records)
    with np.errstate(all="ignore"):
        return count_plain(vectors, form, points, most).tolist()


def paired(points: Matrix, counts: object) -> list[tuple[float, ...]]:
    return sorted(map(tuple, np.column_stack([points, np.asarray(counts)]).tolist()))


@pytest.mark.parametrize("name", CASES)
def test_the_same_integers(kind: str, name: str, opening: Opening) -> None:
    agree(kind, CASES[name], opening, Bounds())


@pytest.mark.parametrize("name", CASES)
def test_the_same_integers_when_little_may_travel(name: str, opening: Opening) -> None:
    agree("disk", CASES[name], opening, TINY)


@pytest.mark.parametrize("remote_kind", ["postgresql", "spark"], indirect=True)
def test_the_same_integers_in_several_turns(remote_kind: str, opening: Opening) -> None:
    agree(remote_kind, CASES["one huge cell"], opening, replace(TINY, asked=700))


def agree(kind: str, case: Case, opening: Opening, bounds: Bounds) -> None:
    """Check an engine against the reference predicate, pair by pair."""
    values = case.values
    engine = opening(kind, table(values), None, bounds)[1]
    # Spark takes its time.
    for metric, radius, cap in case.asked[: 3 if kind == "spark" else None]:
        ranges = case.ranges if metric == "gower" or metric in SCALED else ()
        levels = case.levels if metric == "mixed" else ()
        asked = NeighbourRelation(names(values.shape[1]), metric, radius, ranges, levels)
        degrees = expected(values, values, asked, cap)
        most = max(1, len(values)) if cap is None else cap
        below = np.array(degrees, dtype=np.int64) < most
        points, counts = engine.sparse(asked, most)
        assert counts.dtype == np.int64
        assert paired(points, counts) == paired(values[below], np.array(degrees)[below])
    records = np.vstack([values[:3], values[-3:], np.full((1, values.shape[1]), 0.5)])
    assert engine.neighbours(records, asked, cap).tolist() == expected(values, records, asked, cap)
    place = replace(asked, radius=0.0)
    assert engine.copies(records, asked, 7).tolist() == expected(values, records, place, 7)
    assert engine.neighbours(records, place, 7).tolist() == expected(values, records, place, 7)
    if metric not in SCALED:
        plain = copies(values, records, 7, asked.metric).tolist()
        assert plain == expected(values, records, place, 7)
    if kind != "spark":
        assert sorted(engine.degrees(asked, cap).tolist()) == sorted(degrees)


def test_cells_are_numbered_alike_with_and_without_the_compiler() -> None:
    """Borders of cells, one step to either side of them, and values far beyond the lattice."""
    form = lower("euclidean", 0.3, (), 2)
    lattice = Lattice(form, np.array([-7.7, 0.1]), 0.1, 3, (256, 256))
    borders = np.concatenate([low + 0.1 * np.arange(-3, 300, 7) for low in lattice.lowest])
    ends = np.array([0.0, 5e-324, 1e300, -1e300, 1.7e308])
    line = np.concatenate([borders, np.nextafter(borders, 9), np.nextafter(borders, -9), ends])
    values = np.column_stack([line, np.random.default_rng(6).permutation(line)])
    many = np.tile(values, (-(-COMPILED // len(values)), 1))
    assert (lattice.keys(many)[: len(values)] == lattice.keys(values)).all()


def test_counting_stops_at_the_cap_in_the_middle_of_a_stream(
    remote_kind: str, opening: Opening
) -> None:
    values = np.zeros((300_000 if remote_kind == "disk" else 30_000, 2))
    engine = opening(remote_kind, table(values), None, Bounds(few=16))[1]
    near = NeighbourRelation(names(2), "euclidean", 1.0)
    for _ in range(1 if remote_kind == "spark" else 2):
        assert engine.neighbours([[0.0, 0.0], [0.5, 0.0]], near, 20).tolist() == [20, 20]
        assert engine.neighbours([[0.0, 0.0], [9.0, 0.0]], near, 20).tolist() == [20, 0]
    assert count_close(values, [[0.0, 0.0]], 1.0, cap=20).tolist() == [20]


@pytest.mark.parametrize(
    ("columns", "works"), [(2, ["Histogram", "Within"]), (7, ["Counting", "Uncovered", "Counting"])]
)
def test_a_count_reads_all_records_no_oftener_than_its_plan_says(
    columns: int, works: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once more for a size or a sample: the size is not known before, as on Spark."""
    names = [f"c{place}" for place in range(columns)]
    values = np.random.default_rng(3).standard_t(5, (20_000, columns)).clip(-50, 50)
    card = Card("many", tuple(Column(name, lower=-50, upper=50) for name in names))
    dataset = open_remote(pa.table(dict(zip(names, values.T, strict=True))), card, engine="disk")
    monkeypatch.setattr(dataset, "_counts", {})
    seen: list[str] = []
    plain = dataset.warehouse.work

    def noted(asked: Any, work: Any, yields: Any) -> Any:
        seen.append(type(work).__name__)
        return plain(asked, work, yields)

    monkeypatch.setattr(dataset.warehouse, "work", noted)
    model = wc.DistanceAnomaly(beta=3, radius=0.5 if columns == 2 else 3.0)
    gather(wc.Count(names, model=model, epsilon=1), dataset, RemoteEngine(dataset))
    assert seen == works
