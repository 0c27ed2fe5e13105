"""The exact law of each answer, from the facts that the curator gathered.

Each answer is broken into independent parts; of each part there are two laws, one for each of two
neighbouring databases. Noisy numbers that lead to further ones (learn, publish) are walked along
one public way, so that both databases go the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from whitecrow.anomaly import law as place_law
from whitecrow.detector import scoring
from whitecrow.explain.mechanism import matching, searched
from whitecrow.explain.unaccounted import law_of
from whitecrow.histogram.facts import Bought
from whitecrow.learning import threshold
from whitecrow.learning.facts import ByScore
from whitecrow.learning.training import train
from whitecrow.monitor.facts import Weighted
from whitecrow.monitor.mechanism import assembled, named
from whitecrow.monitor.streams import Streams
from whitecrow.noise import laws as noise_laws
from whitecrow.profile import mechanism as profiling
from whitecrow.profile.search import threshold as named_from
from whitecrow.publish.mechanism import begin, turn
from whitecrow.screening.mechanism import ActiveCounts
from whitecrow_audit.verify.lookahead import cell_law
from whitecrow_audit.verify.point_sets import law as count_law
from whitecrow_audit.verify.subspaces import top_pmf
from whitecrow_audit.verify.tape import Silent

Law = Mapping[Hashable, float]
Part = tuple[Law, Law]

_FAR = 60


def parts(question: Any, here: Any, there: Any) -> Iterator[Part]:
    """Yield the laws of the independent parts of one answer, on both databases."""
    yield from _LAWS[question.kind](question, here, there)


def conditioned(question: Any, here: Any, there: Any) -> bool:
    """Whether the record is an outlier in the same contexts of both databases."""
    return bool(matching(here) == matching(there))


def _yes(truth: bool, bound: int | None, step: Fraction) -> Law:
    wrong = place_law.flip_probability(bound, step)
    return {truth: 1 - wrong, not truth: wrong}


def _about_a_place(question: Any, *both: Any) -> Iterator[Part]:
    one, two = (_yes(facts.exact_truth, facts.exact_bound, facts.step) for facts in both)
    yield one, two


def _screening(question: Any, *both: Any) -> Iterator[Part]:
    one, two = (_transcripts(question, asked) for asked in both)
    yield one, two


def _transcripts(question: Any, asked: Any) -> Law:
    """The chance of every way to answer what was asked: answers change what is counted next."""
    active = asked[-1][0].exact_active
    law = question.law(active.card)
    places = list(dict.fromkeys(tuple(one) for _, each in asked for one in each.tolist()))
    found: dict[Hashable, float] = {}

    counters = active.fresh(law.limit)

    def walk(answers: tuple[bool, ...], chance: float) -> None:
        if len(answers) == len(places):
            found[answers] = chance
            return
        batch = ActiveCounts(active, counters, np.array([places[len(answers)]]), law)
        yes = law.chance(int(batch.counts()[0]))
        walk((*answers, False), chance * (1 - yes))
        flag = counters.flag(batch.places[0])
        walk((*answers, True), chance * yes)
        counters.take_back([flag])

    walk((), 1.0)
    return found


def _lookahead(question: Any, *both: Any) -> Iterator[Part]:
    held = [
        dict(zip(map(tuple, facts.exact_cells.tolist()), facts.exact_counts.tolist(), strict=True))
        for facts in both
    ]
    for cell in {*held[0], *held[1]}:
        one, two = (
            cell_law(counts.get(cell, 0), question.threshold, float(facts.step))
            for counts, facts in zip(held, both, strict=True)
        )
        yield one, two


def _count(question: Any, *both: Any) -> Iterator[Part]:
    one, two = (
        count_law(facts.exact_outliers, facts.exact_sensitivity, facts.calibration)
        for facts in both
    )
    yield one, two


def _subspaces(question: Any, *both: Any) -> Iterator[Part]:
    if question.count_share:
        assert question.top == 1
        counted, other = (_subspace_counted(facts) for facts in both)
        yield counted, other
        return
    one, two = (
        top_pmf(
            [Fraction(n, cap) for n, cap in zip(facts.exact_outliers, facts.caps, strict=True)],
            facts.eta,
            question.top,
        )
        for facts in both
    )
    yield one, two


def _subspace_counted(facts: Any) -> Law:
    """Which subspace is drawn, and how many outliers it is said to have."""
    worth = [Fraction(n, cap) for n, cap in zip(facts.exact_outliers, facts.caps, strict=True)]
    found: dict[Hashable, float] = {}
    for (place,), chance in top_pmf(worth, facts.eta, 1).items():
        count = facts.count(place)
        law = count_law(count.exact_outliers, count.exact_sensitivity, count.calibration)
        found.update({(place, number): chance * p for number, p in law.items()})
    return found


def _tune(question: Any, *both: Any) -> Iterator[Part]:
    one, two = (
        _tune_chosen(question, facts)
        if facts.method == "exponential"
        else _tune_searched(question, facts)
        for facts in both
    )
    yield one, two


def _tune_chosen(question: Any, facts: Any) -> Law:
    utilities = [
        -abs(facts.count(place).exact_outliers - question.share * facts.exact_size)
        for place in range(len(question.radii))
    ]
    return dict(enumerate(noise_laws.exponential_mechanism_pmf(utilities, facts.eta)))


def _tune_searched(question: Any, facts: Any) -> Law:
    found: dict[Hashable, float] = {}
    last, count = len(question.radii) - 1, lru_cache(None)(facts.count)

    def more(place: int) -> float:
        """P(the noisy excess of outliers over the share wanted is above 0)."""
        counted, unit = count(place), question.share.denominator
        excess = unit * counted.exact_outliers - question.share.numerator * facts.exact_size
        noise = counted.calibration
        scale = float(noise.multiplier * unit * (counted.exact_sensitivity + question.drift()))
        least = 1 - excess if excess <= 0 else excess
        if noise.decay is None:
            rate = math.exp(-1 / scale)
            beyond = rate**least / (1 + rate)
        else:
            beyond = noise_laws.core_tail_survival((least - 0.5) / scale, noise.tail) / 2
        return beyond if excess <= 0 else 1 - beyond

    def walk(low: int, high: int, steps: int, chance: float) -> None:
        if steps == 0:
            found[min(low, last)] = found.get(min(low, last), 0.0) + chance
            return
        middle = min((low + high) // 2, last)
        walk(min(middle + 1, high), high, steps - 1, chance * more(middle))
        walk(low, middle, steps - 1, chance * (1 - more(middle)))

    walk(0, len(question.radii), question.steps, 1.0)
    return found


def _explain(question: Any, *both: Any) -> Iterator[Part]:
    one, two = (law_of(partial(searched, question, facts)) for facts in both)
    yield one, two


def _publish(question: Any, here: Any, there: Any) -> Iterator[Part]:
    assert here.plan.clip is None
    plan, lots = here.plan, np.random.default_rng(0)
    places = [begin(plan), begin(plan)]
    silent = (0,) * plan.channels
    for one, two in zip(here.exact_days, there.exact_days, strict=True):
        moved = [
            tuple(np.subtract(plan.encode(day.exact_joins), plan.encode(day.exact_leaves)).tolist())
            for day in (one, two)
        ]
        stage = plan.stage(places[0].epoch)
        scale = stage.scale_at(places[0].within)
        fixed = [
            turn(plan, place, more, silent)[1] for place, more in zip(places, moved, strict=True)
        ]
        # Both databases release the same numbers, as analysts would see them.
        shown = [at + int(lots.integers(-5, 6)) for at in fixed[0]]
        for at, other in zip(*fixed, strict=True):
            yield shifted(stage.noise, scale, other - at)
        for side in (0, 1):
            noise = tuple(a - b for a, b in zip(shown, fixed[side], strict=True))
            places[side], released = turn(plan, places[side], moved[side], noise)
            assert list(released) == shown


class _Tape:
    """A noise budget that hands out fixed numbers and writes down what was counted."""

    def __init__(self, budget: Any) -> None:
        self.budget, self.asked = budget, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.budget, name)

    def histograms(self, share: Fraction, tables: int) -> Any:
        return _Taped(self, self.budget.histograms(share, tables))


class _Taped:
    def __init__(self, tape: _Tape, noise: Any) -> None:
        self.tape, self.noise = tape, noise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.noise, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Taped) and self.noise == other.noise

    def __hash__(self) -> int:
        return hash(self.noise)

    def added(self, counts: Any, source: object) -> Any:
        self.tape.asked.append((self.noise, np.asarray(counts)))
        lots = np.random.default_rng(len(self.tape.asked))
        return lots.integers(-3, 12, len(counts))


def _taped(tapes: list[_Tape]) -> Iterator[Part]:
    """The laws of all noisy numbers, once both databases went the same public way."""
    yield from counted(*(tape.asked for tape in tapes))


def counted(here: list[Any], there: list[Any]) -> Iterator[Part]:
    """The laws of counts that left with noise, as both databases have them."""
    if len(here) != len(there):
        yield {"one way": 1.0}, {"another": 1.0}
        return
    for (noise, one), (same, two) in zip(here, there, strict=True):
        if noise != same or len(one) != len(two):
            yield {"one way": 1.0}, {"another": 1.0}
            return
        for away in (two - one)[two != one].tolist():
            yield shifted(noise.law, noise.size, away)


def _learn(question: Any, *both: Any) -> Iterator[Part]:
    tapes = [_Tape(question.noise_budget(facts.card)) for facts in both]
    models = [
        train(
            question.grids(facts.card),
            Bought(facts, tape),  # type: ignore[arg-type]
            question.shares[0],
            seed=question.seed,
            size=facts.card.size if question.relation == "replace_one" else None,
        )
        for facts, tape in zip(both, tapes, strict=True)
    ]
    yield from _taped(tapes)
    if question.rates:
        yield from _thresholds(question, models[0], *both)


def _monitor(question: Any, *both: Any) -> Iterator[Part]:
    """All steps of a series, each with the facts of the revision in which it was closed."""
    tapes = []
    for closed in both:
        card = closed[0].card
        tape: Any = _Tape(question.noise_budget(card))
        rows, streams = question.plan(card).rows, Streams()
        for step, facts in enumerate(closed):

            def draw(
                cells: Any, noise: Any, groups: Any, of: Any = facts, row: Any = rows[step]
            ) -> Any:
                weighted = Weighted(cells, question.calendar, row)
                return of.noisy_counts(weighted, noise, None, groups)

            reader = question.reader(card, streams.steps, (0, step + 1), draw)
            reader.budget = tape
            model = assembled(question, facts.card, reader, streams.layout)
            first = streams.first or named(question, facts.card, model, step)
            streams = Streams(first, (*streams.steps, tuple(reader.drawn)))
        tapes.append(tape)
    yield from _taped(tapes)


def _thresholds(question: Any, model: Any, *both: Any) -> Iterator[Part]:
    """The choice of each threshold, once both databases released the same detector."""
    card = both[0].card
    tried = threshold.allotted(
        question.rates, model.records, question.noise_budget(card), question.shares[1]
    )
    lots = np.random.default_rng(0)
    anybody = np.column_stack(
        [lots.uniform(grid.lower, grid.upper, 2000) for grid in question.grids(card)]
    )
    scores = scoring.raw_scores(model, scoring.encoders(model), anybody)
    edges = threshold.candidates(scores, scoring.least(model))
    counts = [facts.noisy_counts(ByScore(model, edges), Silent()) for facts in both]
    for rate, epsilon in tried.items():
        eta = epsilon / (2 * threshold.sensitivity(rate, question.relation, card.contribution))
        one, two = (
            dict(
                enumerate(
                    noise_laws.exponential_mechanism_pmf(threshold.utilities(held, rate), eta)
                )
            )
            for held in counts
        )
        yield one, two


def _profile(question: Any, *both: Any) -> Iterator[Part]:
    tapes = [_Tape(question.noise_budget(facts.card)) for facts in both]
    for facts, tape in zip(both, tapes, strict=True):
        parts_ = question.parts(facts.card)
        profiling.described([part for part in parts_ if part.ordered], facts, tape, None)
        for part in parts_:
            if not part.ordered and not part.discovers:
                profiling._categories(part, question, facts, tape, None)
    yield from _taped(tapes)
    for part in question.parts(both[0].card):
        if part.discovers:
            yield from _discovered(part, question, *both)


def _texts(facts: Any, name: str) -> dict[str | None, int]:
    found = facts.noisy_texts(name, (), Silent(), least=1)
    return {None: found.missing, **dict(zip(found.values, found.counts, strict=True))}


def _discovered(part: Any, question: Any, *both: Any) -> Iterator[Part]:
    """The noisy count of each value, or that it is not named: a value that nobody has never is."""
    card = both[0].card
    noise = question.noise_budget(card).histograms(part.share, 1)
    least = named_from(noise, card.contribution, question.value_delta(card))
    listed = set(card.column(part.name).categories or ())
    one, two = (_texts(facts, part.name) for facts in both)
    far = least + math.ceil(9 * math.sqrt(noise.size))
    for text in {*one, *two}:
        held = one.get(text, 0), two.get(text, 0)
        if held[0] == held[1]:
            continue
        if text is None or text in listed:
            yield shifted(noise.law, noise.size, held[1] - held[0])
            continue
        laws = []
        for count in held:
            shown: dict[Hashable, float] = {
                k: noise_laws.discrete_gaussian_pmf(k - count, variance=noise.size)
                for k in (range(least, far + count) if count else ())
            }
            laws.append({**shown, "not named": 1 - math.fsum(shown.values())})
        yield laws[0], laws[1]


@lru_cache(None)
def shifted(noise: str, size: Fraction, away: int) -> Part:
    """The laws of two noisy numbers that lie apart: of many numbers the same."""
    away = abs(away)
    if noise == "laplace":
        a = math.exp(-1 / float(size))
        centre = (1 - a) / (1 + a)
        # Beyond both numbers the ratio stays as it is: two lumps are as good as every number.
        if away > _FAR:
            decay = math.exp(-float(away / size))  # a power of a would add up its rounding
            return {"low": 1 - a / (1 + a), "high": a / (1 + a)}, {
                "low": decay / (1 + a),
                "high": 1 - decay / (1 + a),
            }
        one: dict[Hashable, float] = {"low": 1 / (1 + a), "high": a ** (away + 1) / (1 + a)}
        two: dict[Hashable, float] = {"low": a**away / (1 + a), "high": a / (1 + a)}
        for k in range(1, away + 1):
            one[k], two[k] = centre * a**k, centre * a ** (away - k)
        return one, two
    if size > 400:  # as good as continuous; bins tell no more than the numbers in them
        apart = away / math.sqrt(size)
        edges = np.linspace(-8.0, 8.0 + apart, 1000)
        return tuple(dict(enumerate(np.diff(ndtr(edges - by)))) for by in (0.0, apart))  # type: ignore[return-value]
    far = math.ceil(8 * math.sqrt(size)) + away
    mass: Callable[[int], float] = partial(noise_laws.discrete_gaussian_pmf, variance=size)
    reach = range(-far, far + away + 1)
    return {k: mass(k) for k in reach}, {k: mass(k - away) for k in reach}


_LAWS: dict[str, Callable[..., Iterator[Part]]] = {
    "identify": _about_a_place,
    "screen": _about_a_place,
    "screening": _screening,
    "lookahead": _lookahead,
    "count": _count,
    "subspaces": _subspaces,
    "tune": _tune,
    "explain": _explain,
    "publish": _publish,
    "learn": _learn,
    "monitor": _monitor,
    "profile": _profile,
}


# --- the loss of many parts together --------------------------------------------------------------


def worst(listed: list[Part]) -> float:
    """The largest log-ratio of any joint outcome: the parts are independent, so losses add up."""
    return max(
        sum(_most(one, two) for one, two in listed), sum(_most(two, one) for one, two in listed)
    )


def _most(one: Law, two: Law) -> float:
    found = 0.0
    for outcome, p in one.items():
        if p > 0:
            q = two.get(outcome, 0.0)
            found = max(found, math.log(p) - math.log(q) if q > 0 else math.inf)
    return found


def beyond(listed: list[Part], epsilon: float) -> float:
    """The least delta with which the joint law keeps epsilon, in both directions."""
    return max(_delta(listed, epsilon), _delta([(two, one) for one, two in listed], epsilon))


_GRID = 2e-3
_RARE = 1e-12
_FAINT = 1e-18
"""Chances that are left out of sums: too few to make up for what rounding down leaves out."""


def _delta(listed: list[Part], epsilon: float) -> float:
    """Convolve the laws of the losses on a grid, rounded down: a violation that is found is one."""
    lowest, chances, kept = 0, np.ones(1), 1.0
    known: dict[tuple[int, int], tuple[float, int, Any]] = {}
    for one, two in listed:
        pair = id(one), id(two)
        if pair not in known:
            known[pair] = _losses(one, two)
        alike, least, weights = known[pair]
        kept *= alike
        if weights is None:
            return 1.0
        chances = np.convolve(chances, weights)
        held = np.flatnonzero(chances > _FAINT)
        chances = chances[held[0] : held[-1] + 1]
        lowest += least + int(held[0])
    losses = (lowest + np.arange(len(chances))) * _GRID
    above = losses > epsilon
    return 1 - kept + float((chances[above] * -np.expm1(epsilon - losses[above])).sum())


def _losses(one: Law, two: Law) -> tuple[float, int, Any]:
    """Return the chance of outcomes that both have, and the law of their loss, if there are any."""
    p = np.fromiter(one.values(), np.float64, len(one))
    q = np.fromiter((two.get(outcome, 0.0) for outcome in one), np.float64, len(one))
    often, met = p > _RARE, q > 0
    alike = float(np.prod(1 - p[often & ~met]))
    p, q = p[often & met], q[often & met]
    if not len(p):
        return alike, 0, None
    steps = np.floor((np.log(p) - np.log(q)) / _GRID).astype(np.int64)
    least = int(steps.min())
    return alike, least, np.bincount(steps - least, weights=p)


def renyi(listed: list[Part], order: float) -> float:
    """The Rényi divergence of the joint laws, in the worse direction."""
    totals = []
    for forth in (True, False):
        total = 0.0
        for pair in listed:
            one, two = pair if forth else pair[::-1]
            moment = 0.0
            for outcome, p in one.items():
                q = two.get(outcome, 0.0)
                if p > 0:
                    moment += p * (p / q) ** (order - 1) if q > 0 else math.inf
            total += math.log(moment) / (order - 1)
        totals.append(total)
    return max(totals)
