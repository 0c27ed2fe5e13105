"""A newcomer's path, as commands that are run one after the other, counted and timed.

The packages are installed already: downloading them is a matter of the newcomer's line. What is
tried here begins with a clone, or with somebody's CSV, and ends with what a person wanted to see.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WHITECROW = (sys.executable, "-c", "from whitecrow.cli import main; main()")
"""The command ``whitecrow`` of the tree that is on the path."""
PATIENCE = 280
"""Seconds until a command is taken to hang; the documentation has what they take."""


class Journey:
    """The commands that were run, and the seconds they took together."""

    def __init__(self, at: Path, tree: Path) -> None:
        self.at, self.commands, self.seconds = at, 0, 0.0
        self.variables = {
            **os.environ,
            "PYTHONPATH": str(tree / "packages/whitecrow/src"),
            "COLUMNS": "100",
        }

    def run(self, *words: str) -> str:
        """Run a command; it must succeed."""
        started = time.perf_counter()
        found = subprocess.run(
            words, cwd=self.at, env=self.variables, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        self.seconds += time.perf_counter() - started
        self.commands += 1
        assert found.returncode == 0, found.stderr
        return found.stdout


@pytest.fixture
def told(record_property: Callable[[str, object], None]) -> Callable[[str, Journey], None]:
    """Say what a path took, in the test's report and on its output."""

    def say(name: str, path: Journey) -> None:
        record_property(f"{name}_commands", path.commands)
        record_property(f"{name}_seconds", round(path.seconds, 1))
        sys.stdout.write(f"{name}: {path.commands} commands, {path.seconds:.1f} s\n")

    return say


def test_from_a_clone_to_the_demos_table_are_two_commands(
    tmp_path: Path, told: Callable[[str, Journey], None]
) -> None:
    clone = tmp_path / "whitecrow"
    path = Journey(tmp_path, clone)
    path.run("git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(clone))
    said = path.run(*WHITECROW, "demo")
    told("clone_to_table", path)
    assert path.commands == 2
    for words in (
        "How many outliers are there?",
        "±",
        "of 8 left",
        "Your data  whitecrow card new",
    ):
        assert words in said
    report = re.search(r"\S+report\.html", said)
    assert report
    assert (tmp_path / report[0]).is_file()


def test_from_a_csv_to_a_first_private_answer_are_two_commands_and_one_edit(
    tmp_path: Path, told: Callable[[str, Journey], None]
) -> None:
    """The card is drafted, a person fills in the bounds, and a question is asked."""
    draws = random.Random(1)
    rows = [f"{draws.randint(18, 90)},{draws.gauss(75, 10):.0f}" for _ in range(2000)]
    (tmp_path / "visits.csv").write_text("\n".join(["age,pulse", *rows, ""]), encoding="utf-8")
    path = Journey(tmp_path, ROOT)
    path.run(*WHITECROW, "card", "new", "visits.csv", "--out", "visits.toml")
    card = tmp_path / "visits.toml"
    bounds = iter((0, 120, 20, 220))
    card.write_text(re.sub(r"# (lower|upper) = \?", lambda m: f"{m[1]} = {next(bounds)}",
                           card.read_text(encoding="utf-8")), encoding="utf-8")  # fmt: skip
    said = path.run(
        *WHITECROW, "screen", "visits.csv", "--card", "visits.toml", "--record",
        '{"age": 119, "pulse": 219}', "--beta", "10", "--radius", "5", "--epsilon", "1",
    )  # fmt: skip
    told("csv_to_answer", path)
    assert path.commands == 2
    assert "anomaly" in said
    assert "Everyone is protected" in said
