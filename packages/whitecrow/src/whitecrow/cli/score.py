"""``whitecrow score``: score records with a learned detector."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from whitecrow.cli.screen_output import Output
from whitecrow.cli.tables import write_tables

_SHOWN = 10


@click.command(
    "score",
    epilog="Example: whitecrow score clinic.detector new.csv --out scores.parquet",
)
@click.argument("detector", type=click.Path(exists=True, dir_okay=False))
@click.argument("data", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--out", type=click.Path(dir_okay=False), help="Write all scores here (.parquet or .csv)."
)
@click.option("--false-alarms", help="Say which are outliers, at a rate bought with the detector.")
@click.option("--contributions", is_flag=True, help="Say what each column adds to each score.")
@click.pass_obj
def command(
    output: Output,
    detector: str,
    data: str,
    out: str | None,
    false_alarms: str | None,
    contributions: bool,
) -> None:
    """Score the records of DATA with DETECTOR, the file that ``whitecrow learn --out`` wrote.

    Larger is stranger. Nothing is charged: the detector is public. Rows keep their order; a row
    with a missing value that the card does not fill has no score.
    """
    from whitecrow.detector import Detector

    found = Detector.load(detector)
    with output.progress() as progress:
        tables = found.scored(
            data, false_alarms=false_alarms, reasons=contributions, progress=progress
        )
        counted = _Counted()
        if out is None:
            for _ in counted.passing(tables):
                pass
        else:
            write_tables(counted.passing(tables), Path(out))
    top = [{"row": row, "score": score} for score, row in counted.top]
    result = {"records": counted.records, "outliers": counted.outliers, "out": out, "top": top}
    lines = [f"{counted.records:,} records scored{f', written to {out}' if out else ''}."]
    if false_alarms is not None:
        lines.append(f"{counted.outliers:,} outliers at false alarms of {false_alarms}.")
    lines.extend(f"row {one['row']:>8}  score {one['score']:8.3f}" for one in top)
    output.show(result, "\n".join(lines))


class _Counted:
    """Counts what passes, and keeps the strangest rows (numbered from 1)."""

    def __init__(self) -> None:
        self.records = self.outliers = 0
        self.top: list[tuple[float, int]] = []

    def passing(self, tables: Iterator[Any]) -> Iterator[Any]:
        for table in tables:
            scores = table["score"].to_numpy()
            known = np.nan_to_num(scores, nan=-np.inf)
            best = np.argsort(-known, kind="stable")[:_SHOWN]
            self.top += [
                (float(scores[row]), self.records + int(row) + 1)
                for row in best
                if not np.isnan(scores[row])
            ]
            self.top = sorted(self.top, key=lambda one: (-one[0], one[1]))[:_SHOWN]
            if "outlier" in table.column_names:
                self.outliers += int(table["outlier"].to_numpy().sum())
            self.records += table.num_rows
            yield table
