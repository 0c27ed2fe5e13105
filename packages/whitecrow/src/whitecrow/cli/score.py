"""``whitecrow score``: score records with a learned detector."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from whitecrow.cli.screen_output import Output
from whitecrow.cli.tables import check_ending, write_tables

_SHOWN = 10


@click.command(
    "score",
    epilog="Example: whitecrow score clinic.detector new.csv --out flagged.csv --key visit --why",
)
@click.argument("detector", type=click.Path(exists=True, dir_okay=False))
@click.argument("data", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--out", type=click.Path(dir_okay=False), help="Write the scores here (.parquet or .csv)."
)
@click.option("--key", help="The column that tells rows apart; it comes first.")
@click.option("--keep", help="Further columns of DATA to write: A,B,...")
@click.option("--why", is_flag=True, help="Write the three columns that made each row strange.")
@click.option("--top", type=click.IntRange(1), help="Only so many rows, the strangest first.")
@click.option("--false-alarms", help="Say which are outliers, at a rate bought with the detector.")
@click.option("--contributions", is_flag=True, help="Write what each column adds to each score.")
@click.pass_obj
def command(
    output: Output,
    detector: str,
    data: str,
    out: str | None,
    key: str | None,
    keep: str | None,
    why: bool,
    top: int | None,
    false_alarms: str | None,
    contributions: bool,
) -> None:
    """Score the records of DATA with DETECTOR, the file that ``whitecrow learn --out`` wrote.

    Larger is stranger. Nothing is charged: the detector is public. Rows keep their order; a row
    with a missing value that the card does not fill has no score.
    """
    from whitecrow.detector import Detector

    if out is not None:
        check_ending(out)
    names = [name for name in [key, *(keep or "").split(",")] if name]
    model = Detector.load(detector)
    with output.progress() as progress:
        tables = model.scored(
            data,
            false_alarms=false_alarms,
            reasons=contributions,
            keep=list(dict.fromkeys(names)),
            why=sys.maxsize if why else max(top or 0, _SHOWN),
            progress=progress,
        )
        seen = _Seen(max(top or 0, _SHOWN))
        if out is None or top is not None:
            for _ in seen.passing(tables):
                pass
            if out is not None and seen.best is not None:
                write_tables(_without(iter([seen.best.slice(0, top)]), why), Path(out))
        else:
            write_tables(_without(seen.passing(tables), why), Path(out))
    result = {
        "records": seen.records,
        "outliers": None if false_alarms is None else seen.outliers,
        "out": out,
        "top": seen.rows(top or _SHOWN, key),
    }
    lines = [f"{seen.records:,} records scored{f', written to {out}' if out else ''}."]
    if false_alarms is not None:
        lines.append(f"{seen.outliers:,} outliers at false alarms of {false_alarms}.")
    for row in seen.rows(_SHOWN, key):
        called = f"{key} {row[key]}" if key else f"row {row['row']:>8}"
        lines.append(f"{called}  score {row['score']:8.3f}  {row['why']}")
    output.show(result, "\n".join(lines))


def _without(tables: Iterator[Any], why: bool) -> Iterator[Any]:
    """Leave out what was asked for the screen only."""
    for table in tables:
        yield table if why else table.drop_columns(["why"])


class _Seen:
    """Counts what passes, and keeps the strangest rows (numbered from 1)."""

    def __init__(self, most: int) -> None:
        self.records = self.outliers = 0
        self.best: Any = None
        self._most = most

    def passing(self, tables: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for table in tables:
            scores = table["score"].to_numpy()
            scored = np.flatnonzero(~np.isnan(scores))
            if "outlier" in table.column_names:
                self.outliers += int(table["outlier"].to_numpy().sum())
            chosen = scored[np.argsort(-scores[scored], kind="stable")[: self._most]]
            numbers = pyarrow.array(self.records + chosen + 1)
            part = table.take(pyarrow.array(chosen)).add_column(0, "row", numbers)
            both = part if self.best is None else pyarrow.concat_tables([self.best, part])
            order = np.lexsort((both["row"].to_numpy(), -both["score"].to_numpy()))[: self._most]
            self.best = both.take(pyarrow.array(order))
            self.records += table.num_rows
            yield table

    def rows(self, most: int, key: str | None) -> list[dict[str, Any]]:
        """The strangest rows, for people and for JSON."""
        if self.best is None:
            return []
        shown = ["row", *([key] if key else []), "score", "why"]
        return list(self.best.slice(0, most).select(shown).to_pylist())
