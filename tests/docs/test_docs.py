"""The documentation builds, needs no network to be read, and promises only what is there."""

from __future__ import annotations

import fcntl
import html.parser
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

import whitecrow
from whitecrow import hazmat
from whitecrow.cli import COMMANDS
from whitecrow.cli import whitecrow as terminal
from whitecrow.questions import BUILT_IN

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)

pytestmark = pytest.mark.timeout(600)  # the tutorials run while the site is built

ELSEWHERE = re.compile(r"^(https?:)?//", re.IGNORECASE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The site, tutorials executed, every warning an error; built once for all test processes."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent
    out = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (out / "built").exists():
            build(out)
            (out / "built").touch()
    return out / "html"


def build(out: Path) -> None:
    """Build the site with two processes: the tutorials take most of the time."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-q", "-W", "-n", "--keep-going", "-j", "2"),
            *("-b", "html", "-d", str(out / "doctrees"), str(DOCS), str(out / "html")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "embed": "src",
    "object": "data",
    "link": "href",
}


class _Loaded(html.parser.HTMLParser):
    """Collects the addresses of everything that a browser loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        value = dict(attrs).get(LOADS.get(tag, ""))
        if value:
            self.addresses.append(value)


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loaded = _Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert loaded.addresses
        assert [address for address in loaded.addresses if ELSEWHERE.match(address)] == []


def test_no_style_sheet_loads_anything_from_elsewhere(site: Path) -> None:
    for sheet in site.rglob("*.css"):
        written = sheet.read_text(encoding="utf-8")
        addresses = re.findall(r"""(?:url\(|@import)\s*["']?([^"')\s;]+)""", written)
        assert [address for address in addresses if ELSEWHERE.match(address)] == []


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    reference = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    missing = [name for name in whitecrow.__all__ if f'id="whitecrow.{name}"' not in reference]
    assert missing == []


def test_every_hazmat_name_is_on_its_page(site: Path) -> None:
    page = (site / "hazmat.html").read_text(encoding="utf-8")
    missing = [name for name in hazmat.__all__ if f'id="whitecrow.hazmat.{name}"' not in page]
    assert missing == []


def _errata() -> dict[str, str]:
    """The text of each erratum, by its number."""
    written = (DOCS / "errata.md").read_text(encoding="utf-8")
    parts = re.split(r"^### (E\d+)\. ", written, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


NOTES = ["E3", "E6", "E17"]  # right in the papers, and easy to misread


def test_all_errata_are_listed_once_and_reading_notes_last() -> None:
    numbers = list(_errata())
    assert sorted(numbers, key=lambda name: int(name[1:])) == [f"E{n}" for n in range(1, 38)]
    assert numbers[-3:] == NOTES


def test_the_number_of_errata_is_the_same_everywhere() -> None:
    count = len(_errata()) - len(NOTES)
    pages = {path: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *PAGES)}
    said = [int(n) for text in pages.values() for n in re.findall(r"\b(\d+) errata\b", text)]
    said += [int(n) for n in re.findall(r"turned up (\d+) ", pages[DOCS / "errata.md"])]
    assert len(said) >= 3
    assert set(said) == {count}


@pytest.mark.parametrize("number", [f"E{number}" for number in range(1, 38)])
def test_what_an_erratum_is_shown_by_exists(number: str, named: Callable[[str], list[str]]) -> None:
    shown = re.search(
        r"^Shown by: (.*?)(?:\n\n|\n?\Z)", _errata()[number], re.MULTILINE | re.DOTALL
    )
    assert shown is not None
    assert named(shown.group(1))


def test_every_finding_names_tests_that_exist() -> None:
    rows = (DOCS / "findings.md").read_text(encoding="utf-8").partition("|---|")[2].splitlines()[1:]
    assert len(rows) == 32
    for row in rows:
        named = re.findall(r"`(tests/[^`]+)`", row)
        assert named, row
        assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_question_has_a_page() -> None:
    ours = list(BUILT_IN)
    assert sorted(ours) == sorted(
        path.stem for path in (DOCS / "questions").glob("*.md") if path.stem != "index"
    )


def test_every_proof_is_collected() -> None:
    written = (DOCS / "proofs.md").read_text(encoding="utf-8")
    proofs = sorted((ROOT / "packages").rglob("proof.md"))
    assert proofs
    missing = [path for path in proofs if path.relative_to(ROOT).as_posix() not in written]
    assert missing == []


def test_commands_shown_exist() -> None:
    shown = {
        command
        for page in [*PAGES, ROOT / "CONTRIBUTING.md"]
        for command in re.findall(
            r"^\$ (?:\.venv/bin/)?whitecrow (?:--json )?([a-z-]+)",
            page.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert {"card", "identify", "verify"} <= shown <= set(COMMANDS)
    context = terminal.make_context("whitecrow", ["demo"])
    for command in shown:
        assert terminal.get_command(context, command) is not None


def test_formulas_need_no_script(site: Path) -> None:
    written = (site / "mechanisms.html").read_text(encoding="utf-8")
    assert written.count("<math ") > 40
    assert re.search(r"<script[^>]*mathjax", written, re.IGNORECASE) is None
    assert "$$" not in written


TUTORIALS = {  # what the reader keeps, as the page names the file
    "hospital": "statement.txt",
    "bank": "policy.toml",
    "statistics-office": "outliers.png",
    "auditor": "explanation.html",
    "city": "published.csv",
    "unknown-csv": "visits.detector",
    "three-hospitals": "stays.detector",
    "custodian": "ledger.csv",
    "researcher": "nearby.py",
}


def test_every_tutorial_is_listed() -> None:
    pages = {path.stem for path in (DOCS / "tutorials").glob("*.md")}
    assert pages == {*TUTORIALS, "index"}


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_has_run_and_ends_in_something_to_keep(site: Path, name: str) -> None:
    page = (site / "tutorials" / f"{name}.html").read_text(encoding="utf-8")
    cells = (DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8").count("{code-cell}")
    assert page.count("cell_input") >= cells
    assert page.count("cell_output") >= 4
    assert "Traceback (most recent call last)" not in page
    assert TUTORIALS[name] in page
    if name != "custodian":
        assert "_images/" in page


class _Linked(html.parser.HTMLParser):
    """Collects the links of a page and the anchors they may point to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key == "id" and value:
                self.anchors.add(value)
            if key == "href" and value and tag == "a":
                self.links.append(value)


def test_every_link_within_the_site_leads_somewhere(site: Path) -> None:
    found = {}
    for path in site.rglob("*.html"):
        found[path.resolve()] = parsed = _Linked()
        parsed.feed(path.read_text(encoding="utf-8"))
    broken = []
    for path, parsed in found.items():
        for link in parsed.links:
            if re.match(r"^[a-z]+:", link):
                continue
            name, _, anchor = unquote(link).partition("#")
            target = (path.parent / name).resolve() if name else path
            known = found[target].anchors if target in found else {anchor}
            if not target.exists() or (anchor and anchor not in known):
                broken.append(f"{path.name}: {link}")
    assert broken == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_of_the_front_pages_lead_to_files(name: str) -> None:
    written = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", written)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_pictures_are_what_their_script_draws() -> None:
    script = runpy.run_path(str(DOCS / "pictures" / "make_diagrams.py"))
    for path, content in script["draw"]():
        assert path.read_text(encoding="utf-8") == content


def test_the_pages_have_no_more_words_than_agreed() -> None:
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in PAGES) <= 60_000


def test_every_table_that_a_page_names_is_declared() -> None:
    """A comment that names no table would leave a hole in the page."""
    tables = runpy.run_path(str(DOCS / "_extensions" / "declared.py"))["TABLES"]
    named = {
        name
        for page in PAGES
        for name in re.findall(r"<!-- table: (.+) -->", page.read_text(encoding="utf-8"))
    }
    assert named <= set(tables)
    assert {"routes", "settings of serve", "security events", "parameters of learn"} <= named
