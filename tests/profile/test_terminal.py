"""From a bare CSV to a private answer at the terminal; no number is read off the data."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow
from whitecrow.ledger import Ledger


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A CSV as people have them: no card, values missing, texts."""
    draw = np.random.default_rng(3)
    rows = ["age,pay,ward,seen"]
    for _ in range(6000):
        pay = "" if draw.random() < 0.1 else f"{np.exp(draw.normal(7, 1)):.2f}"
        ward = draw.choice(["north", "south", "east"])
        day = f"2023-{draw.integers(1, 13):02d}-{draw.integers(1, 28):02d}"
        rows.append(f"{draw.integers(18, 95)},{pay},{ward},{day}")
    file = tmp_path / "visits.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


def run(*words: object) -> dict[str, object]:
    done = CliRunner().invoke(whitecrow, ["--json", *map(str, words)])
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_four_commands_lead_from_a_bare_csv_to_a_private_answer(visits: Path) -> None:
    folder = visits.parent
    schema, draft, card = (folder / f"{name}.toml" for name in ("schema", "draft", "visits"))
    report, detector = folder / "report.html", folder / "visits.detector"

    run("card", "new", visits, "--out", schema)
    price = ("--epsilon", 1, "--delta", "1e-6", "--budget", "3, 1e-5")
    run("profile", visits, "--card", schema, *price, "--out", draft, "--picture", report)
    accepted = run("card", "accept", draft, visits, "--out", card)
    learned = run("learn", visits, "--card", card, "--epsilon", 1, "--out", detector)

    assert accepted["edited"] == []
    assert learned["charged"] is True
    assert detector.exists()
    assert "<svg" in report.read_text()
    said = card.read_text()
    assert 'categories = ["east", "north", "south", "(missing)"]' in said
    assert said.count('source = "priced question"') == 4
    assert run("ledger", "verify", visits)["ok"] is True


def test_a_draft_is_refused_until_it_is_accepted(visits: Path) -> None:
    folder = visits.parent
    run("card", "new", visits, "--out", folder / "schema.toml")
    price = ("--epsilon", "1/2", "--card", folder / "schema.toml")
    run("profile", visits, *price, "--out", folder / "draft.toml")
    done = CliRunner().invoke(whitecrow, ["card", "check", str(folder / "draft.toml")])
    assert done.exit_code == 2
    assert "This card is a draft" in done.output


def test_an_edited_line_is_the_custodians_word_and_the_chain_keeps_the_card(visits: Path) -> None:
    folder = visits.parent
    run("card", "new", visits, "--out", folder / "schema.toml")
    price = ("--epsilon", "1/2", "--card", folder / "schema.toml")
    run("profile", visits, *price, "--out", folder / "draft.toml")
    draft = (folder / "draft.toml").read_text()
    lines = draft.split("[[columns]]")
    age = next(part for part in lines if 'name = "age"' in part)
    edited = "\n".join(
        "upper = 120" if line.startswith("upper") else line for line in age.splitlines()
    )
    (folder / "draft.toml").write_text(draft.replace(age, edited + "\n"))
    found = run("card", "accept", folder / "draft.toml", visits, "--out", folder / "card.toml")
    assert found["edited"] == ["age"]
    by_name = {column["name"]: column for column in found["card"]["columns"]}  # type: ignore[index]
    assert "source" not in by_name["age"]  # the expert's, which is what a card says by default
    assert by_name["pay"]["source"] == "priced question"
    with Ledger(folder / "visits.whitecrow.db") as ledger:
        kept = ledger.entries("visits", kind="amend")[-1].content
    assert kept["card"] == found["card"]
    assert "edited: age" in kept["reason"]


def test_a_draft_of_another_account_is_refused(visits: Path) -> None:
    folder = visits.parent
    run("card", "new", visits, "--out", folder / "schema.toml")
    price = ("--epsilon", "1/2", "--card", folder / "schema.toml")
    run("profile", visits, *price, "--out", folder / "draft.toml")
    draft = folder / "draft.toml"
    text = draft.read_text()
    at = text.index('draft = "') + len('draft = "')
    draft.write_text(text[:at] + "0" * 8 + text[at + 8 :])
    done = CliRunner().invoke(
        whitecrow, ["card", "accept", str(draft), str(visits), "--out", str(folder / "card.toml")]
    )
    assert done.exit_code == 2
    assert "No profile of the account" in done.output


def test_a_model_is_advised_from_the_bought_profile_with_price_and_error_said(visits: Path) -> None:
    folder = visits.parent
    schema, draft, card = (folder / f"{name}.toml" for name in ("schema", "draft", "visits"))
    run("card", "new", visits, "--out", schema)
    run("profile", visits, "--card", schema, "--epsilon", 1, "--budget", 3, "--out", draft)
    run("card", "accept", draft, visits, "--out", card)
    asked = ("advise", visits, "--card", card, "--contamination", "0.02")
    found = run(*asked)
    assert found["drawn_from"] == "profile"
    assert 0.005 < found["share"] < 0.04
    assert found["description"]["error"]
    said = CliRunner().invoke(whitecrow, [str(word) for word in asked]).output
    assert "of made-up records are outliers" in said
    assert "Expected error: " in said
    lines = [line.split("whitecrow ", 1)[1] for line in said.splitlines() if "whitecrow " in line]
    assert [line.split()[0] for line in lines] == ["count", "tune"]
    for line in lines:  # they are commands, which may be asked as they are printed
        assert run(*shlex.split(line), "--price-only")["price"]["epsilon"] == "1"
