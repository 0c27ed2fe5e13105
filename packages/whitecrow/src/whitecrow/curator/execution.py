"""Private execution: what happens behind this boundary leaves only through a mechanism.

An exception raised while private values are at hand may carry them, in its message or in the frames
of its traceback. So it is caught here, written to the custodian's log, and answered by one constant
sentence; the new error is raised outside the handler and has no cause, no context and no frames of
the computation.
"""

from __future__ import annotations

import contextlib
import json
import threading
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from whitecrow.custodian import CUSTODIAN_LOG, write_down
from whitecrow.data import Card, Records
from whitecrow.data.reading import reporting
from whitecrow.errors import NotReady
from whitecrow.limits import Limits
from whitecrow.neighbours import Engine
from whitecrow.noise import Source
from whitecrow.question import Progress, Question, QuestionType
from whitecrow.questions import type_of

_STEPS = 20
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What a mechanism released, as plain JSON."""

    value: Any

    @classmethod
    def of(cls, released: Any) -> Answer:
        """Return it through text and back: a stored answer and a fresh one are the same value."""
        return cls(json.loads(json.dumps(released, allow_nan=False)))


class Execution(Protocol):
    """How a question is computed behind the boundary.

    Whatever goes wrong there (an exception, a limit, a process that died) is None, and the cause is
    the custodian's alone. What is raised instead must depend on no record.
    """

    def answer(
        self,
        question: Question,
        *,
        limits: Callable[[], Limits],
        progress: Progress | None,
        state: Mapping[str, Any] | None = None,
    ) -> Answer | None:
        """Gather facts and release an answer; None if anything went wrong.

        ``state`` is what a series released so far; then the answer is all that is to be kept.
        """


@dataclass(frozen=True)
class Elsewhere:
    """What is known here of records that another process holds: their public facts."""

    card: Card

    def close(self) -> None:
        """Do nothing: the records are the other process's."""


class InProcess:
    """Computes in the process that asks; nothing but the machine limits it.

    ``log`` is the custodian's file, to which the cause of a failure is added.
    """

    def __init__(
        self, dataset: Records | Elsewhere, engine: Engine | None, *, log: Path | None = None
    ) -> None:
        assert engine is not None
        assert not isinstance(dataset, Elsewhere)
        self._dataset, self._engine, self._log = dataset, engine, log

    def answer(
        self,
        question: Question,
        *,
        limits: Callable[[], Limits],
        progress: Progress | None,
        state: Mapping[str, Any] | None = None,
    ) -> Answer | None:
        def compute() -> Answer:
            code, shown = self.code(question), steady(progress)
            with nullcontext() if shown is None else reporting(shown):
                facts = code.gather(question, self._dataset, self._engine, shown)
                if state is None:
                    return Answer.of(code.release(question, facts, self.source(question)))
                assert code.series is not None
                return Answer.of(code.series.resume(question, facts, state, self.source(question)))

        return behind(question.kind, self._log, compute)

    def source(self, question: Question) -> Source | None:
        """Where noise comes from: the system's randomness, unless the records are made up."""
        return None

    def code(self, question: Question) -> QuestionType[Any, Any, Any]:
        """Return the code that answers a question."""
        return type_of(question)


def steady(progress: Progress | None) -> Progress | None:
    """Let progress through in fixed steps: how many are shown does not depend on the data."""
    if progress is None:
        return None
    following: dict[str, int] = defaultdict(int)

    def report(done: int, total: int, what: str) -> None:
        reached = _STEPS if done >= total else _STEPS * done // total
        while following[what] <= reached:
            progress(following[what], _STEPS, what)
            following[what] += 1

    return report


def behind(what: str, log: Path | None, compute: Callable[[], T | None]) -> T | None:
    """Run what is behind the boundary; None if anything went wrong, whatever it was.

    Everything between a spend and the answer to it is run through this, and so everything takes one
    path: an exception of any class, a refusal too, may be raised because of what a record is. Its
    cause is the custodian's alone, and so is what is warned of on the way. ``compute`` may return
    None, too: it failed, and has written down why.

    Only that the service is being stopped is raised: nothing failed, and asking again goes on with
    the spend.
    """
    try:
        with _warnings_withheld():
            return compute()
    except NotReady:
        raise
    except Exception:  # noqa: BLE001 - whatever it was, the analyst must not see it
        with contextlib.suppress(Exception):  # no memory is left to describe the cause, say
            write_down(log, what, traceback.format_exc())
        return None


_withholding = threading.Lock()
_withheld: list[Callable[..., None]] = []
"""For each thread that runs something private: how warnings were shown before the first began."""


@contextlib.contextmanager
def _warnings_withheld() -> Iterator[None]:
    """Let warnings go to the custodian's log: what numpy warns of may depend on the records.

    Threads share the way warnings are shown, so the first to enter changes it and the last to leave
    changes it back.
    """
    with _withholding:
        _withheld.append(_withheld[0] if _withheld else warnings.showwarning)
        if len(_withheld) == 1:
            warnings.showwarning = _to_the_custodian
    try:
        yield
    finally:
        with _withholding:
            shown = _withheld.pop()
            # Else somebody has changed it since.
            if not _withheld and warnings.showwarning is _to_the_custodian:
                warnings.showwarning = shown


def _to_the_custodian(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    CUSTODIAN_LOG.warning("%s:%s: %s: %s", filename, lineno, category.__name__, message)
