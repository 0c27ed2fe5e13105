"""Names of the last release, which work for one more release with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

__all__ = ["former"]


def former(module: str, names: Mapping[str, object]) -> Callable[[str], object]:
    """Return a module's ``__getattr__`` that knows its earlier names.

    Parameters
    ----------
    module : str
        The module's name.
    names : mapping
        For each earlier name, what it is called now.
    """

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"{module} has no {name!r}")
        found = names[name]
        text = f"{module}.{name} is called {getattr(found, '__name__', found)} now."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return found

    return find
