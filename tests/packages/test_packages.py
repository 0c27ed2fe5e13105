"""The project's packages: what each wheel holds, each installed alone, together, or absent."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from whitecrow.cli import PACKAGED
from whitecrow.demo import CARD, DATA

RUN = "from whitecrow.cli import main; main()"
ROOT = Path(__file__).resolve().parents[2]
CORE = "whitecrow"
EXAMPLE = "whitecrow-nearby"
OTHERS = ("whitecrow-server", "whitecrow-audit", "whitecrow-metadata", "whitecrow-research")
LINES_AT_MOST = {"whitecrow": 53_000, "whitecrow-server": 13_000, "whitecrow-audit": 9_000}
"""Lines of Python in each wheel."""

WEB = {"fastapi", "starlette", "uvicorn", "jinja2", "pydantic", "structlog", "argon2", "joserfc"}
"""What only the service needs; a wheel of the core brings none of it."""


FOLDERS = {
    CORE: ROOT,
    **{name: ROOT / "packages" / name for name in OTHERS},
    EXAMPLE: ROOT / "examples" / "nearby",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel of every package, built from this tree."""
    pytest.importorskip("hatchling")
    built = {}
    for name, folder in FOLDERS.items():
        out = tmp_path_factory.mktemp("wheel")
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
            cwd=folder,
            capture_output=True,
            check=True,
        )
        (built[name],) = out.glob("*.whl")
    return built


def needed(wheel: Path) -> set[str]:
    """The distributions that a wheel needs, and that those need, without any extra."""
    with zipfile.ZipFile(wheel) as opened:
        metadata = next(name for name in opened.namelist() if name.endswith("/METADATA"))
        lines = opened.read(metadata).decode().splitlines()
    own = "Requires-Dist: "
    waiting = [(line.removeprefix(own), "") for line in lines if line.startswith(own)]
    found: set[str] = set()
    while waiting:
        text, extra = waiting.pop()
        one = Requirement(text)
        name = canonicalize_name(one.name)
        if (one.marker and not one.marker.evaluate({"extra": extra})) or name.startswith(CORE):
            continue
        more = [(asked, kind) for kind in ("", *one.extras) for asked in requires(name)]
        if name not in found:
            found.add(name)
            waiting.extend(more)
    return found


def requires(name: str) -> list[str]:
    return importlib.metadata.requires(name) or []


