"""What a failure leaves behind: a constant sentence for analysts, the cause for the custodian."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from whitecrow.errors import ComputationFailed, NotReady

__all__ = ["CUSTODIAN_LOG", "FAILED", "behind", "failure", "write_down"]

T = TypeVar("T")

FAILED = (
    "The computation failed. Nothing was released; the spend is kept, the custodian's log has the "
    "cause, and this dataset takes no new questions until the custodian has looked."
)
"""All that an analyst learns of a failure."""

CUSTODIAN_LOG = logging.getLogger("whitecrow.custodian")
"""For the custodian's eyes: it reaches no handler unless the custodian adds one here. The same goes
to a file beside the ledger's, readable by its owner only."""
CUSTODIAN_LOG.addHandler(logging.NullHandler())
CUSTODIAN_LOG.propagate = False


def failure() -> ComputationFailed:
    """The one error for every failure behind the boundary."""
    return ComputationFailed(FAILED)


def write_down(log: Path | None, what: str, cause: str) -> None:
    """Add the cause of a failure to the custodian's log and file, which nobody else may read."""
    with contextlib.suppress(Exception):  # a failure to describe a failure is no second failure
        CUSTODIAN_LOG.error("failed: %s\n%s", what, cause)
        if log is None:
            return
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat()} {what}\n{cause}\n")


def behind(what: str, log: Path | None, compute: Callable[[], T | None]) -> T | None:
    """Run what is behind the boundary; None if anything went wrong, whatever it was.

    Everything between a spend and the answer to it is run through this, and so everything takes one
    path: an exception of any class, a refusal too, may be raised because of what a record is. Its
    cause is the custodian's alone, and so is what is warned of on the way.

    Parameters
    ----------
    what : str
        What was computed, for the log.
    log : Path or None
        The custodian's file.
    compute : callable
        May return None, too: it failed, and has written down why.

    Raises
    ------
    NotReady
        The service is being stopped: nothing failed, and asking again goes on with the spend.
    """
    try:
        with _warnings_withheld():
            return compute()
    except NotReady:
        raise
    except Exception:  # noqa: BLE001 - whatever it was, the analyst must not see it
        with contextlib.suppress(Exception):  # no memory is left to describe the cause, say
            write_down(log, what, traceback.format_exc())
        return None


_withholding = threading.Lock()
_withheld: list[Callable[..., None]] = []
"""How warnings were shown before; empty while nothing private runs."""
_running = [0]


@contextlib.contextmanager
def _warnings_withheld() -> Iterator[None]:
    """Let warnings go to the custodian's log: what numpy warns of may depend on the records.

    Threads share the way warnings are shown, so the first to enter changes it and the last to leave
    changes it back.
    """
    with _withholding:
        _running[0] += 1
        if _running[0] == 1:
            _withheld.append(warnings.showwarning)
            warnings.showwarning = _to_the_custodian
    try:
        yield
    finally:
        with _withholding:
            _running[0] -= 1
            if not _running[0]:
                shown = _withheld.pop()
                if warnings.showwarning is _to_the_custodian:  # else somebody has changed it since
                    warnings.showwarning = shown


def _to_the_custodian(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    CUSTODIAN_LOG.warning("%s:%s: %s: %s", filename, lineno, category.__name__, message)
