"""Questions that are paid once and answered step by step, from what the ledger keeps of them.

A series is paid once for each *run* of revisions in which steps of it are closed. Within a run
records were only added, as the account declared and checked; from one run to the next a record may
have moved to another period, and counts in both (``monitor/proof.md`` 2). Persons may have other
records at every step anyway: their series is paid once over all revisions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from whitecrow.curator.execution import Answer, behind
from whitecrow.custodian import failure
from whitecrow.errors import LedgerBusy
from whitecrow.ledger import AccountSnapshot, ChargeRequest, Reservation
from whitecrow.ledger.alarms import sound
from whitecrow.ledger.states import States
from whitecrow.question import Progress, Question, Series, Transcript, digest, series_digest

if TYPE_CHECKING:
    from whitecrow.curator.curator import Curator, Inquiry

_TRIES = 8
_OPENED = {"series": "paid; its steps are released as they are asked for"}


RUNS = "runs"
"""Under which name a series keeps the run in which each of its steps was closed."""

_ANY = 1
"""The run of series about persons, and of series from before runs were kept."""

Kept = Mapping[str, Any]


def series_order(curator: Curator, inquiry: Inquiry) -> ChargeRequest:
    """Return what is charged for a step: the whole series, in the run that the step belongs to.

    What is no step of a series is charged by itself.
    """
    series, request = inquiry.code.series, inquiry.request
    if series is None:
        return request
    if isinstance(series, Transcript):  # of these records, whoever asks about which new ones
        paid = inquiry.question.paid_as()
        name = digest(paid, curator.card, curator.revision)
        return replace(request, question=json.loads(paid.canonical), digest=name)
    _, kept = _kept(curator, inquiry.question)
    shown = _shown(curator, inquiry, kept)
    return _spends(curator, inquiry, _runs(curator, kept, shown))[-1]


def _kept(curator: Curator, question: Question) -> tuple[int, Kept]:
    states = States(curator._ledger, curator.name)
    return states.load(series_digest(question, curator.card)) or (-1, {})


def _shown(curator: Curator, inquiry: Inquiry, kept: Kept) -> Any:
    """Return the answer at the question's step; None where it is not closed yet."""
    series, question = inquiry.code.series, inquiry.question
    assert isinstance(series, Series)
    show = partial(series.show, question, curator.card, kept)
    shown = behind(question.kind, curator._log, lambda: Answer(show()))
    if shown is None:
        States(curator.ledger, curator.name).fail(told_at=inquiry.request.told_at)
        raise failure()
    return shown.value


def _runs(curator: Curator, kept: Kept, shown: Any) -> list[int | str]:
    """Return the runs of all steps that are closed, and of the next one if it is to be closed."""
    runs = list(kept.get(RUNS, [_ANY] if kept else []))
    held = curator._identity
    if shown is None:
        # Records that may change unseen may have moved since any step.
        changing = held.since if held.steady else f"unseen, step {len(runs) + 1}"
        runs.append(changing if curator.card.unit == "record" else _ANY)
    return runs


def _spends(curator: Curator, inquiry: Inquiry, runs: list[int | str]) -> list[ChargeRequest]:
    """Return one spend for each run; the first run's bears the name of the series."""
    paid, request = json.loads(inquiry.question.paid_as().canonical), inquiry.request
    name = series_digest(inquiry.question, curator.card)
    return [
        replace(request, question=paid, digest=name if run == runs[0] else _in_run(name, run))
        for run in dict.fromkeys(runs)
    ]


def _in_run(series: str, run: int | str) -> str:
    return hashlib.sha256(json.dumps(["series", series, run]).encode()).hexdigest()


def next_step(
    curator: Curator, inquiry: Inquiry, progress: Progress | None
) -> tuple[Any, AccountSnapshot, bool]:
    """Charge the series unless it is paid, close what is to be closed, and show the step.

    What was released is written down before any of it is shown, with a compare-and-swap on its
    version: of two writers one wins, and the other shows what the winner wrote. Nothing that is
    kept is private. The last value returned says whether this step paid for the series, or for a
    further run of it.
    """
    if isinstance(inquiry.code.series, Transcript):
        from whitecrow.curator.transcripts import next_answers

        return next_answers(curator, inquiry, series_order(curator, inquiry), progress)
    name, question = curator.name, inquiry.question
    lost, charged = 0, False
    while lost < _TRIES:
        version, kept = _kept(curator, question)
        shown = _shown(curator, inquiry, kept)
        runs = _runs(curator, kept, shown)
        held, snapshot = _paid(curator, _spends(curator, inquiry, runs))
        charged = charged or bool(held)
        try:
            if shown is None:
                closed = _closed(curator, inquiry, kept, held, progress)
                key, state = series_digest(question, curator.card), {**closed, RUNS: runs}
                lost += not States(curator.ledger, name).save(key, version + 1, state)
            for one in held:
                curator.ledger.settle(name, one, _OPENED)
        finally:
            for one in held:
                one.release()
        if shown is not None:
            _sounded(curator, inquiry, shown)
            return shown, snapshot, charged
    raise LedgerBusy("Another process keeps closing steps of this series; try again.")


def _paid(
    curator: Curator, spends: list[ChargeRequest]
) -> tuple[list[Reservation], AccountSnapshot]:
    """Charge what is not paid yet; return the spends that are to be settled."""
    held: list[Reservation] = []
    try:
        for spend in spends:
            found, snapshot = curator._reserve(spend)
            if isinstance(found, Reservation):
                held.append(found)
            elif not found.answered:
                raise failure()
    except BaseException:
        for one in held:
            one.release()
        raise
    return held, snapshot


def _closed(
    curator: Curator,
    inquiry: Inquiry,
    kept: Kept,
    held: list[Reservation],
    progress: Progress | None,
) -> Kept:
    """Close the first step that is not closed; a failure is that of the spend, if there is one."""
    series, question = inquiry.code.series, inquiry.question
    assert isinstance(series, Series)

    def compute() -> Answer | None:
        step = series.following(question, kept)
        limits = partial(curator.limits, step)
        return curator._execution.answer(step, limits=limits, progress=progress, kept=kept)

    released = behind(question.kind, curator._log, compute)
    if released is not None:
        closed: Kept = released.value
        return closed
    for one in held:
        curator.ledger.fail(curator.name, one)
    if not held:
        States(curator.ledger, curator.name).fail(told_at=inquiry.request.told_at)
    raise failure()


def _sounded(curator: Curator, inquiry: Inquiry, answer: Any) -> None:
    """Let the chain keep an alarm that was released, for the dataset's timeline."""
    alarm = inquiry.question.alarm(answer)
    if alarm is not None:
        (period, says), told_at = alarm, inquiry.request.told_at
        series = series_digest(inquiry.question, curator.card)
        ledger, name = curator.ledger, curator.name
        sound(ledger, name, series=series, period=period, says=says, told_at=told_at)
