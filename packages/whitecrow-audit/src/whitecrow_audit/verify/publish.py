"""Publish, checked: the exact law of short streams, on every pair that differs in one event.

A release at ``t`` is a whole number fixed by the past releases plus that period's noise, so the
probability of a whole series of outputs is a product of known weights. All series inside a window
are walked through with the product's own code (``publish.mechanism.turn``, which works on arrays of
noise), on small lattices where the rounding of the buffers is at its coarsest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.exhaustive import Report, exhaust
from whitecrow.publish.buffered import Buffered, Coefficients
from whitecrow.publish.clip import PrivateClip, quantile_utilities
from whitecrow.publish.facts import Position
from whitecrow.publish.mechanism import begin, turn
from whitecrow.publish.periods import Calendar
from whitecrow.publish.plan import PublicationPlan, Stage, counter_for
from whitecrow_audit.verify.universes import Checks

Stream = tuple[tuple[int, ...], ...]
"""For each period the values of its records; ``~value`` is a record that leaves."""

Law = Callable[[Stream], list[npt.NDArray[np.float64]]]
"""The log-probability of every output in the window, one array for each channel."""

_COARSE = Coefficients((9, 4), (26, 12), precision=5)
_ORDERS = (1.0001, 1.5, 2.0, 4.0)


def small_plan(
    mechanism: str, noise: str, *, lengths: tuple[int, ...] = (3,), **given: Any
) -> PublicationPlan:
    """Return a plan on a small lattice; buffers are rounded as coarsely as it can be.

    ``lengths`` are the epochs' (one for a known horizon). What is given replaces the plan's
    defaults: one event a unit, sums of values from 0 to 2, a budget of 1.
    """
    plan = PublicationPlan(
        **{
            "statistic": "sum",
            "view": "to_date",
            "mechanism": mechanism,
            "noise": noise,
            "horizon": lengths[0] if len(lengths) == 1 else None,
            "lower": Fraction(0),
            "upper": Fraction(2),
            "resolution": Fraction(1),
            "contribution": 1,
            "leaving": False,
            "budget": Fraction(1),
            "calendar": Calendar.of(0, 1),
            **given,
        }
    )
    for epoch, length in enumerate((*lengths, 1)):
        counter = counter_for(mechanism, plan.view, length, plan.bound)
        if isinstance(counter, Buffered):
            counter = _coarse(length, mechanism)
        plan.set_stage(epoch, counter, length)
    return plan


def _coarse(length: int, mechanism: str) -> Buffered:
    """Two buffers, rounded to 32nds; without a horizon, as if it ended after four periods."""
    ending = mechanism != "endless"
    return Buffered(length if ending else 4, _COARSE, bits=1, normalised=ending)


def _events(most: int) -> list[tuple[int, ...]]:
    """Every day of at most one record."""
    return [(), *((value,) for value in range(most + 1))]


def _with(stream: Stream, t: int, event: int) -> Stream:
    return (*stream[:t], (*stream[t], event), *stream[t + 1 :])


def _edges(plan: PublicationPlan, periods: int) -> Iterator[tuple[Stream, Stream]]:
    """Every pair of streams that differ by one unit of privacy.

    The smaller stream has at most one record a period. The unit adds up to ``contribution``
    records, each of which may leave again where the plan allows it.
    """
    top = plan.levels
    for stream in itertools.product(_events(top), repeat=periods):
        if not plan.leaving and plan.contribution == 1:
            for t, value in itertools.product(range(periods), range(top + 1)):
                yield stream, _with(stream, t, value)
        elif plan.leaving:
            # The proof does not need the leave to repeat the value of the join.
            for come, go in itertools.combinations_with_replacement(range(periods), 2):
                for value, other in itertools.product(range(top + 1), repeat=2):
                    yield stream, _with(_with(stream, come, value), go, ~other)
        else:
            for first, second in itertools.combinations_with_replacement(range(periods), 2):
                yield stream, _with(_with(stream, first, top), second, top)


def _log_weights(
    stage: Stage, within: int, noise: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """The log-probability of each draw."""
    scale = float(stage.scale_at(within))
    if stage.noise == "laplace":
        ratio = math.exp(-1.0 / scale)
        return math.log((1 - ratio) / (1 + ratio)) - np.abs(noise) / scale
    total = float(np.exp(-(np.arange(-400, 401) ** 2) / (2 * scale)).sum())
    return np.asarray(-(noise**2) / (2 * scale) - math.log(total))


def _law(plan: PublicationPlan, window: int, stream: Stream, again: int | None = None) -> list[Any]:
    """Walk every output in the window, channel by channel (their noises are independent).

    ``again`` names a period that a broken publisher shows twice, with fresh noise.
    """
    outputs = np.arange(-window, window + 1)
    laws = []
    for channel in range(plan.channels):
        position, logs = _one_channel(begin(plan)), np.zeros(1)
        for t, day in enumerate(stream):
            increment = (_increments(plan, day)[channel],)
            stage = plan.stage(position.epoch)
            # The release is a fixed number plus the noise: find it with no noise.
            _, (fixed,) = turn(plan, position, increment, (0,))
            noise = outputs[None, :] - np.broadcast_to(fixed, logs.shape)[:, None]
            weights = _log_weights(stage, position.within, noise)
            logs = (logs[:, None] + weights).ravel()
            position, _ = turn(plan, _spread(position, len(outputs)), increment, (noise.ravel(),))
            position = _one_channel(position)
            if t == again:
                logs = (logs.reshape(weights.shape)[:, :, None] + weights[:, None, :]).ravel()
                position = _spread(position, len(outputs))
        laws.append(logs)
    return laws


def _one_channel(position: Position) -> Position:
    return replace(position, exact_memories=position.exact_memories[:1], base=position.base[:1])


def _spread(position: Position, times: int) -> Position:
    """Give each history so far ``times`` continuations."""

    def grown(entry: Any) -> Any:
        return np.repeat(entry, times) if isinstance(entry, np.ndarray) else entry

    return replace(
        position,
        exact_memories=tuple(tuple(map(grown, memory)) for memory in position.exact_memories),
        base=tuple(map(grown, position.base)),
    )


def _increments(plan: PublicationPlan, day: tuple[int, ...]) -> tuple[int, ...]:
    joins = np.array([value for value in day if value >= 0], dtype=np.float64)
    leaves = np.array([~value for value in day if value < 0], dtype=np.float64)
    return tuple(a - b for a, b in zip(plan.encode(joins), plan.encode(leaves), strict=True))


def _pure(one: list[Any], other: list[Any]) -> float:
    """The largest log-ratio of any output; channels add up."""
    return sum(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def _concentrated(one: list[Any], other: list[Any]) -> float:
    """The largest Rényi divergence of any order over that order, both ways."""
    worst = 0.0
    for order in _ORDERS:
        for p, q in ((one, other), (other, one)):
            divergence = 0.0
            for a, b in zip(p, q, strict=True):
                powers = order * a + (1 - order) * b
                top = powers.max()
                divergence += (top + math.log(np.exp(powers - top).sum())) / (order - 1)
            worst = max(worst, divergence / order)
    return worst


def _stream_check(
    plan: PublicationPlan, window: int, *, periods: int = 3, law: Law | None = None
) -> Report:
    law = law or partial(_law, plan, window)
    measure = _pure if plan.noise == "laplace" else _concentrated
    laws: dict[Stream, list[Any]] = {}
    edges, worst, where = 0, 0.0, ""
    for pair in _edges(plan, periods):
        for stream in pair:
            if stream not in laws:
                laws[stream] = law(stream)
        measured = measure(laws[pair[0]], laws[pair[1]])
        edges += 1
        if measured > worst:
            worst, where = measured, f"{pair[0]!r} ~ {pair[1]!r}"
    note = f"{len(next(iter(laws.values()))[0])} outputs a stream and channel"
    return Report(len(laws), edges, worst, float(plan.budget), where, note)


# ---- mutants ------------------------------------------------------------------------------


def _redrawn(noise: str) -> Report:
    """Restarted after the first release: the period is shown again with fresh noise."""
    plan = small_plan("tree", noise, lengths=(2,), upper=Fraction(1), budget=Fraction(2))
    window = 6 if noise == "laplace" else 14
    return _stream_check(plan, window, periods=2, law=partial(_law, plan, window, again=0))


def _scale_follows_data(noise: str) -> Report:
    """The noise is scaled to the largest value that happens to be there."""
    plan = small_plan("tree", noise, lengths=(2,))

    def law(stream: Stream) -> list[Any]:
        largest = max([1, *itertools.chain(*stream)])
        follower = small_plan("tree", noise, lengths=(2,), upper=Fraction(largest))
        loud = small_plan("tree", noise, lengths=(2,))
        loud.set_stage(0, loud.stage(0).counter, 2, follower.stage(0).scale)
        return _law(loud, 12, stream)

    return _stream_check(plan, 12, periods=2, law=law)


def _clip_follows_data(noise: str) -> Report:
    """Values are clipped to the largest of the first period, with noise to match."""
    plan = small_plan("buffered", noise, lengths=(2,))

    def law(stream: Stream) -> list[Any]:
        largest = Fraction(max([1, *stream[0]]))
        return _law(small_plan("buffered", noise, lengths=(2,), upper=largest), 12, stream)

    return _stream_check(plan, 12, periods=2, law=law)


def _buffers_unrounded(noise: str) -> Report:
    """The buffered noise is set by its columns' norm, as if floors added nothing."""
    plan = small_plan("buffered", noise, upper=Fraction(1))
    absolute, squared = _coarse_norms()
    scale = absolute if noise == "laplace" else squared / 2
    plan.set_stage(0, plan.stage(0).counter, 3, scale / plan.budget)
    return _stream_check(plan, 9)


