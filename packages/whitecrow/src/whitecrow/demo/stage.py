"""The stage of the demo: a curator over made-up data, and what a chapter of the story is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from whitecrow.curator import Curator
from whitecrow.data import read

if TYPE_CHECKING:
    from whitecrow.data import Dataset

FOLDER = Path(__file__).parent
DATA, CARD = FOLDER / "clinic.csv", FOLDER / "clinic.toml"
"""The bundled clinic: made-up records, and their card."""

BUDGET = Fraction(8)


@dataclass(frozen=True)
class Asked:
    """One question of the story, as a line of its table."""

    kind: str  # the command that asks it
    # question, answer, error: What was asked, what came back, and how far off that may be, known
    # before asking.
    question: str
    answer: str
    error: str
    epsilon: Fraction  # what it cost
    statement: str  # the promise


@dataclass(frozen=True)
class Chapter:
    """One part of the story."""

    title: str  # what it is about
    asked: tuple[Asked, ...]  # the questions, with their answers
    words: str  # what happened, paragraphs separated by blank lines
    pictures: str = ""  # pictures, as HTML


@dataclass(frozen=True)
class Stage:
    """What a chapter may use."""

    curator: Curator  # over the bundled clinic, with an embedded ledger
    # The same records in the open. Only the demo may look at them: the clinic is made up.
    rows: Dataset


def open_stage(out: Path) -> Stage:
    """Open a curator over the bundled clinic, with a fresh ledger in the report's folder."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("clinic.whitecrow.db*"):
        old.unlink()
    ledger = f"sqlite:///{out / 'clinic.whitecrow.db'}"
    curator = Curator.open(str(DATA), card=str(CARD), budget=BUDGET, ledger=ledger)
    return Stage(curator, read(DATA, CARD))
