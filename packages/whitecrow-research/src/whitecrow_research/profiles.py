"""``python -m whitecrow_research.profiles --data FOLDER``: how good profiles are on public sets.

No bounds are given. For each set and price every column is profiled several times, and the rank of
each released quantile is compared with the rank it should have. A value that many records share
has many ranks; the distance to the nearest of them counts.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import parquet

import whitecrow as wc
from whitecrow.data import read
from whitecrow.data.reading import bare_card
from whitecrow.histogram.table import TableProfile
from whitecrow.profile import gather, release

SETS = ("adult", "mammography", "thyroid", "10_cover", "8_celeba", "34_smtp")
PRICES = (("0.1", "0"), ("0.1", "1e-6"), ("1", "0"), ("1", "1e-6"), ("10", "0"), ("10", "1e-6"))
RANKS = (0.05, 0.5, 0.95)
LIMITS = (0.02, 0.01, 0.02)
"""From how far off on a quantile counts as missed."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """How good the profiles of one set at one price are.

    Parameters
    ----------
    name : str
        The set.
    records, columns : int
        Its size; columns of numbers only.
    epsilon, delta : str
        The price of a profile.
    errors : float64 array
        By run, column and rank: how far off, as a part of all records.
    """

    name: str
    records: int
    columns: int
    epsilon: str
    delta: str
    errors: Floats

    def typical(self, index: int) -> float:
        """The mean error at a rank."""
        return float(self.errors[:, :, index].mean())

    def missed(self, index: int) -> float:
        """How often a quantile was farther off than the limit."""
        return float((self.errors[:, :, index] > LIMITS[index]).mean())


def table(folder: Path, name: str) -> pa.Table:
    """Read a set: Parquet, or an archive of ADBench beside it."""
    if (folder / f"{name}.parquet").exists():
        return parquet.read_table(folder / f"{name}.parquet")
    values = np.load(folder / "adbench" / f"{name}.npz")["X"].astype(np.float64)
    return pa.table({f"x{index}": values[:, index] for index in range(values.shape[1])})


def rank_error(ordered: Floats, value: float, rank: float) -> float:
    """Return how far a rank lies from those that a value has."""
    below, upto = np.searchsorted(ordered, value, "left"), np.searchsorted(ordered, value, "right")
    return float(max(below / len(ordered) - rank, rank - upto / len(ordered), 0.0))


def measured(
    data: pa.Table, name: str, epsilon: str, delta: str, *, runs: int, columns: Sequence[str] = ()
) -> Row:
    """Profile a table several times, with the operating system's noise."""
    card = bare_card(data.schema, name)
    question = wc.Profile(columns or None, epsilon=epsilon, delta=delta)
    facts = gather(question, read(data, card))
    numbers = [part.name for part in question.parts(card) if part.ordered]
    ordered = {part: np.sort(np.asarray(data.column(part)).astype(np.float64)) for part in numbers}
    errors = np.empty((runs, len(numbers), len(RANKS)))
    for run in range(runs):
        profile = TableProfile.from_json(release(question, facts))
        for index, part in enumerate(numbers):
            errors[run, index] = [
                rank_error(ordered[part], profile.quantile(part, rank), rank) for rank in RANKS
            ]
    return Row(name, data.num_rows, len(numbers), epsilon, delta, errors)


def categories_found(
    data: pa.Table, column: str, *, runs: int, whole: bool, weight: float = 1.0
) -> float:
    """Return how often a profile at (1, 1e-6) finds every value of a column.

    ``whole`` profiles all columns, of which this one has a weight; otherwise it alone is profiled.
    """
    chosen: dict[str, Any] = {"weights": {column: weight}} if whole else {"columns": [column]}
    question = wc.Profile(epsilon="1", delta="1e-6", **chosen)
    facts = gather(question, read(data, bare_card(data.schema, "set")))
    wanted = set(data.column(column).drop_null().to_pylist())
    hits = [
        set(TableProfile.from_json(release(question, facts)).categories(column)) == wanted
        for _ in range(runs)
    ]
    return float(np.mean(hits))


def tables(folder: Path, runs: int, sets: Sequence[str], prices: Sequence[Any]) -> Iterator[str]:
    """Yield the lines of the table in the documentation."""
    yield (
        "| set | records | columns | ε, δ | 5 % | median | 95 % | missed |\n"
        "|---|---:|---:|---|---:|---:|---:|---:|"
    )
    for name in sets:
        data = table(folder, name)
        for epsilon, delta in prices:
            row = measured(data, name, epsilon, delta, runs=runs)
            typical = " | ".join(f"{100 * row.typical(index):.2f}" for index in range(3))
            missed = " / ".join(f"{row.missed(index):.0%}" for index in range(3))
            yield (
                f"| {name} | {row.records:,} | {row.columns} | {epsilon}, {delta} | {typical} | "
                f"{missed} |"
            )


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(
        prog="python -m whitecrow_research.profiles", description=__doc__
    )
    parser.add_argument("--data", default=os.environ.get("WHITECROW_DATA"), help="folder of sets")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=SETS)
    given = parser.parse_args()
    if not given.data:
        parser.error("say where the sets are: --data FOLDER, or the variable WHITECROW_DATA")
    folder = Path(given.data)
    for line in tables(folder, given.runs, given.sets, PRICES):
        print(line, flush=True)  # noqa: T201 - that is what the command does
    if "adult" in given.sets:
        adult = table(folder, "adult")
        for words, whole, weight in (
            ("alone", False, 1.0),
            ("with 14 other columns", True, 1.0),
            ("with 14 other columns, weight 10", True, 10.0),
        ):
            discovered = categories_found(
                adult, "education", runs=4 * given.runs, whole=whole, weight=weight
            )
            print(f"education, {words}: all 16 values found in {discovered:.0%}")  # noqa: T201 - as above


if __name__ == "__main__":
    main()
