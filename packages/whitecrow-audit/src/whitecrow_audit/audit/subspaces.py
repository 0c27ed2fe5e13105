"""Subspaces and tune, audited: ranked lists, noisy counts and chosen radii."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.counting.calibration import Calibration
from whitecrow.data import Card, Column
from whitecrow.subspaces import SubspaceFacts, Subspaces
from whitecrow.tune import Tune, TuneFacts
from whitecrow_audit.audit.case import Case, Laws, both, clipped, viewed, worst_case
from whitecrow_audit.audit.shipped import Asked, Records
from whitecrow_audit.audit.tester import Law
from whitecrow_audit.verify.point_sets import (
    Database,
    Universe,
    law,
    line,
    outliers,
    points,
    shipped,
)
from whitecrow_audit.verify.subspaces import SWAP, radius_by_choice, radius_by_search, ranking

Pair = tuple[Database, Database]
LawOf = Callable[[Fraction, Database], Law]

GRID = Universe("grid", tuple(itertools.product((0.0, 1.0, 2.0), (0.0, 2.0))), 1.0, 3, "add_remove")
CARD = Card("grid", (Column("x", "integer", 0, 99), Column("y", "integer", 0, 99)))
RAW = clipped(0, 2)


def _records(x: Database) -> Records:
    wide = [(*point, 0.0)[:2] for point in x]
    return {"x": [int(a) for a, _ in wide], "y": [int(b) for _, b in wide]}


def _case(
    name: str,
    question: Any,
    pairs: list[Pair],
    law_of: LawOf,
    *,
    spoiled: Callable[[Any], Any] | None = None,
    view: Callable[[Any], Hashable] = lambda answer: answer,
) -> Case:
    cached = lru_cache(maxsize=None)(law_of)

    def laws(pair: Pair, factor: Fraction) -> Laws:
        return both(partial(cached, factor), pair)

    def asked(pair: Pair) -> Asked:
        return Asked(question, CARD, both(_records, pair), view, spoiled)

    return worst_case(name, pairs, laws, asked, where=points, near=0.5)


def _swaps() -> Iterator[Pair]:
    """Replacements that move one record of three or four."""
    values = (*GRID.domain, (10.0, 0.0))
    for x in itertools.combinations_with_replacement(values, 3):
        for point in values:
            if point not in x:
                yield x, tuple(sorted((*x[:-1], point)))


# --- ranked lists ---------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _noise(question: Subspaces, columns: tuple[str, ...]) -> Calibration:
    return question.count_noise(columns, CARD)


@lru_cache(maxsize=64)
def _question(factor: Fraction, relation: str, share: str, epsilon: int) -> Subspaces:
    return Subspaces(
        top=1,
        subspaces=[["x"], ["y"]],
        model=DistanceAnomaly(1, 1.0),
        epsilon=epsilon * factor,
        relation=relation,
        normalised=False,
        count_share=share,
    )


def _list(epsilon: int, times: int, factor: Fraction, x: Database) -> Law:
    question = _question(factor, "replace_one", "0", epsilon)
    return ranking(question, times * question.eta(CARD), x)


@lru_cache(maxsize=64)
def _two(factor: Fraction, epsilon: int) -> Subspaces:
    return Subspaces(
        top=2,
        subspaces=[["x"], ["y"], ["x", "y"]],
        model=DistanceAnomaly(1, 1.0),
        epsilon=epsilon * factor,
        relation="replace_one",
        normalised=False,
    )


def _list_of_two(epsilon: int, times: int, factor: Fraction, x: Database) -> Law:
    question = _two(factor, epsilon)
    return ranking(question, times * question.eta(CARD), x)


def _whole(answer: Any) -> Hashable:
    return tuple(map(tuple, answer))


def _unshared(facts: SubspaceFacts) -> SubspaceFacts:
    """Every draw at four times the price of a single one."""
    return replace(facts, eta=4 * facts.eta)


def _first(answer: Any) -> Hashable:
    return (tuple(answer[0]),)


def _printed(facts: SubspaceFacts) -> SubspaceFacts:
    """Two errors: no factor 2 (as in Algorithm 3), and ε not shared among two draws."""
    return replace(facts, eta=4 * facts.eta)


# --- with counts ----------------------------------------------------------------------------------


def _counted(epsilon: int, times: int, factor: Fraction, x: Database) -> Law:
    """The law of the subspace found and its noisy count, as far as the view shows it."""
    question = _question(factor, "add_remove", "1/2", epsilon)
    joint: dict[Hashable, float] = {}
    chances: Any = ranking(question, question.eta(CARD), x)
    for (columns,), chance in chances.items():
        column = "xy".index(columns[0])
        projected = tuple(sorted((point[column],) for point in x))
        flat = Universe("column", ((0.0,),), 1.0, len(x), "add_remove")
        noise = _noise(question, columns)
        sensitivity = (
            Fraction(noise.cap) if noise.decay is None else shipped(flat, projected, 1, noise.decay)
        )
        noise = replace(noise, multiplier=noise.multiplier / times)
        count = viewed(law(outliers(flat, projected, 1), sensitivity, noise), RAW)
        for seen, p in count.items():
            joint[columns, seen] = chance * p
    return joint


def _first_count(answer: Any) -> Hashable:
    return tuple(answer[0]["columns"]), RAW(answer[0]["raw"])


# --- radii ----------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _tune(factor: Fraction, method: str, epsilon: int) -> Tune:
    return Tune(["x"], share="1/3", radii=[1, 2], beta=1, epsilon=epsilon * factor, method=method)


@lru_cache(maxsize=64)
def _step_noise(question: Tune) -> Calibration:
    return question.noise(CARD)


def _chosen(epsilon: int, times: int, factor: Fraction, x: Database) -> Law:
    question = _tune(factor, "exponential", epsilon)
    return _radii(question, radius_by_choice(question, times * question.eta(CARD), x))


def _searched(epsilon: int, times: int, factor: Fraction, x: Database) -> Law:
    question = _tune(factor, "search", epsilon)
    noise = _step_noise(question)
    noise = replace(noise, multiplier=noise.multiplier / times)
    universe = line(4, "add_remove", length=4)
    return _radii(question, radius_by_search(question, noise, question.drift(), universe, x))


def _radii(question: Tune, law: Any) -> Law:
    return {question.radii[index]: chance for index, chance in law.items()}


def _fainter(times: int, facts: Any) -> Any:
    """Counts with a part of their noise, a choice with a multiple of its weight."""

    def count(index: int) -> Any:
        count = facts.count(index)
        noise = count.calibration
        return replace(count, calibration=replace(noise, multiplier=noise.multiplier / times))

    if isinstance(facts, TuneFacts):
        return replace(facts, eta=times * facts.eta, count=count)
    return replace(facts, count=count)


def cases() -> Iterator[Case]:
    swaps = [SWAP, *_swaps()]
    question = _question(Fraction(1), "replace_one", "0", 4)
    yield _case("top 1", question, swaps, partial(_list, 4, 1), view=_first)
    name = "mutant: Algorithm 3 as printed, and every draw at the whole price"
    question = _question(Fraction(1), "replace_one", "0", 2)
    law_of = partial(_list, 2, 4)
    yield _case(name, question, swaps, law_of, view=_first, spoiled=_printed)
    law_of = partial(_list_of_two, 4, 1)
    yield _case("top 2 of 3", _two(Fraction(1), 4), swaps, law_of, view=_whole)
    name = "mutant: top 2 of 3, every draw at four times its part"
    question, law_of = _two(Fraction(1), 2), partial(_list_of_two, 2, 4)
    yield _case(name, question, swaps, law_of, view=_whole, spoiled=_unshared)
    grid = [pair for pair in GRID.edges() if len(pair[0]) == 2]
    question = _question(Fraction(1), "add_remove", "1/2", 2)
    law_of = partial(_counted, 2, 1)
    yield _case("top 1 with its count", question, grid, law_of, view=_first_count)
    name = "mutant: counts with a fourth of their noise"
    spoiled = partial(_fainter, 4)
    law_of = partial(_counted, 2, 4)
    yield _case(name, question, grid, law_of, view=_first_count, spoiled=spoiled)
    line_pairs = list(line(4, "add_remove", length=4).edges())
    for method, of, epsilon in (("search", _searched, 8), ("exponential", _chosen, 12)):
        asked = _tune(Fraction(1), method, epsilon)
        yield _case(f"by {method}", asked, line_pairs, partial(of, epsilon, 1))
        asked = _tune(Fraction(1), method, 2)
        name = f"mutant: by {method}, sixteen times too sure"
        spoiled = partial(_fainter, 16)
        yield _case(name, asked, line_pairs, partial(of, 2, 16), spoiled=spoiled)
