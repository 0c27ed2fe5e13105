"""The whole story on bundled, synthetic data: each question once, through the curator."""

from __future__ import annotations

from collections.abc import Callable
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

_READING = {
    "Answer": "What the curator said. It is drawn at random around the truth, so that no single "
    "patient decides it.",
    "Error": "How far off the answer may be. It comes from public facts and was known before "
    "asking.",
    "ε (epsilon)": "The price. Whatever anyone concludes from the answer, one patient's record "
    "changes the odds of that by at most e^ε: 1.29 times for ε = 0.25, 2.72 times for ε = 1.",
    "Budget": "Prices add up. When the budget is spent, the curator answers no more questions.",
    "Made up": "The clinic does not exist. Only therefore do the pictures show single patients and "
    "true numbers; a report on your own data never does.",
}


@dataclass(frozen=True)
class Asked:
    """One question of the story, as a line of its table."""

    kind: str  # the command that asks it
    question: str  # what was asked
    answer: str  # what came back
    error: str  # how far off that may be, known before asking
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
        return [asked for chapter in self.chapters for asked in chapter.asked]

    @property
    def budget_left(self) -> str:
        return f"{rounded_down(self.left)} of {rounded_down(self.budget)} left"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of the table of questions."""
        return ["Question", "Answer", "Expected error", "ε"], [
            [asked.question, asked.answer, asked.error, rounded_up(asked.epsilon)]
            for asked in self.asked
        ]


def run(out: Path, begin: Callable[[str], None]) -> Story:
    """Tell the story into the folder of the report; ``begin`` hears the name of each chapter."""
    from whitecrow.demo import chapters

    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("clinic.whitecrow.db*"):
        old.unlink()
    ledger = f"sqlite:///{out / 'clinic.whitecrow.db'}"
    told = []
    with Curator.open(str(DATA), card=str(CARD), budget=BUDGET, ledger=ledger) as curator:
        stage = Stage(curator, read(DATA, CARD))
        for name in CHAPTERS:
            begin(name)
            told.append(getattr(chapters, name)(stage))
        left = curator.remaining()["differential"]
    story = Story(tuple(told), left, BUDGET, out / "report.html")
    story.page.write_text(_report(story), encoding="utf-8")
    return story


def _report(story: Story) -> str:
    """The chapters as one page that stands alone."""
    summary = (
        table(*story.table())
        + gauge("Budget", story.budget_left, float(story.left / story.budget))
        + fold("How to read this", table(["Word", "What it means"], _READING.items()))
    )
    parts = [panel("Summary", summary, name="summary"), *map(_part, story.chapters), _yours()]
    return page(
        "The white crows of a clinic",
        f"{len(story.asked)} questions about 1,500 made-up patients, each answered under a proved "
        "promise and charged to one account.",
        "".join(parts),
        kind="demo",
    )


def _part(chapter: Chapter) -> str:
    promises = "".join(map(quoted, dict.fromkeys(asked.statement for asked in chapter.asked)))
    body = paragraphs(chapter.words) + chapter.pictures + fold("What is promised", promises)
    kinds = dict.fromkeys(asked.kind for asked in chapter.asked)
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
