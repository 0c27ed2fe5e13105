"""How the functions inside a kernel are compiled.

Inner functions receive all memory from outside. Without numba's reference counts (each an atomic
operation that two threads would fight over) they are several times faster; inlining saves passing
a dozen arrays to each call. An inner function must not allocate: numba refuses to compile one that
does. No fast-math flag is set anywhere.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from whitecrow._compiled import compiled

__all__ = ["bare", "inner", "kernel"]

_compiled: Any = njit

inner: Any = _compiled(_nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""For a function that kernels call: nobody else does, so it needs no way in from outside."""

bare: Any = compiled(nogil=True, _nrt=False)
"""For a large function that Python calls with all the memory it needs.

A small one around it, which allocates, would have it compiled a second time.
"""

kernel: Any = compiled(nogil=True)
"""For a function that Python calls."""
