"""The whole story on bundled, synthetic data: each question once, through the curator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from whitecrow.curator import Curator
from whitecrow.data import read
from whitecrow.privacy import rounded_down, rounded_up
from whitecrow.rendering import fold, gauge, page, panel, paragraphs, quoted, table

if TYPE_CHECKING:
    from whitecrow.data import Dataset


FOLDER = Path(__file__).parent
DATA, CARD = FOLDER / "clinic.csv", FOLDER / "clinic.toml"
"""The bundled clinic: made-up records, and their card."""

BUDGET = Fraction(8)


CHAPTERS = ("screen", "count", "subspaces", "explain", "publish", "identify")

_READING = [
    (
        "Answer",
        "What the curator said. It is drawn at random around the truth, so that no single patient "
        "decides it.",
    ),
    (
        "Error",
        "How far off the answer may be. It comes from public facts and was known before asking.",
    ),
    (
        "ε (epsilon)",
        "The price. Whatever anyone concludes from the answer, one patient's record changes the "
        "odds of that by at most e^ε: 1.29 times for ε = 0.25, 2.72 times for ε = 1.",
    ),
    ("Budget", "Prices add up. When the budget is spent, the curator answers no more questions."),
    (
        "Made up",
        "The clinic does not exist. Only therefore do the pictures show single patients and true "
        "numbers; a report on your own data never does.",
    ),
]


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


@dataclass(frozen=True)
class Story:
    """What the demo asked, what is left of its budget, and where its report is."""

    chapters: tuple[Chapter, ...]
    left: Fraction
    budget: Fraction
    page: Path

    @property
    def asked(self) -> list[Asked]:
        """Every question with its answer, in order."""
        return [one for chapter in self.chapters for one in chapter.asked]


def run(out: Path, begin: Callable[[str], None]) -> Story:
    """Tell the story into the folder of the report; ``begin`` hears the name of each chapter."""
    from whitecrow.demo import chapters

    stage = open_stage(out)
    told = []
    for name in CHAPTERS:
        begin(name)
        told.append(getattr(chapters, name)(stage))
    left = stage.curator.remaining()["differential"]
    target = out / "report.html"
    target.write_text(_report(told, left), encoding="utf-8")
    stage.curator.close()
    return Story(tuple(told), left, BUDGET, target)


def _report(chapters: Sequence[Chapter], left: Fraction) -> str:
    """The chapters as one page that stands alone."""
    asked = [question for chapter in chapters for question in chapter.asked]
    rows = [[one.question, one.answer, one.error, rounded_up(one.epsilon)] for one in asked]
    amounts = f"{rounded_down(left)} of {rounded_down(BUDGET)} left"
    summary = (
        table(["Question", "Answer", "Expected error", "ε"], rows)
        + gauge("Budget", amounts, float(left / BUDGET))
        + fold("How to read this", table(["Word", "What it means"], _READING))
    )
    return page(
        "The white crows of a clinic",
        f"{len(asked)} questions about 1,500 made-up patients, each answered under a proved "
        "promise and charged to one account.",
        "".join([panel("Summary", summary, name="summary"), *map(_part, chapters), _yours()]),
        kind="demo",
    )


def _part(chapter: Chapter) -> str:
    kinds = list(dict.fromkeys(one.kind for one in chapter.asked))
    promises = "".join(
        quoted(text) for text in dict.fromkeys(one.statement for one in chapter.asked)
    )
    body = paragraphs(chapter.words) + chapter.pictures + fold("What is promised", promises)
    return panel(chapter.title, body, name="-".join(kinds))


def _yours() -> str:
    commands = (
        "whitecrow card new patients.csv --out patients.toml   # then write the bounds you know\n"
        "whitecrow screen patients.csv --card patients.toml --beta 40 --radius 12 \\\n"
        '    --epsilon 1/2 --budget 1 --record \'{"age": 74, "bmi": 44, "systolic": 222}\'\n'
        "whitecrow report patients.csv                         # a page like this one"
    )
    body = (
        "<p>Three commands. The card holds what is public: the columns and their bounds, written "
        "from what you know and never read from the records.</p>"
        f'<pre tabindex="0">{commands}</pre>'
    )
    return panel("Now your data", body, name="yours")
