"""Questions that are paid once and answered step by step, from what the ledger keeps of them.

A series is paid once for each *run* of revisions in which steps of it are closed. Within a run
records were only added, as the account declared and checked; from one run to the next a record may
have moved to another period, and counts in both (``monitor/proof.md`` 2). Persons may have other
records at every step anyway: their series is paid once over all revisions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from whitecrow.curator.execution import Answer, InProcess, behind
from whitecrow.custodian import failure
from whitecrow.errors import InvalidInput, LedgerBusy, NotReady, RecordsElsewhere, Unreachable
from whitecrow.ledger import AccountSnapshot, ChargeRequest, Reservation
from whitecrow.ledger.alarms import sound
from whitecrow.ledger.states import States
from whitecrow.question import Progress, Question, Series, Transcript, digest, series_digest
from whitecrow.questions import type_of

if TYPE_CHECKING:
    from whitecrow.curator.curator import Curator, Inquiry

_TRIES = 8
_OPENED = {"series": "paid; its steps are released as they are asked for"}

_USED = (
    "This label was used before, by an attempt that was interrupted or that asked something else, "
    "so nothing was sent or spent now. Begin again under a new label, at the price again."
)

RUNS = "runs"
"""Under which name a series keeps the run in which each of its steps was closed."""

_ANY = 1  # the run of series about persons, and of series from before runs were kept

State = Mapping[str, Any]


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
    return _step(curator, inquiry).spends[-1]


@dataclass(frozen=True)
class _Step:
    """A step that is asked for, and how far its series is."""

    name: str  # of the series
    version: int  # of what is kept of it
    state: State
    answer: Any  # at the step; None where it is not closed yet
    runs: list[int | str]  # of all steps that are closed, and of the next one if it is to be closed
    spends: list[ChargeRequest]  # one for each run; the first run's bears the name of the series


def _step(curator: Curator, inquiry: Inquiry) -> _Step:
    series, question, request = inquiry.code.series, inquiry.question, inquiry.request
    assert isinstance(series, Series)
    name = series_digest(question, curator.card)
    version, state = States(curator._ledger, curator.name).load(name) or (-1, {})
    show = partial(series.show, question, curator.card, state)
    shown = behind(question.kind, curator._log, lambda: Answer(show()))
    if shown is None:
        States(curator.ledger, curator.name).fail(told_at=request.told_at)
        raise failure()
    runs, paid = _runs(curator, state, shown.value), json.loads(question.paid_as().canonical)
    spends = [replace(request, question=paid, digest=name)]
    for run in list(dict.fromkeys(runs))[1:]:
        further = hashlib.sha256(json.dumps(["series", name, run]).encode()).hexdigest()
        spends.append(replace(request, question=paid, digest=further))
    return _Step(name, version, state, shown.value, runs, spends)


def _runs(curator: Curator, state: State, shown: Any) -> list[int | str]:
    runs = list(state.get(RUNS, [_ANY] if state else []))
    held = curator._identity
    if shown is None:
        # Records that may change unseen may have moved since any step.
        changing = held.since if held.steady else f"unseen, step {len(runs) + 1}"
        runs.append(changing if curator.card.unit == "record" else _ANY)
    return runs


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
    name, lost, charged = curator.name, 0, False
    while lost < _TRIES:
        step = _step(curator, inquiry)
        with ExitStack() as releasing:
            held, snapshot = _paid(curator, step.spends, releasing)
            charged = charged or bool(held)
            if step.answer is None:
                closed = _closed(curator, inquiry, step.state, held, progress)
                state, states = {**closed, RUNS: step.runs}, States(curator.ledger, name)
                lost += not states.save(step.name, step.version + 1, state)
            for reservation in held:
                curator.ledger.settle(name, reservation, _OPENED)
        if step.answer is not None:
            alarm = inquiry.question.alarm(step.answer)
            if alarm is not None:  # the chain keeps it, for the dataset's timeline
                (period, says), told_at = alarm, inquiry.request.told_at
                about = {"series": step.name, "period": period, "says": says}
                sound(curator.ledger, name, **about, told_at=told_at)
            return step.answer, snapshot, charged
    raise LedgerBusy("Another process keeps closing steps of this series; try again.")


def _paid(
    curator: Curator, spends: list[ChargeRequest], releasing: ExitStack
) -> tuple[list[Reservation], AccountSnapshot]:
    """Charge what is not paid yet; return the spends that are to be settled, then released."""
    held: list[Reservation] = []
    for spend in spends:
        outcome, snapshot = curator._reserve(spend)
        if isinstance(outcome, Reservation):
            releasing.callback(outcome.release)
            held.append(outcome)
        elif not outcome.answered:
            raise failure()
    return held, snapshot


def _closed(
    curator: Curator,
    inquiry: Inquiry,
    state: State,
    held: list[Reservation],
    progress: Progress | None,
) -> State:
    """Close the first step that is not closed; a failure is that of the spend, if there is one."""
    series, question = inquiry.code.series, inquiry.question
    assert isinstance(series, Series)

    def compute() -> Answer | None:
        step = series.following(question, state)
        limits = partial(curator.limits, step)
        return curator._execution.answer(step, limits=limits, progress=progress, state=state)

    closed = behind(question.kind, curator._log, compute)
    if closed is not None:
        return dict(closed.value)
    for reservation in held:
        curator.ledger.fail(curator.name, reservation)
    if not held:
        States(curator.ledger, curator.name).fail(told_at=inquiry.request.told_at)
    raise failure()


def take_part(
    curator: Curator, question: Question, label: str, agreement: str, release: Callable[[Any], Any]
) -> Any:
    """Charge a question, compute with other sites, and store what came of it before it is shown.

    A label is burned before anything is sent: its spend is entered as answered, which is never
    taken up again and never given back. Whatever becomes of the attempt then, numbers may have been
    sent; a site that drops out makes it void, and whoever asks under the same label is refused.

    ``label`` is the digest of the attempt's label, whatever is asked; ``agreement`` that of the
    question and of everything the sites agreed upon.
    """
    execution = curator._execution
    if not isinstance(execution, InProcess):
        raise RecordsElsewhere(
            "Sites compute together in the process that holds the records: open the dataset "
            "without private execution."
        )

    def burned(reservation: Reservation) -> dict[str, str]:
        if not reservation.fresh:  # of an attempt that ended before it sent anything
            raise InvalidInput(_USED)
        return {"label": agreement}

    order = replace(curator.inquire(question).request, digest=label, location=None)
    outcome, _, charged = curator._paid_once(order, burned)
    if not outcome.answered:
        raise failure()
    states = States(curator.ledger, curator.name)
    if charged:
        answer = _computed(execution, question, release, states)
        states.save(label, 0, {"agreement": agreement, "answer": answer})
        return answer
    _, stored = states.load(label) or (0, {})
    if stored.get("agreement") != agreement:
        raise InvalidInput(_USED)
    return stored["answer"]


def _computed(
    execution: InProcess, question: Question, release: Callable[[Any], Any], states: States
) -> Any:
    dropped_out = False

    def compute() -> Answer | None:
        nonlocal dropped_out
        try:
            facts = type_of(question).gather(question, execution._dataset, execution._engine, None)
            return Answer.of(release(facts))
        except (NotReady, Unreachable):
            dropped_out = True
            return None

    answer = behind(question.kind, execution._log, compute)
    if answer is not None:
        return answer.value
    if dropped_out:
        raise InvalidInput(
            "This attempt is void: a site dropped out of it. Begin again without that site, under "
            "a new label; what was sent counts as spent."
        )
    states.fail()
    raise failure()
