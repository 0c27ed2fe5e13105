"""The published page: tables between two marks, and two pictures beside it."""

from __future__ import annotations

from pathlib import Path

from whitecrow_research.detection.pictures import ranks_picture, sets_picture
from whitecrow_research.detection.private import ABLATIONS
from whitecrow_research.detection.report import (
    OURS,
    REFERENCES,
    Sets,
    ablations,
    beside,
    means,
    summary,
)
from whitecrow_research.detection.run import Results

BEGIN, END = "<!-- results -->", "<!-- end of results -->"
_SHOWN = (OURS, *REFERENCES, "pure 1")


def tables(results: Results, sets: Sets) -> str:
    """Return the tables of the page as Markdown; the picture has the single sets."""
    parts = (summary, ablations, beside)
    return "\n".join(line for part in parts for line in part(results, sets))


def write(page: Path, results: Results, sets: Sets) -> None:
    """Put tables between the marks of a page, and pictures into ``pictures`` beside it."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{tables(results, sets)}\n{END}{after}")
    order = sorted(sets, key=lambda name: -sets[name].records)
    shown = {
        detector: dict(zip(order, means(results, detector, order), strict=True))
        for detector in _SHOWN
        if detector in results
    }
    everywhere = {
        detector: means(results, detector, order)
        for detector, rows in results.items()
        if all(rows.get(name) for name in order)
        and detector not in ABLATIONS
        and not detector.startswith(f"{OURS} ")
    }
    folder = page.parent / "pictures"
    (folder / "detection-sets.svg").write_text(sets_picture(shown, order))
    (folder / "detection-ranks.svg").write_text(ranks_picture(everywhere))
