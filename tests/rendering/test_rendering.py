"""Pages, pictures and notebook cards: escaped, self-contained, in the console's colours."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from html.parser import HTMLParser

import pytest

import whitecrow as wc
from whitecrow import demo
from whitecrow import rendering as look
from whitecrow.privacy import odds_factor
from whitecrow.terms import Budget, Remaining

MODEL = wc.DistanceAnomaly(beta=40, radius=12)
RECORD = {"age": 74, "bmi": 44.0, "systolic": 222}
WEEKS = {
    "column": "cost",
    "time": "day",
    "start": "2024-01-01",
    "period": "week",
    "horizon": 8,
    "clip": [0, 20_000],
    "epsilon": "1/2",
}


class Balanced(HTMLParser):
    """Refuses tags that are not closed in order."""

    ALONE = frozenset({"meta", "link", "input", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def balanced(text: str) -> str:
    parser = Balanced()
    parser.feed(text)
    assert not parser.open
    return text


@pytest.fixture(scope="module")
def curator():
    with wc.Curator.open(demo.DATA, card=demo.CARD, budget="3", ledger="sqlite://") as found:
        yield found


@pytest.fixture(scope="module")
def release(curator):
    return curator.screen(RECORD, model=MODEL, epsilon="1/2")


@pytest.fixture(scope="module")
def series(curator):
    return curator.ask(wc.Publish.from_json(WEEKS))


def test_text_from_outside_is_never_markup():
    evil = '<script>alert("x")</script>'
    parts = [
        look.table([evil], [[evil, evil]], evil),
        look.fold(evil, look.quoted(evil)),
        look.gauge(evil, evil, 0.5),
        look.figure(evil, look.Plot(look.Axis(evil, 0, 1), look.Axis(evil, 0, 1), evil).svg()),
        look.slider(evil, [evil], 0),
        look.notebook(evil, [[evil, evil]], note=evil, head=[evil, evil]),
        look.panel(evil, "", name="x"),
    ]
    page = balanced(look.page(evil, evil, "".join(parts), kind=evil))
    assert "<script>alert" not in page
    assert page.count("<script>") == 1, "the page's own"


def test_numbers_are_said_as_people_say_them():
    chances = [look.chance(one) for one in (0.25, 0.00001, 1e-12)]
    assert chances == ["25 %", "1 in 100,000", "below 1 in a billion"]
    assert look.bound(19723, "date") == "2024-01-01"
    assert look.bound(200000, "integer") == "200,000"
    figures = {"error": 6.5, "mechanism": "smooth"}
    assert look.figure_rows({"error": ("off by", "number")}, figures) == [("off by", "6.5")]
    assert look.Axis("age", 18, 95).ticks() == [20, 40, 60, 80]
    assert look.Axis("cost", 1, 1000, log=True).ticks() == [1, 10, 100, 1000]
    left = Remaining({"differential": Fraction(7, 2)})
    assert left.text(Budget.of("8")) == "3.5 of 8"


def test_a_page_loads_nothing_from_elsewhere():
    page = look.page("a", "b", "")
    assert not re.search(r"(?:src|href)\s*=\s*(?:[\"'](?!#)|[^\"'#\s])", page)
    assert not re.search(r"@import|url\(", page)


@pytest.mark.parametrize("name", ["curator", "description", "release", "plan", "card", "guarantee"])
def test_a_notebook_shows_a_small_card_of_it(name, curator, release):
    question = wc.Screen(RECORD, model=MODEL, epsilon="1/4")
    shown = {
        "curator": curator,
        "description": curator.describe(question),
        "release": release,
        "plan": curator.plan([question]),
        "card": curator.card,
        "guarantee": release.guarantee,
    }[name]
    page = balanced(shown._repr_html_())
    assert len(page) < 6000
    assert "font" in page


def test_a_notebook_shows_the_answer_its_price_and_what_is_left(curator, release):
    page = release._repr_html_()
    assert release.in_words.headline in page
    assert "ε = 0.5 (differential)" in page
    assert release.statement.replace("'", "&#x27;") in page
    again = curator.screen(RECORD, model=MODEL, epsilon="1/2")._repr_html_()
    assert "answered before" in again


def test_a_release_makes_a_page_that_stands_alone(release, series, tmp_path):
    for number, one in enumerate((release, series)):
        path = one.report(tmp_path / f"{number}.html")
        page = balanced(path.read_text(encoding="utf-8"))
        assert one.in_words.headline in page
        assert one.statement in page
        assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_series_has_a_picture_and_a_yes_has_none(release, series, tmp_path):
    picture = series.plot()
    balanced(picture._repr_html_())
    written = picture.save(tmp_path / "series.svg").read_text(encoding="utf-8")
    assert written.startswith("<svg xmlns=")
    assert written.count("<circle") == WEEKS["horizon"]
    with pytest.raises(wc.InvalidInput, match="series only"):
        release.plot()


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.25", "1/3", "1", "2.5", "7", "12"])
def test_the_factor_of_a_statement_is_never_below_the_truth_and_close_to_it(epsilon):
    price = wc.DifferentialPrivacy(epsilon)
    said = re.search(r"at most ([\d.,]+) times \(ε = ([\d.]+)\)", price.statement())
    assert said is not None
    factor, truth = float(said[1].replace(",", "")), math.exp(float(Fraction(epsilon)))
    assert truth <= factor <= truth + max(0.01, truth * 0.001)
    assert float(Fraction(epsilon)) <= float(said[2]) <= float(Fraction(epsilon)) * 1.001
    assert said[1] == odds_factor(Fraction(epsilon))
