"""The committed pictures: there, small, light beside dark, and each shown on a page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = DOCS / "pictures"
CONSOLE = sorted((PICTURES / "console").glob("*.png"))
BOTH = [PICTURES / "report.png", PICTURES / "notebook.png", *CONSOLE]
LARGEST = 150_000


def test_terminal_report_notebook_and_at_least_five_pages_are_pictured() -> None:
    for name in ("demo.svg", "demo-light.svg", "report.png", "notebook.png"):
        assert (PICTURES / name).is_file(), name
    assert len(CONSOLE) >= 5


@pytest.mark.parametrize("path", BOTH, ids=lambda path: path.stem)
def test_a_picture_is_small_and_shows_light_beside_dark(path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    assert path.stat().st_size < LARGEST
    shades = np.asarray(image.open(path).convert("L"), dtype=float)
    left, right = np.array_split(shades, 2, axis=1)
    assert np.median(left) > 200
    assert np.median(right) < 60


@pytest.mark.study
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_the_console_is_drawn_as_it_is_now(tmp_path: Path) -> None:
    """The script walks through the pages of today and makes the pictures that are shown."""
    script = PICTURES / "make_console.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert {path.name for path in tmp_path.glob("*.png")} == {path.name for path in CONSOLE}


def test_every_picture_of_the_console_is_shown_on_its_page() -> None:
    page = (DOCS / "console.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"pictures/console/(\w+)\.png", page))
    assert shown == {path.stem for path in CONSOLE}
