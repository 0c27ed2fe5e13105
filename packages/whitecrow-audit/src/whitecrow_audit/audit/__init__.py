"""The audit: what the shipped mechanisms lose, measured from outside.

Where :mod:`whitecrow_audit.verify` computes the loss from exact laws, the audit draws answers as an
analyst would get them and infers from the draws alone how much a mechanism loses *at least*. A
bound above the claim proves a violation; a bound below it proves little unless the test had the
power to see more, which every row states. Each module of this package named after a mechanism
yields its ``cases``, mutants among them.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Sequence
from functools import partial

from whitecrow.errors import invalid
from whitecrow.questions import BUILT_IN
from whitecrow_audit.audit.case import Case
from whitecrow_audit.audit.replay import replay as run_replay
from whitecrow_audit.audit.run import CONFIDENCE, Audit, Finding, Progress, audited_by, run

__all__ = ["CONFIDENCE", "MECHANISMS", "Audit", "Case", "Finding", "audit", "cases", "run"]

_HERE = {module.name for module in pkgutil.iter_modules(__path__)}
SHARED = ("compiler", "noise", "account", "service")
"""What several questions share."""
MECHANISMS = (*SHARED, *(kind for kind in BUILT_IN if kind in _HERE))
"""These, and every question that has a module here."""


def audit(
    names: Sequence[str] = (),
    *,
    quick: bool = True,
    progress: Progress | None = None,
    jobs: int = 1,
) -> Audit:
    """Audit the named mechanisms (``"replay"`` among them), or everything.

    Parameters
    ----------
    names : sequence of str
        Mechanisms, as in :data:`MECHANISMS`, or ``"replay"``: see
        :mod:`whitecrow_audit.audit.replay`.
        Without names a quick run leaves out ``"service"``, which takes a while to start.
    quick : bool
        Fewer draws. There is no seed: answers are drawn with the operating system's randomness.
    progress : callable, optional
        Told how far it is.
    jobs : int
        How many processes share the rows.
    """
    wanted = list(names) or [*MECHANISMS, "replay"]
    if quick and not names:
        wanted.remove("service")
    mechanisms = [name for name in wanted if name != "replay"]
    listed = [case for name in mechanisms for case in cases([name])]
    each = partial(audited_by, jobs, mechanisms, listed, quick) if jobs > 1 else None
    findings = run(listed, quick=quick, progress=progress, each=each)
    if "replay" not in wanted:
        return findings
    return dataclasses.replace(findings, replay=run_replay())


def cases(names: Sequence[str] = ()) -> list[Case]:
    """Return the cases of the named mechanisms, or of all.

    Examples
    --------
    >>> sorted({case.mechanism for case in cases(["screen"])})
    ['screen']
    """
    for name in names:
        if name not in MECHANISMS:
            raise invalid("audit", "mechanism", f"one of {', '.join(MECHANISMS)}, replay", name)
    return [
        case
        for name in names or MECHANISMS
        for case in importlib.import_module(f"whitecrow_audit.audit.{name}").cases()
    ]
