"""Look at what is locked and what is tracked: licences, known flaws, secrets. No network is used.

    python scripts/supply_chain.py

Licences are read from the metadata of the installed packages, known flaws from ``advisories.toml``
beside this file, secrets are looked for in the files that git tracks. Exit status 1 if anything is
found.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.version import Version

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LOCK = ROOT / "requirements.lock"

PERMISSIVE = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|PYTHON SOFTWARE|Zlib|ZPL|HPND|CNRI|0BSD"
    r"|Unlicense|CC0|Public Domain|MPL|Mozilla|Boost|MIT-CMU|NCSA",
    re.IGNORECASE,
)
WEAK_COPYLEFT = ("psycopg", "psycopg-binary")
"""Under the LGPL, used as libraries and not changed: allowed by name."""

SECRETS = {
    "private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "cloud access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "token of a code host": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|glpat-[\w-]{20,})"),
    "token of a package index": re.compile(r"\bpypi-[A-Za-z0-9_-]{40,}"),
    "chat token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    "web token": re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
}
ASSIGNED = re.compile(
    r"""(?ix)\b(?:password|passwd|secret|api[_-]?key|token)\b["']?\s*[:=]\s*["']([\w+/=.-]{20,})["']"""
)
_RANDOM_BITS = 3.8
"""Bits for each character from which on a text looks drawn and not written."""


def locked() -> dict[str, Version]:
    """Return what is locked: names and versions."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    pairs = (re.match(r"([\w.-]+)==([^\s;]+)", line) for line in lines)
    return {found[1].lower(): Version(found[2]) for found in pairs if found}


def flaws(versions: dict[str, Version], advisories: Path = HERE / "advisories.toml") -> list[str]:
    """Return which locked versions are known to be vulnerable."""
    known = tomllib.loads(advisories.read_text(encoding="utf-8"))["advisory"]
    return [
        f"{one['package']} {versions[one['package']]}: {one['name']}, take {one['below']} or newer"
        for one in known
        if one["package"] in versions and versions[one["package"]] < Version(one["below"])
    ]


def licence(package: Distribution) -> str:
    """Return the licence that a package's metadata name: expression, classifiers or free text."""
    about = package.metadata
    expression = about.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = about.get_all("Classifier") or []
    named = [text.rsplit("::", 1)[1].strip() for text in classifiers if text.startswith("License")]
    named = [text for text in named if text != "OSI Approved"]
    return " AND ".join(named) or str(about.get("License") or "").partition("\n")[0]


def licences(versions: dict[str, Version]) -> list[str]:
    """Return which installed packages have a licence that nobody allowed."""
    found = []
    for name in versions:
        try:
            said = licence(distribution(name))
        except PackageNotFoundError:  # for another system
            continue
        if not PERMISSIVE.search(said) and name not in WEAK_COPYLEFT:
            found.append(f"{name}: {said or 'no licence named'}")
    return found


def entropy(text: str) -> float:
    """Return the bits that each character of a text carries."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())


def secrets(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines that look as if they held a secret, and which kind."""
    for number, line in enumerate(text.splitlines(), start=1):
        for kind, pattern in SECRETS.items():
            if pattern.search(line):
                yield number, kind
        assigned = ASSIGNED.search(line)
        if assigned and entropy(assigned[1]) > _RANDOM_BITS:
            yield number, "assigned secret"


def tracked() -> list[Path]:
    """Return the files that git tracks; all files where there is no git."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = done.stdout.split("\0") if done.returncode == 0 else []
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def exposed() -> list[str]:
    """Return where tracked files seem to hold secrets; a line may say 'made up' to be left out."""
    found = []
    for path in tracked():
        if path.suffix in (".png", ".svg", ".parquet", ".ico", ".lock") or path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        lines = text.splitlines()
        found.extend(
            f"{path.relative_to(ROOT)}:{number}: {kind}"
            for number, kind in secrets(text)
            if "made up" not in lines[number - 1]
        )
    return found


def main() -> int:
    """Say what was found."""
    versions = locked()
    found = [*flaws(versions), *licences(versions), *exposed()]
    for line in found:
        sys.stderr.write(f"{line}\n")
    sys.stdout.write(f"{len(versions)} packages locked, {len(found)} findings\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
