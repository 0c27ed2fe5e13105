"""Draw answers of shipped mechanisms and of broken twins, for tools that see samples only.

    python draws.py FOLDER [NUMBER]       with whitecrow installed

Each case of ``whitecrow audit`` that is named below is drawn on both of its neighbouring databases.
FOLDER gets one file a case: two arrays of whole numbers (answers are numbered in the order in which
they came) and what was claimed.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from pathlib import Path

import numpy as np

from whitecrow.audit import cases

WANTED = {
    "screen": ("as asked", "two answers", "the distance of identify"),
    "identify": ("sensitive, k = 1", "the record itself not counted"),
    "count": ("smooth", "global", "half the noise", "5 beta"),
    "lookahead": ("",),
}


def main(folder: Path, number: int) -> None:
    """Write the draws of every case."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases(list(WANTED)):
        if not any(words in case.name for words in WANTED[case.mechanism]):
            continue
        if getattr(case.claim, "delta", 0):
            continue  # a claim with a delta is judged otherwise by each tool
        codes: dict[Hashable, int] = {}
        sides = []
        for draw in case.draws():
            drawn = [draw() for _ in range(number)]
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
            twin=case.twin,
        )
        print(name, len(codes), "answers", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 50_000)
