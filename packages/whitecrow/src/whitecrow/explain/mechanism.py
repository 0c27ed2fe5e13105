"""Where facts become an answer: a private search of the context graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from whitecrow.explain._utilities import Overlap
from whitecrow.explain.facts import ExplainFacts
from whitecrow.explain.question import Explain
from whitecrow.explain.search import Draws, search
from whitecrow.noise import Source


def release(question: Explain, facts: ExplainFacts, source: Source | None = None) -> dict[str, Any]:
    """Return a context as plain JSON: values by attribute, in words, and as an SQL condition.

    Where no matching context was found, ``context`` is None. Under the conditional notion that
    answer has the same law on every pair the promise covers, since it depends on the data
    through the matching set alone; under the differential notion it does not occur.
    """
    context = searched(question, facts, Draws(source))
    if context is None:
        words = f"in no context was the record found to be an outlier in {question.metric}"
        return {"context": None, "words": words, "where": None}
    space = facts.space
    return {
        "context": space.labels(context),
        "words": space.words(context),
        "where": space.where(context),
    }


def matching(facts: ExplainFacts) -> list[int]:
    """Return every context in which the record is an outlier: exact, hence private."""
    contexts: list[int] = np.flatnonzero(facts.exact_graph.matching()).tolist()
    return contexts


def searched(question: Explain, facts: ExplainFacts, draws: Draws) -> int | None:
    """Run the question's search with the given randomness."""
    return search(
        facts.search,
        facts.exact_graph,
        draws,
        eta=facts.eta,
        samples=question.samples,
        start=facts.start,
        anchored=isinstance(question.preferred, Overlap),
    )
