"""A released profile of a table: public, and made of noisy counts only."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import LEAST_SCALE, MOST_SCALE, date_text
from whitecrow.data import Card, Column
from whitecrow.data.template import written
from whitecrow.errors import InvalidInput
from whitecrow.histogram.columns import Categories, Numbers, quantile, rank_deviation, running
from whitecrow.histogram.line import Line, line_of
from whitecrow.histogram.merging import merged
from whitecrow.privacy import DifferentialPrivacy

_SURE = 4.0
"""Standard deviations of noise up to which no count is taken for more than noise."""
_MISSING = "(missing)"
PROFILE_FORM = "whitecrow-profile 1"


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
        found = rank_deviation(column.deviation, below, len(column.counts) - below, rank)
        return found / max(1, self.records)

    def bounds(self, name: str) -> tuple[float, float] | None:
        """Return bounds between which all but a few records lie; None where none were found.

        They end with the outermost cells whose counts are more than noise. Of a cell that has no
        end it is only known where it begins, so bounds go no farther.
        """
        column = self._numbers(name)
        counts = np.array(column.counts, dtype=np.float64)
        full = np.flatnonzero(counts > self._sure(column.deviation))
        if not len(full):
            return None
        line = self.line(name)
        borders = line.borders(np.array(column.edges))
        ends = borders[full[0] : full[-1] + 2]
        known = ends[np.isfinite(ends)]
        if not len(known):
            return None
        lower, upper = float(known[0]), float(known[-1])
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
        found = max(half / 1.349, most / 3.29)
        return float(f"{found:.3g}") if LEAST_SCALE <= found <= MOST_SCALE else None

    def missing(self, name: str) -> float:
        """Return the part of the records that has no value, or one of the wrong type."""
        return min(1.0, max(0.0, self.column(name).missing / max(1, self.records)))

    def categories(self, name: str) -> dict[str, int]:
        """Return the known values of a column and about how many records have each."""
        column = self.column(name)
        if not isinstance(column, Categories):
            raise InvalidInput(f"The column {name!r} has no categories; ask for its quantiles.")
        return {v: max(0, c) for v, c in zip(column.values, column.counts, strict=True)}

    def histogram(self, name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
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
        used = [
            column
            for column in columns
            if column.type != "text" or column.name == self.basis.user_column
        ]
        return replace(
            self.basis,
            columns=tuple(used or columns),
            sources={**self.basis.sources, "profile": self._source},
        )

    @property
    def _source(self) -> str:
        return f"priced question {self.entry}" if self.entry else "merged profiles"

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
        return TableProfile(**merged((self, *others), apart, overlap))

    def _drafted(self, column: Column) -> Column:
        released = self.column(column.name)
        if isinstance(released, Categories):
            return self._drafted_category(column, released)
        found = self.bounds(column.name)
        if column.bounded or found is None:
            return column
        lower, upper = found
        middle = min(max(self.quantile(column.name, 0.5), lower), upper)
        whole = int if column.type != "number" else float
        found_column = replace(
            column,
            lower=whole(lower),
            upper=whole(upper),
            outside="clip",
            scale=column.scale or self.scale(column.name),
            source="priced question",
        )
        if column.missing == "fill":
            return found_column
        return replace(found_column, missing="fill", fill=whole(middle))

    def _drafted_category(self, column: Column, released: Categories) -> Column:
        found = released.values[released.listed :]
        named = sum(max(0, count) for count in released.counts)
        if not released.values or (column.type == "text" and 2 * named < self.records):
            return column  # mostly rare texts: no category
        some = released.missing > self._sure(released.deviation)
        if not found and not (some and column.missing != "fill"):
            return column
        if column.missing == "fill":
            return replace(
                column, type="category", categories=released.values, source="priced question"
            )
        # Rare values are not named, and leave no record out: they count as missing.
        return replace(
            column,
            type="category",
            categories=(*released.values, _MISSING),
            missing="fill",
            fill=_MISSING,
            outside="missing",
            source="priced question",
        )

    def draft(self) -> dict[str, Any]:
        """Return the drafted card as JSON, marked as a draft until a custodian accepts it."""
        return {"draft": self.entry, **self.card().to_json()}

    def save_draft(self, path: str | Path) -> None:
        """Write the drafted card (TOML), for the custodian to accept or edit."""
        note = (
            f"Drafted from a profile ({self.statement})\n"
            "Read it, change what you know better, then: whitecrow card accept."
        )
        Path(path).write_text(written(self.card(), draft=self.entry, note=note), encoding="utf-8")

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
            said = ", ".join(f"{value} {count:,}" for value, count in best[:3])
            if len(best) > 3:
                said += f", and {len(best) - 3} more"
            return [name, column.kind, "", "", "", said or "no value is common enough", missing]
        found = self.bounds(name)
        if found is None:
            return [name, column.kind, "?", "?", "?", "nothing but noise", missing]
        ranks = [self.shown(name, self.quantile(name, rank)) for rank in (0.05, 0.5, 0.95)]
        between = " to ".join(self.shown(name, end) for end in found)
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
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
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
            "columns": [_column_json(column) for column in self.columns],
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
        said = data["guarantee"]
        return cls(
            tuple(_column_of(column) for column in data["columns"]),
            int(data["records"]),
            Card.from_json(data["card"]),
            DifferentialPrivacy(said["epsilon"], said["delta"], said["unit"]),
            str(data["statement"]),
            dict(data["question"]),
            str(data.get("entry", "")),
        )


def _column_json(column: Numbers | Categories) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in vars(column).items()
    }


def _column_of(data: Mapping[str, Any]) -> Numbers | Categories:
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
    }
    return Numbers(**given) if "edges" in given else Categories(**given)
