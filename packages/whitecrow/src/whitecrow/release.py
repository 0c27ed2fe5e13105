"""What is said before a question is asked, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from whitecrow import rendering as look
from whitecrow.errors import InvalidInput
from whitecrow.privacy import Guarantee, ZeroConcentrated, rounded_down, rounded_up
from whitecrow.rendering.answer import answer_page

JSON = Any
"""A plain JSON value: None, bool, int, float, str, list or dict of the same."""

_SHOWN = 12
"""How many rows of a table a notebook shows; the last, for series end with what is current."""


@dataclass(frozen=True)
class Said:
    """An answer in words.

    Parameters
    ----------
    headline, detail : str
        The answer, and how to read it.
    rows : list
        A table, its heading first, where the answer is more than one value.
    series : list
        The points of a publication, for its chart.
    pictures : list
        A picture (SVG) beside each row of the table, where a question draws them.
    """

    headline: str
    detail: str = ""
    rows: list[list[str]] = field(default_factory=list)
    series: list[dict[str, JSON]] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Description:
    """What can be said of a question before it is asked, from public facts only.

    Parameters
    ----------
    words : str
        One paragraph for people.
    price : Guarantee
        What the release will promise.
    figures : mapping
        The numbers in the words, for programs (JSON values).
    error : str
        The expected error, short.
    warning : str
        Why the answer would be worth nothing, where that is so.
    labels : mapping
        What the figures that people want are called; see ``Question.figures``.
    """

    words: str
    price: Guarantee
    figures: Mapping[str, JSON] = field(default_factory=dict)
    error: str = ""
    warning: str = ""
    labels: Mapping[str, tuple[str, str]] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        rows = look.figure_rows(self.labels, self.figures)
        return look.notebook(f"Price: {_amount(self.price)}", rows, note=self.words)

    def to_json(self) -> dict[str, JSON]:
        """Return a plain JSON object."""
        return {
            "words": self.words,
            "price": self.price.to_json(),
            "figures": dict(self.figures),
            "error": self.error,
            "warning": self.warning,
        }


@dataclass(frozen=True)
class Release:
    """The public result of a question: it contains no fact.

    Parameters
    ----------
    question : mapping
        The canonical JSON of what was asked.
    answer : JSON value or object
        What the mechanism released; an object such as a detector where the question has one.
    guarantee : Guarantee
        What the release promises.
    statement : str
        The same in a sentence a data officer can sign.
    charged : bool
        False when a stored answer was returned again, free of charge.
    ledger : mapping
        What has been spent and what remains, per notion, after this release.
    error : str
        The expected error, from public facts as before asking: the true one is not released.
    warning : str
        Why the answer is worth nothing, where that is so; the statement ends with it.
    said : Said, optional
        The answer in words.
    dummy : bool
        Whether it is about made-up records, to develop code against: it says nothing of anybody.
    """

    question: Mapping[str, JSON]
    answer: JSON
    guarantee: Guarantee
    statement: str
    charged: bool = True
    ledger: Mapping[str, JSON] = field(default_factory=dict)
    error: str = ""
    warning: str = ""
    said: Said | None = field(default=None, compare=False, repr=False)
    dummy: bool = False

    def __getattr__(self, name: str) -> Any:
        # A detector's methods (scores, predict, save, ...) work on its release, too.
        answer = self.__dict__.get("answer")
        if name.startswith("_") or not hasattr(answer, "scores"):
            raise AttributeError(f"A release has no {name!r}.")
        return getattr(answer, name)

    def __str__(self) -> str:
        said = self.in_words
        return "\n".join(part for part in (said.headline, said.detail, self.statement) if part)

    @property
    def in_words(self) -> Said:
        """The answer in words; its JSON where nobody said it."""
        plain = json.dumps(self.to_json()["answer"], ensure_ascii=False)
        return self.said or Said(f"DUMMY (made-up records): {plain}" if self.dummy else plain)

    def _repr_html_(self) -> str:
        said = self.in_words
        if said.rows:
            head, *rows = said.rows
            body = look.notebook_table(rows[-_SHOWN:], head)
        else:
            body = look.paragraphs(said.detail)
        return look.notebook(said.headline, self.costs, note=self.statement, body=body)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the answer as one HTML page that stands alone, and return its path.

        It holds what the release holds: the answer, its price and its promise.
        """
        target = Path(path)
        target.write_text(
            answer_page(
                asked=self.question,
                said=self.in_words,
                costs=self.costs,
                statement=self.statement,
            ),
            encoding="utf-8",
        )
        return target

    def plot(self) -> look.Picture:
        """Return a picture of the answer, where it is a series; notebooks show it.

        Raises
        ------
        InvalidInput
            If the answer is better read than seen.
        """
        if not self.in_words.series:
            raise InvalidInput(
                "There is a picture of a series only (publish). For a detector, see "
                "release.answer.plot(path)."
            )
        return look.Picture(look.series(self.in_words.series))

    @property
    def costs(self) -> list[tuple[str, str]]:
        """How far off it may be, what it cost and what is left, in words."""
        price = _amount(self.guarantee)
        if self.dummy:
            return [("DUMMY", "about made-up records"), ("cost", f"nothing (the data: {price})")]
        rows = [("error", self.error)] if self.error else []
        rows.append(("cost", price if self.charged else f"nothing: answered before (for {price})"))
        left = self.ledger.get("remaining", {})
        lines = {notion: rounded_down(Fraction(str(amount))) for notion, amount in left.items()}
        if len(set(lines.values())) == 1:
            lines = {"": next(iter(lines.values()))}
        return rows + [(f"left {notion}".strip(), amount) for notion, amount in lines.items()]

    def to_json(self) -> dict[str, JSON]:
        """Return the JSON object of docs/interface.md 4."""
        return {
            "question": dict(self.question),
            "answer": self.answer.to_json() if hasattr(self.answer, "to_json") else self.answer,
            "guarantee": self.guarantee.to_json(),
            "statement": self.statement,
            "charged": self.charged,
            "ledger": dict(self.ledger),
            "error": self.error,
            "warning": self.warning,
            **({"dummy": True} if self.dummy else {}),
        }


def _amount(price: Guarantee) -> str:
    """What a release costs, and by which notion."""
    if isinstance(price, ZeroConcentrated):
        return f"ρ = {rounded_up(price.rho)} (concentrated)"
    delta = f", δ = {rounded_up(price.delta)}" if price.delta else ""
    return f"ε = {rounded_up(price.epsilon)}{delta} ({price.notion})"
