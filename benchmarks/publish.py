"""Publishing: updates a second on one core, memory, and the error against other counters.

The peers are the binary tree, run through the same publisher with the same noise and the same
price, whose error is measured beside ours by simulation at T = 365; Honaker's estimator on the same
tree; and, where it is installed, the factorisations of jax-privacy (its dense one minimises the
mean error and is too large to find for long streams).

`updates_per_second` is of a sum with the default counter, `ratio_tree` the worst
deviation of the tree over ours.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.common import emit, parser, print_table
from whitecrow.data import Card, Column
from whitecrow.publish import Publish, Publisher
from whitecrow.publish.buffered import Buffered, fitted
from whitecrow.publish.counters import ONE, Counter, Independent, Tree
from whitecrow.publish.plan import counter_for

CARD = Card("stream", (Column("km", lower=0, upper=100), Column("t", lower=0, upper=1e12)))
YEAR = 365
HORIZONS = (12, YEAR, 10**4, 10**6)
_DENSE = 400


def opened(statistic: str, mechanism: str, horizon: int) -> Publisher:
    """A publisher of one stream under rho = 1/2."""
    question = Publish.from_json(
        {
            "column": None if statistic == "count" else "km",
            "statistic": statistic,
            "time": "t",
            "start": 0,
            "period": 1,
            "horizon": horizon,
            "mechanism": mechanism,
            "rho": "1/2",
        }
    )
    return Publisher(question, CARD)


def speed(publisher: Publisher, updates: int, rounds: int) -> float:
    """Updates a second of one core: the best round, each update written down before it is shown.

    The core's time is counted, so that a core shared with other programs measures the same.
    """
    values = np.random.default_rng(1).exponential(5.0, 10)
    best, done = 0.0, publisher.closed
    for _ in range(rounds):
        start = time.process_time()
        for period in range(done, done + updates):
            publisher.update(period, values)
        best = max(best, updates / (time.process_time() - start))
        done += updates
    return best


def footprint(publisher: Publisher) -> int:
    """Bytes of the state that is kept between two updates."""
    position = publisher._state.exact_position
    return sum(sys.getsizeof(entry) for memory in position.exact_memories for entry in memory)


def simulated(counter: Counter, bound: int, when: int, runs: int) -> float:
    """The standard deviation of the ``when``-th release, in units of bound / sqrt(2 rho).

    Many series run at once through the counter's own step; small precisions keep the buffers
    within 64-bit integers.
    """
    rng = np.random.default_rng(2)
    spread = math.sqrt(counter.reach(bound)[1])
    memory = counter.start()
    for period in range(when):
        scale = spread * counter.multiple(period) / ONE
        noise: Any = np.rint(rng.normal(0.0, scale, runs)).astype(np.int64)
        memory, released = counter.step(memory, 0, noise)
    return float(np.std(released)) / (bound << counter.bits)


def formula(counter: Counter, horizon: int) -> float:
    """The same from the formulas of docs/mechanisms.md 5.4."""
    times = np.unique(np.geomspace(1, horizon, 4000).astype(np.int64))
    peaks = 2 ** np.arange(horizon.bit_length()) - 1
    times = np.union1d(times, peaks[peaks > 0])
    spread = math.sqrt(counter.reach(1)[1]) / 2.0**counter.bits
    return spread * float(counter.deviations(times).max())


def errors(counter: Counter, horizon: int) -> tuple[float, float]:
    """The worst and the root-mean-square deviation over a horizon, in units of bound/sqrt(2 rho).

    Only the tree's goes up and down from one period to the next; the others' are sampled.
    """
    spread = math.sqrt(counter.reach(1)[1]) / 2.0**counter.bits
    times = np.arange(1, horizon + 1)
    if not isinstance(counter, Tree):
        times = np.unique(np.geomspace(1, horizon, 3000).astype(np.int64))
    errors = spread * counter.deviations(times)
    mean = (errors**2 * np.diff(times, prepend=0)).sum() / horizon
    return float(errors.max()), math.sqrt(mean)


def honaker(horizon: int) -> tuple[float, float]:
    """The same for the tree when each node is estimated from all nodes below it as well.

    A node of level k then has the variance 2^k / (2^(k+1) - 1) of one draw (Honaker 2015).
    """
    levels = horizon.bit_length()
    times = np.arange(1, horizon + 1)
    variance = np.zeros(horizon)
    for level in range(levels):
        variance += (times >> level & 1) * (2.0**level / (2.0 ** (level + 1) - 1.0))
    errors = np.sqrt(levels * variance)
    return float(errors.max()), float(np.sqrt((errors**2).mean()))


def jax_privacy(horizon: int) -> dict[str, tuple[float, float]]:
    """The same for jax-privacy's factorisations, as far as it is installed and they are found."""
    try:
        import jax
        from jax_privacy.matrix_factorization import buffered_toeplitz, dense
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    blt = buffered_toeplitz.optimize(n=horizon, max_buffers=6)
    steps = np.unique(np.geomspace(1, horizon, 2000).astype(np.int64))
    inverse, size = blt.inverse(), float(buffered_toeplitz.sensitivity_squared(blt, horizon))
    each = np.array([float(buffered_toeplitz.iteration_error(inverse, t - 1)) for t in steps])
    lengths = np.diff(steps, prepend=0)
    mean = float((each * lengths).sum() / horizon)
    errors = {"jax-privacy BLT": (math.sqrt(size * each.max()), math.sqrt(size * mean))}
    if horizon <= _DENSE:
        strategy = dense.optimize(horizon)
        square = np.asarray(dense.per_query_error(strategy_matrix=strategy))
        square = square * float((np.asarray(strategy) ** 2).sum(axis=0).max())
        errors["jax-privacy dense"] = math.sqrt(square.max()), math.sqrt(square.mean())
    return errors


