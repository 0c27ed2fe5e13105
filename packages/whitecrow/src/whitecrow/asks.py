"""The questions as methods, for whoever answers questions: a curator, or a client of one.

Each is a plain function; a class that has ``ask`` and ``plan`` takes them as its methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from whitecrow.question import Progress, Question, Release
from whitecrow.questions import question_type

if TYPE_CHECKING:
    from whitecrow.screening.opened import Answerer, OpenScreening


class Asker(Protocol):
    """Whoever answers questions."""

    def ask(self, question: Question, /) -> Release:
        """Answer a question, or refuse it."""

    def plan(self, questions: Sequence[Question], /) -> Any:
        """What a batch would cost together: a :class:`whitecrow.terms.Plan`."""


def ask_about(self: Asker, kind: str, *given: Any, **parameters: Any) -> Release:
    """Ask a question by its kind; this is how questions of other packages are asked.

    ``analyst`` and ``progress`` go to :meth:`ask`, the rest to the question.
    """
    how = {name: parameters.pop(name) for name in ("analyst", "progress") if name in parameters}
    make: Any = question_type(kind).question
    return self.ask(make(*given, **parameters), **how)


def ask_all(
    self: Asker, questions: Sequence[Question], *, progress: Progress | None = None
) -> list[Release]:
    """Answer a batch, or refuse all of it: it is priced together before anything is asked.

    Interrupted, it is asked again as it was: what has an answer is not charged twice, and the
    rest goes on.

    Parameters
    ----------
    questions : sequence of Question
        Asked in this order. One that comes twice is charged once.
    progress : callable, optional
        Told how many are answered, after each.

    Raises
    ------
    BudgetExhausted
        Not all of them fit; it says how many do. Nothing was asked.
    """
    self.plan(questions).check()
    releases = []
    for done, question in enumerate(questions, start=1):
        releases.append(self.ask(question))
        if progress is not None:
            progress(done, len(questions), "asking")
    return releases


def identify(self: Asker, record: Mapping[str, Any], **parameters: Any) -> Release:
    """Ask :class:`whitecrow.Identify` about a record."""
    return ask_about(self, "identify", record, **parameters)


def screen(self: Asker, record: Mapping[str, Any], **parameters: Any) -> Release:
    """Ask :class:`whitecrow.Screen` about a record."""
    return ask_about(self, "screen", record, **parameters)


def screening(self: Answerer, **parameters: Any) -> OpenScreening:
    """Open :class:`whitecrow.Screening`, or go on with it: one price, any number of records.

    ``analyst`` and ``progress`` go to :meth:`ask`, the rest to the question.
    """
    from whitecrow.screening.opened import OpenScreening

    return OpenScreening.of(self, parameters)


def explain(self: Asker, record: Mapping[str, Any], **parameters: Any) -> Release:
    """Ask :class:`whitecrow.Explain` about a record."""
    return ask_about(self, "explain", record, **parameters)


def _asking(kind: str, says: str = "") -> Callable[..., Release]:
    """Make the method that asks the question of a kind."""

    def method(self: Asker, *given: Any, **parameters: Any) -> Release:
        return ask_about(self, kind, *given, **parameters)

    method.__name__ = method.__qualname__ = kind
    method.__doc__ = f"Ask :class:`whitecrow.{kind.title()}`{says}."
    return method


lookahead, count, subspaces = _asking("lookahead"), _asking("count"), _asking("subspaces")
tune, publish = _asking("tune"), _asking("publish")
profile = _asking("profile", "; the answer is a :class:`whitecrow.TableProfile`")
learn = _asking("learn", "; the answer is a :class:`whitecrow.Detector`")
monitor = _asking("monitor", "; the answer has the newest :class:`whitecrow.Detector`")
