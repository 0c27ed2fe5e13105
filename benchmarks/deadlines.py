"""Are the reply times of a padded service long enough? The model against the clock.

One question of each kind is asked of made-up records of several sizes, the warm-up aside.
`used_of_reply_time` is how much of its published reply time the slowest answer of a kind took;
`used_at_most` is the largest of them. Above 1 the model is wrong on this machine, and the program
ends with 1: padded replies would leave late, and tell how long they took.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import whitecrow as wc
from benchmarks.common import emit, parser, print_table
from whitecrow_server._scheduling import reply_time

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


def questions(batch: int) -> list[wc.question.Question]:
    """One of each kind that takes time; another turn asks about another epsilon."""
    model = wc.DistanceAnomaly(beta=20, radius=2.0)
    epsilon = f"{1000 + batch}/2000"
    record = dict.fromkeys(_COLUMNS, 50.0)
    return [
        wc.Screen(record, model=model, epsilon=epsilon),
        wc.Identify(record, model=model, epsilon=epsilon),
        wc.Count(model=model, columns=("a", "b"), epsilon=epsilon),
        wc.Subspaces(size=2, model=model, epsilon=epsilon),
        wc.Lookahead(["group"], model=wc.DistanceAnomaly(beta=20, radius=0), k=1, epsilon=epsilon),
        wc.Tune(("a", "b"), share="0.05", radii=(1.0, 2.0, 4.0), beta=20, epsilon=epsilon),
        wc.Profile(epsilon=epsilon),
        wc.Learn(epsilon=epsilon),
    ]


def measured(size: int, batches: int) -> list[tuple[str, float, float]]:
    """Kind, the slowest of several asks in seconds, and the published reply time."""
    curator = wc.Curator.open(
        records(size), card=card(size), budget="1000", ledger="sqlite://", name="made-up"
    )
    took: dict[str, list[float]] = {}
    times: dict[str, float] = {}
    for batch in range(batches + 1):
        for question in questions(batch):
            started = time.perf_counter()
            curator.ask(question)
            if batch:  # the first loads and compiles
                took.setdefault(question.kind, []).append(time.perf_counter() - started)
            times[question.kind] = reply_time(question, curator.card, size)
    curator.close()
    return [(kind, max(seconds), times[kind]) for kind, seconds in took.items()]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a reply time was too short."""
    sizes = (4_000,) if parser(__doc__ or "").parse_args(argv).quick else (4_000, 40_000)
    rows, used = [], []
    for size in sizes:
        for kind, slowest, deadline in measured(size, turns=3):
            rows.append([f"{size:,}", kind, 1000 * slowest, deadline, slowest / deadline])
            used.append(slowest / deadline)
    print_table(["records", "question", "slowest ms", "reply time s", "used"], rows)
    emit("used_of_reply_time", *used)
    emit("used_at_most", max(used))
    return int(max(used) > 1)


if __name__ == "__main__":
    raise SystemExit(main())
