"""What the service tells the processes that compute for it: where records lie, what was added."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitecrow.anomaly.model import added_models, register_model
from whitecrow.data import SqlQuery
from whitecrow.questions import added_modules, register


def added() -> dict[str, list[Any]]:
    """Name the questions and models that were registered in this process."""
    return {"questions": added_modules(), "models": added_models()}


def register_added(names: Mapping[str, list[Any]]) -> None:
    """Register them in another: a question is ``TYPE`` of its module, a model has its name."""
    for module in names["questions"]:
        register(importlib.import_module(module).TYPE)
    for module, name in names["models"]:
        register_model(getattr(importlib.import_module(module), name))


@dataclass(frozen=True)
class Synthetic:
    """Instead of a source: records are drawn from the card, and a profile if there is one."""

    profile: Mapping[str, Any] | None


def source_to_json(source: Path | SqlQuery | Synthetic) -> dict[str, Any]:
    if isinstance(source, Synthetic):
        return {"synthetic": source.profile}
    if isinstance(source, Path):
        return {"path": str(source)}
    return {"url": source.url, "query": source.query}


def source_from_json(source: Mapping[str, Any]) -> Path | SqlQuery:
    return Path(source["path"]) if "path" in source else SqlQuery(source["url"], source["query"])
