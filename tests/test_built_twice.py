"""What is released can be built again by anybody, bit for bit, and is signed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tomllib
import zipfile
from io import BytesIO
from pathlib import Path
from types import ModuleType

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "packages" / "whitecrow" / "src"
EPOCH = 1_700_000_000


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="builds the newest commit")
def test_wheel_and_archive_are_the_same_bits_when_built_twice(script: ModuleType) -> None:
    pytest.importorskip("hatchling")
    files = script.twice(EPOCH)  # raises if they differ
    assert [name.rpartition(".")[2] for name in sorted(files)] == ["whl", "gz"]
    wheel = next(content for name, content in files.items() if name.endswith(".whl"))
    with zipfile.ZipFile(BytesIO(wheel)) as opened:
        names = {one for one in opened.namelist() if ".dist-info/" not in one}
        assert names == _tracked()
        assert {info.date_time[0] for info in opened.infolist()} == {2023}


def _tracked() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD", "packages/whitecrow/src/whitecrow"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return {name.removeprefix("packages/whitecrow/src/") for name in listed.stdout.splitlines()}


def _declared() -> tuple[list[str], set[Path]]:
    """What the build takes in, as it is declared, and the files that this names here."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = said["tool"]["hatch"]["build"]["targets"]["wheel"]["include"]
    return patterns, {path for one in patterns for path in ROOT.glob(one.lstrip("/"))}


def test_the_wheel_takes_in_code_proofs_and_data_files_that_are_named() -> None:
    """A file that a test or a program left behind in a folder of ours is not shipped."""
    patterns, declared = _declared()
    wild = {Path(one).suffix for one in patterns if "**" in one}
    assert wild == {".py", ".md"}
    assert all(set(ROOT.glob(one.lstrip("/"))) for one in patterns)  # none names nothing
    for folder in ("demo", "data", "curator"):
        stray = SOURCE / "whitecrow" / folder / "stray.csv"
        assert not any(stray.match(one.lstrip("/")) for one in patterns)
    if (ROOT / ".git").exists():
        assert {str(one.relative_to(SOURCE)) for one in declared} >= _tracked()


def test_what_differs_is_refused(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = iter([{"a.whl": b"1"}, {"a.whl": b"2"}])
    monkeypatch.setattr(script, "built", lambda *given: next(turns))
    with pytest.raises(SystemExit, match=r"not reproducible: a\.whl"):
        script.twice(EPOCH)


def test_the_bill_of_materials_names_everything_the_service_needs(script: ModuleType) -> None:
    said = script.sbom(EPOCH)
    assert (said["bomFormat"], said["specVersion"]) == ("CycloneDX", "1.5")
    names = {one["name"] for one in said["components"]}
    assert {"numpy", "sqlalchemy", "fastapi", "psycopg", "cryptography", "starlette"} <= names
    assert "pytest" not in names
    assert all(one["version"] and one["licenses"] for one in said["components"])
    assert all(one["purl"].startswith("pkg:pypi/") for one in said["components"])
    assert said["serialNumber"] == script.sbom(EPOCH)["serialNumber"]
    json.dumps(said)


def test_a_signed_release_is_checked_and_a_changed_one_is_found(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key"
    private = Ed25519PrivateKey.generate()
    key.write_text(private.private_bytes_raw().hex(), encoding="ascii")
    public = private.public_key().public_bytes_raw().hex()
    monkeypatch.setattr(script, "twice", lambda epoch: {"a.whl": b"bits"})
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["release", str(out), "--key", str(key)])
    script.main()
    assert script.verified(out, public) == ""
    assert "signature" in script.verified(out, "00" * 32)
    (out / "a.whl").write_bytes(b"other bits")
    assert script.verified(out, public) == "a.whl is not what was signed"
