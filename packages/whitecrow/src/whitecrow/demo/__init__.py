"""The whole story on bundled, made-up data: each question once, through the curator."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from whitecrow.demo.report import write_report
from whitecrow.demo.stage import BUDGET, CARD, DATA, Asked, Chapter, Stage, open_stage

__all__ = ["CARD", "CHAPTERS", "DATA", "Asked", "Chapter", "Stage", "Story", "run"]

CHAPTERS = ("screen", "count", "subspaces", "explain", "publish", "identify")


@dataclass(frozen=True)
class Story:
    """What the demo asked, what is left of its budget, and where its report is."""

    chapters: tuple[Chapter, ...]
    left: Fraction
    budget: Fraction
    page: Path

    @property
    def asked(self) -> list[Asked]:
        """Every question with its answer, in order."""
        return [one for chapter in self.chapters for one in chapter.asked]


def run(out: Path, begin: Callable[[str], None]) -> Story:
    """Tell the story into the folder of the report; ``begin`` hears the name of each chapter."""
    stage = open_stage(out)
    chapters = []
    for name in CHAPTERS:
        begin(name)
        chapters.append(importlib.import_module(f"whitecrow.demo.{name}").chapter(stage))
    left = stage.curator.remaining()["differential"]
    page = write_report(chapters, left, BUDGET, out)
    stage.curator.close()
    return Story(tuple(chapters), left, BUDGET, page)
