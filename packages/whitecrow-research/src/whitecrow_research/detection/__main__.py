"""``python -m whitecrow_research.detection``: redo the tables."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from whitecrow_research.detection.measures import average_precision, roc_auc
from whitecrow_research.detection.private import ABLATIONS, SETTINGS, scored
from whitecrow_research.detection.quality import rows, table
from whitecrow_research.detection.report import OURS, REFERENCES, About, Sets, by_set
from whitecrow_research.detection.rivals import RIVALS
from whitecrow_research.detection.run import Results, known_detectors, run
from whitecrow_research.detection.sets import Known, Split, default_folders, find, split
from whitecrow_research.detection.shapes import clearest, cluster, embeddings, far_cluster, tails

_BESIDE, _HEARTS = ("IForest", "ECOD", "KNN"), "Cardiotocography"
_GROUPS = {"own": (*SETTINGS,), "ablations": (*ABLATIONS,), "references": REFERENCES}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m whitecrow_research.detection", description=__doc__
    )
    parser.add_argument(
        "--data",
        nargs="*",
        type=Path,
        help="folders of sets; adbench and fresh below the folder WHITECROW_DATA, unless given",
    )
    parser.add_argument("--kept", type=Path, default="detection-results", help="where results are")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed of --claims")
    parser.add_argument("--jobs", type=int, help="processes; one a core unless given")
    parser.add_argument("--minutes", type=float, help="begin nothing after so long")
    parser.add_argument(
        "--detectors",
        nargs="*",
        help="names of rivals, peers and settings, or: own, ablations, references",
    )
    parser.add_argument("--sets", nargs="*", help="some of the sets")
    parser.add_argument("--page", help="a page whose tables and pictures are to be renewed")
    parser.add_argument("--any-code", action="store_true", help="take results of other code, too")
    parser.add_argument("--quiet", action="store_true", help="compute only, print nothing")
    parser.add_argument(
        "--claims", action="store_true", help="measure false-alarm rates and named columns instead"
    )
    parser.add_argument(
        "--quality", action="store_true", help="measure the table behind describe instead"
    )
    return parser


def main() -> None:
    """Read the arguments, run, print."""
    parser = _parser()
    given = parser.parse_args()
    sets = find(given.data or default_folders())
    if given.sets:
        sets = {name: source for name, source in sets.items() if name in given.sets}
    if not sets:
        parser.error("no sets: give --data FOLDER, or set the variable WHITECROW_DATA")
    if given.claims:
        seeds = range(given.first, given.first + given.seeds)
        print("\n".join(_claims(sets, seeds)))  # noqa: T201 - that is what it does
        return
    if given.quality:
        print("\n".join(table(rows(sets, given.seeds, given.jobs))))  # noqa: T201 - that is what it does
        return
    names = given.detectors or [*known_detectors(), "ablations"]
    results = run(
        sets,
        given.kept,
        dict.fromkeys(detector for name in names for detector in _GROUPS.get(name, (name,))),
        seeds=given.seeds,
        jobs=given.jobs,
        minutes=given.minutes,
        any_code=given.any_code,
    )
    if not given.quiet:
        _print(results, sets, given.page)


def _print(results: Results, sets: dict[str, Known], page: str | None) -> None:
    from whitecrow_research.detection.page import tables, write

    about: Sets = {
        name: About(len(source.load()[1]), source.family, source.chosen_on)
        for name, source in sets.items()
    }
    print("\n".join([tables(results, about), *by_set(results, about)]))  # noqa: T201
    if page:
        write(Path(page), results, about)


def _claims(sets: dict[str, Known], seeds: range) -> Iterator[str]:
    from whitecrow_research.detection.claims import alarm_rates, named_columns

    yield "| set | seed | alarms at 1 % | at 5 % |\n|---|---|---|---|"
    for name, seed, rates in alarm_rates(sets, seeds):
        shown = " | ".join("refused" if rate is None else f"{rate:.2%}" for rate in rates)
        yield f"| {name} | {seed} | {shown} |"
    yield "\n| set | named first | among three |\n|---|---|---|"
    for name, first, three in named_columns(sets, seeds):
        yield f"| {name} | {first:.1%} | {three:.1%} |"
    yield f"\n| made-up set | {' | '.join(_BESIDE)} | {OURS} |\n|---|{4 * '---|'}"
    synthetic = {f"a dense cluster, seed {seed}": cluster(seed) for seed in seeds[:2]}
    synthetic |= {f"a far cluster, seed {seed}": far_cluster(seed) for seed in seeds[:2]}
    synthetic |= {f"embeddings, digit {digit} rare": embeddings(digit) for digit in range(10)}
    synthetic |= {f"tails of eight columns, seed {seed}": tails(seed) for seed in range(10)}
    if _HEARTS in sets:
        name = f"{_HEARTS}, its 176 clearest outliers"
        synthetic[name] = clearest(*sets[_HEARTS].load(), 176)
    for name, (records, truth) in synthetic.items():
        rates = np.mean([_rates(split(records, truth, seed), seed) for seed in seeds], axis=0)
        yield f"| {name} | " + " | ".join(f"{auc:.3f}/{ap:.3f}" for auc, ap in rates) + " |"


def _rates(part: Split, seed: int) -> list[tuple[float, float]]:
    """Return ROC-AUC and average precision of some references and of the detector."""
    scores = [RIVALS[rival](part.train, part.test, seed) for rival in _BESIDE]
    scores.append(scored(SETTINGS[OURS], part, seed))
    return [(roc_auc(part.truth, row), average_precision(part.truth, row)) for row in scores]


if __name__ == "__main__":
    main()
