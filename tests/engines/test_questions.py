"""Questions asked of records that stay where they are: answered, and charged once."""

from __future__ import annotations

import datetime
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.data import Card, Column
from whitecrow.data.warehouse import open_remote
from whitecrow.questions import question_type

Opening = Callable[..., tuple[Any, Any]]
Storing = Callable[[str, pa.Table], object]
ANY = {"notions": ["differential", "concentrated", "sensitive", "conditional"]}
WARDS = ("A", "B", "C")


def patients(rows: int = 1200) -> pa.Table:
    rng = np.random.default_rng(5)
    first = datetime.date(2024, 1, 1)
    return pa.table(
        {
            "age": np.append(rng.normal(50, 4, rows - 2), [99.0, np.nan]),
            "bmi": np.append(rng.normal(25, 2, rows - 2), [14.0, 25.0]),
            "ward": pa.array([*(WARDS[i] for i in rng.integers(0, 3, rows - 1)), "nowhere"]),
            "since": pa.array(
                [first + datetime.timedelta(int(d)) for d in rng.integers(0, 60, rows)]
            ),
        }
    )


CARD = Card(
    "patients",
    (
        Column("age", lower=0, upper=120, resolution=0.5),
        Column("bmi", lower=10, upper=60),
        Column("ward", "category", categories=WARDS),
        Column("since", "date", lower="2024-01-01", upper="2024-12-31"),  # type: ignore[arg-type]
    ),
)
WRITTEN = """
name = "patients"
[[columns]]
name = "age"
type = "number"
lower = 0
upper = 120
[[columns]]
name = "bmi"
type = "number"
lower = 10
upper = 60
[[columns]]
name = "ward"
type = "category"
categories = ["A", "B", "C"]
"""
MODEL = wc.DistanceAnomaly(beta=3, radius=2.0)
FAR = {"age": 99.0, "bmi": 14.0}


def questions() -> dict[str, Any]:
    """One of each kind, at prices that leave the answers as they are."""
    return {
        "identify": wc.Identify(FAR, model=MODEL, k=1, epsilon=100_000),
        "screen": wc.Screen({"age": 50.0, "bmi": 25.0}, model=MODEL, epsilon=100_000),
        "count": wc.Count(["age", "bmi"], model=MODEL, epsilon=100_000),
        "subspaces": wc.Subspaces(
            1, columns=["age", "bmi"], model=MODEL, epsilon=100_000, count_share="1/2"
        ),
        "explain": wc.Explain(
            {"age": 99.0, "ward": "A"},
            metric="age",
            detector="grubbs",
            epsilon=100_000,
            notion="conditional",
        ),
        "publish": wc.Publish(
            "age",
            statistic="sum",
            time="since",
            start="2024-01-01",
            period="month",
            horizon=3,
            epsilon=100_000,
        ),
    }


def told(kind: str, facts: Any) -> object:
    """What a question found out, in a form that can be compared."""
    if kind in ("identify", "screen"):
        return facts.exact_truth, facts.exact_bound
    if kind == "count":
        return facts.exact_outliers, facts.exact_sensitivity
    if kind == "subspaces":
        return facts.exact_outliers, facts.count(0).exact_sensitivity
    if kind == "explain":
        people = facts.exact_graph.population
        below, cells, *_ = people.sides(5)
        return [people.values(context).tolist() for context in range(1 << people.bits)], [
            people.near(4).tolist(),
            people.total.tolist(),
            sorted(zip(below.tolist(), cells.tolist(), strict=True)),
        ]
    return [
        (sorted(day.exact_joins.tolist()), sorted(day.exact_leaves.tolist()))
        for day in facts.exact_days
    ]


def charges(curator: wc.Curator) -> int:
    return sum(entry.kind == "reserve" for entry in curator.ledger.entries(curator.name))


def test_every_question_finds_the_same_facts(remote_kind: str, opening: Opening) -> None:
    local = opening("local", patients(), CARD)
    remote = opening(remote_kind, patients(), CARD)
    for kind, question in questions().items():
        gather = question_type(kind).gather
        assert told(kind, gather(question, *remote)) == told(kind, gather(question, *local)), kind


