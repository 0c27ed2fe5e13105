"""From a bare CSV to a first private answer by pages alone, in a browser and without one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import House, Visitor, build, hidden
from .test_browser import CHROMIUM, FLAGS, PASSWORD, Tab, listening

ROWS = 4000


def visits(file: Path) -> None:
    draw = np.random.default_rng(3)
    lines = ["age;pay;ward;seen"]
    for _ in range(ROWS):
        pay = "" if draw.random() < 0.1 else f"{np.exp(draw.normal(7, 1)):.2f}".replace(".", ",")
        ward = draw.choice(["north", "south", "east"])
        day = f"2023-{draw.integers(1, 13):02d}-{draw.integers(1, 28):02d}"
        lines.append(f"{draw.integers(18, 95)};{pay};{ward};{day}")
    file.write_text("\n".join(lines) + "\n", encoding="latin-1")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = Path(tmp_path_factory.mktemp("wizard"))
    data = folder / "data"
    data.mkdir()
    visits(data / "visits.csv")
    (folder / "secret.csv").write_text("a,b\n1,2\n")
    (data / "link.csv").symlink_to(folder / "secret.csv")
    found = build(folder, listed=False, data=str(data), patience=120.0, largest_upload=3_000_000)
    found.service.start()
    yield found
    found.service.close()


STEP_ONE = {
    "name": "visits",
    "file": "visits.csv",
    "budget": "4, 1e-5",
    "csv.delimiter": ";",
    "csv.encoding": "latin-1",
    "csv.decimal": ",",
}


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_custodian_goes_from_a_bare_csv_to_a_first_answer_without_writing_toml(
    house: House,
) -> None:
    from playwright.sync_api import sync_playwright

    with listening(house) as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = Tab(browser.new_page(viewport={"width": 1280, "height": 900}), url)
        _walk(tab, house)
        assert tab.errors == []
        assert tab.hosts == {"127.0.0.1"}
        browser.close()


def _walk(tab: Tab, house: House) -> None:
    page = tab.page
    tab.sign_in("custodian", PASSWORD)

    tab.go("/register")
    assert not page.locator("textarea").is_visible()  # it is behind a fold
    form = page.locator("form").filter(has=page.get_by_role("button", name="Show its columns"))
    sent = Path(house.settings.data or "").parent / "sent from a desk.csv"
    visits(sent)
    page.set_input_files("#upload", sent)
    page.wait_for_selector("text=and is chosen below")
    kept = form.locator('[name="file"]').input_value()
    assert re.fullmatch(r"upload-[0-9a-f]{22}\.csv", kept)
    tab.seen("wizard-1-file")
    form.locator("details").evaluate("one => one.open = true")
    for name, value in {**STEP_ONE, "file": kept}.items():
        field = form.locator(f'[name="{name}"]')
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    tab.press("Show its columns")

    page.wait_for_selector("text=Types are guesses from the first rows")
    types = [page.get_by_label(f"Type of {name}").input_value() for name in _NAMES]
    assert types == ["integer", "number", "text", "date"]
    assert page.get_by_label("Lower bound of age").is_visible()
    assert not page.get_by_label("Lower bound of ward").is_visible()
    assert not page.get_by_label("Filled in for a missing pay").is_visible()
    page.get_by_label("Lower bound of age").fill("0")
    page.get_by_label("Upper bound of age").fill("120")
    page.get_by_label("Scale of age").fill("10")
    tab.seen("wizard-2-columns")
    tab.press("Register and go on to the profile")

    page.wait_for_selector("text=The dataset is listed")
    tab.fill({"epsilon": "2", "delta": "1e-6"})
    tab.press("Show price and expected error")
    page.wait_for_selector("text=Ask and spend")
    tab.seen("wizard-3-profile")
    page.get_by_role("button", name="Ask and spend").click()
    page.wait_for_selector("text=Read and accept the drafted card")
    tab.seen("wizard-3-answer")
    page.get_by_role("link", name="Read and accept the drafted card").click()

    # Each has some 1,300 records, and a deviation of the noise is 5.
    assert page.get_by_label("Categories of ward").input_value() == "east,north,south,(missing)"
    assert page.get_by_label("Missing value of pay").input_value() == "fill"
    page.get_by_label("Upper bound of pay").fill("100000")
    tab.seen("wizard-4-card")
    tab.press("Accept this card")

    page.wait_for_selector("text=Share of outliers")
    page.uncheck('[name="columns"][value="seen"]')
    tab.press("Find a model")
    page.wait_for_selector("text=of synthetic records outliers")
    tab.seen("wizard-5-model")
    page.get_by_role("link", name="Count the outliers").click()

    page.wait_for_selector("text=1. Describe")
    assert page.locator('[name="beta"]').input_value() == "20"
    assert page.locator('[name="metric"]').input_value() == "standardised"
    assert page.locator('[name="columns"][value="pay"]').is_checked()
    tab.press("Show price and expected error")
    page.get_by_role("button", name="Ask and spend").click()
    page.wait_for_selector("text=Expected error:")
    tab.seen("wizard-6-answer")

    card = house.service.dataset(house.person("custodian"), "visits")["card"]
    found = {column["name"]: column for column in card["columns"]}
    assert found["age"]["upper"] == 120
    assert found["ward"]["source"] == "priced question"
    assert found["pay"]["upper"] == 100000
    assert found["pay"].get("source", "expert") == "expert"
    amended = house.service.ledger.entries("visits", kind="amend")[-1].content
    assert "drafted, edited: pay" in amended["reason"]
    asked = house.service.ledger.entries("visits", kind="reserve")
    assert [one.analyst for one in asked] == ["custodian", "custodian"]


_NAMES = ("age", "pay", "ward", "seen")


def carl(house: House) -> Visitor:
    return house.visitor("custodian")


@pytest.mark.parametrize("file", ["../secret.csv", "/etc/passwd", "", "absent.csv", "link.csv"])
def test_a_path_from_a_form_is_never_opened_outside_the_data_folder(
    house: House, file: str
) -> None:
    fields = {**STEP_ONE, "name": "other", "file": file}
    reply = carl(house).post("/register/columns", fields)
    assert reply.status_code == 422
    assert "Please look again." in reply.text
    assert 'name="column"' not in reply.text


def send(visitor: Visitor, body: bytes, kind: str = "csv", csrf: str | None = None) -> Any:
    address = f"/console/register/upload?kind={kind}"
    secret = visitor.csrf if csrf is None else csrf
    return visitor.send("POST", address, content=body, headers={"X-CSRF": secret})


def folder(house: House) -> list[str]:
    return sorted(path.name for path in Path(house.settings.data or "").iterdir())


def test_a_file_that_is_sent_is_kept_under_a_name_of_the_services_own(house: House) -> None:
    before = folder(house)
    reply = send(carl(house), b"a;b\n1;2\n")
    assert reply.status_code == 200
    name = reply.json()["file"]
    assert folder(house) == sorted([*before, name])
    path = Path(house.settings.data or "") / name
    assert path.read_bytes() == b"a;b\n1;2\n"
    assert path.stat().st_mode & 0o777 == 0o600
    shown = carl(house).post("/register/columns", {**STEP_ONE, "file": name})
    assert shown.status_code == 200, shown.text
    path.unlink()


@pytest.mark.parametrize(
    ("body", "kind", "csrf", "status"),
    [
        (b"", "csv", None, 422),
        (b"a\n1\n", "../../etc/passwd", None, 422),
        (b"a\n1\n", "exe", None, 422),
        (b"a\n1\n", "csv", "0" * 64, 403),
        (b"x" * 3_000_001, "csv", None, 413),
    ],
)
def test_a_file_that_may_not_be_kept_leaves_nothing_behind(
    house: House, body: bytes, kind: str, csrf: str | None, status: int
) -> None:
    before = folder(house)
    assert send(carl(house), body, kind, csrf).status_code == status
    assert folder(house) == before


def test_only_custodians_send_files(house: House) -> None:
    before = folder(house)
    for name, status in (("ana", 404), ("auditor", 404), ("", 303)):
        reply = send(house.visitor(name) if name else Visitor(house), b"a\n1\n")
        assert reply.status_code == status
    assert folder(house) == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"c0.lower": "x", "c0.upper": "9"}, "age: lower bound: write a number"),
        ({"c0.lower": "9", "c0.upper": "1"}, "reversed or equal"),
        ({"c0.lower": "1"}, "only one bound"),
        ({"c1.scale": "0"}, "scale"),
        ({"c2.type": "category"}, "list the categories"),
        ({"c2.type": "nothing"}, "one of number"),
        ({"c3.lower": "2023-02-30", "c3.upper": "2024-01-01"}, "a date such as"),
        ({"c1.missing": "fill"}, "give the value"),
        ({"unit": "user", "user_column": "nobody"}, "user_column"),
        ({"records_at_most": "many"}, "write a whole number"),
        ({"budget": "x"}, "budget"),
    ],
)
def test_a_wrong_row_is_said_by_its_column_and_nothing_is_registered(
    house: House, changes: dict[str, str], words: str
) -> None:
    visitor = carl(house)
    shown = visitor.post("/register/columns", {**STEP_ONE, "name": "wrong"})
    reply = visitor.post("/register", {**fields_of(shown.text), **changes})
    assert reply.status_code == 422
    assert words in reply.text
    for value in changes.values():  # what was typed still stands there
        assert f'value="{value}"' in reply.text or value == "nothing"
    assert "wrong" not in house.service.ledger.datasets()


def fields_of(page: str, action: str = "/console/register") -> dict[str, Any]:
    """What a browser would send of the first form with this action, as it stands."""
    from html.parser import HTMLParser

    found: dict[str, Any] = {}

    class Reader(HTMLParser):
        inside, select = False, ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            name = given.get("name") or ""
            if tag == "form":
                self.inside = given.get("action") == action and not found
            elif not self.inside:
                return
            elif tag == "input" and (given.get("type") != "checkbox" or "checked" in given):
                found.setdefault(name, []).append(given.get("value") or "")
            elif tag == "select":
                self.select = name
                found[name] = []
            elif tag == "option" and (not found[self.select] or "selected" in given):
                found[self.select] = [given.get("value") or ""]

    Reader().feed(page)
    return found


def test_a_card_is_edited_by_rows_and_what_they_do_not_show_stays(house: House) -> None:
    service, custodian = house.service, house.person("custodian")
    card = {
        "name": "edited",
        "columns": [
            {"name": "age", "type": "integer", "lower": 0, "upper": 120, "edges": [0, 40, 121]},
            {"name": "ward", "type": "category", "categories": ["north, new", "south"]},
        ],
        "csv": {"delimiter": ";", "encoding": "latin-1", "decimal": ","},
        "sources": {"radius": "expert"},
    }
    card["columns"][0]["source"] = "public data"  # type: ignore[index]
    service.register(custodian, "edited", {"file": "visits.csv"}, card=card)
    visitor = carl(house)
    page = visitor.get("/datasets/edited/card").text
    fields = fields_of(page, "/console/datasets/edited/card")
    assert fields["c1.categories"] == ['"north, new",south']
    fields |= {"c0.scale": "10", "reason": "ten years count as one"}
    del fields["csrf"]
    reply = visitor.post("/datasets/edited/card", fields)
    assert reply.status_code == 303, reply.text
    found = service.dataset(custodian, "edited")["card"]
    assert found["columns"][0]["scale"] == 10
    assert found["columns"][0]["edges"] == [0, 40, 121]
    assert found["columns"][0].get("source", "expert") == "expert"  # the line was changed
    assert found["columns"][1] == card["columns"][1]  # type: ignore[index]
    assert found["sources"] == {"radius": "expert"}
    assert found["csv"] == card["csv"]


def test_a_stale_or_strange_draft_is_shown_as_the_card_in_force(house: House) -> None:
    service, custodian = house.service, house.person("custodian")
    if "plain" not in service.ledger.datasets():
        card = {"name": "plain", "columns": [{"name": "age", "type": "integer"}]}
        form = {"delimiter": ";", "encoding": "latin-1", "decimal": ","}
        service.register(custodian, "plain", {"file": "visits.csv"}, card={**card, "csv": form})
    for entry in ("0" * 64, "%", "<b>"):
        page = carl(house).get(f"/datasets/plain/card?draft={entry}")
        assert page.status_code == 200
        assert hidden(page.text, "draft") == ""
        assert "<b>" not in page.text
