"""The five papers, redone: every table and figure, theirs beside ours, and why they differ."""

from __future__ import annotations

import importlib

from whitecrow.errors import invalid
from whitecrow_research.papers.pages import summary, write, write_all
from whitecrow_research.papers.parallel import run_all
from whitecrow_research.papers.report import (
    Context,
    Erratum,
    Exhibit,
    Finding,
    Paper,
    Row,
    Section,
    Table,
    counted,
    findings,
    run,
)

__all__ = [
    "NAMES",
    "Context",
    "Erratum",
    "Exhibit",
    "Finding",
    "Paper",
    "Row",
    "Section",
    "Table",
    "counted",
    "findings",
    "load",
    "run",
    "run_all",
    "summary",
    "write",
    "write_all",
]

NAMES = ("asif", "ccs", "okada", "pcor", "openworld")


def load(name: str) -> Paper:
    """Return one paper by name."""
    if name not in NAMES:
        raise invalid("papers", "name", f"one of {', '.join(NAMES)}", name)
    paper = importlib.import_module(f"whitecrow_research.papers.{name}").PAPER
    assert isinstance(paper, Paper)
    return paper
