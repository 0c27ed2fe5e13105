"""Ready to release: one version everywhere, and a library that does not ask for Linux."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import whitecrow
from whitecrow.declaration import inputs
from whitecrow.questions import kinds, question_type

ROOT = Path(__file__).parents[1]

OTHER_SYSTEM = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "other_systems")}
"""For a Python, and all that it starts, without what only Linux has: see sitecustomize there."""

PURE = (
    *("errors", "privacy", "card", "terms", "noise", "data", "neighbours", "anomaly", "rendering"),
    *("question", "questions", "detector", "client", "hazmat", "attack"),
    *("identify", "screen", "lookahead", "count", "subspaces", "tune", "explain", "publish"),
    *("profile", "learning", "cli", "screening"),
    *("ledger", "curator", "sklearn", "report"),
)
"""What works anywhere: everything but the service."""


def elsewhere(code: str) -> str:
    """Run code in a Python that lacks what only Linux has."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        env=OTHER_SYSTEM,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_the_library_imports_without_what_only_linux_has() -> None:
    said = elsewhere(f"""
        import importlib, os, sys
        import sitecustomize
        for name in {PURE!r}:
            importlib.import_module(f"whitecrow.{{name}}")
        print(sorted(set(sitecustomize.MODULES) & set(sys.modules)), hasattr(os, "fork"))
    """)
    assert said.strip() == "[] False"


def test_a_detector_is_loaded_and_scores_without_what_only_linux_has() -> None:
    stored = ROOT / "tests" / "detector" / "stored" / "visits.detector"
    said = elsewhere(f"""
        from whitecrow import Detector
        detector = Detector.load({str(stored)!r})
        record = {{"age": 50, "pulse": 70.0, "pay": 3e3, "ward": "a", "seen": "2020-05-01"}}
        usual, strange = detector.scores([record, {{**record, "pulse": 219.0, "age": 119}}])
        print(usual < strange)
    """)
    assert said.strip() == "True"


_TESTED = (
    *("ledger/test_store.py", "ledger/test_claims.py", "ledger/test_group_commit.py"),
    *("ledger/test_acts.py", "curator/test_ask.py", "curator/test_bank.py"),
    *("publish/test_question.py", "screening/test_series.py"),
)


def test_the_tests_pass_without_what_only_linux_has() -> None:
    """Ledger, curator, publications, screenings: locks, races and processes (by spawn) included."""
    words = ["-q", "-p", "no:cacheprovider", "-k", "not postgresql"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *(f"tests/{name}" for name in _TESTED)],
        env=OTHER_SYSTEM,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    assert re.search(r"\b\d\d+ passed", ran.stdout)


def test_what_is_for_linux_only_says_so_when_it_is_used() -> None:
    said = elsewhere("""
        import sys
        sys.platform = "darwin"
        import whitecrow_server
        from whitecrow.errors import NeedsLinux
        try:
            whitecrow_server.create_app
        except ImportError as error:
            print(isinstance(error, NeedsLinux), error)
    """)
    assert said.startswith("True The service runs on Linux only")


def test_one_version_is_told_everywhere() -> None:
    version = whitecrow.__version__
    for place in (ROOT / "pyproject.toml", *sorted(ROOT.glob("packages/*/pyproject.toml"))):
        project = tomllib.loads(place.read_text(encoding="utf-8"))["project"]
        assert project["version"] == version, place
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    newest = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert newest
    assert newest[1] == version
    assert f"\ndate-released: {newest[2]}\n" in citation
    assert f"![Version {version}," in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f">{version}<" in (ROOT / "docs/pictures/badges.svg").read_text(encoding="utf-8")
    short = ".".join(version.split(".")[:2])
    assert f"whitecrow {short} |" in (ROOT / "docs/comparison.md").read_text(encoding="utf-8")


def test_every_former_name_of_a_parameter_is_in_the_list_of_deprecations() -> None:
    """A name that warns is a name that the changelog says is going."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    listed = changelog.partition("### Deprecated")[2].partition("\n## ")[0]
    former = {
        given.parameter.former
        for kind in kinds()
        for given in inputs(question_type(kind).question)
        if given.parameter.former
    }
    assert former
    assert {name for name in former if name not in listed} == set()


@pytest.mark.study
@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_wheel_and_sdist_are_built_and_install(tmp_path: Path) -> None:
    """With uv, which may have to fetch the build backend; hence not in the ordinary run."""
    built = tmp_path / "built"
    subprocess.run(["uv", "build", "--quiet", "--out-dir", built, ROOT], check=True, timeout=300)
    version = whitecrow.__version__
    for name in (f"whitecrow-{version}-py3-none-any.whl", f"whitecrow-{version}.tar.gz"):
        target = tmp_path / name
        command = ["uv", "pip", "install", "--quiet", "--no-deps", "--target", target, built / name]
        subprocess.run(command, check=True, timeout=300)
        code = "import whitecrow; print(whitecrow.__version__)"
        said = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(target)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert said.stdout.strip() == version
        for part in ("py.typed", "demo/clinic.csv", "rendering/report.css"):
            assert (target / "whitecrow" / part).is_file(), part
