"""Reports in a real browser: labels, headings, contrast and focus, light, dark and on a phone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import whitecrow as wc
from whitecrow import demo
from whitecrow.report import account_page

CHROMIUM = shutil.which("chromium")
CHECKS = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8").partition("\n")[2]
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    # Playwright's own loop leaves sockets to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.timeout(300),
]
FLAGS = ("--no-sandbox", "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The demo's report, an account's, and one answer's."""
    folder = tmp_path_factory.mktemp("pages")
    story = demo.run(folder / "demo", lambda name: None)
    with wc.Curator.open(demo.DATA, card=demo.CARD, budget="3", ledger="sqlite://") as curator:
        release = curator.screen({"age": 74, "bmi": 44.0}, model=demo_model(), epsilon="1/2")
        account = folder / "account.html"
        account.write_text(account_page(curator.ledger, curator.name), encoding="utf-8")
        answer = release.report(folder / "answer.html")
    return {"demo": story.page, "account": account, "answer": answer}


def demo_model():
    return wc.DistanceAnomaly(beta=40, radius=12)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


def opened(browser: Any, path: Path, **how: Any) -> tuple[Any, list[str]]:
    page = browser.new_context(**how).new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: request.url.startswith("file:") or wrong.append(request.url))
    page.goto(path.as_uri())
    return page, wrong


PHONE = {"viewport": {"width": 380, "height": 800}}


@pytest.mark.parametrize("name", ["demo", "account", "answer"])
@pytest.mark.parametrize(
    "how",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"color_scheme": "light", **PHONE}],
    ids=["light", "dark", "phone"],
)
def test_labels_headings_contrast_and_focus_of_a_report(browser, pages, name, how):
    page, wrong = opened(browser, pages[name], **how)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.evaluate(CHECKS) == []
    assert wrong == []
    page.context.close()


def test_the_checks_find_what_is_wrong(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<html><body><h1>a</h1><h3>b</h3><p style='color:#999;background:#fff'>pale</p>"
        "<input><img src='data:,'><button tabindex=3></button><table><tr><td>x</td></tr></table>"
    )
    page, _ = opened(browser, bad)
    faults = " ".join(page.evaluate(CHECKS))
    for fault in ("language", "title", "main", "skips a level", "contrast", "no name",
                  "no words", "no headings", "order of focus"):  # fmt: skip
        assert fault in faults
    page.context.close()


def test_the_slider_changes_the_picture_by_keyboard_and_a_record_says_what_it_is(browser, pages):
    page, wrong = opened(browser, pages["demo"])
    count = page.locator("#count .picture")
    before = count.locator("p:not(.off)").inner_text()
    count.locator("input").focus()
    page.keyboard.press("ArrowRight")
    after = count.locator("p:not(.off)").inner_text()
    assert "ε = 1 " in before
    assert "ε = 2 " in after
    assert count.locator("output").inner_text() == "2"
    record = page.locator("#identify circle").last
    record.scroll_into_view_if_needed()
    record.hover(force=True)
    assert "wrong" in page.locator("#identify .tip").inner_text()
    assert wrong == []
    page.context.close()


def test_on_paper_folds_are_open_and_the_page_is_light(browser, pages, tmp_path):
    page, _ = opened(browser, pages["demo"], color_scheme="dark")
    written = page.pdf(prefer_css_page_size=True)
    assert written.startswith(b"%PDF")
    page.emulate_media(media="print", color_scheme="dark")
    colour = page.evaluate("getComputedStyle(document.body).color")
    assert colour == "rgb(26, 34, 48)", "the light theme's ink"
    page.context.close()
