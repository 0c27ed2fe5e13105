"""From a table that nobody has described to a detector, for one price."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.curator.undescribed import _Account, learn, learned
from whitecrow.errors import BudgetExhausted, InvalidInput
from whitecrow.ledger import Ledger

ROWS = 4000
WARDS = ("north", "south", "east")


def _messy() -> list[str]:
    random = np.random.default_rng(7)
    lines = ["customer_id,name,age,paid,share,seen,born,active,ward,remark"]
    for i in range(ROWS):
        age = "unknown" if random.random() < 0.03 else str(random.integers(18, 90))
        paid = f"€{np.exp(random.normal(5, 1)):,.2f}"
        seen = f"{random.integers(1, 29)}/{random.integers(1, 13)}/2024"
        born = f"{random.integers(1940, 2000)}-05-{random.integers(10, 29)}"
        active = random.choice(["yes", "no"])
        remark = f"what somebody wrote about person {i} on a long afternoon"
        share = f"{random.random() * 100:.1f}%"
        ward = random.choice(WARDS)
        lines.append(
            f'{i},Person {i},{age},"{paid}",{share},{seen},{born},{active},{ward},"{remark}"'
        )
    return lines


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("messy") / "messy.csv"
    path.write_text("\n".join(_messy()) + "\n", encoding="utf-8")
    return path


def test_a_messy_csv_becomes_a_detector_that_names_what_is_strange(messy: Path) -> None:
    said: list[str] = []
    release = learn(messy, epsilon=2, delta="1e-6", ledger="sqlite://", say=said.append)
    detector = release.answer
    assert isinstance(detector, wc.Detector)
    assert set(detector.columns) == {"age", "paid", "share", "seen", "born", "active", "ward"}
    formats = {name: detector.card.column(name).format for name in detector.columns}
    assert formats["paid"] == formats["share"] == "amount"
    assert formats["seen"] == "day first"
    assert set(detector.card.column("ward").categories or ()) == set(WARDS)
    assert "customer_id (an identifier by its name)" in said[0]
    assert "remark (long texts)" in said[0]
    assert said[0] in detector.notes
    usual = {"age": "40", "paid": "€150.00", "share": "50%", "seen": "5/6/2024"}
    usual |= {"born": "1970-05-12", "active": "yes", "ward": "north"}
    scores = release.scores([usual, {**usual, "paid": "€99,000.00"}])
    assert scores[0] < scores[1]


def test_everything_together_costs_what_was_asked_for(messy: Path) -> None:
    with Ledger("sqlite://") as ledger:
        release = learn(messy, epsilon="1/2", delta="1e-6", ledger=ledger, budget="1/2, 1e-6")
        assert release.guarantee == wc.DifferentialPrivacy("1/2", "1e-6")
        assert release.answer.guarantee == release.guarantee
        entries = [entry for entry in ledger.entries("messy") if entry.kind == "reserve"]
        prices = [entry.content["price"] for entry in entries]
        assert len(prices) == 3
        assert sum(Fraction(price["epsilon"]) for price in prices) == Fraction(1, 2)
        assert sum(Fraction(price["delta"]) for price in prices) == Fraction(1, 10**6)


def test_asked_again_it_is_the_same_and_free(messy: Path, tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path / 'account.db'}"
    first = learn(messy, epsilon=1, delta="1e-6", ledger=ledger)
    second = learn(messy, epsilon=1, delta="1e-6", ledger=ledger)
    assert first.charged
    assert not second.charged
    assert first.answer == second.answer


def test_what_asks_of_a_table_does_not_show_it() -> None:
    table = pyarrow.table({"age": [61], "remark": ["a secret"]})
    asking = _Account(table, wc.DifferentialPrivacy("1"), "1", None, None)
    assert "secret" not in f"{asking!r} {asking}"


def test_no_record_is_left_out_for_what_it_holds() -> None:
    """One record that cannot be read in any column moves every count by one, as any other does."""
    frame = pyarrow.table({"a": ["1.5"] * 500 + ["???"], "b": [1.0] * 500 + [float("inf")]})
    release = learn(frame, epsilon=50)
    assert abs(release.answer.records - 501) <= 5


def test_a_typed_frame_without_texts_pays_for_the_detector_alone() -> None:
    random = np.random.default_rng(2)
    frame = pyarrow.table({"age": random.normal(50, 9, 800), "beds": random.integers(0, 5, 800)})
    with Ledger("sqlite://") as ledger:
        learn(frame, epsilon=1, ledger=ledger)
        assert len([entry for entry in ledger.entries("records") if entry.kind == "reserve"]) == 1


def test_columns_of_categories_alone_are_enough() -> None:
    random = np.random.default_rng(3)
    frame = pyarrow.table({f"k{i}": random.choice(list("abcdef"), 4000) for i in range(5)})
    detector = learn(frame, epsilon=1, delta="1e-6").answer
    assert detector.columns == tuple(f"k{i}" for i in range(5))


def test_without_a_delta_texts_are_left_out_and_that_is_said() -> None:
    frame = pyarrow.table({"age": [1.0, 2.0] * 400, "ward": ["a", "b"] * 400})
    said: list[str] = []
    detector = learn(frame, epsilon=5, say=said.append).answer
    assert detector.columns == ("age",)
    assert "ward (texts, whose common values only a δ > 0 can name)" in said[0]


def test_too_little_left_is_refused_before_anything_is_spent(messy: Path) -> None:
    with Ledger("sqlite://") as ledger:
        with pytest.raises(BudgetExhausted, match="ε = 2"):
            learn(messy, epsilon=2, delta="1e-6", ledger=ledger, budget="1, 1e-6")
        assert not ledger.datasets()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1, "delta": 2}, "delta"),
        ({"epsilon": 1, "columns": ["nope"]}, "nope"),
        ({"epsilon": 1, "false_alarms": [0.9]}, "false_alarms"),
    ],
)
def test_bad_input_is_refused(given: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        learn(pyarrow.table({"a": [1.0, 2.0]}), **given)  # type: ignore[arg-type]


def test_the_terminal_learns_and_scores_without_a_card(messy: Path, tmp_path: Path) -> None:
    detector, flagged = tmp_path / "m.detector", tmp_path / "flagged.csv"
    data = tmp_path / "messy.csv"
    data.write_bytes(messy.read_bytes())
    run = CliRunner().invoke
    done = run(whitecrow, ["learn", str(data), "--epsilon", "1", "--delta", "1e-6", "--price-only"])
    assert done.exit_code == 0, done.output
    assert "No card is given" in done.output
    assert not list(tmp_path.glob("*.db"))
    words = ["learn", str(data), "--epsilon", "1", "--delta", "1e-6", "--out", str(detector)]
    done = run(whitecrow, words)
    assert done.exit_code == 0, done.output
    words = ["score", str(detector), str(data), "--out", str(flagged)]
    words += ["--key", "customer_id", "--keep", "ward,paid", "--why", "--top", "5"]
    done = run(whitecrow, words)
    assert done.exit_code == 0, done.output
    head, *rows = flagged.read_text(encoding="utf-8").splitlines()
    assert head == '"row","customer_id","ward","paid","score","why"'
    assert len(rows) == 5
    assert "(+" in rows[0]


def test_scores_keep_the_order_of_rows_and_json_has_null_for_what_was_not_asked(
    messy: Path, tmp_path: Path
) -> None:
    import json

    release = learn(messy, epsilon=1, delta="1e-6", ledger="sqlite://")
    release.save(tmp_path / "m.detector")
    out = tmp_path / "scores.csv"
    words = ["--json", "score", str(tmp_path / "m.detector"), str(messy), "--out", str(out)]
    done = CliRunner().invoke(whitecrow, [*words, "--key", "customer_id"])
    said = json.loads(done.stdout)
    assert said["outliers"] is None
    assert len(said["top"]) == 10
    assert said["top"][0]["why"]
    lines = out.read_text(encoding="utf-8").splitlines()[1:]
    assert [line.split(",")[0].strip('"') for line in lines] == [str(i) for i in range(ROWS)]
    scores = [float(line.split(",")[1]) for line in lines]
    assert scores == release.answer.scores(messy).tolist()


def test_a_file_that_is_no_detector_is_told_apart(messy: Path) -> None:
    with pytest.raises(InvalidInput, match=r"'messy\.csv' is not a detector file"):
        wc.Detector.load(messy)


def test_what_else_the_question_says_is_kept() -> None:
    frame = pyarrow.table({"age": [1.0, 2.0] * 400, "paid": ["€5.00", "€6.00"] * 400})
    asked = wc.Learn(epsilon=8, delta="1e-6", seed=7, threshold_share="1/5")
    release = learned(asked, frame)
    assert release.question["seed"] == 7
    assert release.question["threshold_share"] == "1/5"
    assert release.answer.columns == ("age", "paid")


def test_a_promise_that_the_account_cannot_take_is_refused_before_anything_is_spent() -> None:
    frame = pyarrow.table({"age": [1.0, 2.0] * 400, "paid": ["€5.00", "€6.00"] * 400})
    asked = wc.Learn(epsilon=1, relation="replace_one")
    with Ledger("sqlite://") as ledger:
        with pytest.raises(wc.WhitecrowError, match="replacement of one record only"):
            learned(asked, frame, ledger=ledger)
        assert not ledger.datasets()


def test_a_database_scores_amounts_alike_or_says_that_it_cannot(messy: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    detector = learn(messy, epsilon=1, delta="1e-6", ledger="sqlite://").answer
    with pytest.raises(InvalidInput, match=r"SQL text has no words for"):
        detector.sql("duckdb", "visits")
    with duckdb.connect() as connection:
        detector.duckdb(connection, "strange")
        plain = {"integer": "DOUBLE", "number": "DOUBLE", "date": "DATE"}
        cards = [detector.card.column(name) for name in detector.columns]
        types = ["VARCHAR" if one.format else plain.get(one.type, "VARCHAR") for one in cards]
        columns = ", ".join(
            f"TRY_CAST({one.name} AS {kind})" for one, kind in zip(cards, types, strict=True)
        )
        query = f"SELECT strange({columns}) FROM read_csv('{messy}', all_varchar = true)"  # noqa: S608
        found = [row[0] for row in connection.sql(query).fetchall()]
    assert found == detector.scores(messy).tolist()
