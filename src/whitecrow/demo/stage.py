"""The stage of the demo: a curator over made-up data, and the report the chapters add up to."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from whitecrow.curator import Curator
from whitecrow.data import read

if TYPE_CHECKING:
    from whitecrow.data import Dataset

__all__ = ["CARD", "DATA", "Chapter", "Stage", "open_stage", "write_report"]

FOLDER = Path(__file__).parent
DATA, CARD = FOLDER / "clinic.csv", FOLDER / "clinic.toml"
"""The bundled clinic: made-up records, and their card."""


@dataclass(frozen=True)
class Chapter:
    """One page of the story.

    Parameters
    ----------
    title : str
        What was asked.
    words : str
        What happened, paragraphs separated by blank lines.
    figures : tuple of Path
        Pictures, inside the report's folder.
    """

    title: str
    words: str
    figures: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Stage:
    """What a chapter may use.

    Parameters
    ----------
    curator : Curator
        Over the bundled clinic, with an embedded ledger.
    rows : Dataset
        The same records in the open. Only the demo may look at them: the clinic is made up.
    out : Path
        The report's folder.
    """

    curator: Curator
    rows: Dataset
    out: Path
    pictures: bool = field(default=True)

    def figure(self, name: str) -> Path:
        """Return the path for a picture of this name."""
        return self.out / f"{name}.png"


def open_stage(out: Path) -> Stage:
    """Open a curator over the bundled clinic, with a fresh ledger in the report's folder."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("clinic.whitecrow.db*"):
        old.unlink()
    ledger = f"sqlite:///{out / 'clinic.whitecrow.db'}"
    curator = Curator.open(str(DATA), card=str(CARD), budget="8", ledger=ledger)
    return Stage(curator, read(DATA, CARD), out)


_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --paper: #fbfaf7; --quiet: #6b7280; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e3; --paper: #15181e; } }
body { font: 17px/1.6 Georgia, serif; color: var(--ink); background: var(--paper);
       max-width: 50rem; margin: 3rem auto; padding: 0 1.2rem; }
h1 { font-size: 2rem; margin-bottom: .2rem; } h2 { margin-top: 3rem; }
p.quiet { color: var(--quiet); } img { max-width: 100%; background: white; border-radius: 6px; }
pre { overflow-x: auto; background: #8881; padding: .8rem 1rem; border-radius: 6px; }
"""


def write_report(chapters: list[Chapter], out: Path) -> Path:
    """Write the chapters as one page and return its path."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>whitecrow: the demo</title><style>{_STYLE}</style>",
        "<h1>The white crows of a clinic</h1>",
        "<p class=quiet>Every answer below came through the curator, was charged to a ledger, and "
        "carries a proved promise. The clinic and its patients are made up.</p>",
    ]
    for chapter in chapters:
        parts.append(f"<h2>{html.escape(chapter.title)}</h2>")
        parts.extend(
            f"<p>{html.escape(text)}</p>" for text in chapter.words.split("\n\n") if text.strip()
        )
        parts.extend(
            f"<p><img src='{html.escape(path.name)}' alt='{html.escape(chapter.title)}'></p>"
            for path in chapter.figures
        )
    page = out / "report.html"
    page.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return page
