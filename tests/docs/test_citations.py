"""Whoever cites a section cites one that exists, and all in one form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PLACES = ("packages", "tests", "benchmarks", "examples")
WRITTEN = {
    path: " ".join(re.sub(r"^\s*#", "", path.read_text(encoding="utf-8"), flags=re.M).split())
    for place in PLACES
    for path in sorted((ROOT / place).rglob("*"))
    if path.suffix in (".py", ".md") and path.parent != Path(__file__).parent
}
"""Every file that may cite, its lines joined: a citation may go over the end of a line."""

CITED = re.compile(r"docs/(mechanisms|interface)\.md (\d+(?:\.\d+)?)(?:, rule (\d+))?")
PAGE = re.compile(r"\b(?:mechanisms|interface)\.md")
BARE = re.compile(r"\bmechanisms,? \d+(?:\.\d+)?\b|\b(?:rules,|rules of) section \d+")
PROOF = re.compile(
    r"(?<![\w/])((?:[\w.]+/)*(?:proof|compiler)\.md)[`']*(?:, | \()?\s?"
    r'(?:"([^"]+)"|((?:Theorem|Lemma|Claim) \d+)|(\d+)(?: and (\d+))?\b(?!\.\d))'
)
OWN = re.compile(r"\bsections? (\d+)(?: and (\d+))?\b(?!\.\d)")  # of a paper: "Section 4"


def sections(page: str) -> dict[str, str]:
    """The numbered sections of a page of the docs, each with its text up to the next."""
    written = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    parts = re.split(r"^#{2,3} (\d+(?:\.\d+)?)\.? .*$", written, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def cites(pattern: re.Pattern[str]) -> Iterator[tuple[Path, re.Match[str]]]:
    for path, text in WRITTEN.items():
        for found in pattern.finditer(text):
            yield path, found


def test_every_cited_section_exists() -> None:
    there = {page: sections(page) for page in ("mechanisms", "interface")}
    found = list(cites(CITED))
    assert len(found) > 30
    for path, cited in found:
        page, number, rule = cited.groups()
        assert number in there[page], f"{path}: {cited.group()}"
        if rule:
            assert f"\n{rule}. **" in there[page][number], f"{path}: {cited.group()}"


def test_sections_are_cited_in_one_form() -> None:
    for path, found in cites(PAGE):
        start = WRITTEN[path][: found.start()]
        assert start.endswith("docs/"), f"{path}: {found.group()}"
    assert [f"{path}: {found.group()}" for path, found in cites(BARE)] == []


def proof_cited(path: Path, cited: str) -> Path:
    """The file that a citation means: beside the code or above it, or by its folder."""
    source = ROOT / "packages/whitecrow/src/whitecrow"
    if "/" in cited and not cited.startswith("../"):
        return source / cited.removeprefix("packages/whitecrow/src/whitecrow/")
    for folder in [path.parent, *path.parents]:
        if (folder / cited).exists():
            return folder / cited
    return path.parent / cited


def holds(proof: str, title: str, statement: str, numbers: list[str]) -> bool:
    """Whether a proof has a heading or words, a theorem, or numbered sections."""
    if title or statement:
        return (title or statement).lower() in " ".join(proof.split()).lower()
    return all(re.search(rf"^## {number}\. ", proof, re.MULTILINE) for number in numbers)


def test_every_cited_part_of_a_proof_exists() -> None:
    found = list(cites(PROOF))
    assert len(found) > 25
    for path, cited in found:
        file, title, statement, *numbers = cited.groups()
        where = proof_cited(path, file)
        assert where.exists(), f"{path}: {cited.group()}"
        text = where.read_text(encoding="utf-8")
        given = [number for number in numbers if number]
        assert holds(text, title, statement, given), f"{path}: {cited.group()}"


def test_a_section_that_a_proof_cites_of_itself_exists() -> None:
    own = [(path, found) for path, found in cites(OWN) if path.name == "proof.md"]
    assert len(own) > 5
    for path, found in own:
        numbers = [number for number in found.groups() if number]
        assert holds(path.read_text(encoding="utf-8"), "", "", numbers), f"{path}: {found.group()}"


NUMBERED = [
    (number, text)
    for number, text in sections("mechanisms").items()
    if number not in ("1", "3", "4", "5", "8", "10", "12")  # heads of others; no mechanism of ours
]


@pytest.mark.parametrize(("number", "text"), NUMBERED, ids=[number for number, _ in NUMBERED])
def test_what_the_page_of_mechanisms_names_exists(
    number: str, text: str, named: Callable[[str], list[str]]
) -> None:
    shown = re.search(r"^Checked by: (.*)$", text, re.MULTILINE)
    assert shown is not None
    assert named(shown.group(1))
    for file in re.findall(r"`(packages/[^`]+)`", text):
        assert (ROOT / file).exists(), file
    for cited in re.finditer(r"`(packages/\S+)` ([\d, and to]+)", text):
        proof = (ROOT / cited.group(1)).read_text(encoding="utf-8")
        assert holds(proof, "", "", re.findall(r"\d+", cited.group(2))), cited.group()


def test_sections_of_mechanisms_are_numbered_in_order() -> None:
    found = [tuple(map(int, number.split("."))) for number in sections("mechanisms")]
    assert found == sorted(found)
    assert [one[0] for one in found if len(one) == 1] == list(range(1, 17))
