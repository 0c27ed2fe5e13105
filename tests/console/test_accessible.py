"""Every page of the console: labels, headings, contrast, focus, light and dark, a phone's width."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .conftest import PASSWORD, QUESTIONS, ROLES
from .test_browser import browser, pytestmark, tabs  # noqa: F401 - fixtures and marks
from .test_who_sees import GETS, VISITORS

CHECKS = (
    (Path(__file__).parents[1] / "rendering" / "accessibility.js")
    .read_text(encoding="utf-8")
    .partition("\n")[2]
)
WATCH = """() => {
  const watched = "stops" in window;
  window.stops = [];
  if (watched) return;
  document.addEventListener("focusin", ({target: part}) => {
    const shown = part.getClientRects().length > 0, drawn = getComputedStyle(part).outlineStyle;
    window.stops.push([[...document.querySelectorAll("*")].indexOf(part),
                       shown && drawn !== "none", part.outerHTML.slice(0, 90)]);
  });
}"""
"""Wherever the focus comes: its place in the page, whether it can be seen, and what it is on."""
AT_ONCE = 12
MOST_STEPS = 250
_REDRAWN = 500
"""Milliseconds: charts take the colours of the page once more when they change."""


def faults(tab: Any, where: str) -> list[str]:
    """What is wrong with the page that is open, in light and in dark, and by the Tab key."""
    page, found = tab.page, []
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        if page.locator("[data-chart]").count():
            page.wait_for_timeout(_REDRAWN)
        found += [f"{where}, {scheme}: {fault}" for fault in page.evaluate(CHECKS)]
    wide = page.viewport_size
    page.set_viewport_size({"width": 360, "height": 740})
    across = page.evaluate("document.documentElement.scrollWidth")
    if across > 360:
        found.append(f"{where}: {across} pixels wide on a phone of 360")
    page.set_viewport_size(wide)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.mouse.click(1, 1)  # the order begins at the top again
    page.evaluate(WATCH)
    before, met = -1, 0
    while met < MOST_STEPS:
        for _ in range(AT_ONCE):
            page.keyboard.press("Tab")
        steps = page.evaluate("window.stops.splice(0)")
        for place, shown, part in steps:
            if not shown:
                found.append(f"{where}: the focus cannot be seen: {part}")
            if place <= before:
                break  # around again: every stop was met in the order of the page
            before, met = place, met + 1
        else:
            if steps:
                continue
        break
    else:
        found.append(f"{where}: the focus never comes to the end")
    stops = page.evaluate(
        "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, "
        "textarea, summary')].filter(e => e.getClientRects().length && !e.disabled).length"
    )
    if stops and before < 0:
        found.append(f"{where}: nothing can be reached by the Tab key")
    return found


def visited(name: str) -> list[str]:
    """The pages that exist for somebody, by the table of who sees what."""
    place = VISITORS.index(name)
    pages = [path for path, seen in GETS.items() if seen[place] == 200]
    return [path for path in pages if not path.endswith("/report")]  # a file to be saved


def test_every_page_of_every_role_in_light_and_dark(tabs: Any) -> None:  # noqa: F811
    """By the same table as the rights: a page that is not tried here is not tried there either."""
    tab = tabs(viewport={"width": 1200, "height": 900})
    tab.go("/sign-in")
    found = faults(tab, "sign-in")
    tab.go("/invitation/code")
    found += faults(tab, "invitation")
    for name in ("custodian", "auditor", "ana"):
        assert name in ROLES
        tab.sign_in(name, PASSWORD)
        for path in visited(name):
            tab.go(path)
            found += faults(tab, f"{name} {path or '/'}")
        if name == "custodian":
            tab.go("/register")
            form = {"name": "steps", "file": "clinic.csv", "budget": "1"}
            tab.fill(form)
            tab.press("Show its columns")
            tab.page.wait_for_selector("text=bmi")
            found += faults(tab, "the second step of registering")
    assert not found, "\n".join(found)


def test_prices_mistakes_answers_scores_and_refusals_in_light_and_dark(
    tabs: Any,  # noqa: F811
) -> None:
    tab = tabs(viewport={"width": 1200, "height": 900})
    page = tab.page
    tab.sign_in("ana", PASSWORD)
    found: list[str] = []
    learn = {"columns": ["age", "bmi", "ward"], "epsilon": "8", "false_alarms": "0.05"}
    for kind, fields in {**QUESTIONS, "learn": learn}.items():
        tab.price("clinic", kind, fields)
        found += faults(tab, f"price of {kind}")
        page.get_by_role("button", name=re.compile("Ask and spend")).click()
        page.wait_for_selector(".headline")
        found += faults(tab, f"answer to {kind}")
    page.get_by_role("link", name="Score records").first.click()
    found += faults(tab, "score")
    page.fill("#records", "age,bmi,ward\n50,25,surgery\n98,59,maternity\n")
    tab.press("Score")
    page.wait_for_selector("text=2 records scored")
    found += faults(tab, "scores")
    tab.go("/datasets/clinic/history")
    assert page.locator(".history tr.answered").count() == len(QUESTIONS) + 1
    found += faults(tab, "history")

    # A mistake: the note has the focus, Enter on its link leads to the field.
    tab.go("/datasets/clinic/ask/screen")
    tab.fill({**QUESTIONS["screen"], "beta": "many"})
    with page.expect_response(lambda reply: reply.status == 422):
        tab.press("Show price and expected error")
    page.wait_for_selector(".mistake")
    found += faults(tab, "mistake")
    page.locator("#wrong a").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.name ?? location.hash") in ("beta", "#f-beta")
    assert not found, "\n".join(found)
