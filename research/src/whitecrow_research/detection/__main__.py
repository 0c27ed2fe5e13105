"""``python -m whitecrow_research.detection --data FOLDER``: redo the tables."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from whitecrow_research.detection.peers import PEERS
from whitecrow_research.detection.private import SETTINGS
from whitecrow_research.detection.report import by_set, summary
from whitecrow_research.detection.rivals import RIVALS
from whitecrow_research.detection.run import run
from whitecrow_research.detection.sets import load, names


def main() -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(
        prog="python -m whitecrow_research.detection", description=__doc__
    )
    parser.add_argument(
        "--data", default=os.environ.get("WHITECROW_ADBENCH"), help="folder of sets"
    )
    parser.add_argument("--cache", default="detection.json", help="results that are kept")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--detectors", nargs="*", help="some of the rivals, peers and settings")
    parser.add_argument("--sets", nargs="*", help="some of the sets")
    given = parser.parse_args()
    if not given.data:
        parser.error("say where the sets are: --data FOLDER, or the variable WHITECROW_ADBENCH")
    folder = Path(given.data)
    wanted = given.detectors or [*RIVALS, *PEERS, *SETTINGS]
    results = run(
        folder,
        Path(given.cache),
        wanted if "IForest" in wanted else ["IForest", *wanted],
        seeds=given.seeds,
        jobs=given.jobs,
        only=given.sets,
    )
    sizes = {name: len(load(folder, name)[1]) for name in given.sets or names(folder)}
    for line in (*summary(results, sizes), *by_set(results, sizes)):
        print(line)  # noqa: T201 - that is what the command does


if __name__ == "__main__":
    main()
