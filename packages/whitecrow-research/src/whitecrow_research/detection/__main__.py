"""``python -m whitecrow_research.detection --data FOLDER``: redo the tables."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from whitecrow_research.detection.claims import alarm_rates, named_columns
from whitecrow_research.detection.measures import average_precision, roc_auc
from whitecrow_research.detection.page import tables, write
from whitecrow_research.detection.private import SETTINGS, scored
from whitecrow_research.detection.quality import rows, table
from whitecrow_research.detection.report import FAVOURITE, OURS, by_set
from whitecrow_research.detection.rivals import RIVALS
from whitecrow_research.detection.run import known, run
from whitecrow_research.detection.sets import load, names, split
from whitecrow_research.detection.shapes import cluster, embeddings, far_cluster


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
    parser.add_argument("--first", type=int, default=0, help="the first seed of --claims")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--detectors", nargs="*", help="some of the rivals, peers and settings")
    parser.add_argument("--sets", nargs="*", help="some of the sets")
    parser.add_argument("--page", help="a page whose tables and pictures are to be renewed")
    parser.add_argument("--keep", action="store_true", help="take all from the cache that it has")
    parser.add_argument(
        "--claims", action="store_true", help="measure false-alarm rates and named columns instead"
    )
    parser.add_argument(
        "--quality", action="store_true", help="measure the table behind describe instead"
    )
    given = parser.parse_args()
    if not given.data:
        parser.error("say where the sets are: --data FOLDER, or the variable WHITECROW_ADBENCH")
    folder = Path(given.data)
    if given.claims:
        seeds = range(given.first, given.first + given.seeds)
        print("\n".join(_claims(folder, seeds)))  # noqa: T201 - that is what it does
        return
    if given.quality:
        print("\n".join(table(rows(folder, given.seeds))))  # noqa: T201 - that is what it does
        return
    wanted = given.detectors or known()
    results = run(
        folder,
        Path(given.cache),
        wanted if FAVOURITE in wanted else [FAVOURITE, *wanted],
        seeds=given.seeds,
        jobs=given.jobs,
        only=given.sets,
        anew=not given.keep,
    )
    sizes = {name: len(load(folder, name)[1]) for name in given.sets or names(folder)}
    print("\n".join([tables(results, sizes), *by_set(results, sizes)]))  # noqa: T201
    if given.page:
        write(Path(given.page), results, sizes)


def _claims(folder: Path, seeds: range) -> Iterator[str]:
    yield "| set | seed | alarms at 1 % | at 5 % |\n|---|---|---|---|"
    for name, seed, rates in alarm_rates(folder, seeds):
        shown = " | ".join("refused" if one is None else f"{one:.2%}" for one in rates)
        yield f"| {name} | {seed} | {shown} |"
    yield "\n| set | named first | among three |\n|---|---|---|"
    for name, first, three in named_columns(folder, seeds):
        yield f"| {name} | {first:.1%} | {three:.1%} |"
    yield "\n| made-up set | Isolation Forest, AUC/AP | (1, 1e-6) |\n|---|---|---|"
    made_up = {f"a dense cluster, seed {seed}": cluster(seed) for seed in seeds[:2]}
    made_up |= {f"a far cluster, seed {seed}": far_cluster(seed) for seed in seeds[:2]}
    made_up |= {f"embeddings, digit {digit} rare": embeddings(digit) for digit in range(10)}
    for name, (records, truth) in made_up.items():
        part = split(records, truth, seeds[0])
        scores = (
            RIVALS[FAVOURITE](part.train, part.test, seeds[0]),
            scored(SETTINGS[OURS], part, seeds[0])[0],
        )
        cells = (
            f"{roc_auc(part.truth, one):.3f}/{average_precision(part.truth, one):.3f}"
            for one in scores
        )
        yield f"| {name} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
