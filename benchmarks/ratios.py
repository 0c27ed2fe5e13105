"""A few ratios against peers, in half a minute: what continuous integration watches.

Ratios of processor times inside one run mean much the same on a slow and a fast machine, and on a
busy one. Everything runs on one core, with the kernels compiled before anything is measured. Every
line has a value from each of several rounds, which go through all lines in turns, so that what
disturbs the machine for a while disturbs one value of each; a value is the ratio of the least times
of a round.

`ratio_wide_20000` and `ratio_narrow_20000` are counts for all of 20,000 records with seven columns
against scipy's tree at two radii, `ratio_wide_60000` and `ratio_narrow_60000` of 60,000 with
twelve; `cover_over_count` is the time of a cover by balls over that of a count, `ask_over_commits`
that of a question through an account over that of two bare commits, both in memory.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

import numpy as np

import whitecrow as wc
from benchmarks.common import emit, parser, times_of
from benchmarks.ledger import COLUMNS, MODEL, bare_pair, bare_store, opened, records
from benchmarks.neighbours import case
from benchmarks.peers import scipy_tree
from whitecrow.counting.ball_cover import PEELING, ball_cover
from whitecrow.neighbours import count_all, parallel, use_compiled

_ROUNDS = 3
_SECONDS = 0.08
"""Each side of a ratio is run for about so long in a round, and three times at least."""
_SAMPLE = 500
"""Records that the tree counts for; its time is scaled up to all."""

Call = Callable[[], object]


class Ratio:
    """How many times longer one call takes than another."""

    def __init__(self, name: str, ours: Call, theirs: Call, scale: float = 1.0) -> None:
        self.name, self.scale = name, scale
        # The first calls load what they need, the second say how long one takes.
        self._calls = [
            (call, max(3, math.ceil(_SECONDS / times_of(call, 2, time.process_time)[1])))
            for call in (ours, theirs)
        ]
        self.values: list[float] = []

    def measure(self) -> None:
        """Run one side after the other in small steps, so that both meet the same neighbours."""
        times: list[list[float]] = [[], []]
        for _ in range(3):
            for side, (call, repeat) in zip(times, self._calls, strict=True):
                side += times_of(call, math.ceil(repeat / 3), time.process_time)
        ours, theirs = map(min, times)
        self.values.append(self.scale * theirs / ours)


def against_tree(n: int, d: int) -> Iterator[Ratio]:
    """Compare with scipy's tree the counts for all records, at two radii.

    The tree counts for a sample; where half of the records stay below the cap ours has the most to
    do.
    """
    this = case(n, d)
    some = this.data[:: n // _SAMPLE]
    peer = scipy_tree(this.data, this.cap, cores=1)
    for name, radius in (("wide", this.radius), ("narrow", this.small)):
        ours = partial(count_all, this.data, radius, cap=this.cap)
        yield Ratio(f"ratio_{name}_{n}", ours, partial(peer, some, radius), n / len(some))


@contextmanager
def an_ask() -> Iterator[Ratio]:
    """Compare an ask through an account with the commits that it cannot do without."""
    points = itertools.count(1000)

    def ask(curator: wc.Curator) -> None:
        record = dict.fromkeys(COLUMNS, 3.0 * next(points))
        curator.ask(wc.Identify(record, model=MODEL, epsilon="1/1000"))

    # In memory: what the system's disk asks of the processor differs from moment to moment.
    with closing(bare_store(":memory:")) as store, opened("sqlite://", records(10_000)) as curator:
        yield Ratio("ask_over_commits", partial(bare_pair, store), partial(ask, curator))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser(__doc__ or "").parse_args(argv)
    use_compiled()
    PEELING.use()
    parallel.limit(1)  # two threads of one core take more processor time than one
    points = np.random.default_rng(0).standard_t(5, size=(4_000, 5))
    cover, count = partial(ball_cover, points, 1.0), partial(count_all, points, 2.0)
    with an_ask() as asking:
        lines = [
            *against_tree(20_000, 7),
            *against_tree(60_000, 12),
            Ratio("cover_over_count", count, cover),
            asking,
        ]
        for _ in range(_ROUNDS):
            for line in lines:
                line.measure()
    for line in lines:
        emit(line.name, *line.values)


if __name__ == "__main__":
    main()
