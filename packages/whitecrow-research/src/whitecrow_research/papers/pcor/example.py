"""Table 1: the example of section 3, as far as it can be computed without its salaries."""

from __future__ import annotations

from whitecrow.data import Card, Column
from whitecrow.explain.contexts import Space
from whitecrow_research.papers.report import Context, Row, Section, Table

DOMAINS = {
    "Job title": ("CEO", "Medical Doctor", "Lawyer"),
    "City": ("Montreal", "Ottawa", "Toronto"),
    "District": ("Business", "Historic", "Diplomatic"),
}
RECORDS = (
    ("Medical Doctor", "Montreal", "Business"),
    ("Lawyer", "Toronto", "Business"),
    ("CEO", "Ottawa", "Diplomatic"),
    ("Lawyer", "Toronto", "Business"),
    ("Lawyer", "Ottawa", "Diplomatic"),
    ("Medical Doctor", "Toronto", "Historic"),
    ("Lawyer", "Ottawa", "Business"),
    ("Lawyer", "Ottawa", "Diplomatic"),
    ("CEO", "Montreal", "Historic"),
    ("Medical Doctor", "Toronto", "Diplomatic"),
)


def example(context: Context) -> Section:
    """Which records the context of the example holds, and whom it gives away."""
    columns = tuple(Column(n, "category", categories=values) for n, values in DOMAINS.items())
    record = dict(zip(DOMAINS, RECORDS[7], strict=True))
    contexts = 1 << Space.of(tuple(DOMAINS), record, Card("example", columns)).bits
    inside = _inside({"CEO", "Lawyer"}, {"Ottawa"}, {"Diplomatic"})
    chiefs = [number for number in inside if RECORDS[number - 1][0] == "CEO"]
    bits = _bits(({"CEO", "Lawyer"}, {"Toronto"}, {"Historic"}))
    rows = [
        Row(
            "records in {CEO, Lawyer}, Ottawa, Diplomatic",
            "record 8 and others, one CEO",
            f"{', '.join(map(str, inside))}; the only CEO is record {chiefs[0]}",
            "reproduced" if 8 in inside and len(chiefs) == 1 else "differs",
        ),
        Row(
            "the context {CEO, Lawyer}, Toronto, Historic as bits",
            "101001010",
            bits,
            "reproduced" if bits == "101001010" else "differs",
            "it holds none of the ten records",
        ),
        Row(
            "in which of its contexts is record 8 an outlier?",
            "the context above",
            f"{contexts} contexts, undecided",
            "data not public",
            "the salaries are symbols, S1 to S10",
        ),
    ]
    table = Table(
        ("record", *DOMAINS, "Salary"),
        [(n, *values, f"S{n}") for n, values in enumerate(RECORDS, start=1)],
    )
    text = (
        "Whoever knows that there is one CEO in that district learns from the published context "
        "that this CEO is in the data: the reason for the paper."
    )
    return Section("Table 1: the example", text, rows, [table])


def _inside(*chosen: set[str]) -> list[int]:
    return [
        number
        for number, values in enumerate(RECORDS, start=1)
        if all(value in wanted for value, wanted in zip(values, chosen, strict=True))
    ]


def _bits(chosen: tuple[set[str], ...]) -> str:
    return "".join(
        "1" if value in wanted else "0"
        for values, wanted in zip(DOMAINS.values(), chosen, strict=True)
        for value in values
    )
