"""Draws ``demo.svg`` (the demo in a terminal) and ``report.png`` (its report, light and dark).

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

from rich.console import Console

from whitecrow import demo
from whitecrow.cli import demo as shown
from whitecrow.cli import screen_output

HERE = Path(__file__).parent
FLAGS = ("--no-sandbox", "--headless", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--hide-scrollbars", "--window-size=1000,1180")  # fmt: skip


def main() -> None:
    """Draw both."""
    with tempfile.TemporaryDirectory() as folder:
        story = demo.run(Path(folder), lambda name: None)
        _terminal(replace(story, page=Path("whitecrow-demo/report.html")))
        if chromium := shutil.which("chromium"):
            _page(chromium, story.page)


def _terminal(story: demo.Story) -> None:
    console = Console(record=True, width=100, highlight=False, file=sys.stderr)
    console.print("[dim]$[/] whitecrow demo")
    screen_output.console = lambda: console  # the table's own code draws it
    output = screen_output.Output(as_json=False)
    object.__setattr__(output, "line", console.print)
    shown._show(output, story, 6.0)
    svg = console.export_svg(title="whitecrow demo")
    # The font is the reader's own: nothing is loaded from elsewhere.
    start, end = svg.index("@font-face"), svg.rindex("@font-face")
    end = svg.index("}", end) + 1
    drawn = re.sub(r"<!--.*?-->\s*", "", svg[:start] + svg[end:], flags=re.DOTALL)
    (HERE / "demo.svg").write_text(drawn, encoding="utf-8")


def _page(chromium: str, page: Path) -> None:
    from PIL import Image

    shots = []
    for dark in (1, 0):
        target = page.with_name(f"{dark}.png")
        scheme = f"--blink-settings=preferredColorScheme={dark}"
        subprocess.run(
            [chromium, *FLAGS, scheme, f"--screenshot={target}", page.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip
        shots.append(Image.open(target).convert("RGB"))
    wide = Image.new("RGB", (2000, 1180))
    for place, shot in enumerate(shots):
        wide.paste(shot, (1000 * place, 0))
    small = wide.resize((1300, 767), Image.Resampling.LANCZOS)
    small.quantize(160, method=Image.Quantize.FASTOCTREE).save(HERE / "report.png", optimize=True)


if __name__ == "__main__":
    main()
