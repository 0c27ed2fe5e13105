"""Where facts become a profile: noisy histograms of every column, and common values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from whitecrow.data import Card
from whitecrow.histogram.facts import Counts
from whitecrow.histogram.line import Floats, line_of
from whitecrow.histogram.noise_budget import Noise, NoiseBudget
from whitecrow.histogram.table import Categories, Numbers, TableProfile
from whitecrow.noise import Source
from whitecrow.privacy import Unit
from whitecrow.profile.facts import ByEdges, ProfileFacts
from whitecrow.profile.question import Part, Profile
from whitecrow.profile.search import search, threshold
from whitecrow.question import digest, statement

_MOST_CELLS = 1 << 14
_ALL_CELLS = 1 << 20


def release(question: Profile, facts: ProfileFacts, source: Source | None = None) -> dict[str, Any]:
    """Return the profile as JSON; ``proof.md`` has the theorem."""
    card = facts.card
    parts = question.parts(card)
    budget = question.noise_budget(card)
    numbers = described([part for part in parts if part.ordered], facts, budget, source)
    columns: list[Numbers | Categories] = [
        numbers[part.name] if part.ordered else _categories(part, question, facts, budget, source)
        for part in parts
    ]
    price, asked = question.price(card), {"kind": question.kind, **question.to_json()}
    words, entry = statement(question, price, card), digest(question, card)
    records = _records(columns, card, question.relation)
    return TableProfile(tuple(columns), records, card, price, words, asked, entry).to_json()


def described(
    parts: Iterable[Part],
    facts: ProfileFacts,
    budget: NoiseBudget,
    source: Source | None,
    *,
    most_cells: int = _MOST_CELLS,
) -> dict[str, Numbers]:
    """Release the histograms of columns of numbers: all searches take their steps together."""
    columns = {part.name: part for part in parts}
    cells = max(64, min(most_cells, _ALL_CELLS // max(len(columns), 1)))
    searches = {name: search(line_of(facts.card.column(name)), cells) for name in columns}
    requests = {name: next(steps) for name, steps in searches.items()}
    histograms: dict[str, Numbers] = {}
    while requests:
        noises = {
            name: budget.histograms(columns[name].share * wanted.share, 1)
            for name, wanted in requests.items()
        }
        noisy = _noisy(facts, {name: ask.edges for name, ask in requests.items()}, noises, source)
        for name, wanted in list(requests.items()):
            missing, counts = noisy[name][0], noisy[name][1:]
            try:
                requests[name] = searches[name].send((counts, noises[name]))
            except StopIteration:  # it was the last one
                del requests[name]
                edges, off = tuple(wanted.edges.tolist()), noises[name].deviation
                histograms[name] = Numbers(
                    name, columns[name].kind, edges, tuple(counts.tolist()), int(missing), off
                )
    return histograms


def _noisy(
    facts: ProfileFacts,
    edges: Mapping[str, Floats],
    noises: Mapping[str, Noise],
    source: Source | None,
) -> dict[str, Counts]:
    """Return noisy histograms of columns; those with the same law are drawn together."""
    cells = ByEdges(tuple(edges), tuple(edges.values()))
    column = np.repeat(np.arange(len(cells.sizes)), cells.sizes)
    noisy: dict[str, Counts] = {}
    for noise in dict.fromkeys(noises.values()):
        places = [index for index, name in enumerate(edges) if noises[name] == noise]
        inside = np.isin(column, places)
        groups = np.where(inside, np.cumsum(inside) - 1, -1)
        counts = facts.noisy_counts(cells, noise, source, groups)
        ends = np.cumsum([cells.sizes[index] for index in places])[:-1]
        names = (cells.names[index] for index in places)
        noisy.update(zip(names, np.split(counts, ends), strict=True))
    return noisy


def _categories(
    part: Part, question: Profile, facts: ProfileFacts, budget: NoiseBudget, source: Source | None
) -> Categories:
    """Release the counts of listed categories, and of unlisted ones that enough records have."""
    noise = budget.histograms(part.share, 1)
    listed = facts.card.column(part.name).categories or ()
    least = None
    if part.discovers:
        least = threshold(noise, facts.card.contribution, question.value_delta(facts.card))
    return facts.noisy_texts(part.name, listed, noise, source, least)


def _records(columns: list[Numbers | Categories], card: Card, relation: Unit) -> int:
    """Return how many records there are: every whole histogram counts all of them."""
    if relation == "replace_one" and card.size is not None:
        return card.size
    totals = [(column.total, column.total_deviation) for column in columns]
    whole = [(total, deviation) for total, deviation in totals if total is not None]
    if not whole:
        whole = [(sum(column.counts) + column.missing, 1.0) for column in columns]
    weights = [deviation**-2 for _, deviation in whole]
    mean = sum(total * weight for (total, _), weight in zip(whole, weights, strict=True))
    return max(0, round(mean / sum(weights)))
