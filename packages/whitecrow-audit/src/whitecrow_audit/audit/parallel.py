"""The rows of an audit, spread over processes.

A case holds functions and cannot travel, so each process makes all cases for itself and is told the
number of the one to audit; the finding comes back without its case.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from multiprocessing import get_context
from typing import Any

from whitecrow_audit.audit.case import Case
from whitecrow_audit.audit.run import Finding, audited


def audited_by(
    jobs: int, names: Sequence[str], cases: Sequence[Case], quick: bool, alpha: float
) -> Iterator[Finding]:
    """Audit the cases of these modules in so many processes; yield what was found, in order."""
    work = partial(_audited, tuple(names), alpha, quick)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for case, found in zip(cases, pool.map(work, range(len(cases))), strict=True):
            yield replace(found, case=case)


def _audited(names: tuple[str, ...], alpha: float, quick: bool, number: int) -> Finding:
    nothing: Any = None
    return replace(audited(_cases(names)[number], alpha, quick=quick), case=nothing)


@cache
def _cases(names: tuple[str, ...]) -> list[Case]:
    modules = (importlib.import_module(f"whitecrow_audit.audit.{name}") for name in names)
    return [case for module in modules for case in module.cases()]
