"""Every command on every page is run as it stands there, or says why not.

The blocks of a page run one after the other in a folder of its own that holds ``patients.parquet``
(the bundled clinic), its card, and ``visits.csv``. Marks before a block:

``<!-- not run: reason -->``
    left out, for the reason given;
``<!-- runs until stopped -->``
    a service: started on a free port, seen to listen, stopped.
"""

from __future__ import annotations

import contextlib
import csv
import doctest
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from whitecrow import demo

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
]
BLOCK = re.compile(
    r"(?:^<!-- (.*?) -->\n)?^```(sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A block of commands and the mark before it."""

    mark: str
    language: str
    text: str

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Commands with the output that the page shows for each; empty if it shows none."""
        if self.language != "console":
            return [(self.text, "")]
        found: list[list[str]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append([line[2:], ""])
            elif found[-1][0].endswith("\\"):
                found[-1][0] += f"\n{line}"
            else:
                found[-1][1] += f"{line}\n"
        return [(command, shown) for command, shown in found]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    return [
        Block(mark or "", language, text)
        for mark, language, text in BLOCK.findall(page.read_text(encoding="utf-8"))
    ]


WITH_COMMANDS = [page for page in PAGES if blocks(page)]


def test_every_fenced_block_of_commands_is_seen():
    for page in PAGES:
        fences = re.findall(r"^ *```(?:sh|bash|console|shell)\b", page.read_text(), re.MULTILINE)
        assert len(fences) == len(blocks(page)), page


def test_what_is_not_run_says_why():
    for page in PAGES:
        for block in blocks(page):
            known = ("", "runs until stopped")
            assert block.mark in known or re.match(r"not run: \w.{9,}", block.mark), block


@pytest.fixture
def folder(tmp_path, request):
    """Where a page's commands run."""
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.csv.read_csv(demo.DATA), tmp_path / "patients.parquet")
    written = request.param.read_text(encoding="utf-8")
    if "card new patients.parquet --out patients.toml" not in written:
        card = demo.CARD.read_text(encoding="utf-8").replace('"clinic"', '"patients"', 1)
        (tmp_path / "patients.toml").write_text(card, encoding="utf-8")
    with (tmp_path / "visits.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("age", "minutes", "cost"), (61, 25, 140.5), (47, 18, "96.0")])
        writer.writerows((20 + n % 60, 10 + n % 30, 50.5 + n % 90) for n in range(2000))
    return tmp_path


def environment() -> dict[str, str]:
    """The variables of a person at a terminal, with this environment's programs first."""
    programs = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}


@pytest.mark.parametrize(
    ("page", "folder"),
    [(page, page) for page in WITH_COMMANDS],
    indirect=["folder"],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_the_commands_of_a_page_run(page, folder):
    for block in blocks(page):
        if block.mark.startswith("not run"):
            continue
        for command, shown in block.steps:
            if block.mark == "runs until stopped":
                serve(command, shown, folder)
            else:
                run(command, shown, folder)


def test_three_lines_of_the_readme_lead_to_an_answer(tmp_path):
    block = next(b for b in blocks(ROOT / "README.md") if "serve --demo" in b.text)
    install, start, ask = block.text.strip().splitlines()
    assert install == ".venv/bin/pip install -q ./packages/whitecrow-server"
    with service(start.removeprefix(".venv/bin/"), tmp_path) as (port, process):
        printed = ""
        while "analyst" not in printed:
            printed += process.stdout.readline()
        token = re.findall(r"analyst +(\S+)", printed)[0]
        command = ask.replace("wc_...", token).replace("8765", str(port))
        run(command.replace(".venv/bin/", ""), "answer  Yes, ...", tmp_path)


def run(command: str, shown: str, folder: Path) -> None:
    """Run one command to its end and compare what it printed with what the page shows."""
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    compare(command, shown, done.stdout)


def serve(command: str, shown: str, folder: Path) -> None:
    """Start a service, stop it once it listens, and compare what it said."""
    with service(command, folder) as (port, process):
        process.terminate()
        said, _ = process.communicate(timeout=40)
    assert "listens on" in said, said
    compare(command, shown, said.replace(str(port), "8765"))


@contextlib.contextmanager
def service(command: str, folder: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run a service on a free port until the block ends; yield the port and it."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command} --port {port}"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        for _ in range(300):
            # Its port takes connections before it has said where it listens.
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1),
            ):
                break
            assert process.poll() is None, f"{command} ended"
            time.sleep(0.1)
        yield port, process
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=40)


def compare(command: str, shown: str, got: str) -> None:
    """Compare as doctest does: "..." stands for anything."""
    checker = doctest.OutputChecker()
    assert not shown or checker.check_output(shown, got, FLAGS), f"{command}\n{got}"
