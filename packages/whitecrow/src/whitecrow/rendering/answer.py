"""The page of one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from whitecrow.rendering.chart import series
from whitecrow.rendering.page import escaped, figure, fold, page, panel, paragraphs, quoted, table

if TYPE_CHECKING:

    class Worded(Protocol):
        """An answer in words, as questions say it."""

        @property
        def headline(self) -> str: ...
        @property
        def detail(self) -> str: ...
        @property
        def rows(self) -> list[list[str]]: ...
        @property
        def series(self) -> list[dict[str, Any]]: ...


READING = (
    (
        "Answer",
        "Drawn at random around the truth, so that no single record decides it. The exact numbers "
        "never leave the curator.",
    ),
    (
        "ε (epsilon)",
        "The price. One record changes the odds of any conclusion by at most e^ε: 1.29 times for "
        "ε = 0.25, 2.72 times for ε = 1.",
    ),
    ("Promise", "The sentence a data officer can sign. It says who is covered."),
    ("Left", "What further questions may cost. Prices add up; asking the same again is free."),
)
"""What the words on a page mean."""


def answer_parts(said: Worded, statement: str) -> str:
    """An answer with its table or picture, and its promise."""
    body = f'<p class="headline">{escaped(said.headline)}</p>{paragraphs(said.detail)}'
    listed = table(said.rows[0], said.rows[1:]) if said.rows else ""
    if said.series:
        caption = "Each point is a released value; the bar shows one standard deviation of noise."
        body += figure(caption, series(said.series).svg()) + fold("All values", listed)
    else:
        body += listed
    return body + quoted(statement)


def answer_page(
    *,
    asked: Mapping[str, Any],
    said: Worded,
    costs: Sequence[tuple[str, str]],
    statement: str,
) -> str:
    """One answer as a page; ``asked`` is the question's canonical JSON, with its kind."""
    kind = str(asked.get("kind", "question"))
    parameters = [(name, _plain(value)) for name, value in asked.items() if name != "kind"]
    body = (
        panel("Answer", answer_parts(said, statement), name="answer")
        + panel("Price", table(("What", "Amount"), costs), name="price")
        + fold("The question, as it was asked", table(("Parameter", "Value"), parameters))
        + fold("How to read this", table(("Word", "What it means"), READING))
    )
    return page(f"{kind}: {said.headline}", "One answer under a proved promise.", body)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return "" if value is None else str(value)
