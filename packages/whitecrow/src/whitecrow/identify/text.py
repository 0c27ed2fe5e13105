"""What ``identify`` says of itself before it is asked, from public facts only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whitecrow.place.law import error_cap, flip_probability
from whitecrow.place.text import TIME, chance

if TYPE_CHECKING:
    from whitecrow.identify.question import Identify


def identify_words(
    question: Identify, contribution: int, typical: int | None
) -> tuple[str, dict[str, Any]]:
    """Say what ``identify`` will release and how often it will be wrong."""
    model, step = question.model, question.epsilon / contribution
    figures: dict[str, Any] = {
        "worst_error": flip_probability(1, step),
        "error_if_alone": question.wrong(1, 1, contribution),
        "error_if_absent": question.wrong(0, 0, contribution),
        "error_floor": flip_probability(error_cap(step, question.error_floor), step),
    }
    words = (
        f"Is this record in the data with at most {model.beta} records, itself included, within "
        f"{model.radius:g} of it ({model.metric})? The answer is yes or no. It is wrong with "
        f"probability at most {chance(figures['worst_error'])}, the worst case at the boundary; "
        f"for a record alone within the radius {chance(figures['error_if_alone'])}, for a record "
        f"that is absent with nothing near it {chance(figures['error_if_absent'])}."
    )
    if typical is not None:
        figures["typical_neighbours"] = typical
        figures["expected_error"] = question.wrong(1, typical, contribution)
        words += (
            f" With {typical} records near it (your public guess) it is wrong with probability "
            f"{chance(figures['expected_error'])}."
        )
    if question.covers_everyone and question.notion == "sensitive":
        words += " Since k is at least beta, sensitive privacy covers everyone here."
    return f"{words} {TIME}", figures
