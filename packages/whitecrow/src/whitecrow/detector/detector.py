"""A learned detector: public, holds no record, scores any number of them for ever."""

from __future__ import annotations

import base64
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.card import Card, Column, date_text
from whitecrow.detector import scoring
from whitecrow.detector.arithmetic import Flags, Floats, Int64s
from whitecrow.detector.contributions import TopOutliers, contributions, top_outliers, why_column
from whitecrow.detector.file import MAGIC, fields_of, packed
from whitecrow.detector.model import Model, Threshold
from whitecrow.detector.records import Progress, as_table, batches, like, one_record
from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import DifferentialPrivacy, exact
from whitecrow.privacy.composition import joint_promise
from whitecrow.rendering import notebook, paragraphs

_MOST_PICTURES = 100
_Raw = Callable[[Model, tuple[scoring.Encoder, ...], Floats], Int64s]


@dataclass(frozen=True, eq=False, repr=False)
class Detector:
    """A public object that tells how strange a record is among those it was learned from.

    Made by :meth:`whitecrow.Curator.learn`. Scoring is post-processing: it costs nothing and
    promises nothing new.

    Parameters
    ----------
    models : tuple of Model
        The released counts; more than one in a merged detector.
    card : Card
        The public facts of the columns it knows.
    guarantee : DifferentialPrivacy
        What its release promised.
    statement : str
        The same in words.
    question : mapping
        What was asked.
    thresholds : tuple of Threshold
        By false-alarm rate.
    entry : str
        The digest under which the ledger keeps the question: of its words, its card and the
        revision of the records. A detector of other records, or under another card, has another.
    """

    models: tuple[Model, ...]
    card: Card
    guarantee: DifferentialPrivacy
    statement: str
    question: Mapping[str, Any]
    thresholds: tuple[Threshold, ...] = ()
    entry: str = ""
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        columns = ", ".join(self.columns[:4]) + (", ..." if len(self.columns) > 4 else "")
        return f"<Detector of {self.card.name!r} ({columns}), {self.guarantee}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Detector) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it looks at."""
        return self.model.names

    @property
    def model(self) -> Model:
        """The released counts; of a merged detector those of the most records."""
        return max(self.models, key=lambda model: model.records)

    @property
    def records(self) -> int:
        """About how many records it was learned from: a released, noisy number."""
        return round(sum(model.records for model in self.models))

    def merge(self, *others: Detector, apart: bool = False, overlap: int = 0) -> Detector:
        """Return a detector whose scores are the means of several, weighted by their records.

        Nothing is read and nothing is charged: the detectors are public.

        Parameters
        ----------
        *others : Detector
            Of the same card and columns, with promises of the same kind.
        apart, overlap
            As in :meth:`whitecrow.TableProfile.merge`.
        """
        parts = (self, *others)
        for other in others:
            same = other.card.fingerprint() == self.card.fingerprint()
            if not same or other.columns != self.columns:
                raise InvalidInput("Only detectors of equal cards and columns can be merged.")
        models = tuple(model for part in parts for model in part.models)
        # Noise makes every release another: equal counts are one release that is given twice.
        if len({packed([model], {}) for model in models}) < len(models):
            raise InvalidInput(
                "A detector cannot be merged with itself: two of those given hold the same "
                "release. Give each of them once."
            )
        joint, reason = joint_promise([part.guarantee for part in parts], apart, overlap)
        note = f"Merged of {len(parts)} detectors; {reason}. A threshold of one is none of all."
        question = {"kind": "learn", "merged": [dict(part.question) for part in parts]}
        return Detector(
            models, self.card, joint, joint.statement(), question=question, notes=(note,)
        )

    def with_thresholds(self, thresholds: tuple[Threshold, ...]) -> Detector:
        """Return the same detector with these thresholds."""
        return replace(self, thresholds=thresholds)

    # Scores

    @cached_property
    def _parts(self) -> list[tuple[Model, tuple[scoring.Encoder, ...], float]]:
        encoders = [scoring.encoders(model) for model in self.models]
        return list(zip(self.models, encoders, self.weights, strict=True))

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """How much each model counts: its part of all records."""
        total = math.fsum(model.records for model in self.models)
        return tuple(model.records / total for model in self.models)

    def _scores_of(self, rows: Floats, raw: _Raw = scoring.raw_scores) -> Floats:
        """Return the scores of records that are read already."""
        scores = np.zeros(len(rows))
        for model, columns, weight in self._parts:
            scores += weight * (raw(model, columns, rows) / scoring.scale(model))
        return scores

    @staticmethod
    def _raw_on(engine: str) -> _Raw:
        if engine == "local":
            return scoring.raw_scores
        if engine != "gpu":
            raise invalid("Detector", "engine", "'local' or 'gpu'", engine)
        from whitecrow.detector import on_gpu
        from whitecrow.neighbours import find_device

        return partial(on_gpu.raw_scores, find_device())

    @cached_property
    def rarest(self) -> dict[str, int]:
        """The code of each category column's least common value."""
        return {
            grid.name: int(np.argmin(share if grid.absent is None else share[:-1]))
            for grid, share in zip(self.model.grids, self.model.shares, strict=True)
            if not grid.ordered
        }

    def scores(
        self, data: object, *, engine: str = "local", progress: Progress | None = None
    ) -> Floats:
        """Return how strange each record is; larger is stranger.

        Parameters
        ----------
        data : data frame, Arrow table, array, path of a CSV or Parquet file, or one record
            Records with the detector's columns; others are not looked at. Files are read batch by
            batch. See ``whitecrow.detector.records`` for what does not fit the card.
        engine : {"local", "gpu"}
            Where to compute; the scores are the same, bit for bit.
        progress : callable, optional
            Called as ``progress(done, total, what)``.
        """
        parts = self.batches(data, engine=engine, progress=progress)
        return np.concatenate([np.empty(0), *parts])

    def batches(
        self, data: object, *, engine: str = "local", progress: Progress | None = None
    ) -> Iterator[Floats]:
        """Yield the scores batch by batch, for data larger than memory."""
        for table in self.scored(data, engine=engine, progress=progress):
            yield table["score"].to_numpy()

    @cached_property
    def seen(self) -> Card:
        """The card of the columns it looks at: what lies outside their bounds moves to them."""
        columns = map(self.card.column, self.columns)
        clipped = (replace(each, outside="clip") if each.bounded else each for each in columns)
        return Card(self.card.name, tuple(clipped))

    def scored(
        self,
        data: object,
        *,
        false_alarms: object = None,
        reasons: bool = False,
        keep: Sequence[str] = (),
        why: int = 0,
        engine: str = "local",
        progress: Progress | None = None,
    ) -> Iterator[Any]:
        """Yield Arrow tables, batch by batch: ``score``, ``outlier``, what each column adds.

        Parameters
        ----------
        data, engine, progress : as in :meth:`scores`
        false_alarms : exact number, optional
            With one of the bought rates there is a column ``outlier``.
        reasons : bool
            Whether there is a column ``adds NAME`` for each column of the detector.
        keep : sequence of str
            Columns of the data to have before the score.
        why : int
            For so many of the top records of each batch a column ``why`` names up to three
            columns that made them so.
        """
        import pyarrow

        limit = None if false_alarms is None else self.threshold(false_alarms)
        raw = self._raw_on(engine)
        for rows, whole, batch in batches(data, self.seen, self.rarest, progress, keep):
            scores = self._scores_of(rows, raw)
            scores[~whole] = np.nan
            table: dict[str, Any] = {name: batch.column(name) for name in keep}
            table["score"] = scores
            if limit is not None:
                table["outlier"] = scores > limit
            if why:
                best = np.argsort(np.where(whole, -scores, np.inf), kind="stable")[:why]
                best = best[whole[best]]
                table["why"] = why_column(self.columns, batch, best, self._added(rows[best]))
            if reasons:
                added = self._added(rows)
                added[~whole] = np.nan
                table |= {f"adds {name}": added[:, j] for j, name in enumerate(self.columns)}
            yield pyarrow.table(table)

    def _added(self, rows: Floats) -> Floats:
        """How much each column adds to the score of each record."""
        added = np.zeros(rows.shape)
        for model, columns, weight in self._parts:
            added += weight * contributions(model, columns, rows)
        return added

    def sql(self, dialect: str, table: str | Sequence[str], *, keep: Sequence[str] = ()) -> str:
        """Return the text of a query that scores a table where it is, with the bits given here.

        Columns must be stored as the card's types: text that stands for a number is not read. A
        record without a score has NULL.

        Parameters
        ----------
        dialect : {"duckdb", "postgresql"}
        table : str or sequence of str
            Its name (quoted as it stands), or the names of its database, schema and itself.
        keep : sequence of str
            Columns to select beside ``score``: what a record is recognised by.
        """
        from whitecrow.detector.remote import sql_of

        return sql_of(self, dialect, table, keep)

    def duckdb(self, connection: Any, name: str = "score") -> None:
        """Add a function of :attr:`columns` to a connection of DuckDB; NULL where no score is."""
        from whitecrow.detector.remote import register_in_duckdb

        register_in_duckdb(self, connection, name)

    def spark(self, data: Any, *, keep: Sequence[str] | None = None) -> Any:
        """Return a Spark frame with a column ``score``, computed beside the records.

        Python workers run the code that runs here; whitecrow must be installed there.

        Parameters
        ----------
        data : Spark data frame, or path of a Parquet file or a folder of them
            Files are read by the workers, which is much faster than rows that Spark hands to them.
        keep : sequence of str, optional
            Columns to have beside ``score``, by default all: the fewer, the faster.
        """
        from whitecrow.detector.remote import spark_scored

        return spark_scored(self, data, keep)

    def threshold(self, false_alarms: object) -> float:
        """Return the score above which about this part of the data lay.

        A rate that was not bought, or for which the data were too few, is refused.
        """
        wanted = exact(false_alarms, owner="Detector", parameter="false_alarms")
        for bought in self.thresholds:
            if bought.rate == wanted:
                if bought.score is None:
                    raise InvalidInput(
                        f"The detector has no threshold for {float(wanted):.2%} of false alarms: "
                        f"about {self.records:,} records are too few for it at this price. Ask "
                        "for a larger rate, pay more, or compare scores without a threshold."
                    )
                return bought.score
        rates = ", ".join(str(bought.rate) for bought in self.thresholds) or "none"
        raise InvalidInput(
            f"No threshold for a false-alarm rate of {wanted!s} was bought with this detector "
            f"({rates}). Name the rate when you learn: false_alarms=[...]."
        )

    def predict(self, data: object, *, false_alarms: object = None) -> Flags:
        """Return which records are outliers: True above the threshold. NaN scores are not.

        Parameters
        ----------
        data : as in :meth:`scores`
        false_alarms : exact number, optional
            One of the rates that were bought; the first unless given.
        """
        if false_alarms is None:
            if not self.thresholds:
                raise InvalidInput("No threshold was bought with this detector; use scores().")
            false_alarms = self.thresholds[0].rate
        return np.asarray(self.threshold(false_alarms) < self.scores(data))

    def p_values(self, data: object, *, references: int = 100_000) -> Floats:
        """Return for each record which part of synthetic records is at least as strange.

        The synthetic ones are :meth:`sample`'s: columns drawn independently of each other. So a
        p-value says how strange a record would be if columns had nothing to do with each other;
        for a rate of false alarms on the data themselves buy a threshold.
        """
        ordered = np.sort(self._scores_of(self.synthetic(references, 0)))
        scores = self.scores(data)
        above = references - np.searchsorted(ordered, scores, side="left")
        return np.where(np.isnan(scores), np.nan, (above + 1) / (references + 1))

    # Reasons

    def contributions(self, data: object) -> Any:
        """Return how much each column adds to the score of each record.

        A data frame gets a frame of its own kind (pandas' with its index), all else an Arrow table.
        """
        import pyarrow

        tables = list(self.scored(data, reasons=True))
        if not tables:
            return like(data, pyarrow.table({name: np.empty(0) for name in self.columns}))
        added = pyarrow.concat_tables(tables).drop_columns(["score"])
        return like(data, added.rename_columns(list(self.columns)))

    def top_outliers(self, data: object, *, top: int = 10) -> TopOutliers:
        """Return the records of the highest scores, with the columns that made them so."""
        return top_outliers(self, data, top)

    def strangest(self, data: object, *, top: int = 10) -> TopOutliers:
        """Return :meth:`top_outliers`, under its name of version 0.2."""
        text = "Detector.strangest goes with the next release: use top_outliers."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return self.top_outliers(data, top=top)

    def explain(self, record: Any, *, top: int = 3, picture: str | Path | None = None) -> str:
        """Say in words why a record is strange: its columns that add most, and what is usual.

        The record is a mapping, a row of pandas (a Series), or a frame of one row. With ``picture``
        what each column adds is drawn into that file, too.
        """
        record = one_record(record)
        if picture is not None:
            from whitecrow.detector.picture import draw_reasons

            draw_reasons(self, record, Path(picture))
        score = float(self.scores(record)[0])
        if np.isnan(score):
            return "The record has a missing value that the card does not fill, so it has no score."
        lines = [f"Score {score:.2f}{self._against_threshold(score)}."]
        for name, amount in self.ranked_reasons(record)[:top]:
            if amount > 0:
                common = usual(self, name)
                lines.append(f"{name} = {record[name]} adds {amount:.2f}; usual is {common}.")
        if len(lines) == 1:
            lines.append("No column makes it strange.")
        return "\n".join(lines)

    def ranked_reasons(self, record: Any) -> list[tuple[str, float]]:
        """Return each column with what it adds to the score of one record, the most first."""
        added = self.contributions(record)
        amounts = [(name, float(added[name][0].as_py())) for name in self.columns]
        return sorted(amounts, key=lambda reason: -reason[1])

    def _against_threshold(self, score: float) -> str:
        for bought in self.thresholds:
            if bought.score is not None:
                side = "above" if score > bought.score else "not above"
                rate = f"{float(bought.rate):.2%} false alarms"
                return f", {side} the threshold {bought.score:.2f} for {rate}"
        return ""

    def report(self) -> str:
        """Say in words what the detector is: guarantee, columns, noise, thresholds."""
        heading = (
            f"Detector of {self.card.name}: {len(self.columns)} columns, learned from about "
            f"{self.records:,} records."
        )
        usual_of = (f"{name}: usual is {words}." for name, words in self.rows()[1:])
        return "\n".join([heading, self.statement, *self.details(), *usual_of])

    def details(self) -> list[str]:
        """Say how large and how noisy it is, and what thresholds it has: a sentence each."""
        model = self.model
        lines = [
            f"{len(model.tables):,} tables, {len(model.counts):,} noisy counts; the noise of a "
            f"count has a standard deviation of {model.noise:.0f}."
        ]
        for bought in self.thresholds:
            score, rough = bought.score, bought.rough
            where = "too few records" if score is None else f"scores above {score:.3f}"
            about = "" if rough is None else f"; very roughly, scores above {rough:.3f}"
            lines.append(f"False alarms {bought.rate!s}: {where}{about}.")
        if left_out := self.card.left_out_words(self.columns):
            lines.append(left_out)
        return [*lines, *self.notes]

    def rows(self) -> list[list[str]]:
        """Return a table, its heading first: each column, and what is usual there."""
        return [["column", "usual is"], *([name, usual(self, name)] for name in self.columns)]

    def pictures(self) -> list[str]:
        """Return a picture (SVG) of every column, unless there are very many."""
        from whitecrow.detector.picture import column_svg

        drawn = self.columns if len(self.columns) <= _MOST_PICTURES else ()
        return [column_svg(self, name) for name in drawn]

    def _repr_html_(self) -> str:
        head, *rows = self.rows()
        headline = f"Detector of {self.card.name}, from about {self.records:,} records"
        body = paragraphs("\n\n".join(self.details()))
        return notebook(headline, rows, note=self.statement, head=head, body=body)

    def plot(
        self,
        data: object = None,
        *,
        column: str | None = None,
        top: int | None = None,
        axes: Any = None,
    ) -> Any:
        """Draw scores, the top outliers, or a column, with matplotlib; return the Axes.

        ``plot(data)`` is the distribution of the records' scores, with the thresholds (of synthetic
        records if none are given); ``plot(data, top=10)`` their top outliers, with what each column
        adds; ``plot(record, column="age")`` where the record lies in a column's released
        distribution, the usual range shaded. ``plot("FILE.png")`` writes the distributions of all
        columns to a file (its ending is that of a picture) and returns its path.

        Parameters
        ----------
        data : as in :meth:`scores`, optional
            Records; one record for ``column``; or the path of a picture.
        column : str, optional
        top : int, optional
            How many outliers.
        axes : matplotlib Axes, optional
            Where to draw; new ones unless given.
        """
        from whitecrow.detector import picture

        if isinstance(data, str | Path) and Path(data).suffix.lower() in picture.ENDINGS:
            return picture.draw(self, Path(data))
        if column is not None:
            return picture.draw_column(self, column, data, axes)
        if top is not None:
            return picture.draw_top_outliers(self, data, top, axes)
        return picture.draw_scores(self, data, axes)

    # Synthetic records

    def sample(self, size: int, *, seed: int = 0) -> Any:
        """Return synthetic records as an Arrow table with a column ``synthetic``, which is true.

        Each column is drawn from its released distribution, independently of the others. They are
        good for trying out code, not for studying how columns hang together.
        """
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise InvalidInput(f"A sample's size is a whole number of at least 0. Got {size!r}.")
        return as_table(self.synthetic(size, seed), self.seen)

    def synthetic(self, size: int, seed: int) -> Floats:
        """Return synthetic records as the numbers that are scored (codes, days)."""
        source = np.random.default_rng(seed)
        whose = source.choice(len(self.models), size, p=self.weights)
        rows = np.empty((size, len(self.columns)))
        for part, model in enumerate(self.models):
            rows[whose == part] = model.drawn(int((whose == part).sum()), source)
        return rows

    # Files

    def about(self) -> dict[str, Any]:
        """Return everything but the model, as plain JSON."""
        return {
            "card": self.card.to_json(),
            "guarantee": self.guarantee.to_json(),
            "statement": self.statement,
            "question": dict(self.question),
            "thresholds": [bought.to_json() for bought in self.thresholds],
            "entry": self.entry,
            "notes": list(self.notes),
        }

    def to_bytes(self) -> bytes:
        """Return the detector's file as bytes; see ``whitecrow.detector.file``."""
        return packed(self.models, self.about())

    @classmethod
    def from_bytes(cls, octets: bytes) -> Detector:
        """Read the bytes of a detector's file."""
        return cls(**fields_of(octets))

    def save(self, path: str | Path) -> Path:
        """Write the detector's file."""
        target = Path(path)
        target.write_bytes(self.to_bytes())
        return target

    @classmethod
    def load(cls, path: str | Path, *, card: Card | None = None) -> Detector:
        """Read a detector's file.

        Parameters
        ----------
        path : str or Path
        card : Card, optional
            Refuse a detector of another card.

        Raises
        ------
        InvalidInput
            There is no such file, it is damaged or of another version, or its card is another.
        """
        try:
            octets = Path(path).read_bytes()
        except OSError as error:
            raise InvalidInput(f"The detector {str(path)!r} cannot be read: {error}.") from None
        if octets[: len(MAGIC)] != MAGIC:
            raise InvalidInput(
                f"{Path(path).name!r} is not a detector file. Detector files are what "
                "`whitecrow learn --out FILE` and Detector.save write; to score records: "
                "whitecrow score DETECTOR DATA."
            )
        detector = cls.from_bytes(octets)
        if card is not None and card.fingerprint() != detector.card.fingerprint():
            raise InvalidInput("The detector was learned with another card than the one given.")
        return detector

    def to_json(self) -> dict[str, Any]:
        """Return the detector as a JSON object: some readable facts, and its file in base 64."""
        return {
            "records": self.records,
            "columns": list(self.columns),
            "thresholds": self.about()["thresholds"],
            "detector": base64.b64encode(self.to_bytes()).decode("ascii"),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Detector:
        """Read what :meth:`to_json` wrote."""
        try:
            octets = base64.b64decode(data["detector"], validate=True)
        except (KeyError, TypeError, ValueError):
            raise InvalidInput("This is not the JSON of a detector.") from None
        return cls.from_bytes(octets)


def usual(detector: Detector, name: str) -> str:
    """Say where the middle 98 % of a column's released distribution lie, or its common values."""
    index = detector.columns.index(name)
    grid, share = detector.model.grids[index], detector.model.shares[index]
    column = detector.card.column(name)
    if not grid.ordered:
        common = np.argsort(-share, kind="stable")[:3]
        values = (*(column.categories or ()), "missing")
        named = (f"{values[code]} ({share[code]:.0%})" for code in common if share[code] > 0)
        return " or ".join(named)
    missing, rest = share[: grid.apart].sum(), share[grid.apart :].sum()
    absent = f"missing ({missing:.0%})"
    if rest <= 0:
        return absent
    below, borders = np.cumsum(share[grid.apart :] / (rest if grid.apart else 1.0)), grid.borders()
    low = borders[int(np.argmax(below >= 0.01))]
    high = borders[int(np.argmax(below >= 0.99)) + 1]
    if grid.whole:
        low, high = np.ceil(low), np.floor(high)
    middle = f"{shown(low, column)} to {shown(high, column)}"
    return f"{middle}, or {absent}" if missing >= 0.005 else middle


def shown(value: float, column: Column) -> str:
    """Write a value of a column for people."""
    if column.type == "date":
        return date_text(float(value))
    return f"{value + 0.0:.4g}"  # a negative zero becomes a plain one
