"""Draws the demo in a terminal and its report, light and dark, a notebook, and the first picture.

Run ``python docs/pictures/make_demo.py``; the report's picture needs chromium and Pillow. Noise is
drawn anew, so the answers differ from run to run.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME

import whitecrow as wc
from whitecrow import demo
from whitecrow import rendering as look
from whitecrow.cli import screen_output
from whitecrow.cli import start as shown

HERE = Path(__file__).parent
FLAGS = ("--no-sandbox", "--headless", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--hide-scrollbars")  # fmt: skip
MODEL = wc.DistanceAnomaly(beta=40, radius=12)


def main() -> None:
    """Draw both."""
    with tempfile.TemporaryDirectory() as folder:
        story = demo.run(Path(folder), lambda name: None)
        _terminal(replace(story, page=Path("whitecrow-demo/report.html")))
        _hero()
        if chromium := shutil.which("chromium"):
            _page(chromium, story.page, "report.png", 1180)
            _page(chromium, _notebook(Path(folder)), "notebook.png", 900)


def _terminal(story: demo.Story) -> None:
    console = Console(record=True, width=100, highlight=False, file=sys.stderr)
    console.print("[dim]$[/] whitecrow demo")
    screen_output.console = lambda: console  # the table's own code draws it
    output = screen_output.Output(as_json=False)
    object.__setattr__(output, "line", console.print)
    shown._show(output, story, 6.0)
    for name, theme in (("demo", SVG_EXPORT_THEME), ("demo-light", DEFAULT_TERMINAL_THEME)):
        svg = console.export_svg(title="whitecrow demo", theme=theme, clear=False)
        # The font is the reader's own: nothing is loaded from elsewhere.
        start, end = svg.index("@font-face"), svg.rindex("@font-face")
        end = svg.index("}", end) + 1
        drawn = re.sub(r"<!--.*?-->\s*", "", svg[:start] + svg[end:], flags=re.DOTALL)
        (HERE / f"{name}.svg").write_text(drawn, encoding="utf-8")


def _hero() -> None:
    """A picture that a phone shows at its own size."""
    asked = wc.Screen({"age": 74}, model=MODEL, epsilon="1/4")
    plot = look.Plot(
        look.Axis("records near the new one", 0, 80),
        look.Axis("chance of a wrong answer", 0, 0.5),
        "The chance of a wrong answer, by how many records are near",
        width=400,
        height=240,
    )
    plot.line([(near, asked.wrong(near)) for near in range(81)], "accent")
    look.Picture(plot.rule(MODEL.beta, "muted")).save(HERE / "hero.svg")


def _notebook(folder: Path) -> Path:
    """Cards as a notebook shows them, each under the code that made it."""
    curator = wc.Curator.open(demo.DATA, card=demo.CARD, budget="3", ledger="sqlite://")
    question = wc.Screen({"age": 74, "bmi": 44.0, "systolic": 222}, model=MODEL, epsilon="1/2")
    cells = [
        ("curator", curator._repr_html_()),
        ("curator.describe(question)", curator.describe(question)._repr_html_()),
        ("release = curator.ask(question)\nrelease", curator.ask(question)._repr_html_()),
    ]
    body = "".join(f"<pre>{look.escaped(code)}</pre><p>{shown}</p>" for code, shown in cells)
    page = folder / "notebook.html"
    page.write_text(look.page("A notebook", "", body, kind="notebook"), encoding="utf-8")
    return page


def _page(chromium: str, page: Path, name: str, height: int) -> None:
    """A page, light and dark beside each other."""
    shots = []
    for dark in (1, 0):
        target = page.with_name(f"{dark}.png")
        scheme = f"--blink-settings=preferredColorScheme={dark}"
        size = f"--window-size=1000,{height}"
        subprocess.run(
            [chromium, *FLAGS, size, scheme, f"--screenshot={target}", page.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip
        shots.append(Image.open(target).convert("RGB"))
    wide = Image.new("RGB", (2000, height))
    for place, shot in enumerate(shots):
        wide.paste(shot, (1000 * place, 0))
    small = wide.resize((1300, 13 * height // 20), Image.Resampling.LANCZOS)
    small.quantize(160, method=Image.Quantize.FASTOCTREE).save(HERE / name, optimize=True)


if __name__ == "__main__":
    main()
