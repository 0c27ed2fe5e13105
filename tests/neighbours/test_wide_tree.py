"""Records that are counted alone: the wide tree, and what it says of whole leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from neighbour_tools import Matrix, agree, brute, mixture
from numpy.typing import NDArray

from whitecrow.neighbours import LocalEngine, NeighbourRelation, count_all
from whitecrow.neighbours import index as indexes
from whitecrow.neighbours._kernels.alone import count_alone
from whitecrow.neighbours._kernels.tables import BRANCHES, LANES, aligned
from whitecrow.neighbours.index import arranged, count_each, count_together, near_together
from whitecrow.neighbours.relation import checked_form

Count = Callable[..., NDArray[np.int64]]


@pytest.mark.parametrize("n", [1, 64, 65, 1024, 1025, 3772, 16_384, 16_385, 40_000])
def test_a_wide_tree_holds_each_block_once_in_boxes_that_are_exact(n: int) -> None:
    data = mixture(n, 2)
    index = arranged(data)
    ordered, tree = data[index.ids], index.tables.tree

    def check(node: int) -> list[int]:
        """Return the blocks below a wide node."""
        below = []
        count = int(tree.present[node]).bit_count()
        assert 1 <= count <= BRANCHES
        assert int(tree.present[node]) == (1 << count) - 1
        for child in range(count):
            place, records = tree.children[node, :, child].tolist()
            blocks = [-1 - place] if place < 0 else check(place)
            some = ordered[blocks[0] * LANES : (blocks[-1] + 1) * LANES]
            assert len(some) == records
            assert (tree.boxes[node, :, 0, child] == some.min(axis=0)).all()
            assert (tree.boxes[node, :, 1, child] == some.max(axis=0)).all()
            below += blocks
        return below

    assert check(0) == list(range(len(index.tables.blocks)))


def touching(metric: str, d: int, radius: float) -> tuple[Matrix, Matrix]:
    """Return places, and records one radius from some of them, give or take a rounding error."""
    rng = np.random.default_rng(d)
    places = 10.0 * np.arange(1, 41)[:, None] + rng.normal(size=(40, d))
    away = rng.normal(size=(200, d))
    size = {
        "euclidean": np.sqrt((away**2).sum(axis=1)),
        "manhattan": np.abs(away).sum(axis=1),
        "chebyshev": np.abs(away).max(axis=1),
        "gower": np.abs(away).sum(axis=1) / (3.0 * d),
    }[metric]
    asked = places[rng.integers(0, 40, 200)] + away * (radius / size)[:, None]
    return places, np.nextafter(asked, rng.choice([-np.inf, np.inf], asked.shape))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "gower"])
@pytest.mark.parametrize("d", [1, 2, 6, 11])
@pytest.mark.parametrize("count", [count_each, count_together])
def test_a_leaf_of_copies_at_the_radius_has_the_verdict_of_the_predicate(
    metric: str, d: int, count: Count
) -> None:
    """Its box is one point: whether it is within the radius is said by the box alone."""
    ranges = (3.0,) * d if metric == "gower" else ()
    for radius in (1.0, 1 / 3, 1e-3):
        places, asked = touching(metric, d, radius)
        data = np.repeat(places, LANES, axis=0)
        form = checked_form(metric, radius, ranges, d, "test")
        found = count(arranged(data, form), form, asked, len(data))
        expected = brute(data, asked, radius, metric, None, ranges)
        assert set(expected.tolist()) == {0, LANES}, "otherwise none is at the radius"
        assert (found == expected).all()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "hamming", "gower"])
@pytest.mark.parametrize("cap", [1, 700, 20_000])
@pytest.mark.parametrize("count", [count_each, count_together])
def test_three_levels_of_wide_nodes_count_like_brute_force(
    metric: str, cap: int, count: Count
) -> None:
    data = np.round(mixture(20_000, 4), 1)
    radius = {"euclidean": 3.0, "manhattan": 5.0, "chebyshev": 2.0, "hamming": 2.0, "gower": 0.1}
    ranges = (0.0, 9.0, 9.0, 9.0) if metric == "gower" else ()
    form = checked_form(metric, radius[metric], ranges, 4, "test")
    asked = np.vstack([data[::400], data[:20] + 30.0])
    found = count(arranged(data, form), form, asked, cap)
    assert (found == brute(data, asked, radius[metric], metric, cap, ranges)).all()


def test_a_radius_around_everything_counts_everything_and_no_child_that_is_not_there() -> None:
    """Places of a wide node that hold no child would be within any radius."""
    for n in (1, 100, 1500):
        data = np.round(mixture(n, 2))
        agree(data, 1e160)
        agree(data, 2.0, "hamming")
        agree(data % 90.0, 25_000.0, "haversine")


@pytest.mark.parametrize("radius", [0.2, 2.0, 30.0])
def test_groups_that_are_narrow_wide_and_not_full_count_like_brute_force(radius: float) -> None:
    data = mixture(9_000, 3)
    form = checked_form("euclidean", radius, (), 3, "test")
    order = near_together(data[:2000])
    assert sorted(order.tolist()) == list(range(2000))
    scattered = data[order]
    lone = np.vstack([np.full((3, 3), 1e6), data[:1]])  # a group of two places, far apart
    for asked in (scattered, scattered[:1], scattered[:77], np.repeat(data[:3], 50, axis=0), lone):
        expected = brute(data, asked, radius, "euclidean", None)
        for run in (0, 4, 64):
            index = arranged(data, order=np.arange(len(data)), ordered=len(data), run=run)
            assert (count_together(index, form, asked, len(data)) == expected).all()


def test_more_records_than_one_task_takes_are_counted_alike() -> None:
    data = mixture(30_000, 3)
    engine = LocalEngine(Records(data))
    relation = NeighbourRelation(("a", "b", "c"), "euclidean", 1.5)
    engine.prepare(relation)
    expected = count_all(data, 1.5, cap=50)
    assert (engine.neighbours(data[:3000], relation, 50) == expected[:3000]).all()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "hamming"])
def test_records_without_patience_are_counted_together_alike(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = np.round(
        np.random.default_rng(3).standard_t(3, (3000, 11)), 0 if metric == "hamming" else 9
    )
    radius = {"euclidean": 2.0, "manhattan": 6.0, "chebyshev": 1.0, "hamming": 4.0}[metric]
    form = checked_form(metric, radius, (), 11, "test")
    index = arranged(data, form)
    given = []

    def spy(index: object, relation: object, asked: Matrix, cap: int) -> NDArray[np.int64]:
        given.append(len(asked))
        return _count_together(index, relation, asked, cap)  # type: ignore[arg-type]

    _count_together = indexes._count_together
    monkeypatch.setattr(indexes, "_count_together", spy)
    monkeypatch.setattr(indexes, "_PATIENCE", 1)
    counts = indexes.count_in(index, form, index.tables.blocks, index.ids, 9)
    assert (counts == brute(data, data, radius, metric, 9)).all()
    assert sum(given) > 0, "otherwise this is no such case"


def test_records_that_cannot_be_written_need_no_other_kernel() -> None:
    data = mixture(1000, 3)
    form = checked_form("euclidean", 2.0, (), 3, "test")
    index = arranged(data)
    expected = count_each(index, form, data[:50], 40)
    before = len(count_alone.signatures)
    fixed = data[:50].copy()
    fixed.flags.writeable = False
    assert (count_each(index, form, fixed, 40) == expected).all()
    assert len(count_alone.signatures) == before


class Records:
    """An array in the shape of a dataset."""

    def __init__(self, data: Matrix) -> None:
        self._data = data

    def matrix(self, columns: object) -> Matrix:
        return self._data

    def rows(self, columns: object, rows: Matrix) -> Matrix:
        return self._data[rows]


@pytest.mark.parametrize("shape", [(1,), (3, 7), (5, 2, 16)])
def test_aligned_room_begins_with_a_line_of_the_cache(shape: tuple[int, ...]) -> None:
    for _ in range(5):
        room = aligned(shape, np.float32)
        assert (room.shape, room.dtype) == (shape, np.float32)
        assert room.flags.c_contiguous
        assert room.ctypes.data % 64 == 0
