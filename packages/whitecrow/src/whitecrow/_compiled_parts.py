"""The compiler of functions that only become part of others.

numba compiles each function that a kernel calls as if it were called from outside: it is optimised
thoroughly and translated into machine code, and then once more inside the kernel. Only the latter
is ever run.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage  # type: ignore[import-untyped]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder


class _Part(JITCodeLibrary):
    """Code to be linked into kernels: made smaller, not fast, and without machine code."""

    def _optimize_final_module(self) -> None:
        code = self._codegen
        try:
            manager, builder = code._module_pass_manager(
                loop_vectorize=False, slp_vectorize=False, opt=code._opt_level, cost="cheap"
            )
        except (AttributeError, TypeError):  # another version of numba
            super()._optimize_final_module()
            return
        manager.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._shared_module = self._final_module.clone()
        for function in self._shared_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = "available_externally"  # no machine code is made of these
        super()._finalize_final_module()


class PartCompiler(CompilerBase):
    """numba's own passes, into a library of that kind."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        state = self.state
        if state.library is None:
            state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]
