"""Structured logs, one JSON object a line, on standard error: who called what, and what came of it.

A line holds public things only: route, status, person, duration as the caller saw it. Never a
question's values, an answer, a token, a fact or the words of an unexpected exception.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any

import structlog

from whitecrow.custodian import CUSTODIAN_LOG
from whitecrow_server._settings import Settings

LOG: Any = structlog.get_logger("whitecrow_server")

_ENCODE = json.JSONEncoder(sort_keys=True, default=repr).encode


def _written(line: Any, **options: Any) -> str:
    """Write a line; made once, for an encoder costs more than what it writes."""
    return _ENCODE(line)


def configure(*, level: str = "info") -> None:
    """Set up the format; called once by each process."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(_written),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


class _PrivateFile(logging.Handler):
    """Appends to a file that its owner alone may read; the first message creates it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8") as file:
                file.write(f"{self.format(record)}\n")
        except OSError:  # a full disk: nothing more can be done about it here
            return


_ATTACHING = threading.Lock()


def keep_for_custodian(settings: Settings) -> None:
    """Send what the custodian alone may see to their file, once a process.

    What is written beside an SQLite ledger goes there without this, by whoever writes it down.
    """
    if settings.beside_ledger is not None:
        return
    with _ATTACHING:
        held = {one.path for one in CUSTODIAN_LOG.handlers if isinstance(one, _PrivateFile)}
        if settings.log_file not in held:
            CUSTODIAN_LOG.addHandler(_PrivateFile(settings.log_file))
