"""Slots: one running ask a person, a fair share for all, waits of published length."""

from __future__ import annotations

import asyncio
import time

import pytest

import whitecrow as wc
from whitecrow.errors import TooMany
from whitecrow_server._scheduling import Schedule


def _schedule(**changes: int) -> Schedule:
    return Schedule(**{"at_once": 8, "slots": 1, "waiting": 4, **changes})


async def _run(
    schedule: Schedule, log: list[str], person: str, name: str, deadline: float | None, work: float
) -> float:
    """Ask; return when the block began, by the loop's clock."""
    async with schedule.slot(person, "clinic", "screen", deadline):
        began = asyncio.get_running_loop().time()
        log.append(f"+{name}")
        await asyncio.sleep(work)
        log.append(f"-{name}")
    return began


def test_one_person_has_one_running_ask_and_others_go_on() -> None:
    log: list[str] = []

    async def main() -> None:
        schedule = _schedule()
        await asyncio.gather(
            _run(schedule, log, "ana", "a1", None, 0.05),
            _run(schedule, log, "ana", "a2", None, 0.0),
            _run(schedule, log, "bob", "b1", None, 0.0),
        )

    asyncio.run(main())
    assert log == ["+a1", "+b1", "-b1", "-a1", "+a2", "-a2"]


def test_persons_take_turns_however_many_asks_one_of_them_sends() -> None:
    log: list[str] = []

    async def main() -> None:
        schedule = _schedule()
        await asyncio.gather(
            *(_run(schedule, log, "ana", f"a{i}", 0.02, 0.0) for i in range(4)),
            _run(schedule, log, "bob", "b", 0.02, 0.0),
        )

    asyncio.run(main())
    assert [one for one in log if one[0] == "+"][:2] == ["+a0", "+b"]


@pytest.mark.timing
@pytest.mark.parametrize("slots", [1, 2])
def test_a_wait_is_for_published_times_and_not_for_a_computation(slots: int) -> None:
    begun: dict[float, list[float]] = {}

    async def main(work: float) -> None:
        schedule = _schedule(slots=slots)
        start = asyncio.get_running_loop().time()
        found = await asyncio.gather(
            *(_run(schedule, [], f"p{i}", "", 0.3, work) for i in range(4))
        )
        begun[work] = [moment - start for moment in found]

    for work in (0.0, 0.2):
        asyncio.run(main(work))
    expected = [0.3 * (i // slots) for i in range(4)]
    for moments in begun.values():
        for moment, published in zip(moments, expected, strict=True):
            assert published - 0.01 <= moment <= published + 0.25


def test_too_many_waiting_asks_are_told_to_come_again() -> None:
    async def main() -> None:
        schedule = _schedule(waiting=2)
        asks = [
            asyncio.ensure_future(_run(schedule, [], "ana", str(i), 2.5, 0.0)) for i in range(3)
        ]
        await asyncio.sleep(0)
        with pytest.raises(TooMany) as refused:
            await _run(schedule, [], "ana", "4", 2.5, 0.0)
        assert refused.value.after == 3
        for one in asks:
            one.cancel()
        await asyncio.gather(*asks, return_exceptions=True)

    asyncio.run(main())


@pytest.mark.timing
def test_whoever_hangs_up_loses_the_place_and_spends_nothing() -> None:
    began: list[str] = []

    async def main() -> float:
        schedule = _schedule()

        async def gone() -> None:
            await asyncio.sleep(0.05)

        async def second() -> None:
            async with schedule.slot("bob", "clinic", "screen", 0.3, gone):
                began.append("bob")

        first = asyncio.ensure_future(_run(schedule, began, "ana", "ana", 1.0, 0.0))
        await asyncio.sleep(0)
        started = time.monotonic()
        with pytest.raises(wc.Unavailable, match="closed the connection"):
            await second()
        waited = time.monotonic() - started
        await first
        await _run(schedule, began, "cleo", "cleo", None, 0.0)  # the lane is free again
        return waited

    assert asyncio.run(main()) < 0.8
    assert began == ["+ana", "-ana", "+cleo", "-cleo"]


@pytest.mark.parametrize("moments", range(6))
def test_an_ask_that_is_cancelled_when_its_turn_comes_leaves_its_slot_free(moments: int) -> None:
    async def main() -> bool:
        schedule = _schedule()

        async def waits() -> None:
            async with schedule.slot("bob", "clinic", "screen", None, asyncio.Event().wait):
                pass

        async with schedule.slot("bob", "clinic", "screen", None):
            waiting = asyncio.create_task(waits())
            await asyncio.sleep(0.01)
        for _ in range(moments):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        async with asyncio.timeout(60), schedule.slot("bob", "clinic", "screen", None):
            return True

    assert asyncio.run(main())
