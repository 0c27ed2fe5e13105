"""What the service's own code registered, told to the processes that compute for it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from whitecrow.anomaly.model import added_models, register_model
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
