"""Exhaustive verification: every claim of a mechanism, computed on small universes.

Each module of this package named after a mechanism holds its ``CHECKS``; what is called
``"mutant: …"`` among them passes only when the violation is found.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

from whitecrow.errors import invalid
from whitecrow.exhaustive import Check, Report, exhaust, loss
from whitecrow.questions import BUILT_IN

__all__ = ["MECHANISMS", "Check", "Report", "checks", "exhaust", "loss"]

_HERE = {module.name for module in pkgutil.iter_modules(__path__)}
MECHANISMS = (
    "privacy",
    "account",
    "claims",
    "models",
    "compiler",
    *(kind for kind in BUILT_IN if kind in _HERE),
)
"""Five that several questions share, and every question that has a module here."""


def checks(names: Sequence[str] = ()) -> list[Check]:
    """Return the checks of the named mechanisms, or of all.

    Examples
    --------
    >>> sorted({check.mechanism for check in checks(["privacy"])})
    ['privacy']
    """
    for name in names:
        if name not in MECHANISMS:
            raise invalid("verify", "mechanism", f"one of {', '.join(MECHANISMS)}", name)
    return [
        Check(name, claim, run, must_fail=claim.startswith("mutant: "))
        for name in names or MECHANISMS
        for claim, run in importlib.import_module(f"whitecrow_audit.verify.{name}").CHECKS.items()
    ]
