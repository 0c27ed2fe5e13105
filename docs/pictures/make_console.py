"""Pictures of the console's pages, light and dark, made by a browser without a screen.

Starts ``whitecrow serve --demo`` on this machine, walks through the pages as analyst and as
custodian, and writes small PNGs beside this file, or into the folder that is named:
``python docs/pictures/make_console.py [FOLDER]``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from whitecrow.demo import DATA

OUT = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent / "console"
FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
]
WIDE = {"width": 1100, "height": 700}

QUESTIONS: dict[str, dict[str, Any]] = {
    "screen": {
        "record.age": "74",
        "record.bmi": "44",
        "record.systolic": "222",
        "beta": "40",
        "radius": "12",
        "epsilon": "1/4",
    },
    "count": {"columns": ["age", "bmi", "systolic"], "beta": "5", "radius": "9", "epsilon": "1"},
    "subspaces": {"size": "2", "beta": "5", "radius": "2", "epsilon": "1"},
    "publish": {
        "column": "cost",
        "time": "day",
        "start": "2024-01-01",
        "period": "week",
        "clip": "0,20000",
        "horizon": "12",
        "epsilon": "1",
    },
}
"""What the walk asks of the demo's clinic, field by field."""


@contextlib.contextmanager
def demo() -> Iterator[tuple[str, dict[str, str]]]:
    """Serve the demo; yields its address and the passwords it printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = "from whitecrow.cli import main; main()"
    command = [sys.executable, "-c", start, "--json", "serve", "--demo", "--no-pad"]
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said.json"
        with said.open("w") as out:
            server = subprocess.Popen(
                [*command, "--port", str(port)],
                stdout=out,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, server)
            yield url, json.loads(said.read_text())["passwords"]
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise SystemExit("The server ended early.")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/healthz", timeout=2)
            return
        time.sleep(0.1)
    raise SystemExit("The server does not answer.")


def sign_in(page: Page, url: str, name: str, password: str) -> None:
    """Come in by the form."""
    page.goto(f"{url}/console/sign-in")
    page.fill("#name", name)
    page.fill("#password", password)
    page.click("text=Sign in >> nth=-1")
    page.wait_for_url(f"{url}/console")


def fill(page: Page, fields: dict[str, Any]) -> None:
    """Fill in a form by the names of its fields, unfolding what is folded."""
    page.evaluate("document.querySelectorAll('form details').forEach(d => d.open = true)")
    for name, value in fields.items():
        found = page.locator(f'form:not(.filters) [name="{name}"]')
        if isinstance(value, list):
            for one in value:
                page.check(f'[name="{name}"][value="{one}"]')
        elif found.first.evaluate("e => e.tagName") == "SELECT":
            found.first.select_option(value)
        else:
            found.first.fill(value)


def ask(page: Page, url: str, kind: str, fields: dict[str, Any]) -> None:
    """Describe a question and see its price; the button is not pressed yet."""
    page.goto(f"{url}/console/datasets/clinic/ask/{kind}")
    fill(page, fields)
    page.click("text=Show price and expected error")
    page.wait_for_selector("text=Ask and spend")


def shoot(page: Page, name: str, most: int = 1500) -> None:
    """Write one picture, small: the page in light, and beside it in dark."""
    page.evaluate("document.activeElement?.blur(); scrollTo(0, 0)")
    shots = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        if page.locator("[data-chart]").count():
            page.wait_for_selector(".main-svg")
            page.wait_for_timeout(500)  # charts take the new colours
        shot = Image.open(io.BytesIO(page.screenshot(full_page=True, scale="css"))).convert("RGB")
        shots.append(shot.crop((0, 0, shot.width, min(most, shot.height))))
    width, height = shots[0].size
    both = Image.new("RGB", (2 * width, height))
    for place, shot in enumerate(shots):
        both.paste(shot, (width * place, 0))
    small = both.resize((1400, 1400 * height // (2 * width)), Image.Resampling.LANCZOS)
    # A hundred colours are enough for a page, and a third of the size.
    small.quantize(100, method=Image.Quantize.FASTOCTREE).save(OUT / f"{name}.png", optimize=True)
    print(name)


def analyst(page: Page, url: str) -> None:
    """The analyst's pages: a first question, its price, an answer, the history."""
    at = f"{url}/console/datasets/clinic"
    page.goto(at)
    shoot(page, "first", 1000)
    for kind, fields in QUESTIONS.items():
        ask(page, url, kind, fields)
        if kind == "screen":
            shoot(page, "ask")
        page.click("text=Ask and spend")
        page.wait_for_selector(".headline")
    shoot(page, "answer")
    page.goto(f"{at}/history")
    shoot(page, "history")


def three_clicks(page: Page, url: str) -> None:
    """From a file without a card to flagged rows."""
    page.goto(f"{url}/console/register")
    page.set_input_files("#upload", DATA)
    page.wait_for_selector("text=has arrived whole")
    page.fill("#name", "visits")
    page.click("text=Find outliers")
    page.wait_for_selector("text=A detector, without a card")
    shoot(page, "find")
    page.click("text=Learn and spend")
    page.wait_for_url("**/answers/*")
    shoot(page, "detector", 1100)
    page.click("text=Score these records")
    page.wait_for_selector("#scores")
    shoot(page, "flagged", 800)


def custodian(page: Page, url: str) -> None:
    """The custodian's pages: a file without a card, the policy, the statement, who asked what."""
    three_clicks(page, url)
    at = f"{url}/console/datasets/clinic"
    page.goto(f"{at}/timeline")
    shoot(page, "timeline", 1100)
    page.goto(f"{at}/statement")
    shoot(page, "statement", 1100)
    page.goto(f"{at}/policy")
    fill(page, {"max_epsilon": "2", "max_tau": "40", "min_radius": "2"})
    page.click("text=Show what this promises")
    page.wait_for_selector("text=This would promise")
    shoot(page, "policy")
    page.goto(f"{at}/use")
    shoot(page, "use")
    page.goto(f"{url}/console/laboratory")
    shoot(page, "laboratory")


def walk(browser: Browser, url: str, passwords: dict[str, str]) -> None:
    """Both people, one after the other."""
    page = browser.new_page(viewport=WIDE)
    page.set_default_timeout(240_000)  # kernels may have to be compiled first
    for name, pages in (("analyst", analyst), ("custodian", custodian)):
        page.context.clear_cookies()
        sign_in(page, url, name, passwords[name])
        while not page.locator("text=Ready").count():  # the records are being read
            page.wait_for_timeout(1000)
            page.reload()
        pages(page, url)
    page.close()


def main() -> None:
    """Make the pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("This needs chromium.")
    OUT.mkdir(exist_ok=True)
    for old in OUT.glob("*.png"):
        old.unlink()
    with demo() as (url, passwords), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        walk(browser, url, passwords)
        browser.close()


if __name__ == "__main__":
    main()
