"""How kernels are compiled, and where their machine code is kept.

numba keeps code beside a function's source if that folder can be written, else under the user's
own cache, and takes it for current as long as the one file is the same. Here a machine is prepared
once (``whitecrow warm``) for everybody: code is read wherever it lies, from the installed package
too when that is read-only; it belongs to the processor, the signature and all functions that were
compiled into it; and code that is of another processor or damaged is compiled anew.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

__all__ = ["compiled", "folder_to_fill", "folders"]

_INSTALLED = Path(__file__).parent / "__pycache__" / "kernels"


def compiled(**flags: Any) -> Callable[[Any], Any]:
    """Return a decorator: compiled when first called, with numba's flags, and the code kept."""
    from numba import njit

    def wrap(function: Any) -> Any:
        dispatcher = njit(**flags)(function)
        dispatcher._cache = _Kept(dispatcher)
        return dispatcher

    return wrap


def folders() -> list[Path]:
    """Where kept code is looked for: the given folder, the package's own, the user's."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    known = [_INSTALLED, *_own()]
    return [Path(given), *known] if given else known


def folder_to_fill() -> Path | None:
    """Return where new code is kept: the first of :func:`folders` that can be written.

    A given folder is the only one. None: there is no place to keep it.
    """
    places = folders()[:1] if os.environ.get("NUMBA_CACHE_DIR") else folders()
    return next((place for place in places if _can_be_filled(place)), None)


def _own() -> Iterator[Path]:
    base = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_CACHE_HOME")
    try:
        yield (Path(base) if base else Path.home() / ".cache") / "whitecrow" / "kernels"
    except RuntimeError:  # nobody's home
        return


def _can_be_filled(place: Path) -> bool:
    """Say whether a folder can be written, or made where it is not there yet; make nothing."""
    while not os.access(place, os.F_OK) and place != place.parent:
        place = place.parent
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)


class _Kept:
    """Machine code of one function, in files: what numba asks of a cache.

    One file a signature and processor, so that processes which fill a folder at the same time do
    not overwrite what others found.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    @property
    def cache_path(self) -> str | None:
        """The folder that is filled."""
        place = folder_to_fill()
        return None if place is None else str(place)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for a signature on this processor, or None."""
        context.refresh()
        key = self._key(signature, context.codegen())
        kept = (self._loaded(place, key, context) for place in folders())
        return next((code for code in kept if code is not None), None)

    def _loaded(self, place: Path, key: str, context: Any) -> Any:
        """Return the code that a folder holds; None if it has none that can be used."""
        from numba.core.compiler import CompileResult

        try:
            kept = self._file(place, key).load(key)
            return None if kept is None else CompileResult._rebuild(context, *kept)
        except Exception:  # noqa: BLE001 - damaged, unreadable: compiled instead
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code for a signature, if there is a place."""
        place = folder_to_fill()
        if place is None or result.lifted or result.library.has_dynamic_globals:
            return
        try:
            place.mkdir(parents=True, exist_ok=True)
            key = self._key(signature, result.codegen)
            file = self._file(place, key)
            file.flush()  # what is there is of other sources, or damaged
            file.save(key, result._reduce())
        except Exception:  # noqa: BLE001 - a full disk, say: the code is used, and not kept
            return

    def enable(self) -> None:
        """Keep code: always."""

    def disable(self) -> None:
        """Keep code all the same."""

    def flush(self) -> None:
        """Forget nothing: what is out of date is not read."""

    def _key(self, signature: Any, codegen: Any) -> str:
        told = (str(signature), codegen.magic_tuple())
        return hashlib.sha256(repr(told).encode()).hexdigest()

    def _file(self, place: Path, key: str) -> Any:
        from numba.core.caching import IndexDataCacheFile

        function = self._dispatcher.py_func
        python = "".join(map(str, sys.version_info[:2])) + getattr(sys, "abiflags", "")
        name = f"{function.__module__}.{function.__qualname__}-{key[:16]}.py{python}"
        return IndexDataCacheFile(str(place), name, self._stamp)

    @cached_property
    def _stamp(self) -> str:
        """Digest of all that is compiled into the function."""
        digest = hashlib.sha256()
        for part in sorted(_parts(self._dispatcher, set())):
            digest.update(part.encode())
        return digest.hexdigest()


def _parts(found: Any, seen: set[int]) -> Iterator[str]:
    """Yield the sources and constants of a function, and of all that it calls."""
    if id(found) in seen:
        return
    seen.add(id(found))
    function = getattr(found, "py_func", found)
    module = str(getattr(function, "__module__", None))
    if not module.startswith("whitecrow"):
        return
    yield Path(sys.modules[module].__file__ or "").read_text(encoding="utf-8")
    flags = getattr(found, "targetoptions", None)
    yield f"{module}: {sorted(flags.items()) if flags else ''}"
    if isinstance(function, FunctionType):
        # An argument's class says which place of a tuple its fields are; a signature does not.
        for name in (*function.__code__.co_names, *map(str, function.__annotations__.values())):
            value = function.__globals__.get(name)
            if isinstance(value, int | float | str | tuple):
                yield f"{name} = {value!r}"
            yield from _parts(value, seen)
