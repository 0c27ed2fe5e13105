"""What ``explain`` must know of the data: everyone else, seen from the record."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from whitecrow.data import Records
from whitecrow.explain._graph import DataGraph
from whitecrow.explain.contexts import Space
from whitecrow.explain.population import Population
from whitecrow.explain.question import Explain
from whitecrow.explain.verdicts import Verdicts
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.question import Progress


@dataclass(frozen=True, repr=False, eq=False)
class ExplainFacts(Facts):
    """The record's context graph, and the public settings of the search."""

    exact_graph: DataGraph  # verdicts and utilities; already enumerated for the direct search
    space: Space  # the contexts (public)
    search: str  # the search (public)
    eta: Fraction  # weight of one unit of utility in each private draw (public)
    start: int | None  # the public starting context


def gather(
    question: Explain,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> ExplainFacts:
    """Prepare the other records and, for the direct search, evaluate every context."""
    card = dataset.card
    space = question.space(card)
    grid, own, detector = question.on_grid(card)
    kind = question.searching(space)
    keys = [*(attribute.key for attribute in space.attributes), grid.key(question.metric)]
    groups, counts = dataset.tally(keys)
    places = [
        attribute.places(group)
        for attribute, group in zip(space.attributes, groups[:-1], strict=True)
    ]
    offsets = groups[-1].astype(np.int64) - own
    population = Population(space.needs_of(places), offsets, space.bits, counts)
    everywhere = question.notion == "differential"
    edges = np.array(getattr(question.preferred, "edges", ()), dtype=np.float64)
    graph = DataGraph(
        space,
        population,
        Verdicts(population, detector),
        question.preferred,
        everywhere=everywhere,
        cuts=(grid.cells(edges) - own).tolist(),
    )
    if kind == "direct":
        graph.enumerate(progress)
    return ExplainFacts(graph, space, kind, question.eta(card, kind), question.begin(space))
