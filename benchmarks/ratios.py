"""A few ratios against peers on small shapes, in seconds: what continuous integration watches.

Ratios of processor times inside one run mean much the same on a slow and a fast machine, and on a
busy one. The kernels are compiled before anything is measured.

`ratio_wide_3772` and `ratio_narrow_3772` are counts for all of 3,772 records with six columns
against scipy's tree at two radii, `ratio_wide_20000` and `ratio_narrow_20000` of 20,000 with seven;
`cover_over_count` is the time of a cover by balls over that of a count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from benchmarks.common import emit, parser, times_of
from benchmarks.neighbours import case
from benchmarks.peers import PEERS
from whitecrow.counting.ball_cover import ball_cover
from whitecrow.neighbours import count_all, use_compiled

_ROUNDS = 4


def times_faster(ours: Callable[[], object], theirs: Callable[[], object]) -> float:
    """Return how many times the processor time of ours the peer takes, each at its best of some."""
    ours()
    mine: list[float] = []
    others: list[float] = []
    for _ in range(_ROUNDS):  # in turns, so that both meet the same neighbours on the machine
        others += times_of(theirs, 1, time.process_time)
        mine += times_of(ours, 3, time.process_time)
    return min(others) / min(mine)


def against_tree(n: int, d: int) -> tuple[float, float]:
    """Return how many times faster than scipy's tree all records are counted, at two radii.

    The tree counts for a sample, scaled up; where half of the records stay below the cap ours has
    the most to do.
    """
    this = case(n, d)
    some = this.data[:: max(1, n // 1_000)]
    peer = PEERS["cKDTree"](this.data, this.cap)
    wide, narrow = (
        times_faster(
            partial(count_all, this.data, radius, cap=this.cap), partial(peer, some, radius)
        )
        for radius in (this.radius, this.small)
    )
    return wide * n / len(some), narrow * n / len(some)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser(__doc__ or "").parse_args(argv)
    use_compiled()
    wide, narrow = against_tree(3_772, 6)
    emit("ratio_wide_3772", wide)
    emit("ratio_narrow_3772", narrow)
    wide, narrow = against_tree(20_000, 7)
    emit("ratio_wide_20000", wide)
    emit("ratio_narrow_20000", narrow)
    points = np.random.default_rng(0).standard_t(5, size=(4_000, 5))
    cover = partial(ball_cover, points, 1.0)
    cover()
    emit("cover_over_count", times_faster(partial(count_all, points, 2.0), cover))


if __name__ == "__main__":
    main()
