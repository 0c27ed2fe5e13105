"""What ``screen`` says of itself before it is asked, from public facts only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whitecrow.anomaly.law import error_cap, flip_probability
from whitecrow.place.question import TIME, chance

if TYPE_CHECKING:
    from whitecrow.screen.question import Screen


def screen_words(
    question: Screen, contribution: int, typical: int | None
) -> tuple[str, dict[str, Any]]:
    """Say what ``screen`` will release and how often it will be wrong."""
    model, step = question.model, question.epsilon / contribution
    figures: dict[str, Any] = {
        "worst_error": flip_probability(1, step),
        "error_if_alone": question.wrong(0, contribution),
        "error_floor": flip_probability(error_cap(step, question.error_floor), step),
    }
    words = (
        f"Would this record, added to the data, have at most {model.beta} records, itself "
        f"included, within {model.radius:g} of it ({model.metric})? The answer is yes or no. It is "
        f"wrong with probability at most {chance(figures['worst_error'])}, the worst case at the "
        f"boundary; with no record near it {chance(figures['error_if_alone'])}."
    )
    if typical is not None:
        figures["typical_neighbours"] = typical
        figures["expected_error"] = question.wrong(typical, contribution)
        words += (
            f" With {typical} records near it (your public guess) it is wrong with probability "
            f"{chance(figures['expected_error'])}."
        )
    return f"{words} {TIME}", figures
