"""Pictures of every page of the console, made by a browser without a screen.

Starts ``whitecrow serve --demo`` on this machine, walks through the pages as custodian and as
analyst, and writes small PNGs beside this file: ``python docs/pictures/make_console.py``.
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

OUT = Path(__file__).parent / "console"
FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
]
WIDE, PHONE = {"width": 1200, "height": 800}, {"width": 390, "height": 780}

RECORD = {"record.age": "74", "record.bmi": "44", "record.systolic": "222"}
MODEL = {"beta": "40", "radius": "12"}
QUESTIONS: dict[str, dict[str, Any]] = {
    "identify": {**RECORD, **MODEL, "k": "2", "epsilon": "1/4", "typical_neighbours": "3"},
    "screen": {**RECORD, **MODEL, "epsilon": "1/4"},
    "count": {"columns": ["age", "bmi", "systolic"], "beta": "5", "radius": "9", "epsilon": "1"},
    "subspaces": {
        "columns": ["age", "bmi", "systolic"],
        "beta": "5",
        "radius": "2",
        "epsilon": "1",
    },
    "explain": {
        "record.ward": "maternity",
        "record.insurance": "public",
        "record.year": "2023",
        "record.cost": "14000",
        "metric": "cost",
        "beta": "20",
        "radius": "3000",
        "epsilon": "1",
    },
    "publish": {
        "column": "cost",
        "start": "2024-01-01",
        "lower": "0",
        "upper": "20000",
        "horizon": "12",
        "epsilon": "1",
        "per_period": "125",
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


def shoot(page: Page, name: str) -> None:
    """Write one picture, small."""
    if page.locator("[data-chart]").count():
        page.wait_for_selector(".main-svg")
    page.evaluate("document.activeElement?.blur()")
    shot = Image.open(io.BytesIO(page.screenshot(full_page=True, scale="css"))).convert("RGB")
    # A hundred colours are enough for a page, and a third of the size.
    shot.quantize(100, dither=Image.Dither.NONE).save(OUT / f"{name}.png", optimize=True)
    print(name)


def custodian(page: Page, url: str) -> None:
    """The custodian's pages."""
    at = f"{url}/console/datasets/clinic"
    shoot(page, "datasets")
    page.goto(at)
    shoot(page, "dataset")
    page.goto(f"{url}/console/register")
    shoot(page, "register")
    page.goto(f"{at}/policy")
    fill(page, {"max_epsilon": "2", "max_tau": "40", "min_radius": "2"})
    page.click("text=Show what this promises")
    page.wait_for_selector("text=This would promise")
    shoot(page, "policy")
    page.goto(f"{at}/card")
    shoot(page, "card")
    page.goto(f"{at}/analysts")
    fill(page, {"analyst": "analyst", "budget": "6"})
    page.locator("#r2").fill("a first allowance")
    page.click("text=Set allowance")
    page.wait_for_selector("text=The allowance is set")
    shoot(page, "analysts")
    page.goto(f"{at}/ledger")
    shoot(page, "ledger")
    page.goto(f"{at}/recovery")
    shoot(page, "recovery")
    page.goto(f"{at}/map?x=bmi&y=systolic&beta=10&radius=6&k=2&epsilon=1/2&notion=sensitive")
    shoot(page, "map")
    page.goto(f"{url}/console/people")
    page.fill("#name", "maria")
    page.click("button:has-text('Invite')")
    page.wait_for_selector(".secret")
    page.evaluate("document.querySelector('.secret').textContent = 'shown-once-here'")
    shoot(page, "people")
    page.goto(f"{url}/console/laboratory")
    shoot(page, "laboratory")


def analyst(page: Page, url: str) -> None:
    """The analyst's pages: every question priced and asked."""
    shoot(page, "analyst_datasets")
    page.goto(f"{url}/console/datasets/clinic")
    shoot(page, "analyst_dataset")
    for kind, fields in QUESTIONS.items():
        ask(page, url, kind, fields)
        shoot(page, f"ask_{kind}")
        page.click("text=Ask and spend")
        page.wait_for_selector(".headline")
        shoot(page, f"answer_{kind}")
    ask(page, url, "count", {**QUESTIONS["count"], "beta": "6", "epsilon": "7"})
    page.click("text=Ask and spend")
    page.wait_for_selector("text=Refused")
    shoot(page, "refused")
    page.goto(f"{url}/console/datasets/clinic/history")
    shoot(page, "history")
    page.goto(f"{url}/console/me")
    shoot(page, "me")


def walk(browser: Browser, url: str, passwords: dict[str, str]) -> None:
    """All pages in daylight, some at night and on a phone."""
    page = browser.new_page(viewport=WIDE)
    page.goto(f"{url}/console/sign-in")
    shoot(page, "sign_in")
    sign_in(page, url, "analyst", passwords["analyst"])
    analyst(page, url)
    page.context.clear_cookies()
    sign_in(page, url, "custodian", passwords["custodian"])
    custodian(page, url)
    page.close()
    for name, look in (
        ("dark", {"color_scheme": "dark", "viewport": WIDE}),
        ("phone", {"viewport": PHONE, "has_touch": True, "is_mobile": True}),
    ):
        page = browser.new_page(**look)
        sign_in(page, url, "analyst", passwords["analyst"])
        ask(page, url, "identify", QUESTIONS["identify"])
        shoot(page, f"{name}_ask")
        page.goto(f"{url}/console/laboratory")
        shoot(page, f"{name}_laboratory")
        page.goto(f"{url}/console/datasets/clinic")
        shoot(page, f"{name}_dataset")
        page.close()


def main() -> None:
    """Make the pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("This needs chromium.")
    OUT.mkdir(exist_ok=True)
    with demo() as (url, passwords), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        walk(browser, url, passwords)
        browser.close()


if __name__ == "__main__":
    main()
