"""Commands that spend nothing: ``price``, ``plan``, ``advise``, ``score``, ``merge``."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from whitecrow.cli.common import Asking, asking, opened
from whitecrow.cli.files import FILE, check_ending, write_tables
from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput
from whitecrow.questions import kinds

if TYPE_CHECKING:
    from whitecrow.curator.advice import ModelAdvice


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: whitecrow price identify patients.parquet --card patients.toml "
    '--record \'{"age": 61, "bmi": 24.1}\' --beta 18 --radius 0.148 --k 2 --epsilon 0.1 '
    "--typical-neighbours 3",
)
@click.argument("question", type=click.Choice(kinds()))
@click.argument("line", nargs=-1, type=click.UNPROCESSED, metavar="DATA [OPTIONS]...")
@click.pass_context
def price(ctx: click.Context, question: str, line: tuple[str, ...]) -> None:
    """Say what a QUESTION would cost and how accurate it would be; ask nothing.

    The rest of the line is that question's own: whatever `whitecrow QUESTION` takes. Only public
    facts are used: the card, the parameters and your guesses.
    """
    from whitecrow.cli.ask import question_command

    asked = question_command(question)
    arguments = [*line, *([] if "--price-only" in line else ["--price-only"])]
    with asked.make_context(f"whitecrow {question}", arguments, parent=ctx) as inner:
        asked.invoke(inner)


@click.command(
    epilog="Example: whitecrow plan patients.parquet questions.json --card patients.toml"
)
@asking("card", "ledger", "name", "analyst", "budget", "server")
@click.argument("questions", type=click.File(encoding="utf-8"))
def plan(given: Asking, questions: IO[str]) -> None:
    """Say what a batch of questions about DATA would cost together; ask none of them.

    QUESTIONS is a file (or - for standard input) with a JSON list, or one JSON object a line:
    {"kind": "identify", "record": {...}, "model": {"beta": 18, "radius": 0.148}, "k": 2,
    "epsilon": "0.1"}. Questions about places that do not meet share one price.
    """
    from whitecrow.questions import read_question

    batch = [read_question(item) for item in _objects(questions.read())]
    plan = opened(given).plan(batch)
    given.output.show(plan.to_json(), str(plan))


def _objects(text: str) -> list[dict[str, Any]]:
    """Read a JSON list, or one JSON object a line."""
    try:
        if text.lstrip().startswith("["):
            objects = json.loads(text)
        else:
            objects = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        objects = None
    if not isinstance(objects, list) or not all(isinstance(item, dict) for item in objects):
        raise InvalidInput(
            "The questions must be a JSON list of objects, or one JSON object a line, each with a "
            '"kind" such as "identify".'
        )
    return objects


@click.command(
    epilog="Example: whitecrow advise patients.csv --card patients.toml --contamination 0.01"
)
@asking("card", "ledger", "name", "server")
@click.option("--contamination", required=True, help="The share of outliers wanted: 0.01, 1/50.")
@click.option("--columns", help="What is compared: A,B,... (default: all that the metric takes).")
@click.option("--metric", default="standardised", show_default=True, help="The distance.")
@click.option("--beta", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--records", type=click.IntRange(min=1), help="About how many records there are.")
@click.option("--epsilon", default="1", show_default=True, help="What choosing by data may cost.")
def advise(given: Asking, contamination: str, columns: str | None, **how: Any) -> None:
    """Find a model that makes a wanted share of DATA's records outliers; spends nothing.

    It is tried on made-up records, drawn from the newest profile in the account or, where none was
    bought, from the card. To have the radius chosen by the data, ask the tune question that is
    printed with its price and expected error.
    """
    named = None if columns is None else [name.strip() for name in columns.split(",")]
    advice = opened(given).advise(contamination, columns=named, **how)
    given.output.warn(advice.description.warning)
    # Commands stay on one line each, so that they can be copied.
    words = "\n".join(_lines(advice, given.data, given.card))
    given.output.show(advice.to_json(), words, raw=True)


def _lines(advice: ModelAdvice, data: str, card: str | None) -> list[str]:
    """The model, what it rests on, and the two commands to go on with."""
    model, tune = advice.model, advice.question
    over = f"--columns {shlex.quote(','.join(advice.columns))} --beta {model.beta}"
    asked = f"{shlex.quote(data)}{f' --card {shlex.quote(card)}' if card else ''} {over}"
    metric = f"--metric {model.metric}"
    radii = f"--from {tune.radii[0]:g} --to {tune.radii[-1]:g} --steps {len(tune.radii)}"
    return [
        f"model      beta {model.beta}, radius {model.radius:.4g}, {model.metric} over "
        f"{', '.join(advice.columns)}",
        f"share      {advice.share:.2%} of made-up records are outliers by it",
        f"           drawn from the {advice.drawn_from}, each column by itself: how columns go "
        "together is not in it",
        "use it     " + f"whitecrow count {asked} --radius {model.radius:g} {metric} --epsilon 1",
        f"better     have the data choose the radius: {advice.description.price.statement()}",
        f"           Expected error: {advice.description.error}.",
        f"           whitecrow tune {asked} --share {float(tune.share):g} {radii} {metric} "
        f"--epsilon {tune.epsilon}",
    ]


_BEST = 10


@click.command(
    epilog="Example: whitecrow score clinic.detector new.csv --out flagged.csv --key visit --why"
)
@click.argument("detector", type=click.Path(exists=True, dir_okay=False))
@click.argument("data", type=click.Path(exists=True, dir_okay=False))
@click.option("--out", type=FILE, help="Write the scores here (.parquet or .csv).")
@click.option("--key", help="The column that tells rows apart; it comes first.")
@click.option("--keep", help="Further columns of DATA to write: A,B,...")
@click.option("--why", is_flag=True, help="Write the three columns that made each row strange.")
@click.option("--top", type=click.IntRange(1), help="Only so many rows, the highest scores first.")
@click.option("--false-alarms", help="Say which are outliers, at a rate bought with the detector.")
@click.option("--contributions", is_flag=True, help="Write what each column adds to each score.")
@click.pass_obj
def score(
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
            why=sys.maxsize if why else max(top or 0, _BEST),
            progress=progress,
        )
        seen = _Seen(max(top or 0, _BEST))
        passing = seen.passing(tables)
        if out is None or top is not None:
            for _ in passing:
                pass
            passing = iter([] if seen.best is None else [seen.best.slice(0, top)])
        if out is not None:
            for_screen = [] if why else ["why"]
            write_tables((table.drop_columns(for_screen) for table in passing), Path(out))
    result = {
        "records": seen.records,
        "outliers": None if false_alarms is None else seen.outliers,
        "out": out,
        "top": seen.rows(top or _BEST, key),
    }
    lines = [f"{seen.records:,} records scored{f', written to {out}' if out else ''}."]
    if false_alarms is not None:
        lines.append(f"{seen.outliers:,} outliers at false alarms of {false_alarms}.")
    for row in seen.rows(_BEST, key):
        called = f"{key} {row[key]}" if key else f"row {row['row']:>8}"
        lines.append(f"{called}  score {row['score']:8.3f}  {row['why']}")
    output.show(result, "\n".join(lines))


class _Seen:
    """Counts what passes, and keeps the rows of the highest scores (numbered from 1)."""

    def __init__(self, most: int) -> None:
        self.records = self.outliers = 0
        self.best: Any = None
        self._most = most

    def passing(self, tables: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
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
        """The rows of the highest scores, for people and for JSON."""
        if self.best is None:
            return []
        shown = ["row", *([key] if key else []), "score", "why"]
        return list(self.best.slice(0, most).select(shown).to_pylist())


@click.command(epilog="Example: whitecrow merge a.detector b.detector --out c.detector")
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--out", required=True, type=FILE, help="The merged file.")
@click.option(
    "--apart/--shared",
    default=False,
    show_default="shared",
    help="Whether nobody has records in two of the datasets; else the promises add up.",
)
@click.option(
    "--overlap",
    type=click.IntRange(min=1),
    help="In how many of the datasets one person may have records: so many promises add up.",
)
@click.pass_obj
def merge(
    output: Output, models: tuple[str, ...], out: str, apart: bool, overlap: int | None
) -> None:
    """Make one of MODELS: detectors, or profiles, of several datasets with equal cards.

    The scores of a merged detector are the means of theirs, weighted by how many records each was
    learned from. The counts of a merged profile are the sums of theirs, and so is the noise; an
    --out that ends in .toml gets the card that it drafts.
    """
    from whitecrow.detector import Detector
    from whitecrow.histogram.table import TableProfile

    if Path(models[0]).suffix == ".profile":
        profiles = [TableProfile.load(path) for path in models]
        profile = profiles[0].merge(*profiles[1:], apart=apart, overlap=overlap or 0)
        (profile.save_draft if out.endswith(".toml") else profile.save)(out)
        records, guarantee, words = profile.records, profile.guarantee, str(profile)
    else:
        detectors = [Detector.load(path) for path in models]
        detector = detectors[0].merge(*detectors[1:], apart=apart, overlap=overlap or 0)
        detector.save(out)
        records, guarantee, words = detector.records, detector.guarantee, detector.report()
    result = {"out": out, "records": records, "guarantee": guarantee.to_json()}
    output.show(result, f"{words}\nWritten to {out}.")
