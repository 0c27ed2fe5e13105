"""The demo's report: one page that stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from whitecrow.demo.stage import Asked, Chapter
from whitecrow.privacy import rounded_down, rounded_up
from whitecrow.rendering import fold, gauge, page, panel, paragraphs, quoted, table

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


def write_report(chapters: Sequence[Chapter], left: Fraction, budget: Fraction, out: Path) -> Path:
    """Write the chapters as one page and return its path."""
    asked = [one for chapter in chapters for one in chapter.asked]
    target = out / "report.html"
    target.write_text(
        page(
            "The white crows of a clinic",
            f"{len(asked)} questions about 1,500 made-up patients, each answered under a proved "
            "promise and charged to one account.",
            "".join([_summary(asked, left, budget), *map(_part, chapters), _yours()]),
            kind="demo",
        ),
        encoding="utf-8",
    )
    return target


def _summary(asked: Sequence[Asked], left: Fraction, budget: Fraction) -> str:
    rows = [[one.question, one.answer, one.error, rounded_up(one.epsilon)] for one in asked]
    body = (
        table(["Question", "Answer", "Expected error", "ε"], rows)
        + gauge(
            "Budget",
            f"{rounded_down(left)} of {rounded_down(budget)} left",
            float(left / budget),
        )
        + fold("How to read this", table(["Word", "What it means"], _READING))
    )
    return panel("Summary", body, name="summary")


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
