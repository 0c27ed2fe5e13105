"""What ``describe`` says of a profile before it is asked, from public facts alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from whitecrow.data import Card
from whitecrow.histogram.columns import rank_deviation
from whitecrow.histogram.noise_budget import Money
from whitecrow.profile.search import threshold, usual_share

if TYPE_CHECKING:
    from whitecrow.profile.question import Part, Profile

_CELLS = 36
_TAIL_CELLS = 6


def described(question: Profile, card: Card) -> tuple[str, dict[str, object]]:
    parts = question.parts(card)
    # Once for all columns: each of these goes through all of them.
    money, discovers = question.money(card), any(part.discovers for part in parts)
    delta = question.value_delta(card) if discovers else Fraction(0)
    figures = {part.name: _figures(part, money, card.contribution, delta) for part in parts}
    words = [f"A profile of {len(parts)} columns."]
    ordered = [part for part in parts if part.ordered]
    if ordered:
        worst = max(figures[part.name]["median_rank_error"] for part in ordered)
        tails = max(figures[part.name]["tail_rank_error"] for part in ordered)
        enough = math.ceil(worst / 0.01 / 100) * 100
        words.append(
            f"Medians are off by about {worst:,.0f} records of rank, 5 % and 95 % quantiles by "
            f"about {tails:,.0f} (one standard deviation): 1 % of {enough:,} records."
        )
    counted = [part for part in parts if not part.ordered]
    if counted:
        off = max(figures[part.name]["count_error"] for part in counted)
        words.append(f"Counts of categories are off by about {off:,.1f}.")
    found = [part for part in parts if part.discovers]
    if found:
        least = max(figures[part.name]["threshold"] for part in found)
        words.append(
            f"Values that the card does not list are named where a noisy count reaches {least:,}; "
            f"a value that one person alone has is named with a probability of at most "
            f"{float(delta):.1g} a column."
        )
    left = [
        column.name
        for column in card.columns
        if column.type == "text"
        and column.name not in figures
        and column.name != card.user_column
        and question.columns is None
    ]
    if left:
        words.append(
            f"Left out: {', '.join(left[:5])}{', ...' if len(left) > 5 else ''}, for texts need a "
            "δ: which of them occur is not public."
        )
    words.append(_split(parts))
    worst_of: dict[str, object] = {
        name: max(figures[part.name][name] for part in of)
        for name, of in (
            ("median_rank_error", ordered),
            ("tail_rank_error", ordered),
            ("count_error", counted),
            ("threshold", found),
        )
        if of
    }
    return " ".join(words), {**worst_of, "columns": figures}


def _split(parts: tuple[Part, ...]) -> str:
    shares = {part.share for part in parts}
    if len(shares) == 1:
        return f"Every column gets 1/{len(parts)} of the price; weights change that."
    said = ", ".join(f"{part.name} {float(part.share):.0%}" for part in parts[:6])
    return f"Of the price, columns get: {said}{', ...' if len(parts) > 6 else ''}."


def _figures(part: Part, money: Money, contribution: int, delta: Fraction) -> dict[str, float]:
    if not part.ordered:
        noise = money.histograms(part.share, 1)
        found = {"share": float(part.share), "count_error": noise.deviation}
        if part.discovers:
            found["threshold"] = threshold(noise, contribution, delta)
        return found
    off = money.histograms(part.share * usual_share(), 1).deviation
    return {
        "share": float(part.share),
        "count_error": off,
        "median_rank_error": rank_deviation(off, _CELLS // 2, _CELLS // 2, 0.5),
        "tail_rank_error": rank_deviation(off, _TAIL_CELLS, _CELLS - _TAIL_CELLS, 0.05),
    }
