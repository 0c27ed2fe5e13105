"""A released profile of a table: public, and made of noisy counts only."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from whitecrow._arrays import Flags
from whitecrow.card import LEAST_SCALE, MOST_SCALE, date_text
from whitecrow.data import Card, Column
from whitecrow.data.template import card_toml
from whitecrow.errors import InvalidInput
from whitecrow.histogram.line import Floats, Ints, Line, line_of
from whitecrow.privacy import DifferentialPrivacy
from whitecrow.privacy.composition import joint_promise

_SURE = 4.0  # standard deviations of noise up to which no count is taken for more than noise
_MISSING = "(missing)"
PROFILE_FORM = "whitecrow-profile 1"
_DIGITS = 17
_NEAR = 1 / 64


@dataclass(frozen=True)
class Numbers:
    """What was released of a column of numbers or dates."""

    name: str
    kind: str
    edges: tuple[float, ...]  # where a new cell begins
    counts: tuple[int, ...]  # the noisy count of each cell; there is one cell more than edges
    missing: int  # the noisy count of missing values
    deviation: float  # the standard deviation of the noise of each count

    @property
    def total(self) -> int:
        """How many records the counts add up to."""
        return sum(self.counts) + self.missing

    @property
    def total_deviation(self) -> float:
        """The standard deviation of the total's noise."""
        return self.deviation * math.sqrt(len(self.counts) + 1)


@dataclass(frozen=True)
class Categories:
    """What was released of a column of categories or texts."""

    name: str
    kind: str
    values: tuple[str, ...]  # those of the card, then those that were found
    counts: tuple[int, ...]  # their noisy counts
    missing: int  # the noisy count of missing values
    deviation: float  # the standard deviation of the noise of each count
    listed: int  # how many of the values were on the card
    threshold: int | None = None  # the least noisy count at which an unlisted value is named
    others: int | None = None  # the noisy count of unlisted values, where none of them is named

    @property
    def total(self) -> int | None:
        """How many records the counts add up to; unknown where rare values are not counted."""
        if self.others is None:
            return None
        return sum(self.counts) + self.missing + self.others

    @property
    def total_deviation(self) -> float:
        """The standard deviation of the total's noise."""
        return self.deviation * math.sqrt(len(self.counts) + 2)


