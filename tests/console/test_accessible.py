"""Every page of the console: labels, headings, contrast and focus, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import PASSWORD
from .test_browser import browser, pytestmark, tabs  # noqa: F401 - fixtures and marks

CHECKS = (
    (Path(__file__).parents[1] / "look" / "accessibility.js")
    .read_text(encoding="utf-8")
    .partition("\n")[2]
)
PAGES = {
    "ana": ["", "/datasets/clinic", "/datasets/clinic/ask/screen", "/datasets/clinic/history",
            "/laboratory", "/me"],
    "custodian": ["", "/people", "/register", "/datasets/clinic", "/datasets/clinic/card",
                  "/datasets/clinic/policy", "/datasets/clinic/analysts",
                  "/datasets/clinic/ledger", "/datasets/clinic/recovery", "/datasets/clinic/model"],
}  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_labels_headings_contrast_and_focus_of_every_page(
    tabs: Any,  # noqa: F811
    name: str,
    scheme: str,
) -> None:
    tab = tabs(color_scheme=scheme)
    tab.go("/sign-in")
    faults = [f"sign-in {fault}" for fault in tab.page.evaluate(CHECKS)]
    tab.sign_in(name, PASSWORD)
    for path in PAGES[name]:
        tab.go(path)
        tab.page.evaluate("document.querySelectorAll('details').forEach((p) => { p.open = true; })")
        faults += [f"{path} {fault}" for fault in tab.page.evaluate(CHECKS)]
    assert faults == []
