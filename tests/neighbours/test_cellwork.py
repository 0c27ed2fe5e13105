"""What workers do with cells: compiled and plain, in one piece and in many, the same integers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from whitecrow.neighbours import count_close
from whitecrow.neighbours.cells import COMPILED, Lattice, lay_out, lay_over
from whitecrow.neighbours.relation import lower
from whitecrow.neighbours.work import Cells, CountingNear, Group, Histogram, Nearby, Within, added

Matrix = NDArray[np.float64]


def records(size: int, columns: int = 3) -> Matrix:
    """Two clusters, some far records, and the ends of the doubles."""
    draw = np.random.default_rng([size, columns])
    values = draw.standard_t(3, (size, columns)) + 6.0 * draw.integers(0, 2, (size, 1))
    values[:4] = np.array([1.7e308, -1e300, -0.0, 5e-324])[:, None]
    return values


def plain(lattice: Lattice, values: Matrix) -> NDArray[np.int64]:
    """Number cells some at a time, which is done without the compiler."""
    step = COMPILED // 2
    parts = [lattice.keys(values[first : first + step]) for first in range(0, len(values), step)]
    return np.concatenate(parts)


def laid_out(values: Matrix, radius: float = 1.0, most: int = 40_000) -> Lattice:
    form = lower("euclidean", radius, (), values.shape[1])
    found = lay_out(values[4 : 4 + (1 << 14)], form, len(values), most)
    assert found is not None
    return found


@pytest.mark.parametrize("columns", [1, 2, 3, 5])
def test_compiled_code_numbers_and_finds_cells_as_numpy_does(columns: int) -> None:
    values = records(COMPILED + 3, columns)
    form, pitches = lower("euclidean", 0.3, (), columns), (256,) * columns
    lattice = Lattice(form, np.full(columns, -7.7), 0.1, 3, pitches)
    borders = -7.7 + 0.1 * np.arange(250)
    for place, line in enumerate((borders, np.nextafter(borders, 9), np.nextafter(borders, -9))):
        values[1000 * (place + 1) : 1000 * (place + 1) + 250] = line[:, None]
    keys = lattice.keys(values)
    assert (keys == plain(lattice, values)).all()
    for wanted in (np.unique(keys)[::3], np.empty(0, np.int64), np.unique(keys)[:1]):
        cells = Cells(lattice, wanted)
        inside = np.isin(keys, wanted)
        places = cells.places(values)
        assert ((places >= 0) == inside).all()
        assert (wanted[places[inside]] == keys[inside]).all()
        (found,) = Within(cells)(iter([values]))
        assert np.array_equal(found, values[inside])


@pytest.mark.parametrize("pieces", [1, 4, 50])
def test_a_histogram_does_not_depend_on_how_the_records_come(pieces: int) -> None:
    values = records(3 * COMPILED)
    lattice = laid_out(values, 0.3, 1 << 18)
    (found,) = Histogram(lattice, 1 << 20)(iter(np.array_split(values, pieces)))
    keys, counts = np.unique(plain(lattice, values), return_counts=True)
    assert len(keys) > 1 << 14  # more than the first table holds
    assert np.array_equal(found, np.column_stack([keys, counts]))
    (few,) = Histogram(lattice, 100)(iter(np.array_split(values, pieces)))
    assert len(few) > 100


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("cap", [40, 100_000])
def test_records_lined_up_by_cells_have_the_neighbours_that_all_have(
    pieces: int, cap: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = records(2 * COMPILED)
    lattice = laid_out(values)
    keys, counts = added(lattice.keys(values), np.ones(len(values), np.int64))
    (turn,) = lattice.judged(keys, counts, 40).batches(len(values))
    asked = values[np.isin(lattice.keys(values), turn.asking)][:3000]
    expected = count_close(values, asked, 1.0, cap=cap)
    group = Group(lower("euclidean", 1.0, (), 3), asked)
    nearby = Nearby.of(lattice, turn)
    assert sorted(nearby.rank) == list(range(len(turn.near)))
    monkeypatch.setattr("whitecrow.neighbours.parallel._most", None)
    for together in (1 << 21, COMPILED):
        work = pickle.loads(pickle.dumps(CountingNear(nearby, group, cap, together)))
        found = np.zeros(len(asked), np.int64)
        for part in np.array_split(values, 2):  # two partitions
            (rows,) = work(iter(np.array_split(part, pieces)))
            found[rows[:, 0].astype(int)] += rows[:, 1].astype(int)
        assert np.array_equal(np.minimum(found, cap), expected)


def test_groups_of_cells_hold_about_as_many_records_as_are_packed_together() -> None:
    values = records(1 << 20)
    lattice = laid_out(values)
    keys, counts = added(lattice.keys(values), np.ones(len(values), np.int64))
    (turn,) = lattice.judged(keys, counts, 1 << 19).batches(len(values))
    grouping = Nearby.of(lattice, turn).grouping(turn.held)
    groups = grouping(values)
    assert ((groups >= 0) == np.isin(lattice.keys(values), turn.near)).all()
    assert np.bincount(groups[groups >= 0]).max() <= (1 << 18) + counts.max()


def test_near_cells_follow_one_another() -> None:
    """Cells of a square, in order, stay within quarters of it."""
    lattice = Lattice(lower("euclidean", 1.0, (), 2), np.zeros(2), 1.0, 1, (256, 256))
    keys = np.array([(x << 8) + y for x in range(4) for y in range(4)])
    order = keys[np.argsort(lattice.along(keys))]
    quarters = (order >> 9) * 2 + (order >> 1 & 1)
    assert len(np.flatnonzero(np.diff(quarters))) == 3


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_tables_and_fingers_judge_cells_alike(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = records(20_000, columns)
    lattice = lay_over(values[4:], lower("euclidean", 4.0, (), columns), 1 << 17)
    assert lattice is not None
    keys, counts = np.unique(lattice.keys(values), return_counts=True)
    found = []
    for table in (lattice.total, lattice.total - 1):
        monkeypatch.setattr("whitecrow.neighbours.cells.TABLE", table)
        judged = lattice.judged(keys, counts, 2000)
        (turn,) = judged.batches(len(values))
        found.append((judged.asking.tolist(), turn.near.tolist()))
    assert found[0] == found[1]
    assert 0 < len(found[0][0]) < len(keys)