@dataclass(frozen=True)
class TableProfile:
    """A private description of a table, for ever public.

    Parameters
    ----------
    columns : tuple of Numbers or Categories
        What was released of each.
    records : int
        About how many records there are.
    basis : Card
        Under which the records were read.
    guarantee : DifferentialPrivacy
        What the release promises.
    statement : str
        The same in words.
    question : mapping
        What was asked.
    entry : str
        The question's digest in the ledger.
    """

    columns: tuple[Numbers | Categories, ...]
    records: int
    basis: Card
    guarantee: DifferentialPrivacy
    statement: str
    question: Mapping[str, Any]
    entry: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are described."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Numbers | Categories:
        """Return what was released of a column."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InvalidInput(f"The profile has no column {name!r}; it has {', '.join(self.names)}.")

    def quantile(self, name: str, rank: float) -> float:
        """Return a value below which about a part ``rank`` of the column's values lies.

        Days since 1970-01-01 for dates; :meth:`shown` writes them.
        """
        if not 0 <= rank <= 1:
            raise InvalidInput(f"A rank lies between 0 and 1; got {rank!r}.")
        column = self._numbers(name)
        edges = np.array(column.edges)
        return quantile(self.line(name), edges, np.array(column.counts), float(rank))

    def rank_error(self, name: str, rank: float) -> float:
        """Return about how far off the rank of a quantile is, as a part of all records."""
        column = self._numbers(name)
        below = int(np.searchsorted(column.edges, self.quantile(name, rank), side="right"))
        above = len(column.counts) - below
        return rank_deviation(column.deviation, below, above, rank) / max(1, self.records)

    def bounds(self, name: str) -> tuple[float, float] | None:
        """Return bounds between which all but a few records lie; None where none were found.

        They end with the outermost cells whose counts are more than noise. Of a cell that has no
        end it is only known where it begins, so bounds go no farther.
        """
        column = self._numbers(name)
        full = np.flatnonzero(np.array(column.counts) > self._sure(column.deviation))
        if not len(full):
            return None
        line = self.line(name)
        ends = line.borders(np.array(column.edges))[full[0] : full[-1] + 2]
        finite = ends[np.isfinite(ends)]
        if not len(finite):
            return None
        lower, upper = float(finite[0]), float(finite[-1])
        if line.whole and np.isfinite(ends[-1]):  # a cell ends before its border
            upper = max(lower, upper - 1.0)
        if lower == upper or line.single(lower, upper):
            # One value: bounds need some room, and the next numbers of its size give it.
            most = sys.float_info.max
            near = line.whole and abs(lower) < 2.0**52
            room = 1.0 if near else max(abs(lower), 2.0**-1000) / 8.0
            lower, upper = max(lower - room, -most), min(upper + room, most)
        return lower, upper

    def _sure(self, deviation: float) -> float:
        """Return what noise seldom reaches in any cell of all columns: once in eight profiles."""
        cells = sum(len(column.counts) + 1 for column in self.columns)
        if self.guarantee.delta:
            rare = NormalDist().inv_cdf(1.0 - 0.125 / cells)
        else:
            rare = math.log(0.5 * 8 * cells) / math.sqrt(2.0)
        return max(_SURE, rare) * deviation

    def scale(self, name: str) -> float | None:
        """Return about a standard deviation of the bulk; None where most values are alike.

        The wider of what the middle half and the middle nine tenths of a normal law would say.
        """
        half = self.quantile(name, 0.75) - self.quantile(name, 0.25)
        most = self.quantile(name, 0.95) - self.quantile(name, 0.05)
        deviation = max(half / 1.349, most / 3.29)
        return float(f"{deviation:.3g}") if LEAST_SCALE <= deviation <= MOST_SCALE else None

    def missing(self, name: str) -> float:
        """Return the part of the records that has no value, or one of the wrong type."""
        return min(1.0, max(0.0, self.column(name).missing / max(1, self.records)))

    def categories(self, name: str) -> dict[str, int]:
        """Return the known values of a column and about how many records have each."""
        column = self.column(name)
        if not isinstance(column, Categories):
            raise InvalidInput(f"The column {name!r} has no categories; ask for its quantiles.")
        return {v: max(0, c) for v, c in zip(column.values, column.counts, strict=True)}

    def histogram(self, name: str) -> tuple[Floats, Floats]:
        """Return the borders of a column's cells and the part of its values in each."""
        column = self._numbers(name)
        below = running(np.array(column.counts))
        borders = self.line(name).borders(np.array(column.edges))
        return borders, np.diff(below) / max(below[-1], 1.0)

    def line(self, name: str) -> Line:
        """Return where the column's values may lie."""
        return line_of(self.basis.column(name))

    def shown(self, name: str, value: float) -> str:
        """Write a value of a column: a date as a date, a number with few digits."""
        if self.column(name).kind == "date":
            return date_text(value)
        return f"{value:.0f}" if self.column(name).kind == "integer" else f"{value:.6g}"

    def _numbers(self, name: str) -> Numbers:
        column = self.column(name)
        if not isinstance(column, Numbers):
            raise InvalidInput(f"The column {name!r} has no order; ask for its categories.")
        return column

    def card(self) -> Card:
        """Return a drafted card: what was found, each line marked as bought.

        A column of texts without common values is not on it, so that it leaves no record out;
        unless all are such columns.
        """
        columns = [
            self._drafted(column) if column.name in self.names else column
            for column in self.basis.columns
        ]
        person = self.basis.user_column
        used = [column for column in columns if column.type != "text" or column.name == person]
        source = f"priced question {self.entry}" if self.entry else "merged profiles"
        return replace(
            self.basis,
            columns=tuple(used or columns),
            sources={**self.basis.sources, "profile": source},
        )

    def merge(self, *others: TableProfile, apart: bool = False, overlap: int = 0) -> TableProfile:
        """Return one profile of several datasets' records; the counts and their noise add up.

        Nothing is read and nothing is charged: the profiles are public.

        Parameters
        ----------
        *others : TableProfile
            Of the same card and columns, with promises of the same unit.
        apart : bool
            Whether nobody has records in two of the datasets. Then each person loses what one
            profile cost at the most; otherwise the promises add up.
        overlap : int, optional
            In how many datasets one person may have records: so many promises add up.
        """
        parts = (self, *others)
        for other in others:
            same = other.basis.fingerprint() == self.basis.fingerprint()
            if not same or other.names != self.names:
                raise InvalidInput("Only profiles of equal cards and columns can be merged.")
        # Noise makes every release another: equal counts are one release that is given twice.
        if len({part.columns for part in parts}) < len(parts):
            raise InvalidInput(
                "A profile cannot be merged with itself: two of those given hold the same "
                "release. Give each of them once."
            )
        joint, reason = joint_promise([part.guarantee for part in parts], apart, overlap)
        columns: list[Numbers | Categories] = []
        for name in self.names:
            released = [part.column(name) for part in parts]
            if numbers := [column for column in released if isinstance(column, Numbers)]:
                columns.append(_merged_numbers(numbers, self.line(name)))
            else:
                named = [column for column in released if isinstance(column, Categories)]
                columns.append(_merged_categories(named))
        return TableProfile(
            tuple(columns),
            sum(part.records for part in parts),
            self.basis,
            joint,
            f"{joint.statement()} Merged of {len(parts)} profiles; {reason}.",
            {"kind": "profile", "merged": [dict(part.question) for part in parts]},
        )

    def _drafted(self, column: Column) -> Column:
        released = self.column(column.name)
        if isinstance(released, Categories):
            return self._drafted_category(column, released)
        bounds = self.bounds(column.name)
        if column.bounded or bounds is None:
            return column
        kind = float if column.type == "number" else int
        lower, upper = map(kind, bounds)
        scale = column.scale or self.scale(column.name)
        changes: dict[str, Any] = {"lower": lower, "upper": upper, "scale": scale}
        drafted = replace(column, **changes, outside="clip", source="priced question")
        if column.missing == "fill":
            return drafted
        middle = min(max(self.quantile(column.name, 0.5), bounds[0]), bounds[1])
        return replace(drafted, missing="fill", fill=kind(middle))

    def _drafted_category(self, column: Column, released: Categories) -> Column:
        named = sum(max(0, count) for count in released.counts)
        if not released.values or (column.type == "text" and 2 * named < self.records):
            return column  # mostly rare texts: no category
        some = released.missing > self._sure(released.deviation)
        filled, unlisted = column.missing == "fill", released.values[released.listed :]
        if not unlisted and (filled or not some):
            return column
        changes: dict[str, Any] = {"categories": released.values}
        if not filled:
            # Rare values are not named, and leave no record out: they count as missing.
            changes = {"missing": "fill", "fill": _MISSING, "outside": "missing"}
            changes["categories"] = (*released.values, _MISSING)
        return replace(column, type="category", source="priced question", **changes)

    def draft(self) -> dict[str, Any]:
        """Return the drafted card as JSON, marked as a draft until a custodian accepts it."""
        return {"draft": self.entry, **self.card().to_json()}

    def save_draft(self, path: str | Path) -> None:
        """Write the drafted card (TOML), for the custodian to accept or edit."""
        note = (
            f"Drafted from a profile ({self.statement})\n"
            "Read it, change what you know better, then: whitecrow card accept."
        )
        Path(path).write_text(card_toml(self.card(), draft=self.entry, note=note), encoding="utf-8")

    def save(self, path: str | Path) -> None:
        """Write the profile itself (JSON), to be merged or read again."""
        Path(path).write_text(json.dumps(self.to_json(), ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> TableProfile:
        """Read what :meth:`save` wrote."""
        try:
            return cls.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            raise InvalidInput(f"{str(path)!r} is no profile that this version can read.") from None

    def rows(self) -> list[list[str]]:
        """Return a table of all columns, its heading first."""
        return [
            ["column", "type", "5 %", "median", "95 %", "between", "missing"],
            *(self._row(column) for column in self.columns),
        ]

    def _row(self, column: Numbers | Categories) -> list[str]:
        name, missing = column.name, f"{self.missing(column.name):.1%}"
        if isinstance(column, Categories):
            best = sorted(self.categories(name).items(), key=lambda item: -item[1])
            common = ", ".join(f"{value} {count:,}" for value, count in best[:3])
            more = f", and {len(best) - 3} more" if len(best) > 3 else ""
            words = f"{common}{more}" or "no value is common enough"
            return [name, column.kind, "", "", "", words, missing]
        bounds = self.bounds(name)
        if bounds is None:
            return [name, column.kind, "?", "?", "?", "nothing but noise", missing]
        ranks = [self.shown(name, self.quantile(name, rank)) for rank in (0.05, 0.5, 0.95)]
        between = " to ".join(self.shown(name, end) for end in bounds)
        return [name, column.kind, *ranks, between, missing]

    def plot(
        self, path: str | Path | None = None, *, column: str | None = None, ax: Any = None
    ) -> Any:
        """Draw the columns with matplotlib and return their Axes; or one column's, on ``ax``.

        With a path write an ``.html`` report, or a picture of any other kind, and return the path.
        """
        from whitecrow.histogram.picture import draw, drawn, drawn_column

        if path is not None:
            return draw(self, Path(path))
        return drawn(self) if column is None else drawn_column(self, column, ax)

    def pictures(self) -> list[str]:
        """Return a picture (SVG) of every column; texts of the data are escaped in it."""
        from whitecrow.histogram.picture import column_svg

        return [column_svg(self, name) for name in self.names]

    def _repr_html_(self) -> str:
        from whitecrow.histogram.picture import fragment

        return fragment(self)

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([f"About {self.records:,} records", *lines, self.statement])

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {
            "form": PROFILE_FORM,
            "records": self.records,
            "columns": [
                {key: list(v) if isinstance(v, tuple) else v for key, v in vars(column).items()}
                for column in self.columns
            ],
            "card": self.basis.to_json(),
            "guarantee": self.guarantee.to_json(),
            "statement": self.statement,
            "question": dict(self.question),
            "entry": self.entry,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TableProfile:
        """Read what :meth:`to_json` wrote."""
        if not isinstance(data, Mapping) or data.get("form") != PROFILE_FORM:
            raise InvalidInput("This is not a profile that this version can read.")
        columns: list[Numbers | Categories] = []
        for column in data["columns"]:
            fields: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in column.items()
            }
            columns.append(Numbers(**fields) if "edges" in fields else Categories(**fields))
        promise = data["guarantee"]
        return cls(
            tuple(columns),
            int(data["records"]),
            Card.from_json(data["card"]),
            DifferentialPrivacy(promise["epsilon"], promise["delta"], promise["unit"]),
            str(data["statement"]),
            dict(data["question"]),
            str(data.get("entry", "")),
        )


# Quantiles of noisy counts


def running(counts: Ints) -> Floats:
    """Return how many records lie below each border: never falling, as near as can be."""
    from scipy.optimize import isotonic_regression

    sums = np.concatenate([[0.0], np.cumsum(counts, dtype=np.float64)])
    # Both ends are known to be the least and the most; the total is what the counts say it is.
    inner = np.clip(sums, 0.0, max(float(sums[-1]), 0.0))
    return np.asarray(isotonic_regression(inner).x, dtype=np.float64)


def quantile(line: Line, edges: Floats, counts: Ints, rank: float) -> float:
    """Return a value below which about a part ``rank`` of the values lies.

    Within a cell, values are taken to be spread evenly; of values near the place found, the one
    with the fewest digits is returned.
    """
    below = running(counts)
    wanted = rank * below[-1]
    cell = min(int(np.searchsorted(below[1:], wanted, side="left")), len(counts) - 1)
    inside = (wanted - below[cell]) / max(below[cell + 1] - below[cell], 1e-9)
    borders = line.borders(edges)
    lower, upper = float(borders[cell]), float(borders[cell + 1])
    if not math.isfinite(lower) or not math.isfinite(upper):
        ends = [end for end in (lower, upper) if math.isfinite(end)]
        return ends[0] if ends else 0.0
    if line.single(lower, upper):
        return lower
    value = line.within(lower, upper, inside)
    if line.whole:
        return float(min(math.floor(value), math.ceil(upper) - 1))
    return _short(value, (upper - lower) * _NEAR, lower, upper)


def _short(value: float, away: float, lower: float, upper: float) -> float:
    """Return the number with the fewest digits near a value, within its cell."""
    for digits in range(1, _DIGITS):
        rounded = float(f"{value:.{digits}g}")
        if abs(rounded - value) <= away and lower <= rounded < upper:
            return rounded
    return min(max(value, lower), math.nextafter(upper, -math.inf))


def rank_deviation(deviation: float, below: int, above: int, rank: float) -> float:
    """Return about the standard deviation of the rank of a quantile, in records.

    The quantile balances ``1 - rank`` times the count below with ``rank`` times the count above;
    they are sums of so many noisy cells.
    """
    return deviation * math.sqrt((1.0 - rank) ** 2 * below + rank**2 * above)


# Several profiles as one: counts add up, and so does their noise


def _merged_numbers(parts: Sequence[Numbers], line: Line) -> Numbers:
    """Add the counts of cells up; a cell that another's edge cuts is taken to be spread evenly."""
    edges: Floats = np.unique(np.concatenate([np.array(part.edges) for part in parts]))
    widths = line.widths(edges)
    cells, shares, full = [], [], np.zeros(len(widths), dtype=np.bool_)
    counts = np.zeros(len(widths))
    for part in parts:
        cell = np.append(0, np.searchsorted(part.edges, edges, side="right"))
        share = widths / np.bincount(cell, widths)[cell]
        held = np.array(part.counts, dtype=np.float64)[cell]
        counts += held * share
        full |= held > _SURE * part.deviation
        cells.append(cell)
        shares.append(share)
    target = max(counts.sum(), 1.0) / max(len(part.counts) for part in parts)
    group = _groups(counts, full, target)
    variance = np.zeros(group[-1] + 1)
    for part, cell, share in zip(parts, cells, shares, strict=True):
        # The parts of one noisy count that fall into one group are the same draw.
        pairs, inverse = np.unique(np.stack([group, cell]), axis=1, return_inverse=True)
        together = np.bincount(inverse.reshape(-1), share)
        variance += np.bincount(pairs[0], (together * part.deviation) ** 2)
    # Rounded as running sums, so that they add up to what was released.
    below = np.rint(np.cumsum(np.bincount(group, counts))).astype(np.int64)
    begins = np.flatnonzero(np.diff(group)) + 1
    return Numbers(
        parts[0].name,
        parts[0].kind,
        tuple(edges[begins - 1].tolist()),
        tuple(np.diff(below, prepend=0).tolist()),
        sum(part.missing for part in parts),
        math.sqrt(float(variance.max())),
    )


def _groups(counts: Floats, full: Flags, target: float) -> Ints:
    """Number the cells of the result: about as many as one profile had where there are records.

    A cell that holds nothing but noise stays alone, so that bounds can end there, and so does one
    that holds much, which may be one value that many share.
    """
    groups, held = np.zeros(len(counts), dtype=np.int64), counts[0]
    for cell in range(1, len(counts)):
        alone = not full[cell] or not full[cell - 1] or counts[cell] >= target
        new = alone or held >= target
        groups[cell] = groups[cell - 1] + new
        held = counts[cell] if new else held + counts[cell]
    return groups


def _merged_categories(parts: Sequence[Categories]) -> Categories:
    """Add the counts of values up; one that a site did not name counts as 0 there."""
    counts: dict[str, int] = {}
    for part in parts:
        for value, count in zip(part.values, part.counts, strict=True):
            counts[value] = counts.get(value, 0) + count
    first = parts[0]
    listed = first.values[: first.listed]
    values = (*listed, *sorted(counts.keys() - set(listed)))
    others = [part.others for part in parts if part.others is not None]
    least = [part.threshold for part in parts if part.threshold is not None]
    return Categories(
        first.name,
        first.kind,
        values,
        tuple(counts[value] for value in values),
        sum(part.missing for part in parts),
        math.sqrt(sum(part.deviation**2 for part in parts)),
        first.listed,
        max(least) if least else None,
        sum(others) if len(others) == len(parts) else None,
    )
