"""The five papers, redone: every table and figure, theirs beside ours, and why they differ."""

from __future__ import annotations

import importlib

from whitecrow.errors import invalid
from whitecrow.papers.report import Context, Paper, Row, Section, Table, run, write

__all__ = ["NAMES", "Context", "Paper", "Row", "Section", "Table", "load", "run", "write"]

NAMES = ("asif", "okada", "pcor", "openworld")


def load(name: str) -> Paper:
    """Return one paper by name."""
    if name not in NAMES:
        raise invalid("papers", "name", f"one of {', '.join(NAMES)}", name)
    found = importlib.import_module(f"whitecrow.papers.{name}").PAPER
    assert isinstance(found, Paper)
    return found