def _coarse_norms() -> tuple[Fraction, Fraction]:
    """The norms of an event of size 2, from a counter so fine that its floors do not matter."""
    fine = replace(_coarse(3, "buffered"), bits=60)
    absolute, squared = fine.reach(1)
    unit = Fraction(1, 1 << 59)
    return absolute * unit, squared * unit**2


# ---- the private clip --------------------------------------------------------------------------


def choice_law(clip: PrivateClip, epsilon: float, data: tuple[int, ...]) -> Mapping[Any, float]:
    """The exact law of :func:`whitecrow.publish.clip.choose`."""
    limits = [float(c) for c in clip.candidates]
    below = [sum(v <= c for v in data) for c in limits]
    if clip.method == "quantile":
        a, b = clip.quantile.numerator, clip.quantile.denominator
        rate = epsilon / (2 * max(a, b - a))
        logs = [rate * value for value in quantile_utilities(below, len(data), a, b)]
        total = sum(math.exp(value) for value in logs)
        return {c: math.exp(value) / total for c, value in zip(limits, logs, strict=True)}
    scale = 2 / epsilon
    ratio = math.exp(-1 / scale)
    noise = np.arange(-200, 201)
    weights = (1 - ratio) / (1 + ratio) * ratio ** np.abs(noise)
    weights /= weights.sum()
    law, still = {}, weights.copy()
    for limit, count in zip(limits[:-1], below[:-1], strict=True):
        # P(above + noise <= threshold) for each value of the threshold's noise.
        room = clip.above + noise - (len(data) - count)
        passes = np.where(
            room < 0,
            ratio ** np.abs(room) / (1 + ratio),
            1 - ratio ** np.maximum(room + 1, 0) / (1 + ratio),
        )
        law[limit] = float((still * passes).sum())
        still = still * (1 - passes)
    law[limits[-1]] = float(still.sum())
    return law


