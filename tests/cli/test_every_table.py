"""From a table that nobody has described to scores, at the terminal, without an edit.

A table's commands run in a process of its own, so that a crash is seen as what it is.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

COMMANDS = (
    "card new {data} --out schema.toml",
    "profile {data} --card schema.toml --epsilon {price} --budget 9,1e-5 --out draft.toml",
    "card accept draft.toml {data} --out card.toml",
    "learn {data} --card card.toml --epsilon 1 --out learned.detector",
    "score learned.detector {data} --out scores.parquet --contributions",
)
PRICES = ("1", "1 --delta 1e-6")
ONE_AFTER_THE_OTHER = """
import shlex, sys
from whitecrow.cli import whitecrow
for command in sys.argv[1:]:
    try:
        whitecrow(shlex.split(command), prog_name="whitecrow")
    except SystemExit as ended:
        if ended.code:
            raise
"""


def walk(data: Path, price: str) -> None:
    """Run all commands on a table, and look at the scores."""
    said = [command.format(data=data.name, price=price) for command in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ONE_AFTER_THE_OTHER, *said],
        cwd=data.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    card = (data.parent / "card.toml").read_text(encoding="utf-8")
    assert "1.797" not in card, "a bound at the largest number"
    scores = pq.read_table(data.parent / "scores.parquet")
    assert scores.num_rows == pq.read_metadata(data).num_rows
    found = scores["score"].to_numpy()
    assert not np.isinf(found).any()


def write(table: pa.Table, folder: Path) -> Path:
    target = folder / "table.parquet"
    pq.write_table(table, target)
    return target


def made_up() -> Iterator[tuple[str, pa.Table]]:
    """Small tables with what real ones have: tails, one value, much missing, few records."""
    draw = np.random.default_rng(8)
    size = 400
    yield (
        "wide",
        pa.table({f"x{place}": np.exp(draw.normal(0, 1 + place, size)) for place in range(40)}),
    )
    yield (
        "odd",
        pa.table(
            {
                "constant": np.full(size, 7.25),
                "huge": draw.choice([1e300, -1e300, 1.7e308], size),
                "tiny": draw.choice([5e-324, 0.0, 1e-310], size),
                "missing": pa.array([None] * size, pa.float64()),
                "count": draw.integers(-(2**53), 2**53, size),
                "word": draw.choice(["a", "b"], size).tolist(),
                "yes": draw.random(size) < 0.5,
            }
        ),
    )
    yield "few", pa.table({"x": [1.0], "y": [2]})


@pytest.mark.parametrize(
    ("name", "price"), [("wide", PRICES[0]), ("odd", PRICES[1]), ("few", PRICES[0])]
)
def test_a_table_that_nobody_has_described_is_scored(name: str, price: str, tmp_path: Path) -> None:
    walk(write(dict(made_up())[name], tmp_path), price)


def real_tables(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.parquet"), *folder.glob("*/*.npz")])


def read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with np.load(path, allow_pickle=True) as kept:
        values = np.asarray(kept["X"], dtype=np.float64)
        labels = np.asarray(kept["y"])
    columns = {f"x{place}": values[:, place] for place in range(values.shape[1])}
    return pa.table({**columns, "label": labels})


@pytest.mark.study
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(8))
def test_every_real_table_is_scored_without_an_edit(
    part: int, shared_data: Path, tmp_path: Path
) -> None:
    """``pytest tests/cli/test_every_table.py --study``: an eighth of the tables each."""
    failed = {}
    for number, path in enumerate(real_tables(shared_data)[part::8]):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            walk(write(read(path), folder), PRICES[number % 2])
        except AssertionError as error:
            failed[path.name] = str(error)[-1500:]
    assert not failed, failed
