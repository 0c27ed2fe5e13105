"""Replies leave at published moments, so that their time says nothing of the computation."""

from __future__ import annotations

import asyncio
import math
from datetime import datetime, timedelta

from whitecrow.ledger.account import ToldAt


def due(elapsed: float, deadline: float) -> float:
    """Return when to reply: the first multiple of the deadline that is not yet over.

    Examples
    --------
    >>> due(0.01, 0.25), due(0.3, 0.25)
    (0.25, 0.5)
    """
    return deadline * max(1, math.ceil(elapsed / deadline))


def told_at(began: datetime, deadline: float, margin: float) -> ToldAt:
    """From when on others may be told what an ask wrote: when its reply is due.

    Parameters
    ----------
    began : datetime
        When the slot of the ask began.
    deadline : float
        Its published reply time.
    margin : float
        How many seconds the clocks of those who read may differ from this one.
    """

    def moment(written: datetime) -> datetime:
        elapsed = (written - began).total_seconds()
        return began + timedelta(seconds=due(elapsed, deadline) + margin)

    return moment


async def wait(started: float, deadline: float | None) -> None:
    """Wait until the reply to a request that came at ``started`` (loop time) is due."""
    if deadline is None:
        return
    loop = asyncio.get_running_loop()
    # Fixed before sleeping: a late wake-up does not move the reply to the next multiple.
    target = started + due(loop.time() - started, deadline)
    while (left := target - loop.time()) > 0:
        await asyncio.sleep(left)