@dataclass(frozen=True)
class Environment:
    """A Python that has the packages that were put into it, what they need, and nothing else."""

    paths: tuple[Path, ...]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        variables["PYTHONPATH"] = os.pathsep.join(map(str, self.paths))
        return subprocess.run(
            [sys.executable, "-S", *words],
            env=variables | {"COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def whitecrow(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("-c", RUN, *words)


@pytest.fixture(scope="module")
def installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory):
    """Makes an environment with some of the packages, each unpacked as an installer does."""
    unpacked: dict[str, Path] = {}
    for name, wheel in wheels.items():
        unpacked[name] = tmp_path_factory.mktemp(name)
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(unpacked[name])
    needs = {name: needed(wheel) for name, wheel in wheels.items()}

    def environment(*names: str) -> Environment:
        folder = tmp_path_factory.mktemp("needed")
        for name in set().union(*(needs[one] for one in names)):
            distribution = importlib.metadata.distribution(name)
            for top in {
                file.parts[0] for file in distribution.files or () if ".." not in file.parts
            }:
                if top != "__pycache__" and not (folder / top).exists():
                    (folder / top).symlink_to(Path(str(distribution.locate_file(top))))
        return Environment((*(unpacked[name] for name in names), folder))

    return environment


@pytest.fixture(scope="module")
def alone(installed) -> Environment:
    return installed(CORE)


@pytest.fixture(scope="module")
def together(installed) -> Environment:
    return installed(CORE, *OTHERS)


# What is in the wheels


def members(wheel: Path) -> Iterable[str]:
    with zipfile.ZipFile(wheel) as opened:
        return opened.namelist()


def test_a_wheel_holds_its_own_package_and_no_other(wheels: dict[str, Path]) -> None:
    for name in (CORE, *OTHERS):
        own = name.replace("-", "_")
        tops = {member.partition("/")[0] for member in members(wheels[name])}
        assert {top for top in tops if not top.endswith(".dist-info")} == {own}


def test_the_core_has_no_part_of_the_service_or_of_the_auditors(wheels: dict[str, Path]) -> None:
    parts = {member.split("/")[1] for member in members(wheels[CORE])}
    assert not parts & {"server", "console", "mcp", "verify", "audit"}


@pytest.mark.parametrize("name", LINES_AT_MOST)
def test_a_wheel_has_no_more_lines_than_agreed(wheels: dict[str, Path], name: str) -> None:
    with zipfile.ZipFile(wheels[name]) as opened:
        lines = sum(
            opened.read(member).count(b"\n")
            for member in opened.namelist()
            if member.endswith(".py")
        )
    assert lines <= LINES_AT_MOST[name]


# Alone, together, absent


def test_the_core_alone_brings_no_web_framework_and_no_other_package(
    wheels: dict[str, Path], alone: Environment
) -> None:
    assert not {name.replace("-", "_") for name in needed(wheels[CORE])} & WEB
    script = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    others = [name.replace("-", "_") for name in OTHERS]
    assert alone.run("-c", script, *others, *sorted(WEB)).stdout == "[]\n"
    assert alone.run("-c", script, "whitecrow", "numpy").stdout == "['whitecrow', 'numpy']\n"


def test_the_core_alone_answers(alone: Environment, tmp_path: Path) -> None:
    record = '{"age": 74, "bmi": 44.0, "systolic": 222}'
    question = ["--record", record, "--beta", "40", "--radius", "12", "--epsilon", "1/2"]
    ledger = f"sqlite:///{tmp_path / 'l.db'}"
    done = alone.whitecrow(
        "--json", "screen", str(DATA), "--card", str(CARD), "--ledger", ledger, *question
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"] is True  # but for a chance of 2e-9


@pytest.mark.parametrize("command", PACKAGED)
def test_a_command_of_an_absent_package_says_in_one_line_how_to_get_it(
    alone: Environment, command: str
) -> None:
    for words in (command.split(), [*command.split(), "--help"]):
        done = alone.whitecrow(*words)
        assert done.returncode == 1
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert f"pip install {PACKAGED[command]}" in line
        assert f"./packages/{PACKAGED[command]}" in line
    told = json.loads(alone.whitecrow("--json", *command.split()).stdout)
    assert PACKAGED[command] in told["error"]["reason"]


def test_help_names_what_could_be_installed(alone: Environment) -> None:
    done = alone.whitecrow("--help-all")
    assert done.returncode == 0
    for command in PACKAGED:
        assert " " in command or re.search(rf"^  {command} ", done.stdout, re.MULTILINE)


WORKS = {
    "whitecrow-server": ["serve", "--help"],
    "whitecrow-audit": ["verify", "screen"],
    "whitecrow-metadata": ["card", "import", "--help"],
    "whitecrow-research": ["papers", "list"],
}
"""For each package a command of its own that does something."""


@pytest.mark.parametrize("name", OTHERS)
def test_a_package_beside_the_core_adds_its_commands_and_no_others(installed, name: str) -> None:
    environment = installed(CORE, name)
    done = environment.whitecrow(*WORKS[name])
    assert done.returncode == 0, done.stderr
    for command in dict(zip(PACKAGED.values(), PACKAGED, strict=True)).values():
        done = environment.whitecrow(*command.split(), "--help")
        assert (done.returncode == 0) == (PACKAGED[command] == name), (command, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", PACKAGED)
def test_together_every_command_is_there(together: Environment, command: str) -> None:
    done = together.whitecrow(*command.split(), "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: whitecrow")


# At once


@pytest.mark.timing
@pytest.mark.parametrize(
    ("words", "most"),
    [(["-c", "import whitecrow"], 0.15), (["-c", RUN, "--help"], 0.3)],
    ids=["import whitecrow", "whitecrow --help"],
)
def test_a_start_takes_little_processor_time(
    alone: Environment, words: list[str], most: float
) -> None:
    """The least of ten: whatever else a machine does makes it longer, and never shorter."""

    def took() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert alone.run(*words).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(took() for _ in range(10)) < most


# A question of a package that is no longer there


def ask(environment: Environment, ledger: Path, kind: str, *options: str) -> dict[str, Any]:
    place = ("--card", str(CARD), "--ledger", f"sqlite:///{ledger}", "--budget", "2")
    done = environment.whitecrow("--json", kind, str(DATA), *place, *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


NEARBY = ("nearby", "--place", '{"age": 40}', "--radius", "4", "--epsilon", "1/2")
COUNT = ("count", "--columns", "age", "--beta", "5", "--radius", "2", "--epsilon", "1/4")


@pytest.fixture(scope="module")
def with_example(installed) -> Environment:
    return installed(CORE, EXAMPLE)


@pytest.fixture(scope="module")
def account(with_example: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An account that paid for a question of a package, and for one of the core."""
    path = tmp_path_factory.mktemp("account") / "l.db"
    for question in (NEARBY, COUNT):
        ask(with_example, path, *question)
    return path


def test_an_entry_whose_question_is_absent_is_shown_verified_and_charged(
    alone: Environment, account: Path, tmp_path: Path
) -> None:
    def told(*words: str) -> Any:
        done = alone.whitecrow("--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    (shown,) = told("ledger", "show", str(account))["accounts"]
    assert (shown["spent"]["differential"], shown["remaining"]["differential"]) == ("3/4", "5/4")
    assert alone.whitecrow("ledger", "verify", "--full", str(account)).returncode == 0
    entries = told("ledger", "export", str(account))["entries"]
    paid = [entry["body"] for entry in entries if entry["kind"] == "reserve"]
    assert [one["question"]["kind"] for one in paid] == ["nearby", "count"]
    assert [one["price"]["epsilon"] for one in paid] == ["1/2", "1/4"]
    copied = shutil.copy(account, tmp_path / "l.db")
    page = tmp_path / "report.html"
    assert alone.whitecrow("report", str(account), "--out", str(page)).returncode == 0
    assert "nearby" in page.read_text(encoding="utf-8")
    later = ask(alone, copied, "count", "--columns", "bmi", *COUNT[3:])
    assert later["ledger"]["spent"]["differential"] == "1"


def test_it_can_be_asked_again_once_the_package_is_back(
    with_example: Environment, alone: Environment, account: Path
) -> None:
    done = alone.whitecrow(NEARBY[0], str(DATA), *NEARBY[1:])
    assert done.returncode == 2
    assert "No such command 'nearby'" in done.stderr
    assert ask(with_example, account, *NEARBY)["charged"] is False
