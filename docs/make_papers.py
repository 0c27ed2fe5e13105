"""Writes the page of the papers' summary: python docs/make_papers.py DATA (about 2 minutes).

Runs all papers in full, keeps the summary as ``docs/papers-summary.md`` and a few of the pictures,
reduced in size, in ``docs/pictures/papers/``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

from whitecrow_research import papers

DOCS = Path(__file__).parent
PICTURES = {
    "asif-figure1": "SP, Figure 1: accuracy and loss of each record under both notions.",
    "asif-figure3": "SP, Figure 3: the error over the true anomalies of five data sets.",
    "okada-figure-3": "Okada, Figure 3: the noise of a count, theirs and ours.",
    "pcor-figure1": "PCOR, Figure 1: the utility of four searches, and their time.",
    "openworld-figure3": "Open world, Figure 3: the attack's F against epsilon, w and n.",
}
WIDTH = 900


def main(data: str) -> None:
    """Run everything and write what the documentation shows of it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        context = papers.Context(Path(data), out)
        found = [papers.load(name) for name in papers.NAMES]
        results = [(paper, papers.run(paper, context, progress=_tell)) for paper in found]
        papers.write_all(results, context)
        title, _, rest = (out / "summary.md").read_text(encoding="utf-8").partition("\n")
        shown = DOCS / "pictures" / "papers"
        shown.mkdir(exist_ok=True)
        lines = [
            f"{title}\n",
            "Written by `python docs/make_papers.py DATA` from a full run. "
            "[The papers, redone](papers.md) says how to make the whole report.",
            rest,
            "## A few of the pictures\n",
        ]
        for name, words in PICTURES.items():
            _reduce(out / f"{name}.png", shown / f"{name}.png")
            lines.append(f"![{words}](pictures/papers/{name}.png)\n\n*{words}*\n")
    (DOCS / "papers-summary.md").write_text("\n".join(lines), encoding="utf-8")


def _tell(done: int, total: int, what: str) -> None:
    print(what, file=sys.stderr)


def _reduce(source: Path, target: Path) -> None:
    """Make a picture narrow, with few colours."""
    picture = Image.open(source).convert("RGB")
    height = round(picture.height * WIDTH / picture.width)
    picture.resize((WIDTH, height), Image.Resampling.LANCZOS).quantize(64).save(
        target, optimize=True
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
