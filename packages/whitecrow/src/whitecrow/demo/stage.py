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
    """One question of the story, as a line of its table.

    Parameters
    ----------
    kind : str
        The command that asks it.
    question, answer, error : str
        What was asked, what came back, and how far off that may be, known before asking.
    epsilon : Fraction
        What it cost.
    statement : str
        The promise.
    """

    kind: str
    question: str
    answer: str
    error: str
    epsilon: Fraction
    statement: str


@dataclass(frozen=True)
class Chapter:
    """One part of the story.

    Parameters
    ----------
    title : str
        What it is about.
    asked : tuple of Asked
        The questions, with their answers.
    words : str
        What happened, paragraphs separated by blank lines.
    pictures : str
        Pictures, as HTML.
    """

    title: str
    asked: tuple[Asked, ...]
    words: str
    pictures: str = ""


@dataclass(frozen=True)
class Stage:
    """What a chapter may use.

    Parameters
    ----------
    curator : Curator
        Over the bundled clinic, with an embedded ledger.
    rows : Dataset
        The same records in the open. Only the demo may look at them: the clinic is made up.
    """

    curator: Curator
    rows: Dataset


def open_stage(out: Path) -> Stage:
    """Open a curator over the bundled clinic, with a fresh ledger in the report's folder."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("clinic.whitecrow.db*"):
        old.unlink()
    ledger = f"sqlite:///{out / 'clinic.whitecrow.db'}"
    curator = Curator.open(str(DATA), card=str(CARD), budget=BUDGET, ledger=ledger)
    return Stage(curator, read(DATA, CARD))
