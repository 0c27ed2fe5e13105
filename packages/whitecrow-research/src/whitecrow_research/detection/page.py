"""The published page: tables between two marks, and two pictures beside it."""

from __future__ import annotations

from pathlib import Path

from whitecrow_research.detection.pictures import ranks_picture, sets_picture
from whitecrow_research.detection.report import (
    FAVOURITE,
    OURS,
    beside,
    means,
    precision,
    summary,
)
from whitecrow_research.detection.run import Results

BEGIN, END = "<!-- results -->", "<!-- end of results -->"
_SHOWN = (OURS, FAVOURITE, "ECOD", "pure 1")


def tables(results: Results, sizes: dict[str, int]) -> str:
    """Return the tables of the page as Markdown; the picture has the single sets."""
    parts = (summary, precision, beside)
    return "\n".join(line for part in parts for line in part(results, sizes))


def write(page: Path, results: Results, sizes: dict[str, int]) -> None:
    """Put tables between the marks of a page, and pictures into ``pictures`` beside it."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{tables(results, sizes)}\n{END}{after}")
    order = sorted(sizes, key=lambda name: -sizes[name])
    shown = {
        one: dict(zip(order, means(results, one, order), strict=True))
        for one in _SHOWN
        if one in results
    }
    everywhere = {
        one: means(results, one, order)
        for one, held in results.items()
        if all(held.get(name) for name in order) and not one.startswith(f"{OURS} ")
    }
    folder = page.parent / "pictures"
    (folder / "detection-sets.svg").write_text(sets_picture(shown, order))
    (folder / "detection-ranks.svg").write_text(ranks_picture(everywhere))
