"""The question ``profile``: a private description of a table whose bounds nobody knows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from whitecrow.data import Card
from whitecrow.declaration import Delta, Epsilon, Flag, Maybe, Names, Relation, Weights
from whitecrow.errors import InvalidInput, invalid
from whitecrow.histogram.noise_budget import NoiseBudget, concentrated
from whitecrow.histogram.table import TableProfile, rank_deviation
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.privacy import DifferentialPrivacy, exact
from whitecrow.profile.search import LEAST_SHARE, threshold, usual_share
from whitecrow.question import Question, Said

MOST_COLUMNS = 2048

_CELLS, _TAIL_CELLS = 36, 6
"""So many cells the last histogram of a column has, and beyond a 5 % quantile."""


@dataclass(frozen=True)
class Part:
    """What is done for one column."""

    name: str
    kind: str
    share: Fraction  # the part of the price that it gets
    discovers: bool  # whether values are looked for that the card does not list

    @property
    def ordered(self) -> bool:
        """Whether it is a column of numbers or dates."""
        return self.kind in ("number", "integer", "date")

    def figures(self, budget: NoiseBudget, contribution: int, delta: Fraction) -> dict[str, float]:
        """Return how far off its numbers will be."""
        share = self.share * usual_share() if self.ordered else self.share
        noise = budget.histograms(share, 1)
        figures = {"share": float(self.share), "count_error": noise.deviation}
        if self.discovers:
            figures["threshold"] = threshold(noise, contribution, delta)
        if self.ordered:
            off, half, rest = noise.deviation, _CELLS // 2, _CELLS - _TAIL_CELLS
            figures["median_rank_error"] = rank_deviation(off, half, half, 0.5)
            figures["tail_rank_error"] = rank_deviation(off, _TAIL_CELLS, rest, 0.05)
        return figures


class Profile(Question):
    """Describe every column: bounds, quantiles, a histogram, common values and the share missing.

    No bounds need be known. The answer is a :class:`~whitecrow.histogram.TableProfile`, from which
    a card is drafted.

    ``proof.md`` beside this file has the theorem.

    Examples
    --------
    >>> Profile(epsilon="1", delta="1e-6").to_json()["delta"]
    '1/1000000'
    """

    kind = "profile"
    needs_card = False
    reply_seconds = 0.5
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "median_rank_error": ("the median may be off by about, in places", "number"),
        "tail_rank_error": ("5 % and 95 % quantiles by about, in places", "number"),
        "count_error": ("counts of categories off by", "number"),
        "threshold": ("unlisted values named from about, in records", "number"),
    }
    asks = "What is in the columns: bounds, quantiles, common values, how much is missing?"
    example = "patients.csv --card draft.toml --epsilon 1 --delta 1e-6 --out patients.toml"

    columns: Maybe[tuple[str, ...], Sequence[str]] = Maybe(
        Names(
            help="What is described. All columns but names of persons, unless given.",
            types=("number", "integer", "category", "date", "text"),
        ),
        default=None,
        kw_only=False,
    )
    epsilon: Epsilon = Epsilon()
    delta: Delta = Delta(
        help="Above 0 (1e-6, say) texts and unlisted categories are described too, and noise is "
        "smaller where there are many columns.",
        default="0",
    )
    relation: Relation = Relation(default="add_remove")
    discover: Flag = Flag(
        help="Look for values of categories and texts that the card does not list; only with δ.",
        default=True,
        group="details",
    )
    weights: Maybe[Mapping[str, float], Mapping[str, float]] = Maybe(
        Weights(
            help="How columns share the price: a weight for each that is to get more or less than "
            "the others, which have 1.",
            label="Weights",
            group="details",
        ),
        default=None,
    )

    def settle(self) -> None:
        """Refuse a delta that does not help."""
        if self.delta and concentrated(self.epsilon, self.delta / 2) <= 0:
            hint = "Leave delta out, or give a larger one."
            raise invalid("Profile", "delta", "large enough to help", str(self.delta), hint)

    def parts(self, card: Card) -> tuple[Part, ...]:
        """Return the columns that are described, in the card's order, and what each gets."""
        for name in (*(self.columns or ()), *(self.weights or {})):
            card.column(name)
        discovers = self.discover and self.delta > 0
        chosen = [column for column in card.columns if column.name in (self.columns or ())]
        if self.columns is None:
            described = [each for each in card.columns if each.type != "text" or discovers]
            chosen = [each for each in described if each.name != card.user_column]
        given = {
            name: exact(weight, owner="Profile", parameter="weights")
            for name, weight in (self.weights or {}).items()
        }
        weights = [given.get(column.name, Fraction(1)) for column in chosen]
        total, discovered = sum(weights, Fraction(0)), ("category", "text") if discovers else ()
        return tuple(
            Part(column.name, column.type, weight / total, column.type in discovered)
            for column, weight in zip(chosen, weights, strict=True)
        )

    def value_delta(self, card: Card) -> Fraction:
        """Return the delta of each column in which values are discovered: half for all of them."""
        return self.delta / 2 / sum(part.discovers for part in self.parts(card))

    def noise_budget(self, card: Card) -> NoiseBudget:
        """Return what the question pays with: where values are discovered, with half its delta."""
        halved = any(part.discovers for part in self.parts(card))
        delta = self.delta / 2 if halved else self.delta
        return NoiseBudget.of(self.epsilon, delta, self.relation, card.contribution)

    def check(self, card: Card) -> None:
        parts = self.parts(card)
        if not parts:
            raise InvalidInput(
                "The card has no column that can be described without a δ: texts need one, for "
                "which texts occur is not public. Give delta, 1e-6 say."
            )
        if len(parts) > MOST_COLUMNS:
            raise InvalidInput(
                f"A profile describes no more than {MOST_COLUMNS:,} columns; the card lists "
                f"{len(parts):,}. Name those you want."
            )
        described = {part.name for part in parts}
        for name in self.weights or {}:
            if name not in described:
                raise invalid("Profile", "weights", "only for columns that are described", name)
        for part in parts:
            if part.name == card.user_column:
                must = "without the column that names persons"
                raise invalid("Profile", "columns", must, part.name)
            if part.kind == "text" and not part.discovers:
                hint = (
                    "Under pure differential privacy no text may be released that the card does "
                    "not list: that it occurs at all would tell of a person. Give delta (1e-6, "
                    "say) and leave discover on, or list the categories on the card."
                )
                raise invalid("Profile", "columns", "no texts without a δ", part.name, hint)
        budget = self.noise_budget(card)
        least = min(part.share for part in parts)
        if budget.total <= 0 or not budget.affords(least * LEAST_SHARE, 1):
            hint = "The noise would be beyond the numbers a computer holds."
            raise invalid("Profile", "epsilon", "a larger price", str(self.epsilon), hint)

    def price(self, card: Card) -> DifferentialPrivacy:
        self.check(card)
        return DifferentialPrivacy(self.epsilon, self.delta, self.relation)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        parts = self.parts(card)
        # Once for all columns: each of these goes through all of them.
        budget, discovered = self.noise_budget(card), [part for part in parts if part.discovers]
        delta = self.value_delta(card) if discovered else Fraction(0)
        columns = {part.name: part.figures(budget, card.contribution, delta) for part in parts}
        ordered = [part for part in parts if part.ordered]
        counted = [part for part in parts if not part.ordered]
        parts_of = dict.fromkeys(("median_rank_error", "tail_rank_error"), ordered)
        parts_of |= {"count_error": counted, "threshold": discovered}
        worst = {
            name: max(columns[part.name][name] for part in described)
            for name, described in parts_of.items()
            if described
        }
        words = [f"A profile of {len(parts)} columns."]
        if ordered:
            enough = math.ceil(worst["median_rank_error"] / 0.01 / 100) * 100
            words.append(
                f"Medians are off by about {worst['median_rank_error']:,.0f} records of rank, 5 % "
                f"and 95 % quantiles by about {worst['tail_rank_error']:,.0f} (one standard "
                f"deviation): 1 % of {enough:,} records."
            )
        if counted:
            words.append(f"Counts of categories are off by about {worst['count_error']:,.1f}.")
        if discovered:
            words.append(
                "Values that the card does not list are named where a noisy count reaches "
                f"{worst['threshold']:,}; a value that one person alone has is named with a "
                f"probability of at most {float(delta):.1g} a column."
            )
        texts = [column.name for column in card.columns if column.type == "text"]
        left = [name for name in texts if name not in columns and name != card.user_column]
        if left and self.columns is None:
            words.append(
                f"Left out: {', '.join(left[:5])}{', ...' if len(left) > 5 else ''}, for texts "
                "need a δ: which of them occur is not public."
            )
        shares = ", ".join(f"{part.name} {float(part.share):.0%}" for part in parts[:6])
        words.append(f"Of the price, columns get: {shares}{', ...' if len(parts) > 6 else ''}.")
        if len({part.share for part in parts}) == 1:
            words[-1] = f"Every column gets 1/{len(parts)} of the price; weights change that."
        return " ".join(words), {**worst, "columns": columns}

    def reads(self, answer: Any) -> Any:
        return answer if isinstance(answer, TableProfile) else TableProfile.from_json(answer)

    def entered(self, answer: Any, entry: str) -> Any:
        """Return the answer with the ledger's digest in it: of the question, card and revision."""
        profile = self.reads(answer)
        return answer if profile.entry == entry else replace(profile, entry=entry).to_json()

    def keep(self, answer: Any, path: str) -> None:
        """Write the drafted card; to a path that ends in ``.profile`` the profile itself."""
        profile = self.reads(answer)
        (profile.save if path.endswith(".profile") else profile.save_draft)(path)

    def draw(self, answer: Any, path: str) -> None:
        self.reads(answer).plot(path)

    def says(self, answer: Any) -> Said:
        """Say what was found, a row for each column."""
        profile = self.reads(answer)
        return Said(
            f"A profile of {len(profile.columns)} columns and about {profile.records:,} records",
            rows=profile.rows(),
            pictures=profile.pictures(),
        )


_ROUNDS = 10  # how often all records are sorted into the cells of columns, at the most
_CELLS_OF_ALL = 1 << 22  # four times what a count may have over all columns
_CELLS_OF_A_COLUMN = 1024  # of the looks before it


def cost(question: Profile, card: Card, records: int) -> Limits:
    """Records are sorted into cells again and again; every cell gets its noise."""
    parts = question.parts(card)
    width = len(parts)
    cells = _CELLS_OF_ALL + _CELLS_OF_A_COLUMN * width
    cells += records * sum(part.discovers for part in parts)  # each may have a text of its own
    return worst_case(
        _ROUNDS * sorting(records, width), draws=cells, values=records * width, kept=records + cells
    )
