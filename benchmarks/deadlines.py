"""Are the reply times of a padded service long enough? The model against the clock.

``python -m benchmarks.deadlines [--quick]`` asks one question of each kind of made-up records of
several sizes, the warm-up aside, and prints how much of its reply time each took. Above 1.0 the
model is wrong on this machine: padded replies would leave late, and tell how long they took.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import pyarrow as pa

import whitecrow as wc
from whitecrow.server._deadlines import reply_time

_COLUMNS = ("a", "b", "c", "d")


def records(size: int) -> pa.Table:
    """Half of them in a crowd, half spread out."""
    draw = np.random.default_rng(7)
    table = {}
    for name in _COLUMNS:
        table[name] = np.concatenate(
            [draw.normal(50, 1, size // 2), draw.uniform(0, 100, size - size // 2)]
        ).clip(0, 100)
    table["group"] = draw.choice(["x", "y", "z"], size)
    return pa.table(table)


def card(size: int) -> wc.Card:
    """Bounds, and the size as the only public bound on it."""
    numbers = tuple(wc.Column(name, lower=0, upper=100) for name in _COLUMNS)
    groups = wc.Column("group", "category", categories=("x", "y", "z"))
    return wc.Card("made-up", columns=(*numbers, groups), records_at_most=size)


def questions(turn: int) -> list[wc.question.Question]:
    """One of each kind that takes time; another turn asks about another epsilon."""
    model = wc.DistanceAnomaly(beta=20, radius=2.0)
    epsilon = f"{1000 + turn}/2000"
    place = dict.fromkeys(_COLUMNS, 50.0)
    return [
        wc.Screen(place, model=model, epsilon=epsilon),
        wc.Identify(place, model=model, epsilon=epsilon),
        wc.Count(model=model, columns=("a", "b"), epsilon=epsilon),
        wc.Subspaces(size=2, model=model, epsilon=epsilon),
        wc.Lookahead(["group"], model=wc.DistanceAnomaly(beta=20, radius=0), k=1, epsilon=epsilon),
        wc.Tune(("a", "b"), share="0.05", radii=(1.0, 2.0, 4.0), beta=20, epsilon=epsilon),
        wc.Profile(epsilon=epsilon),
        wc.Learn(epsilon=epsilon),
    ]


def measured(size: int, turns: int) -> list[tuple[str, float, float]]:
    """Kind, the slowest of several asks in seconds, and the published reply time."""
    curator = wc.Curator.open(
        records(size), card=card(size), budget="1000", ledger="sqlite://", name="made-up"
    )
    took: dict[str, list[float]] = {}
    times: dict[str, float] = {}
    for turn in range(turns + 1):
        for question in questions(turn):
            started = time.perf_counter()
            curator.ask(question)
            if turn:  # the first loads and compiles
                took.setdefault(question.kind, []).append(time.perf_counter() - started)
            times[question.kind] = reply_time(question, curator.card, size)
    curator.close()
    return [(kind, max(found), times[kind]) for kind, found in took.items()]


def main() -> int:
    """Print the table; return 1 if a reply time was too short."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--quick", action="store_true", help="one small size")
    sizes = (4_000,) if given.parse_args().quick else (4_000, 40_000)
    worst = []
    for size in sizes:
        print(f"{size:,} records")
        for kind, slowest, deadline in measured(size, turns=3):
            print(f"  {kind:<10} {1000 * slowest:8.1f} ms of {deadline:6.2f} s")
            worst.append(slowest / deadline)
    usual = statistics.median(worst)
    print(f"used at most {max(worst):.2f} of a reply time, in the median {usual:.2f}")
    return int(max(worst) > 1)


if __name__ == "__main__":
    raise SystemExit(main())
