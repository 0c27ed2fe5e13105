"""Structured logs, one JSON object a line, on standard error: who called what, and what came of it.

A line holds public things only: route, status, person, duration as the caller saw it. Never a
question's values, an answer, a token, a fact or the words of an unexpected exception.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

__all__ = ["LOG", "configure"]

LOG: Any = structlog.get_logger("whitecrow.server")


def configure(*, level: str = "info") -> None:
    """Set up the format; called once by each process."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
