"""Draw answers of shipped mechanisms and of mutants, for tools that see samples only.

    python draws.py FOLDER [NUMBER] [mutants]       with whitecrow installed

Each case of ``whitecrow audit`` that is named below is drawn on both of its neighbouring databases;
with ``mutants``, every mutant there is. FOLDER gets one file a case: two arrays of whole numbers
(answers are numbered in the order in which they came) and what was claimed.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from pathlib import Path

import numpy as np

from whitecrow_audit.audit import MECHANISMS, Case, cases
from whitecrow_audit.audit.bounds import Loss

WANTED = {
    "screen": ("as asked", "two answers", "the distance of identify"),
    "identify": ("sensitive, k = 1", "the record itself not counted"),
    "count": ("smooth", "global", "half the noise", "5 beta"),
    "lookahead": ("",),
}


def wanted(mutants: bool) -> Iterator[Case]:
    """Yield the cases to draw from, those with a pure epsilon."""
    for case in cases(
        [name for name in MECHANISMS if name != "service"] if mutants else list(WANTED)
    ):
        if mutants and not case.mutant:
            continue
        if not mutants and not any(words in case.name for words in WANTED[case.mechanism]):
            continue
        # A claim with a delta or a rho is judged otherwise by each tool, or by none.
        if isinstance(case.claim, Loss) and not case.claim.delta:
            yield case


def main(folder: Path, number: int, mutants: bool) -> None:
    """Write the draws of every case."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in wanted(mutants):
        codes: dict[Hashable, int] = {}
        sides = []
        for draw in case.draws():
            drawn = [draw() for _ in range(min(number, 8 * case.most))]
            sides.append([codes.setdefault(answer, len(codes)) for answer in drawn])
        # The more an answer speaks for the second database, the larger its number.
        counts = [np.bincount(side, minlength=len(codes)) + 1 for side in sides]
        order = np.argsort(np.argsort(np.log(counts[1] / counts[0]), kind="stable"))
        name = f"{case.mechanism}-{case.name}".replace("/", " ").replace(" ", "_")[:80]
        np.savez(
            folder / f"{name}.npz",
            one=order[sides[0]],
            two=order[sides[1]],
            epsilon=float(case.claim.value),
            mutant=case.mutant,
        )
        print(name, len(codes), "answers", flush=True)


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        int(sys.argv[2]) if len(sys.argv) > 2 else 50_000,
        sys.argv[3:] == ["mutants"],
    )
