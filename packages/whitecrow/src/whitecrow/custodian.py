"""What a failure leaves behind: a constant sentence for analysts, the cause for the custodian."""

from __future__ import annotations

import contextlib
import logging
import os
from datetime import UTC, datetime
from pathlib import Path

from whitecrow.errors import ComputationFailed

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
