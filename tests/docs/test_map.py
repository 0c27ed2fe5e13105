"""The map of the papers: nothing they number is left out, and everything it names exists."""

from __future__ import annotations

import importlib
import operator
import re
from functools import reduce
from pathlib import Path

import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow as terminal

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
CORE = ROOT / "packages" / "whitecrow" / "src" / "whitecrow"
TESTS = (ROOT / "tests", ROOT / "packages" / "whitecrow-research" / "tests")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in TEXT.splitlines()
    if line.startswith("|") and not line.startswith(("|item|", "|---"))
]

NUMBERED = {  # read off the papers
    "Identifying": "Definitions 1 to 10; Theorems 1 to 5; Lemmas 1 to 3; Claims 1 to 4; "
    "Corollary 1; Construction 1; Tables 1 to 3; Figures 1 to 5",
    "How to": "Definitions 3.2, 4.2; Construction 1; Construction 2; Claim 2; Lemmas 4.3, 4.5; "
    "Theorems 4.1, 4.4, 4.6; Figure 4",
    "Differentially": "Definitions 1 to 8; Theorems 1 to 7; Lemma 1; Propositions 1, 2; "
    "Algorithms 1 to 3; Tables 1, 2; Figures 1 to 7",
    "PCOR": "Definitions 2.1, 2.2, 2.3, 2.4, 2.5, 3.1, 3.2, 3.3; Algorithms 1 to 5; Theorems 2.1, "
    "4.1, 4.2, 5.1, 5.2, 5.3, 5.4, 5.5, 5.6, 5.7, 5.8; Tables 1 to 13; Figures 1 to 5",
    "Challenges": "Definitions 1, 2, 4; Definition 3, loss; Definition 3, segments; Algorithm 1; "
    "Tables 1 to 4; Figures 1 to 3",
}


def _items(cell: str) -> list[str]:
    """Write out a list: "Lemma 2; Tables 1 to 3" is four items."""
    found = []
    for part in cell.split("; "):
        kind, _, numbers = part.partition(" ")
        for number in numbers.split(", "):
            first, _, last = number.partition(" to ")
            every = [first] if not last else map(str, range(int(first), int(last) + 1))
            found += [f"{kind.removesuffix('s')} {one}" for one in every]
    return found


@pytest.mark.parametrize("title", NUMBERED)
def test_every_numbered_item_of_a_paper_is_on_the_map_once(title: str) -> None:
    (part,) = [part for part in TEXT.split("\n## ")[1:] if part.startswith(title)]
    rows = re.findall(r"^\|((?!item|---)[^|]+)\|", part, re.MULTILINE)
    assert sorted(item for row in rows for item in _items(row)) == sorted(_items(NUMBERED[title]))


def test_no_cell_is_empty_and_a_dash_has_a_reason() -> None:
    assert len(ROWS) > 30
    for row in ROWS:
        assert len(row) == 5, row
        for cell in row[1:]:
            reason = cell.removeprefix("– ") if cell.startswith("–") else ""
            assert re.search(r"`[^`]+`", cell) or cell == "not in the paper's text" or reason, row


@pytest.mark.parametrize("name", sorted({row[1].strip("`") for row in ROWS}))
def test_every_name_can_be_imported(name: str) -> None:
    parts = name.split(".") if name.startswith("whitecrow_") else ["whitecrow", *name.split(".")]
    for end in range(len(parts) - 1, 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        assert reduce(lambda held, part: operator.attrgetter(part)(held), parts[end:], module)
        return
    pytest.fail(name)


@pytest.mark.parametrize(
    "command", sorted({c for row in ROWS for c in re.findall("`(.+?)`", row[2])})
)
def test_every_command_has_help(command: str) -> None:
    done = CliRunner().invoke(terminal, [*command.split(), "--help"])
    assert done.exit_code == 0, done.output
    assert f"whitecrow {command}" in done.output


@pytest.mark.parametrize(
    "proof", sorted({p for row in ROWS for p in re.findall("`(.+?)`", row[3])})
)
def test_every_proof_exists(proof: str) -> None:
    if proof.endswith(".md"):
        assert (CORE / proof).is_file()
    else:
        file, theorem = proof.split(".")
        checked = (ROOT / "proofs" / f"{file}.v").read_text(encoding="utf-8")
        assert re.search(rf"^Theorem {theorem}\b", checked, re.MULTILINE)


@pytest.mark.parametrize("test", sorted({row[4].strip("`") for row in ROWS}))
def test_every_test_exists(test: str) -> None:
    assert any((folder / test).is_file() for folder in TESTS)
