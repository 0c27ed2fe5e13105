"""Questions that are paid once and answered step by step, from what the ledger keeps of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from whitecrow.curator.execution import Answer, behind, failure
from whitecrow.curator.opening import custodian_file
from whitecrow.errors import LedgerBusy
from whitecrow.ledger import AccountSnapshot, Ledger, Reservation
from whitecrow.ledger.alarms import sound
from whitecrow.ledger.states import States
from whitecrow.question import Progress, Question, series_digest
from whitecrow.questions import type_of

if TYPE_CHECKING:
    from whitecrow.curator.curator import Curator
    from whitecrow.ledger import ChargeRequest

__all__ = ["next_step", "series_order"]

_TRIES = 8
_OPENED = {"series": "paid; its steps are released as they are asked for"}


def series_order(order: ChargeRequest, question: Question, curator: Curator) -> ChargeRequest:
    """Return what is charged for a step: the whole series, once, over all revisions."""
    paid = json.loads(question.paid_as().canonical)
    return replace(order, digest=series_digest(question, curator.card), question=paid)


def next_step(
    curator: Curator, question: Question, order: ChargeRequest, progress: Progress | None
) -> tuple[Any, AccountSnapshot, bool]:
    """Charge the series unless it is paid, close what is to be closed, and show the step.

    Returns
    -------
    answer, AccountSnapshot, bool
        The last says whether this step paid for the series.
    """
    ledger, name = curator._ledger, curator.name
    states = States(ledger, name)
    found, snapshot = curator._reserve(order)
    if not isinstance(found, Reservation):
        if not found.answered:
            raise failure()
        answer = _shown(curator, question, order, states, states.fail, progress)
        _sounded(ledger, name, question, answer, order.digest)
        return answer, snapshot, False
    held = found
    try:
        answer = _shown(curator, question, order, states, lambda: ledger.fail(name, held), progress)
        ledger.settle(name, held, _OPENED)
    finally:
        held.release()
    _sounded(ledger, name, question, answer, order.digest)
    return answer, snapshot, True


def _sounded(ledger: Ledger, name: str, question: Question, answer: Any, series: str) -> None:
    """Let the chain keep an alarm that was released, for the dataset's timeline."""
    alarm = question.alarm(answer)
    if alarm is not None:
        sound(ledger, name, series=series, period=alarm[0], says=alarm[1])


def _shown(
    curator: Curator,
    question: Question,
    order: ChargeRequest,
    states: States,
    fail: Callable[[], object],
    progress: Progress | None,
) -> Any:
    """Return the answer at a step, closing it first if nobody has.

    What was released is written down before any of it is shown, with a compare-and-swap on its
    version: of two writers one wins, and the other shows what the winner wrote. Nothing that is
    kept is private.
    """
    log = custodian_file(curator.ledger)
    lost = 0
    while lost < _TRIES:
        version, kept = states.load(order.digest) or (-1, {})
        step = behind(question.kind, log, partial(_step, curator, question, kept, progress))
        if step is None:
            fail()
            raise failure()
        if not step.closes:
            return step.answer.value
        lost += not states.save(order.digest, version + 1, step.answer.value)
    raise LedgerBusy("Another process keeps closing steps of this series; try again.")


@dataclass(frozen=True)
class _Step:
    """What is shown of a step or, where it closes one, all that is to be kept of the series."""

    closes: bool
    answer: Answer


def _step(
    curator: Curator, question: Question, kept: Mapping[str, Any], progress: Progress | None
) -> _Step | None:
    series = type_of(question).series
    assert series is not None
    shown = series.show(question, curator.card, kept)
    if shown is not None:
        return _Step(False, Answer(shown))
    step = series.following(question, kept)
    limits = partial(curator.limits, step)
    released = curator._execution.answer(step, limits=limits, progress=progress, kept=kept)
    return None if released is None else _Step(True, released)