def compared() -> None:
    """Print worst and mean error of all counters at four horizons."""
    rows: dict[str, list[float | str]] = {}
    for horizon in HORIZONS:
        pairs = {
            name: errors(counter_for(name, "to_date", horizon, 1), horizon)
            for name in ("independent", "tree", "buffered", "endless")
        }
        pairs["tree, Honaker"] = honaker(horizon)
        pairs.update(jax_privacy(horizon))
        for name, pair in pairs.items():
            rows.setdefault(name, ["-"] * 2 * len(HORIZONS))
            column = 2 * HORIZONS.index(horizon)
            rows[name][column : column + 2] = pair
    head = [f"T = {horizon}, {which}" for horizon in HORIZONS for which in ("worst", "mean")]
    print_table(("counter", *head), [(name, *values) for name, values in rows.items()])


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables, then the lines."""
    quick = parser(__doc__ or "").parse_args(argv).quick
    runs = 20_000 if quick else 125_000
    compared()
    rows: list[Any] = []
    for name, counter, small, bound, when in (
        ("independent", Independent(), Independent(), 256, YEAR),
        ("tree", Tree(YEAR), Tree(YEAR), 256, 255),
        (
            "buffered",
            counter_for("buffered", "to_date", YEAR, 1),
            Buffered(YEAR, fitted(YEAR, precision=14), bits=8),
            1,
            YEAR,
        ),
    ):
        measured = simulated(small, bound, when, runs)
        longer = [
            formula(counter_for(name, "to_date", horizon, 1), horizon) for horizon in (10**4, 10**6)
        ]
        rows.append((name, formula(counter, YEAR), measured, *longer))
    print_table(("worst deviation", "T = 365", f"{runs} runs", "T = 10^4", "T = 10^6"), rows)
    ratio = rows[1][1] / rows[2][1]

    # Short rounds, so that the best of them was not shared with another process.
    updates, rounds = 2_000, 15 if quick else 100
    rows, rates = [], {}
    for statistic, mechanism, horizon in (
        ("count", "buffered", 10**6),
        ("sum", "buffered", 10**6),
        ("mean", "buffered", 10**6),
        ("count", "endless", 10**6),
        ("count", "tree", 10**6),
    ):
        publisher = opened(statistic, mechanism, horizon)
        early = footprint(publisher)
        rates[statistic, mechanism] = rate = speed(publisher, updates, rounds)
        numbers = sum(len(memory) for memory in publisher._state.exact_position.exact_memories)
        rows.append((statistic, mechanism, horizon, rate, numbers, early, footprint(publisher)))
    print_table(
        ("statistic", "mechanism", "horizon", "updates/s", "numbers", "bytes before", "after"), rows
    )
    print(
        "Memory: whatever the horizon, 5 to 11 whole numbers a running sum for the buffers, "
        "17 without a horizon; 2 log2(horizon) + 3 for the tree.\n"
    )
    emit("updates_per_second", rates["sum", "buffered"])
    emit("ratio_tree", ratio)


if __name__ == "__main__":
    main()
