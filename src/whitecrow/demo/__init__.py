"""The whole story on bundled, made-up data: each question once, through the curator."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from whitecrow.demo.stage import CARD, DATA, Chapter, Stage, open_stage, write_report

__all__ = ["CARD", "CHAPTERS", "DATA", "Chapter", "Stage", "run"]

CHAPTERS = ("identify", "count", "subspaces", "explain", "publish", "ledger")


def run(out: Path, tell: Callable[[str], None]) -> Path:
    """Tell the story chapter by chapter and return the path of the report.

    Parameters
    ----------
    out : Path
        The folder of the report; made if missing.
    tell : callable
        Receives a line for each chapter as it is done.
    """
    stage = open_stage(out)
    chapters = []
    for name in CHAPTERS:
        chapter = importlib.import_module(f"whitecrow.demo.{name}").chapter(stage)
        chapters.append(chapter)
        tell(f"{chapter.title}\n{chapter.words}\n")
    return write_report(chapters, out)
