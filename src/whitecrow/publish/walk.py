"""One period of the running sums, with its noise given: the step that the proof is about.

Nothing is drawn here, so the verifier can walk through every outcome by handing in every noise.
"""

from __future__ import annotations

from dataclasses import dataclass

from whitecrow.privacy import Facts
from whitecrow.publish.counters import Memory
from whitecrow.publish.plan import Plan

__all__ = ["Position", "begin", "turn"]


@dataclass(frozen=True, repr=False, eq=False)
class Position(Facts):
    """Where the running sums stand; private.

    Parameters
    ----------
    epoch, within : int
        Which epoch runs and how many of its periods are closed.
    memories : tuple
        One counter memory for each channel.
    base : tuple of int
        The released totals of the epochs that are over, one for each channel.
    """

    epoch: int
    within: int
    memories: tuple[Memory, ...]
    base: tuple[int, ...]


def begin(plan: Plan) -> Position:
    """Return where the sums stand before the first period."""
    return Position(0, 0, (plan.stage(0).counter.start(),) * plan.channels, (0,) * plan.channels)


def turn(
    plan: Plan, position: Position, increments: tuple[int, ...], noises: tuple[int, ...]
) -> tuple[Position, tuple[int, ...]]:
    """Close one period: the new position, and the released running sums in refined units."""
    stage = plan.stage(position.epoch)
    counter = stage.counter
    memories, released = [], []
    for memory, base, increment, noise in zip(
        position.memories, position.base, increments, noises, strict=True
    ):
        memory, sum_now = counter.step(memory, increment << counter.bits, noise)
        memories.append(memory)
        released.append(base + sum_now)
    shown = tuple(released)
    if position.within + 1 < stage.length:
        after = Position(position.epoch, position.within + 1, tuple(memories), position.base)
    elif plan.view == "each_period":
        after = Position(position.epoch + 1, 0, tuple(memories), position.base)
    else:
        # A new epoch starts from what was released, so no event has a part in two epochs.
        start = plan.stage(position.epoch + 1).counter.start()
        after = Position(position.epoch + 1, 0, (start,) * len(shown), shown)
    return after, shown
