"""The questions there are, by name; the code of each is loaded when it is first needed.

To add one to whitecrow, write its folder and add one line to :data:`BUILT_IN`. To add one from
outside, install a package with an entry point of the group ``whitecrow.questions`` that names a
:class:`~whitecrow.question.QuestionType`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from whitecrow import plugins
from whitecrow.errors import BrokenPlugin, InvalidInput

if TYPE_CHECKING:  # the list of names is wanted where nothing heavy may be loaded
    from whitecrow.question import Question, QuestionType

BUILT_IN: Mapping[str, tuple[str, str]] = {
    "identify": ("whitecrow.identify", "Is this member of the data an anomaly?"),
    "screen": ("whitecrow.screen", "Would this new record be an anomaly among the data?"),
    "screening": (
        "whitecrow.screening",
        "Would these new records be anomalies among the data? Any number, at one price",
    ),
    "count": ("whitecrow.count", "How many outliers are there?"),
    "subspaces": ("whitecrow.subspaces", "In which columns do outliers live?"),
    "explain": ("whitecrow.explain", "In which context is this record an outlier?"),
    "publish": ("whitecrow.publish", "A mean, sum or count, kept current period by period"),
    "lookahead": ("whitecrow.lookahead", "How many records have each combination of values?"),
    "profile": (
        "whitecrow.profile",
        "What is in the columns: bounds, quantiles, common values, how much is missing?",
    ),
    "learn": ("whitecrow.learning", "A detector that tells how strange a record is"),
    "monitor": (
        "whitecrow.monitor",
        "A detector kept current as records arrive, and which columns have changed",
    ),
    "tune": ("whitecrow.tune", "Which radius makes about a given share of the records outliers?"),
}
"""For each kind the module whose ``TYPE`` answers it, and what it asks, so that help is instant."""

_registered: dict[str, QuestionType[Any, Any, Any]] = {}


def register(added: QuestionType[Any, Any, Any]) -> None:
    """Let the curators of this process answer one more kind of question.

    Its code is trusted like whitecrow's own: its ``price`` is what the ledger charges and its
    ``release`` is what analysts see. :func:`whitecrow.testing.check_question` tests it. The same
    kind registered again is replaced.
    """
    kind = added.question.kind
    if kind in BUILT_IN or kind in _installed():
        raise InvalidInput(f"There is a question {kind!r} already.")
    _registered[kind] = added


def kinds() -> tuple[str, ...]:
    """Name the questions: whitecrow's own, then what others added and does load."""
    added = (kind for kind in _installed() if kind not in _broken)
    return tuple(dict.fromkeys([*BUILT_IN, *added, *_registered]))


def loaded() -> dict[str, QuestionType[Any, Any, Any]]:
    """Load every question; a plug-in that is broken is left out from then on."""
    types = {}
    for kind in kinds():
        try:
            types[kind] = question_type(kind)
        except BrokenPlugin as error:
            _broken[kind] = str(error)
    return types


def broken() -> dict[str, str]:
    """Say which questions of other packages do not load, and why."""
    loaded()
    return dict(_broken)


def added_modules() -> list[str]:
    """Name the modules of what :func:`register` added, each with its ``TYPE``."""
    return [added.question.__module__ for added in _registered.values()]


def question_type(kind: str) -> QuestionType[Any, Any, Any]:
    """Return the code of a kind of question; a text that is no kind imports nothing."""
    if kind in BUILT_IN:
        return _built_in(kind)
    if kind in _registered:
        return _registered[kind]
    if kind in _installed():
        return _plugged_in(kind)
    raise InvalidInput(f"There is no question {kind!r}; there are {', '.join(sorted(kinds()))}.")


_broken: dict[str, str] = {}


@cache
def _built_in(kind: str) -> QuestionType[Any, Any, Any]:
    built_in: QuestionType[Any, Any, Any] = importlib.import_module(BUILT_IN[kind][0]).TYPE
    return built_in


@cache
def _installed() -> frozenset[str]:
    """The kinds that installed packages offer; one of our own is never replaced."""
    return frozenset(plugins.offered(plugins.QUESTIONS, BUILT_IN))


@cache
def _plugged_in(kind: str) -> QuestionType[Any, Any, Any]:
    from whitecrow.question import QuestionType

    plugged_in = plugins.load(plugins.QUESTIONS, kind, QuestionType)
    if plugged_in.question.kind != kind:
        raise BrokenPlugin(
            f"An installed package offers {kind!r} in the entry-point group "
            f"{plugins.QUESTIONS!r}, and its question calls itself {plugged_in.question.kind!r}."
        )
    return plugged_in


def type_of(question: Question) -> QuestionType[Any, Any, Any]:
    """Load the code that answers a question; a stranger's class is refused, whatever it prices."""
    kind = getattr(question, "kind", None)
    own = question_type(kind) if isinstance(kind, str) else None
    if own is None or type(question) is not own.question:
        raise InvalidInput(
            f"A {type(question).__name__} is not a question this curator knows; "
            f"there are {', '.join(sorted(kinds()))}."
        )
    return own


def read_question(data: Mapping[str, Any]) -> Question:
    """Build a question from ``{"kind": ..., ...}`` or ``{"kind": ..., "question": {...}}``."""
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
        raise InvalidInput('A question is a JSON object with a "kind", such as "identify".')
    kind = question_type(data["kind"])
    inner = data.get("question", {key: value for key, value in data.items() if key != "kind"})
    read: Question = kind.question.from_json(inner)
    return read
