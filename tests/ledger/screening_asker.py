"""Asks a screening in a process of its own, which may be killed at any moment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import whitecrow as wc
from whitecrow.curator import transcripts  # noqa: F401 - loaded before processes are made

SERIES: dict[str, Any] = {
    "model": wc.DistanceAnomaly(beta=60, radius=0.5),
    "epsilon": 3,
    "delta": "1e-6",
    "limit": 9,
}
CROWD = np.random.default_rng(3).normal(size=(1500, 2))
ASKED = np.random.default_rng(4).normal(scale=1.6, size=(1300, 2))
AT_ONCE = 35


def frame(values: Any) -> pa.Table:
    """Records as a table."""
    return pa.table({"a": values[:, 0], "b": values[:, 1]})


def curator(store: str) -> wc.Curator:
    """Open the account; the first one sets its budget."""
    return wc.Curator.open(frame(CROWD), ledger=store, name="crowd", budget="3, 1e-6")


def told(folder: Path) -> Iterator[tuple[int, bool]]:
    """Every answer that any process was told; one that was killed may have half a line."""
    for path in sorted(folder.glob("told-*")):
        for line in path.read_text().splitlines():
            if line.endswith("]]"):
                yield from json.loads(line)


def ask(store: str, folder: Path, number: int, ready: Any, after: int) -> None:
    """Ask about all places in an order of one's own, and write down what one is told.

    After so many batches one is ready to be killed, whatever one is doing then.
    """
    order = np.random.default_rng(number).permutation(len(ASKED))
    with curator(store) as opened, (folder / f"told-{number}").open("w") as told_here:
        screening = opened.screening(**SERIES)
        for start in range(0, len(order), AT_ONCE):
            if start >= after * AT_ONCE:
                ready.set()
            some = order[start : start + AT_ONCE]
            flags = screening.ask_all(frame(ASKED[some])).tolist()
            told_here.write(json.dumps(list(zip(some.tolist(), flags, strict=True))) + "\n")
            told_here.flush()
