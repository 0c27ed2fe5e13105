"""Modules that moved: their old names work for one release, with a warning."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["moved"]


def moved(old: str, new: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module that is now elsewhere.

    Parameters
    ----------
    old, new : str
        The names of the module, before and now.
    """

    def __getattr__(name: str) -> Any:
        module = importlib.import_module(new)
        if name not in module.__all__:
            raise AttributeError(f"{old} is now {new}, and has no {name!r}")
        warnings.warn(f"{old} is now {new}.", DeprecationWarning, stacklevel=2)
        return getattr(module, name)

    return __getattr__
