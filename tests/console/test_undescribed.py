"""From a file that nobody has described to flagged rows with reasons: three clicks, no card."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from whitecrow.data import _csvfile as csvfile
from whitecrow.data import sources
from whitecrow.demo import CARD, DATA
from whitecrow.errors import InvalidInput

from .conftest import House, build
from .test_browser import CHROMIUM, FLAGS, PASSWORD, Tab, listening


def _messy(rows: csv.Writer, lots: Random) -> None:  # type: ignore[name-defined]
    """Amounts with signs, percents, dates of several forms, blanks, free text, an identifier."""
    rows.writerow(["visit_id", "Amount", "share", "seen on", "ward", "age", "remark"])
    for number in range(3000):
        strange = number == 7
        rows.writerow(
            [
                f"V{number:06d}",
                f"€{9_000_000 if strange else lots.gauss(200, 40):,.2f}",
                f"{lots.uniform(0, 100):.0f}%",
                f"{lots.randint(1, 28):02d}/{lots.randint(1, 12):02d}/2024",
                lots.choice(["north", "south", "east", ""]),
                lots.choice([str(lots.randint(18, 90)), "n/a"]) if number % 50 else "unknown",
                " ".join(
                    lots.choice(["was", "seen", "again", "ok", str(number)]) for _ in range(9)
                ),
            ]
        )


def _wide(rows: Any, lots: Random) -> None:
    rows.writerow([f"sensor {place}" for place in range(40)])
    for number in range(2000):
        shift = 60.0 if number == 7 else 0.0
        rows.writerow([f"{lots.gauss(place, 1) + shift:.3f}" for place in range(40)])


def _tiny(rows: Any, lots: Random) -> None:
    rows.writerow(["height", "weight"])
    for _ in range(40):
        rows.writerow([round(lots.gauss(170, 9), 1), round(lots.gauss(70, 9), 1)])


def _dates_and_money(rows: Any, lots: Random) -> None:
    rows.writerow(["paid", "booked", "amount"])
    for number in range(3000):
        day = f"2024-{lots.randint(1, 12):02d}-{lots.randint(1, 28):02d}"
        amount = 900_000.0 if number == 7 else abs(lots.gauss(1200, 300))
        rows.writerow([day, day, f"${amount:,.2f}"])


def _categories(rows: Any, lots: Random) -> None:
    rows.writerow(["colour", "size", "shop"])
    for number in range(3000):
        shop = lots.choice(["a", "b"])
        colour = "red" if shop == "a" else "blue"
        odd = number % 300 == 7
        rows.writerow(["red" if odd else colour, lots.choice("SML"), "b" if odd else shop])


TABLES: dict[str, Callable[[Any, Random], None]] = {
    "messy": _messy,
    "wide": _wide,
    "tiny": _tiny,
    "dates-and-money": _dates_and_money,
    "categories": _categories,
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house without datasets."""
    found = build(Path(tmp_path_factory.mktemp("undescribed")), listed=False, patience=120.0)
    found.service.start()
    yield found
    found.service.close()


def test_what_a_file_holds_is_read_by_another_process(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither registering nor pricing opens a source in the process of the network."""

    def refused(*more: Any) -> Any:
        raise AssertionError("a file was opened in the process of the network")

    monkeypatch.setattr(sources, "_open_file", refused)
    monkeypatch.setattr(csvfile, "header", refused)
    custodian, source, card = house.person("custodian"), {"file": DATA.name}, CARD.read_text()
    house.service.register(custodian, "elsewhere", source, card=card)
    with pytest.raises(InvalidInput, match="Did you mean 'age'"):
        house.service.register(custodian, "wrong", source, card=card.replace('"age"', '"agee"'))
    form = {"name": "x", "file": DATA.name, "budget": "3, 1e-5"}
    priced = house.visitor("custodian").post("/register/price", form).text
    assert "<code>systolic</code>" in priced
    assert "x" not in house.service.ledger.datasets()


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "names",
    [("messy", "wide"), pytest.param((*TABLES,), marks=pytest.mark.study)],
    ids=["two tables", "all"],
)
def test_three_clicks_after_an_upload_rows_are_flagged_with_reasons(
    house: House, tmp_path: Path, names: tuple[str, ...]
) -> None:
    from playwright.sync_api import sync_playwright

    with listening(house) as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = Tab(browser.new_page(viewport={"width": 1200, "height": 900}), url)
        tab.sign_in("custodian", PASSWORD)
        for name in names:
            file = tmp_path / f"{name}.csv"
            with file.open("w", newline="") as text:
                TABLES[name](csv.writer(text), Random(7))
            _three_clicks(tab, file)
            shown = tab.page.inner_text("#scores")
            strangest = tab.page.inner_text("#scores tbody tr:first-child")
            if name != "tiny":  # of forty records noise may leave no reason
                assert re.search(r"\(\+\d", strangest), strangest  # a value, and what it adds
            if name in ("messy", "wide", "dates-and-money"):
                assert strangest.startswith("8"), shown[:500]  # the row that is far from all others
        assert tab.errors == []
        browser.close()


def _three_clicks(tab: Tab, file: Path) -> None:
    page = tab.page
    tab.go("/register")
    page.set_input_files("#upload", file)
    page.wait_for_selector("text=has arrived whole")
    assert page.locator("#name").input_value() == file.stem
    tab.press("Find outliers")
    page.wait_for_selector("text=A detector, without a card")
    tab.seen(f"undescribed-price-{file.stem}")
    page.get_by_role("button", name="Learn and spend").click()
    page.wait_for_url("**/answers/*")
    tab.seen(f"undescribed-answer-{file.stem}")
    page.get_by_role("link", name="Score these records").click()
    page.wait_for_selector("#scores")
    tab.seen(f"undescribed-flagged-{file.stem}")
    with page.expect_download() as sent:
        page.get_by_role("link", name="Download all scores (CSV)").click()
    rows = sent.value.path().read_text().splitlines()
    assert rows[0] == "row,score,outlier,why"
    with file.open() as text:
        assert len(rows) == len(text.readlines())
