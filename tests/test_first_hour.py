"""Five tables as they come: from a file to flagged rows with reasons, no card and no edit."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow

Row = list[str]
ROWS = 20_000
WHITECROW = (sys.executable, "-c", "from whitecrow.cli import main; main()")


def _messy(draws: random.Random, rows: int) -> Iterator[Row]:
    yield ["Order ID", "Amount", "discount", "items", "Ordered on", "country", "express", "notes"]
    for number in range(rows):
        strange = number % 1000 == 7
        amount = 90_000.0 if strange else draws.lognormvariate(3.5, 0.5)
        yield [
            f"A{number:07d}",
            "" if draws.random() < 0.03 and not strange else f"€{amount:,.2f}",
            f"{draws.choice([0, 0, 5, 10])}%" if draws.random() < 0.97 else "n/a",
            str(draws.choice([1, 1, 2, 3])) if draws.random() < 0.95 else "many",
            f"{draws.randint(1, 28):02d}/{draws.randint(1, 12):02d}/{draws.randint(2021, 2024)}",
            draws.choice(["DE", "DE", "FR", ""]),
            draws.choice(["yes", "no", "Yes"]),
            " ".join(draws.choices(["late", "call back", "left at the door"], k=12)),
        ]


def _wide(draws: random.Random, rows: int) -> Iterator[Row]:
    yield [f"sensor {number}" for number in range(60)]
    for number in range(rows):
        level = 40.0 if number % 1000 == 7 else 0.0
        yield [f"{draws.gauss(level, 1):.3f}" for _ in range(60)]


def _tiny(draws: random.Random, rows: int) -> Iterator[Row]:
    yield ["age", "pulse"]
    for _ in range(40):
        yield [str(draws.randint(18, 90)), f"{draws.gauss(70, 8):.0f}"]


def _dates_and_money(draws: random.Random, rows: int) -> Iterator[Row]:
    yield ["due", "booked", "paid", "tax"]
    for number in range(rows):
        paid = 5_000_000 if number % 1000 == 7 else draws.randint(1_000, 9_000)
        yield [
            f"{draws.choice(['Jan', 'May', 'Dec'])} {draws.randint(1, 28)}, 2024",
            f"2024-0{draws.randint(1, 9)}-{draws.randint(10, 28)}T12:00:00Z",
            f"({paid:,}.50)" if draws.random() < 0.1 else f"${paid:,}.50",
            f"{draws.choice([7, 19])},{draws.choice([0, 5])} %",
        ]


def _categories(draws: random.Random, rows: int) -> Iterator[Row]:
    yield ["colour", "shape", "size"]
    for _ in range(rows):
        yield [
            draws.choice(["red", "blue", "green"]),
            draws.choice(["round", "square"]),
            draws.choice(["S", "M", "L"]),
        ]


TABLES: dict[str, tuple[Callable[[random.Random, int], Iterator[Row]], set[str]]] = {
    "messy": (_messy, {"Amount", "discount", "items", "Ordered on", "country", "express"}),
    "wide": (_wide, {f"sensor {number}" for number in range(60)}),
    "tiny": (_tiny, {"age", "pulse"}),
    "dates": (_dates_and_money, {"due", "booked", "paid", "tax"}),
    "categories": (_categories, {"colour", "shape", "size"}),
}
"""Each table, and the columns that a detector of it looks at."""


def _written(folder: Path, name: str, rows: int) -> Path:
    path = folder / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(TABLES[name][0](random.Random(name), rows))
    return path


def _run(*words: str) -> str:
    done = CliRunner().invoke(whitecrow, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def _flagged(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", TABLES)
def test_two_commands_lead_from_a_table_to_flagged_rows_with_reasons(
    tmp_path: Path, name: str
) -> None:
    data = str(_written(tmp_path, name, 4000 if name == "wide" else ROWS))
    model, out = str(tmp_path / "m.detector"), tmp_path / "flagged.csv"
    said = _run("learn", data, "--epsilon", "2", "--delta", "1e-6", "--out", model)
    _run("score", model, data, "--top", "20", "--why", "--out", str(out))
    detector = wc.Detector.load(model)
    assert set(detector.columns) == TABLES[name][1]
    assert f"Looks at {len(detector.columns)} of" in said
    assert ("records are too few for this price" in said) == (name == "tiny")
    rows = _flagged(out)
    assert len(rows) == 20
    assert all(row["why"] for row in rows)
    if name in ("wide", "dates"):
        assert all(int(row["row"]) % 1000 == 8 for row in rows[:4])  # rows are counted from 1


def test_five_lines_of_python_do_the_same(tmp_path: Path) -> None:
    data = _written(tmp_path, "messy", ROWS)
    detector = wc.learn(data, epsilon=2, delta="1e-6", ledger="sqlite://")
    scores = detector.scores(data)
    reasons = detector.contributions(data)
    places = scores.argsort().argsort() / ROWS
    assert places[7::1000].mean() > 0.95
    assert reasons["Amount"][7].as_py() > 5


def test_a_profile_drafts_a_card_that_leaves_no_record_out(tmp_path: Path) -> None:
    data = _written(tmp_path, "messy", ROWS)
    draft, card = str(tmp_path / "draft.toml"), str(tmp_path / "card.toml")
    price = ("--epsilon", "1", "--delta", "1e-6", "--budget", "3, 1e-5")
    _run("profile", str(data), *price, "--out", draft)
    _run("card", "accept", draft, str(data), "--out", card)
    with wc.Curator.open(data, card=card) as curator:
        assert set(curator.card.names) == TABLES["messy"][1]
        assert curator.intake()["left_out"] == {}
        assert curator.learn(epsilon=1, delta="1e-6").charged


REAL = {
    "ontario_salary_full": "170,000 rows: money, years, long texts",
    "aps_trucks_sample": "172 columns, most with empty fields",
    "ionosphere": "351 rows",
    "nyc_taxi_sample": "moments, dates, fares",
    "homicide_full": "nearly all categories",
}
"""Public tables, and why they are here."""


def _played(folder: Path, data: Path) -> None:
    """The three commands of a newcomer, in a shell."""
    for words in (
        ("learn", data.name, "--epsilon", "1", "--delta", "1e-6", "--out", "m.detector"),
        ("score", "m.detector", data.name, "--top", "20", "--why", "--out", "flagged.csv"),
        ("--json", "ledger", "show", data.name),
    ):
        done = subprocess.run(
            [*WHITECROW, *words], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    flagged = _flagged(folder / "flagged.csv")
    assert len(flagged) == 20
    assert all(row["why"] for row in flagged)
    (account,) = json.loads(done.stdout)["accounts"]
    assert account["spent"]["differential"] == "1"


@pytest.mark.study
@pytest.mark.parametrize("name", TABLES)
def test_a_newcomer_with_a_large_table(tmp_path: Path, name: str) -> None:
    """200,000 rows, or 60 columns."""
    _played(tmp_path, _written(tmp_path, name, 5_000 if name == "wide" else 200_000))


@pytest.mark.study
@pytest.mark.parametrize("name", REAL)
def test_a_newcomer_with_a_public_table(tmp_path: Path, shared_data: Path, name: str) -> None:
    data = tmp_path / f"{name}.csv"
    pyarrow.csv.write_csv(pyarrow.parquet.read_table(shared_data / f"{name}.parquet"), data)
    _played(tmp_path, data)
