"""What installed packages add: one way to find and load it, for every entry-point group.

The rule is one for all groups. Whoever installs a package into the environment of a process trusts
its code like whitecrow's own. A request, a card, a policy and a ledger are data: a text in them
chooses among the names that are installed, and no other text causes an import. A name of
whitecrow's own is never replaced, and a name that two packages offer belongs to neither.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from whitecrow.errors import BrokenPlugin

QUESTIONS = "whitecrow.questions"
"""Kinds of question: each a :class:`~whitecrow.question.QuestionType`."""

DETECTORS = "whitecrow.detectors"
"""Detectors that ``explain`` may name; used only if the operator lists them."""

MODELS = "whitecrow.models"
"""What an anomaly is: each a class of :class:`~whitecrow.anomaly.AnomalyModel`."""

ENGINES = "whitecrow.engines"
"""Engines that count neighbours: each an :class:`~whitecrow.neighbours.EngineType`."""

SOURCES = "whitecrow.sources"
"""Where records come from: each a :class:`~whitecrow.data.SourceType`, called by its scheme."""

COMMANDS = "whitecrow.commands"
"""Commands of the terminal: each a click command."""

GROUPS = (QUESTIONS, DETECTORS, MODELS, ENGINES, SOURCES, COMMANDS)
"""All of them."""

T = TypeVar("T")


def offered(group: str, own: Collection[str] = ()) -> dict[str, EntryPoint]:
    """Name what installed packages offer in a group, but ``own`` names; nothing is imported."""
    return {point.name: point for point in entry_points(group=group) if point.name not in own}


def load(group: str, name: str, kind: type[T]) -> T:
    """Import what exactly one installed package offers under a name, and check what it is."""
    offers = list(entry_points(group=group, name=name))
    if len(offers) != 1:
        raise BrokenPlugin(
            f"{len(offers)} installed packages offer {name!r} in the entry-point group {group!r}, "
            "and exactly one must."
        )
    offer = offers[0]
    try:
        loaded = offer.load()
    except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything
        raise BrokenPlugin(
            f"{offer.value!r}, which an installed package offers as {name!r} in the entry-point "
            f"group {group!r}, cannot be imported: {type(error).__name__}: {error}"
        ) from None
    if not isinstance(loaded, kind):
        raise BrokenPlugin(
            f"{offer.value!r}, which an installed package offers as {name!r} in the entry-point "
            f"group {group!r}, is no {kind.__name__}."
        )
    return loaded
