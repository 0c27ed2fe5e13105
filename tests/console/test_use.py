"""Who asked what, and when the budget ends: from the ledger alone, in numbers that add up."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from typing import Any

from whitecrow_server.console._use import Spend, projected, spends

from .conftest import House

NOW = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)


def asked(days_ago: float, epsilon: str, notion: str = "differential", **more: Any) -> Spend:
    at = NOW - datetime.timedelta(days=days_ago)
    found = {"kind": "count", "rho": None, "outcome": "answered", **more}
    return Spend(at, "ana", notion=notion, epsilon=Fraction(epsilon), **found)


def bar(left: str, line: str = "differential") -> dict[str, Any]:
    return {"line": line, "left": Fraction(left)}


def test_the_end_is_what_is_left_divided_by_the_pace() -> None:
    """One epsilon in ten days, five left: fifty more days."""
    found = projected([asked(10, "1/2"), asked(4, "1/2")], bar("5"), NOW)
    assert found == "At the pace of the last 10 days the budget ends about 19 January 2027."


def test_only_the_last_thirty_days_make_the_pace() -> None:
    old, new = [asked(300, "90")], [asked(20, "1"), asked(1, "2")]
    found = projected([*old, *new], bar("3"), NOW)
    assert found == "At the pace of the last 30 days the budget ends about 30 December 2026."


def test_what_does_not_count_on_a_line_does_not_hasten_its_end() -> None:
    given_back = asked(5, "7", outcome="given back")
    sensitive = asked(5, "7", "sensitive")
    gaussian = Spend(asked(5, "1").at, "ana", "publish", "concentrated", None, Fraction(1), "")
    quiet = projected([asked(40, "1"), given_back, sensitive, gaussian], bar("3"), NOW)
    assert quiet.startswith("Nothing was spent in the last 30 days")
    assert "ends about" in projected([sensitive], bar("3", "sensitive"), NOW)


def test_there_is_no_pace_without_a_day_of_questions_and_no_end_after_the_end() -> None:
    assert "too early" in projected([asked(0.5, "1")], bar("3"), NOW)
    assert "Nothing was asked" in projected([], bar("3"), NOW)
    assert "used up" in projected([asked(5, "1")], bar("0"), NOW)
    assert "ten years" in projected([asked(20, "1/1000")], bar("100"), NOW)


def test_the_page_tells_the_ledgers_sums_by_person(house: House) -> None:
    ana, custodian = house.visitor("ana"), house.visitor("custodian")
    ana.asked("screen")
    ana.asked("count")
    page = custodian.get("/datasets/clinic/use").text
    row = re.search(r'<th scope="row">ana</th>.*?</tr>', page, re.S)
    assert row
    assert re.findall(r"<td>(.*?)</td>", row[0])[:3] == ["2", "screen 1, count 1", "0.75"]
    assert 'class="plot"' in page
    assert "ε 0.75 of 100 spent" in page
    entries = house.service.account(house.person("custodian"), "clinic")["entries"]
    assert [one.price for one in spends(entries)] == ["ε 0.25", "ε 0.5"]
    assert {one.outcome for one in spends(entries)} == {"answered"}
