"""Compile the proofs and compare what they rest on with the committed list.

    python proofs/check.py              compile, print the assumptions of every theorem, compare
    python proofs/check.py --write      write the list anew (read the difference before committing)

Needs ``coqc`` (Debian: the package coq). Everything is compiled in a temporary folder.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = (
    "Databases",
    "Discrepancy",
    "Construction",
    "Composition",
    "Smooth",
    "CoreTail",
    "Coins",
    "Histograms",
    "Screening",
)
"""In the order in which they build on each other."""

LIST = HERE / "assumptions.txt"


def compile_file(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Compile one file of a folder in which the files before it are compiled."""
    return subprocess.run(
        ["coqc", "-q", "-Q", ".", "Whitecrow", f"{name}.v"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def build(folder: Path) -> None:
    """Copy the proofs into a folder and compile them there."""
    for source in [*HERE.glob("*.v"), *HERE.glob("*.ml")]:
        shutil.copy(source, folder)
    for name in FILES:
        done = compile_file(folder, name)
        if done.returncode:
            raise SystemExit(f"{name}.v does not compile:\n{done.stderr}")


def theorems(folder: Path) -> list[str]:
    """Every statement that a file calls a theorem, as File.name."""
    return [
        f"{name}.{found}"
        for name in FILES
        for found in re.findall(r"^Theorem (\w+)", (folder / f"{name}.v").read_text(), re.M)
    ]


def assumptions(folder: Path) -> str:
    """Ask Coq what each theorem rests on: a line a theorem, its axioms by name."""
    names = theorems(folder)
    found = _axioms(folder, [f"Print Assumptions {name}.\n" for name in names])
    return "".join(f"{name}: {said}\n" for name, said in zip(names, found, strict=True))


def together(folder: Path, listed: Mapping[str, str]) -> list[tuple[str, str]]:
    """Ask Coq what the theorems of which a list says the same rest on, all in one; much sooner.

    Returns what is said and what is found, a pair for each group. Equal, they say that no theorem
    rests on more than is listed.
    """
    said = sorted({*listed.values()})
    asked = []
    for number, axioms in enumerate(said):
        terms = ", ".join(f"@{name}" for name in listed if listed[name] == axioms)
        asked.append(f"Definition all{number} := ({terms}).\nPrint Assumptions all{number}.\n")
    return list(zip(said, _axioms(folder, asked), strict=True))


def _axioms(folder: Path, asked: Sequence[str]) -> list[str]:
    script = folder / "Assumptions.v"
    script.write_text(f"From Whitecrow Require Import {' '.join(FILES)}.\n{''.join(asked)}")
    done = compile_file(folder, script.stem)
    if done.returncode:
        raise SystemExit(done.stderr)
    said = re.split(r"^(?=Closed under|Axioms:)", done.stdout, flags=re.M)[1:]
    found = (re.findall(r"^([\w.]+)\s*:", text.replace("Axioms:", ""), re.M) for text in said)
    return [", ".join(sorted(axioms)) or "nothing" for axioms in found]


def main() -> int:
    """Compile, print, compare; exit status 1 if the list differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the list anew")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        build(Path(temporary))
        found = assumptions(Path(temporary))
    sys.stdout.write(found)
    if options.write:
        LIST.write_text(found)
    elif found != LIST.read_text():
        sys.stderr.write("This is not what proofs/assumptions.txt lists.\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
