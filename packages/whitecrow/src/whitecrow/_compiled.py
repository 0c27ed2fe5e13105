"""How kernels are compiled, and where their machine code is kept.

numba keeps code beside a function's source if that folder can be written, else under the user's
own cache, and takes it for current as long as the one file is the same. Here a machine is prepared
once (``whitecrow warm``) for everybody: code is read wherever it lies, from the installed package
too when that is read-only; it belongs to the processor, the signature and all functions that were
compiled into it; and code that is of another processor or damaged is compiled anew, once, however
many processes need it.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from whitecrow._code_store import Turn, folder_to_fill, folders, trusted

PATIENCE = 120.0
"""Seconds that a process waits for another one's code before it compiles its own."""

_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
KINDS = {
    "x86-64-v4": (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "x86-64-v3": _V3,
}
"""Kinds of processors that a wheel may carry code for, the fastest first: what they must have."""


def compiled(**flags: Any) -> Callable[[Any], Any]:
    """Return a decorator: compiled when first called, with numba's flags, and the code kept."""
    from numba import njit
    from numba.core.compiler_lock import global_compiler_lock

    decorate: Any = njit

    def wrap(function: Any) -> Any:
        # Python calls it, C does not: a way in from there would be compiled for nobody.
        dispatcher = decorate(**flags, no_cfunc_wrapper=True)(function)
        kept = dispatcher._cache = _Kept(dispatcher)
        compile_ = dispatcher.compile

        def alone(signature: Any) -> Any:
            # numba takes the lock too: what is kept by thread is kept by lock.
            with global_compiler_lock, _uncollected():
                try:
                    return compile_(signature)
                finally:
                    kept.end()

        dispatcher.compile = alone
        return dispatcher

    return wrap


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Let no garbage be collected meanwhile.

    The compiler makes millions of objects and keeps most until it is done: looking through them
    again and again is a seventh of its time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def compiled_into(**flags: Any) -> Callable[[Any], Any]:
    """Return a decorator for a function that only compiled ones call.

    It becomes part of them: it needs no way in from Python, no machine code and no thorough
    optimisation of its own, which together are a third of the time that compiling takes.
    """
    from numba import njit, types

    from whitecrow._compiled_parts import PartCompiler

    decorate: Any = njit
    hidden = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

    def wrap(function: Any) -> Any:
        part = decorate(**flags, **hidden, pipeline_class=PartCompiler)(function)
        template = part.get_call_template

        def any_number(given: tuple[Any, ...], named: dict[str, Any]) -> Any:
            """Compile once for all numbers; in place, a constant is still one."""
            named = {name: types.unliteral(kind) for name, kind in named.items()}
            return template(tuple(map(types.unliteral, given)), named)

        part.get_call_template = any_number
        return part

    return wrap


def compiled_before(function: str) -> bool:
    """Say whether there is code of a function, by its full name: of some processor, if not ours.

    Answered without loading the compiler.
    """
    return any(next(place.glob(f"{function}-*.nbi"), None) for place in folders())


class Notice:
    """Tells whoever waits at a terminal why: once, and only if it takes long."""

    def __init__(self, after: float = 1.5) -> None:
        self._after = after
        self._done = False

    def off(self) -> None:
        """Say nothing: somebody else does."""
        self._done = True

    def begin(self) -> Callable[[], None]:
        """Begin to wait; return what ends it."""
        if self._done or not sys.stderr.isatty():
            return lambda: None
        timer = threading.Timer(self._after, self._tell)
        timer.daemon = True
        timer.start()
        return timer.cancel

    def _tell(self) -> None:
        if not self._done:
            self._done = True
            sys.stderr.write(
                "whitecrow: compiling, once for this machine: up to half a minute "
                "(`whitecrow warm` does it beforehand)\n"
            )


NOTICE = Notice()
"""Of this process."""


def use_ready_made(will_do: bool) -> None:
    """Say whether code for this processor's kind will do, or only its very own."""
    _Kept.ready_made = will_do


def kinds(features: str) -> Iterator[str]:
    """Yield the kinds of processors whose code runs on one with these features, the best first."""
    has = {name[1:] for name in features.split(",") if name.startswith("+")}
    for kind, needed in KINDS.items():
        if has.issuperset(needed):
            yield kind


class _Kept:
    """Machine code of one function, in files: what numba asks of a cache.

    One file a signature and processor, so that processes which fill a folder at the same time do
    not overwrite what others found.
    """

    ready_made = True
    """Whether code for this processor's kind will do."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._ends: list[Callable[[], None]] = []

    @property
    def cache_path(self) -> str | None:
        """The folder that is filled."""
        place = folder_to_fill()
        return None if place is None else str(place)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for a signature on this processor, or None: then it is to be compiled.

        If another process is at it, wait for its code; but not for ever.
        """
        context.refresh()
        found = self._found(signature, context)
        place = folder_to_fill()
        if found is not None or place is None:
            return found
        self._ends.append(NOTICE.begin())
        if not _made(place):
            return None
        key = self._key(signature, context.codegen().magic_tuple())
        turn = Turn(place / f"{self._name(key)}.lock")
        self._ends.append(turn.over)
        until = time.monotonic() + PATIENCE
        while not turn.taken() and time.monotonic() < until:
            time.sleep(0.1)
            found = self._found(signature, context)
            if found is not None:
                return found
        return self._found(signature, context)

    def end(self) -> None:
        """Compiled, loaded or failed: others need not wait any longer."""
        while self._ends:
            self._ends.pop()()

    def _found(self, signature: Any, context: Any) -> Any:
        for key in self._keys(signature, context.codegen().magic_tuple()):
            for place in folders():
                code = self._loaded(place, key, context)
                if code is not None:
                    return code
        return None

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
            if not _made(place):
                return
            key = self._key(signature, result.codegen.magic_tuple())
            file = self._file(place, key)
            file.flush()  # what is there is of other sources, or damaged
            # The listing of types names the folder of the sources: kept code is the same wherever.
            file.save(key, result._replace(type_annotation="")._reduce())
        except Exception:  # noqa: BLE001 - a full disk, say: the code is used, and not kept
            return

    def enable(self) -> None:
        """Keep code: always."""

    def disable(self) -> None:
        """Keep code all the same."""

    def flush(self) -> None:
        """Forget nothing: what is out of date is not read."""

    def _keys(self, signature: Any, processor: tuple[str, str, str]) -> Iterator[str]:
        """Yield what code is kept by: this processor's, then what is ready-made for its kind."""
        yield self._key(signature, processor)
        if self.ready_made:
            triple, _, features = processor
            for kind in kinds(features):
                yield self._key(signature, (triple, kind, ""))

    def _key(self, signature: Any, processor: tuple[str, str, str]) -> str:
        return hashlib.sha256(repr((str(signature), processor)).encode()).hexdigest()

    def _name(self, key: str) -> str:
        function = self._dispatcher.py_func
        python = "".join(map(str, sys.version_info[:2])) + getattr(sys, "abiflags", "")
        return f"{function.__module__}.{function.__qualname__}-{key[:16]}.py{python}"

    def _file(self, place: Path, key: str) -> Any:
        from numba.core.caching import IndexDataCacheFile

        return IndexDataCacheFile(str(place), self._name(key), self._stamp)

    @cached_property
    def _stamp(self) -> str:
        """Digest of all that is compiled into the function."""
        digest = hashlib.sha256()
        for part in sorted(_parts(self._dispatcher, set())):
            digest.update(part.encode())
        return digest.hexdigest()


def _made(place: Path) -> bool:
    """Make a folder that only its owner writes to; say whether it is there and nobody else's."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(mode=0o755, exist_ok=True)
    except OSError:
        return False
    return trusted(place)


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
