"""The whole story in a real browser without a screen: nothing breaks, nothing leaves the house."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn

from whitecrow.demo import CARD
from whitecrow.detector import Detector

from .conftest import PASSWORD, QUESTIONS, House, build

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    # Playwright's own loop leaves sockets to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
FLAGS = (
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
)
WATCH = """addEventListener("securitypolicyviolation",
  (event) => console.error("policy " + event.violatedDirective));"""


@contextmanager
def listening(house: House) -> Iterator[str]:
    """Run the application on a free port of this machine, in a thread."""
    config = uvicorn.Config(house.app, host="127.0.0.1", port=0, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=20)


class Tab:
    """A browser's page that notes every error and every host it is told to reach."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.errors: list[str] = []
        self.hosts: set[str | None] = set()
        page.set_default_timeout(120_000)  # kernels may have to be compiled first
        page.add_init_script(WATCH)
        page.on("console", self._noted)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))

    def _noted(self, message: Any) -> None:
        # The browser itself logs refusals and mistakes, which are replies like others, as errors.
        if message.type in ("error", "warning") and not re.search("40[24]|422", message.text):
            self.errors.append(message.text)

    def go(self, path: str) -> None:
        self.page.goto(f"{self.url}/console{path}")

    def sign_in(self, name: str, password: str) -> None:
        self.page.context.clear_cookies()
        self.go("/sign-in")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.press("Sign in")
        self.page.wait_for_url(f"{self.url}/console")

    def press(self, words: str) -> None:
        self.page.get_by_role("button", name=words, exact=True).click()

    def fill(self, fields: dict[str, Any], form: str = "") -> None:
        # The page that a link leads to may still be on its way.
        self.page.locator(f'{form} [name="{next(iter(fields))}"]').first.wait_for(state="attached")
        self.page.evaluate("document.querySelectorAll('main details').forEach(d => d.open = true)")
        for name, value in fields.items():
            if isinstance(value, list):
                for one in value:
                    self.page.check(f'[name="{name}"][value="{one}"]')
                continue
            field = self.page.locator(f'{form} [name="{name}"]:not([type=hidden])').first
            if field.evaluate("e => e.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)

    def price(self, dataset: str, kind: str, fields: dict[str, Any]) -> None:
        self.go(f"/datasets/{dataset}/ask/{kind}")
        self.fill(fields)
        self.press("Show price and expected error")
        self.page.wait_for_selector("text=Ask and spend")

    def seen(self, name: str) -> None:
        """Keep a picture where a person asked for one."""
        if os.environ.get("WHITECROW_PICTURES"):
            target = Path(os.environ["WHITECROW_PICTURES"], f"{name}.png")
            self.page.screenshot(path=target, full_page=True)

    def charts(self, number: int) -> None:
        drawn = "n => document.querySelectorAll('.plot .scatterlayer .trace').length >= n"
        self.page.wait_for_function(drawn, arg=number)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """One browser at one service, and the service's address."""
    from playwright.sync_api import sync_playwright

    house = build(Path(tmp_path_factory.mktemp("browser")), patience=120.0)
    house.service.start()
    house.service.curator(house.person("ana"), "clinic")  # loaded, its kernels compiled
    with listening(house) as url, sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found, url
        found.close()
    house.service.close()


@pytest.fixture
def tabs(browser: tuple[Any, str]) -> Iterator[Any]:
    """Open tabs; when they are closed, nothing may have gone wrong in them."""
    made: list[Tab] = []

    def tab(**look: Any) -> Tab:
        made.append(Tab(browser[0].new_page(**look), browser[1]))
        return made[-1]

    yield tab
    for one in made:
        one.page.close()
        assert one.errors == []
        assert one.hosts == {"127.0.0.1"}


def test_from_the_first_dataset_to_the_last_of_the_budget(tabs: Any) -> None:
    tab = tabs(viewport={"width": 1200, "height": 900})
    page = tab.page

    # The custodian registers a dataset, sets its policy, invites and admits an analyst.
    tab.sign_in("custodian", PASSWORD)
    page.get_by_role("link", name="Register a dataset").click()
    pasted = {"name": "bills", "file": "clinic.csv", "budget": "3", "card": CARD.read_text()}
    tab.fill(pasted, "form:has(textarea)")
    tab.press("Register")
    page.wait_for_selector("text=The dataset is listed")
    tab.fill({"max_epsilon": "1", "max_tau": "40", "min_radius": "1"})
    page.get_by_label("For those whose condition holds").fill("3")
    tab.press("Show what this promises")
    page.wait_for_selector("text=This would promise")
    assert "at least 40 records" in page.inner_text("#promise")
    page.get_by_label("Reason, kept by the ledger").fill("the board agreed")
    tab.press("Make it effective")
    page.wait_for_selector("text=The new promise is effective")
    tab.go("/people")
    page.fill("#name", "dora")
    tab.press("Invite")
    page.goto(page.inner_text("#link"))
    password = "a long enough phrase"  # noqa: S105 - of a made-up person
    page.fill("#new", password)
    page.fill("#again", password)
    tab.press("Choose")
    page.wait_for_selector("text=Sign in")
    tab.sign_in("custodian", PASSWORD)
    tab.go("/datasets/bills/analysts")
    page.get_by_label("dora").check()
    page.locator("#readers-reason").fill("a study of bills")
    tab.press("Change readers")
    page.wait_for_selector("text=The list of readers is changed")
    tab.go("/datasets/bills/map?x=bmi&y=systolic&beta=10&radius=6&k=2&epsilon=1/2")
    tab.charts(2)
    assert page.get_by_text("Custodian only.").is_visible()

    # The analyst prices and asks all six, and meets the end of the budget.
    tab.sign_in("dora", password)
    page.get_by_role("link", name="bills").click()
    for kind, fields in QUESTIONS.items():
        tab.price("bills", kind, fields)
        assert page.evaluate("document.activeElement.id") == "price"
        page.get_by_role("button", name="Ask and spend").click()
        page.wait_for_selector(".headline")
        assert page.get_by_role("heading", name="Give me the code").is_visible()
        if kind == "publish":
            tab.charts(1)
    tab.price("bills", "count", {**QUESTIONS["count"], "radius": "5", "epsilon": "1"})
    assert page.get_by_role("button", name="Ask and spend").is_disabled()
    assert "it would be refused" in page.inner_text("#price")
    tab.go("/datasets/bills/history")
    assert page.locator(".history tr.answered").count() == 6
    tab.go("/laboratory?days=60&size=20")
    tab.charts(3)

    # The custodian finds every act in a whole chain.
    tab.sign_in("custodian", PASSWORD)
    tab.go("/datasets/bills/ledger?act=settle")
    assert page.get_by_text("Whole.").is_visible()
    assert page.locator(".event.settle").count() == 6


def test_a_detector_is_learned_downloaded_and_a_dropped_file_scored(
    tabs: Any, tmp_path: Path
) -> None:
    tab = tabs(viewport={"width": 1200, "height": 900})
    page = tab.page
    tab.sign_in("ana", PASSWORD)
    learn = {"columns": ["age", "bmi", "ward"], "epsilon": "8", "false_alarms": "0.05"}
    tab.price("clinic", "learn", learn)
    assert "worth its price from about so many records" in page.inner_text("#price")
    page.get_by_role("button", name="Ask and spend").click()
    page.wait_for_selector(".headline")
    with page.expect_download() as sent:
        page.get_by_role("link", name="Download the detector").click()
    detector = Detector.load(sent.value.path())

    page.get_by_role("link", name="Score records").first.click()
    new = tmp_path / "new.csv"
    new.write_text("age,bmi,ward\n50,25,surgery\n98,59,maternity\n")
    page.set_input_files("[data-drop-file]", str(new))
    page.wait_for_function("document.getElementById('records').value.length > 10")
    tab.press("Score")
    page.wait_for_selector("text=2 records scored")
    rows = page.locator("#scores tbody tr")
    assert rows.count() == 2
    scores = detector.scores(str(new))
    assert f"{scores[1]:.2f}" in rows.nth(0).inner_text()
    assert "bmi = 59" in rows.nth(0).inner_text()
    tab.seen("scores")


def test_a_question_is_tried_on_made_up_records_for_nothing(tabs: Any) -> None:
    tab = tabs(viewport={"width": 1200, "height": 900})
    tab.sign_in("ana", PASSWORD)
    tab.price("clinic", "count", {"beta": "5", "radius": "4", "epsilon": "1/2"})
    left = tab.page.inner_text(".price")
    tab.press("Try it on synthetic records (free)")
    tab.page.wait_for_selector("text=Nothing of the data was read, and nothing was spent.")
    said = tab.page.inner_text(".note[role=status]")
    assert "DUMMY" in said.upper()
    assert tab.page.inner_text(".price") == left
    assert tab.page.get_by_role("button", name="Ask and spend").is_enabled()


def test_without_scripts_everything_can_be_asked_by_keyboard_on_a_phone(tabs: Any) -> None:
    tab = tabs(java_script_enabled=False, viewport={"width": 360, "height": 700}, is_mobile=True)
    page = tab.page
    tab.go("/sign-in")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the skip link
    page.keyboard.press("Tab")
    page.keyboard.type("ana")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{tab.url}/console")
    tab.go("/datasets/clinic/ask/screen")
    for name, value in QUESTIONS["screen"].items():
        page.fill(f'[name="{name}"]', value)
    page.keyboard.press("Enter")
    button = page.get_by_role("button", name="Ask and spend")
    button.wait_for()
    button.press("Enter")
    page.wait_for_selector(".headline")
    for path in ("", "/datasets/clinic", "/datasets/clinic/history", "/laboratory?days=40&size=9"):
        tab.go(path)
        box = page.locator("body").bounding_box()
        assert box is not None
        assert box["width"] <= 360, path
