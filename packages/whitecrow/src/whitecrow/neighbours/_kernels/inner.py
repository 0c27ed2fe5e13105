"""How the functions inside a kernel are compiled.

Inner functions receive all memory from outside. Without numba's reference counts (each an atomic
operation that two threads would fight over) they are several times faster; inlining saves passing
a dozen arrays to each call. An inner function must not allocate: numba refuses to compile one that
does. No fast-math flag is set anywhere.
"""

from __future__ import annotations

from typing import Any

from whitecrow._compiled import compiled, compiled_into

inner: Any = compiled_into(_nrt=False, forceinline=True)
"""For a function that kernels call, and nobody else does."""

bare: Any = compiled(nogil=True, _nrt=False, no_cfunc_wrapper=True)
"""For a large function that Python calls with all the memory it needs.

A small one around it, which allocates, would have it compiled a second time.
"""

kernel: Any = compiled(nogil=True)
"""For a function that Python calls."""
