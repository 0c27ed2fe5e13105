"""The audit: what the shipped mechanisms lose, measured from outside.

Where :mod:`whitecrow.verify` computes the loss from exact laws, the audit draws answers as an
analyst would get them and infers from the draws alone how much a mechanism loses *at least*. A
bound above the claim proves a violation; a bound below it proves little unless the test had the
power to see more, which every row states. Each module of this package named after a mechanism
yields its ``cases``, broken twins among them.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from whitecrow.audit.case import Case
from whitecrow.audit.run import CONFIDENCE, Audit, Finding, run
from whitecrow.errors import invalid

__all__ = ["CONFIDENCE", "MECHANISMS", "Audit", "Case", "Finding", "cases", "run"]

MECHANISMS = (
    "identify",
    "screen",
    "lookahead",
    "compiler",
    "count",
    "subspaces",
    "explain",
    "publish",
    "noise",
)


def cases(names: Sequence[str] = ()) -> list[Case]:
    """Return the cases of the named mechanisms, or of all.

    Examples
    --------
    >>> sorted({case.mechanism for case in cases(["identify"])})
    ['identify']
    """
    for name in names:
        if name not in MECHANISMS:
            raise invalid("audit", "mechanism", f"one of {', '.join(MECHANISMS)}", name)
    return [
        case
        for name in names or MECHANISMS
        for case in importlib.import_module(f"whitecrow.audit.{name}").cases()
    ]