@pytest.mark.parametrize("remote_kind", ["disk", "spark"], indirect=True)
def test_every_question_is_answered_and_charged_once(
    remote_kind: str, storing: Storing, tmp_path: Path
) -> None:
    source = storing(remote_kind, patients())
    engine = "spark" if remote_kind == "spark" else "disk"
    here = wc.Curator.open(patients(), card=CARD, budget="10000000", name="here", policy=ANY)
    steps: list[tuple[int, int, str]] = []
    with wc.Curator.open(
        source, card=CARD, engine=engine, ledger=tmp_path / "l.db", budget="10000000", policy=ANY
    ) as there:
        for number, question in enumerate(questions().values(), start=1):
            release = there.ask(question, progress=lambda *step: steps.append(step))
            assert release.charged
            if question.kind != "publish":
                assert release.answer == here.ask(question).answer
            assert not there.ask(question).charged
            assert charges(there) == number
    if engine == "spark":
        said = [step for step in steps if step[2] == "counting on Spark"]
        assert said == [(step, 20, "counting on Spark") for step in range(21)] * (len(said) // 21)


def test_a_worker_that_is_killed_is_replaced(spark: Any, tmp_path: Path) -> None:
    """The first task dies with its process; Spark tries again, and nobody is charged for it."""
    from pyspark.sql import SparkSession

    mark = tmp_path / "died"

    def deadly(batches: Any) -> Any:
        for batch in batches:
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    assert isinstance(spark, SparkSession)
    whole = spark.createDataFrame(patients().select(["age", "bmi"]))
    frame = whole.repartition(3).mapInArrow(deadly, whole.schema)
    plain = Card("patients", CARD.columns[:2])
    with wc.Curator.open(frame, card=plain, engine="spark", budget="1000000", name="p") as there:
        release = there.count(["age", "bmi"], model=MODEL, epsilon=100_000)
        assert mark.exists()
        assert charges(there) == 1
    with wc.Curator.open(patients(), card=plain, budget="1000000") as here:
        assert release.answer == here.count(["age", "bmi"], model=MODEL, epsilon=100_000).answer


def test_spark_finds_a_file_whose_name_has_a_space_and_a_percent_sign(
    spark: Any, tmp_path: Path
) -> None:
    path = tmp_path / "ward 5% a.parquet"
    parquet.write_table(patients(50).select(["bmi"]), path)
    remote = open_remote(path, Card("ward", CARD.columns[1:2]), engine="spark")
    assert remote.size == 50


def test_what_spark_cannot_read_is_refused_when_it_is_opened(spark: Any) -> None:
    """So that no question fails for a record that ends Spark's own reading."""

    def broken(batches: Any) -> Any:
        raise ValueError("age 99.0 bmi 14.0")

    whole = spark.createDataFrame(patients().select(["age", "bmi"]))
    frame = whole.mapInArrow(broken, whole.schema)
    plain = Card("patients", CARD.columns[:2])
    with pytest.raises(wc.Unavailable, match=r"^The engine 'spark' did not answer") as refused:
        wc.Curator.open(frame, card=plain, engine="spark", budget="1000000", name="p")
    assert "99" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_failure_elsewhere_is_told_in_one_constant_sentence(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "patients.parquet"
    parquet.write_table(patients().select(["age", "bmi"]), path)
    plain = Card("patients", CARD.columns[:2])
    with wc.Curator.open(path, card=plain, engine="spark", budget="1000000") as there:
        monkeypatch.setattr("whitecrow.data.warehouse.workers.worked", lambda *_: 1 / 0)
        with pytest.raises(wc.Unavailable, match=r"^The computation failed") as refused:
            there.count(["age", "bmi"], model=MODEL, epsilon=100_000)
        assert refused.value.__cause__ is None
        assert refused.value.__context__ is None


@pytest.mark.parametrize("remote_kind", ["disk", "spark"], indirect=True)
def test_the_terminal_asks_where_the_records_are(
    remote_kind: str, storing: Storing, tmp_path: Path
) -> None:
    folder = storing(remote_kind, patients())
    card = tmp_path / "patients.toml"
    card.write_text(WRITTEN)
    engine = ["--engine", "sql"] if remote_kind == "disk" else ["--engine", "spark"]
    ran = CliRunner().invoke(
        whitecrow,
        ["--json", "count", str(folder), "--card", str(card), "--columns", "age,bmi", "--beta", "3",
         "--radius", "2", "--epsilon", "100000", "--budget", "1000000", *engine],
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    here = wc.Curator.open(patients(), card=CARD, budget="1000000")
    expected = here.count(["age", "bmi"], model=MODEL, epsilon=100_000).answer
    assert json.loads(ran.stdout)["answer"] == expected


def test_two_folders_of_one_stem_have_two_accounts(tmp_path: Path) -> None:
    for year in (2024, 2025):
        folder = tmp_path / f"visits.{year}"
        folder.mkdir()
        parquet.write_table(patients(50), folder / "part.parquet")
        with wc.Curator.open(folder, engine="disk", account="now") as curator:
            assert curator.name == f"visits.{year}"
    assert len(list(tmp_path.glob("*.whitecrow.db"))) == 2