def _choice_check(method: str, factor: float = 1.0) -> Report:
    clip = PrivateClip(
        smallest=Fraction(1), largest=Fraction(8), method=method, quantile=Fraction(3, 4), above=1
    )
    values = (1, 2, 3, 7)
    data = [d for size in range(5) for d in itertools.combinations_with_replacement(values, size)]
    pairs = [(d, tuple(sorted((*d, v)))) for d in data if len(d) < 4 for v in values]
    return exhaust(partial(choice_law, clip, factor), pairs, 1.0)


def _stream_checks(noise: str, window: int) -> Checks:
    budget = Fraction(1) if noise == "laplace" else Fraction(2)
    small: dict[str, Any] = {"upper": Fraction(1), "budget": budget}
    checks: Checks = {}

    def check(name: str, plan: PublicationPlan, window: int = window, periods: int = 3) -> None:
        checks[f"{name}, {noise}"] = partial(_stream_check, plan, window, periods=periods)

    for mechanism in ("independent", "tree", "buffered", "endless"):
        plan = small_plan(mechanism, noise, **small)
        # Without refined units the Gaussian needs fewer outputs to hold all its mass.
        near = window if plan.stage(0).counter.bits else min(window, 9)
        check(f"{mechanism}: streams of 3 periods", plan, near)
        plan = small_plan(mechanism, noise, statistic="mean", lengths=(2,), budget=budget)
        check(f"{mechanism}: a mean's two sums share the budget", plan, 2 * window, 2)
    plan = small_plan("buffered", noise, lengths=(1, 2), **small)
    check("buffered: an unknown horizon, epochs of 1 and 2 periods", plan)
    plan = small_plan("buffered", noise, leaving=True, **small)
    check("buffered: a record that joins and leaves", plan, min(window, 12))
    for mechanism in ("buffered", "tree"):
        plan = small_plan(mechanism, noise, contribution=2, **small)
        check(f"{mechanism}: a user with two records", plan, min(window, 12))
    if noise == "laplace":
        for mechanism, window in (("buffered", 5), ("tree", 4)):
            plan = small_plan(mechanism, noise, lengths=(4,), upper=Fraction(1))
            check(f"{mechanism}: streams of 4 periods", plan, window, 4)
    return checks


CHECKS: Checks = {
    **_stream_checks("laplace", 7),
    **_stream_checks("gaussian", 14),
    **{
        f"mutant: a publisher that {does}, {noise}": partial(run, noise)
        for noise in ("laplace", "gaussian")
        for does, run in (
            ("redraws after a restart", _redrawn),
            ("scales its noise to the data", _scale_follows_data),
            ("clips to the data", _clip_follows_data),
            ("forgets the floors of its buffers", _buffers_unrounded),
        )
    },
    **{
        f"{what}private clip by {method}{says}": partial(_choice_check, method, times)
        for method in ("quantile", "sparse_vector")
        for what, says, times in (
            ("the ", "", 1.0),
            ("mutant: a ", " that spends twice what it says", 2.0),
        )
    },
}
