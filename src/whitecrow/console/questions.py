"""The six questions as forms: what is asked for, and the question it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from whitecrow.console.fields import (
    Field,
    Group,
    choices,
    decimal,
    given,
    record,
    record_fields,
    whole,
)
from whitecrow.console.site import Form
from whitecrow.data import Card
from whitecrow.neighbours import METRICS

__all__ = ["QUESTIONS", "Asked", "QuestionForm"]

EPSILON = Field(
    "epsilon",
    "Price ε",
    "Exact: 0.1 or 1/10. Smaller protects more and answers less accurately.",
    default="1/2",
    required=True,
)


@dataclass(frozen=True)
class Asked:
    """What a form describes: a question, and public guesses for its expected error."""

    question: dict[str, Any]
    public: dict[str, Any]


@dataclass(frozen=True)
class QuestionForm:
    """A kind of question as a form.

    Parameters
    ----------
    title, words : str
        What it is called and what it asks.
    groups : callable
        The fields, given the card.
    read : callable
        The question that was described, given the form and the card.
    """

    title: str
    words: str
    groups: Callable[[Card], tuple[Group, ...]]
    read: Callable[[Form, Card], Asked]


def _numeric(card: Card) -> tuple[str, ...]:
    return tuple(column.name for column in card.columns if column.type in ("number", "integer"))


def _model(metrics: tuple[str, ...] = METRICS) -> Group:
    return Group(
        "What is an anomaly",
        (
            Field(
                "beta",
                "Most neighbours β",
                "An anomaly has at most this many records near it, itself included.",
                "number",
                required=True,
            ),
            Field(
                "radius",
                "Radius",
                "How near is near, in the columns' own units.",
                "number",
                required=True,
            ),
            Field("metric", "Distance", type="select", options=choices(metrics)),
        ),
        "Choose these from expert knowledge or public data, never by looking at private records.",
    )


def _read_model(form: Form) -> dict[str, Any]:
    return {
        "beta": whole(given(form, "beta", "Most neighbours β"), "Most neighbours β"),
        "radius": decimal(given(form, "radius", "Radius"), "Radius"),
        "metric": form.one("metric") or "euclidean",
    }


def _epsilon(form: Form) -> str:
    return given(form, "epsilon", "Price ε")


def _guess(name: str, label: str, help: str) -> Group:
    return Group(
        "A public guess (optional)",
        (Field(name, label, help, "number"),),
        "It makes the expected error more telling. It changes nothing else.",
        folded=True,
    )


def _guessed(form: Form, name: str, label: str) -> dict[str, Any]:
    text = form.one(name)
    return {name: whole(text, label)} if text else {}


def _optional(form: Form, *names: str) -> dict[str, Any]:
    """Texts that are taken over where they were given."""
    return {name: form.one(name) for name in names if form.one(name)}


# identify, screen

_TYPICAL = ("typical_neighbours", "Neighbours of a typical anomaly")


def _record_group(card: Card, legend: str) -> Group:
    return Group(legend, record_fields(card), "Columns left empty are not compared.")


def _identify(card: Card) -> tuple[Group, ...]:
    promise = Group(
        "Promise and price",
        (
            Field(
                "notion",
                "Who is covered",
                type="select",
                wide=True,
                options=(
                    ("sensitive", "Records with company; answers about loners are accurate"),
                    ("differential", "Everyone; answers about loners are near a coin toss"),
                ),
            ),
            Field(
                "k",
                "Margin k",
                "Also covers records that are this many neighbours short of normal.",
                "number",
                default="1",
            ),
            EPSILON,
        ),
    )
    return (
        _record_group(card, "The record, a member of the data"),
        _model(),
        promise,
        _guess(*_TYPICAL, "How many records such an anomaly has within the radius."),
    )


def _read_identify(form: Form, card: Card) -> Asked:
    question = {
        "record": record(form, card),
        "model": _read_model(form),
        "k": whole(form.one("k") or "1", "Margin k"),
        "epsilon": _epsilon(form),
        **_optional(form, "notion"),
    }
    return Asked(question, _guessed(form, *_TYPICAL))


def _screen(card: Card) -> tuple[Group, ...]:
    return (
        _record_group(card, "The new record"),
        _model(),
        Group("Price", (EPSILON,)),
        _guess(*_TYPICAL, "How many records the data have near such a record."),
    )


def _read_screen(form: Form, card: Card) -> Asked:
    question = {
        "record": record(form, card),
        "model": _read_model(form),
        "epsilon": _epsilon(form),
    }
    return Asked(question, _guessed(form, *_TYPICAL))


# count, subspaces


def _columns(card: Card, label: str) -> Field:
    return Field("columns", label, "None ticked: all of them.", "checks", choices(_numeric(card)))


def _count(card: Card) -> tuple[Group, ...]:
    mechanisms = ("auto", "smooth", "global", "analytic_gaussian", "paper_gaussian")
    return (
        Group("Where to count", (_columns(card, "Columns to compare"),)),
        _model(),
        Group("Price", (EPSILON,)),
        Group(
            "Details",
            (
                Field(
                    "mechanism",
                    "Noise",
                    "auto takes the least expected error; the Gaussian ones need a δ.",
                    "select",
                    choices(mechanisms),
                ),
                Field("delta", "δ", "For the Gaussian mechanisms.", default="0"),
                Field(
                    "crowding",
                    "Crowding",
                    "A public guess: how many records near the threshold share a ball.",
                    "number",
                ),
            ),
            folded=True,
        ),
    )


def _read_count(form: Form, card: Card) -> Asked:
    question = {
        "columns": form.all("columns") or None,
        "model": _read_model(form),
        "epsilon": _epsilon(form),
        **_optional(form, "mechanism", "delta"),
        **_guessed(form, "crowding", "Crowding"),
    }
    return Asked(question, {})


def _subspaces(card: Card) -> tuple[Group, ...]:
    search = (
        Field("size", "Columns in a subspace", type="number", default="2", required=True),
        Field("top", "How many to name", type="number", default="1", required=True),
        _columns(card, "Columns to combine"),
    )
    share = Field(
        "count_share",
        "Share of ε for counting",
        "0 names the subspaces only; 1/2 also counts the outliers in them.",
        default="1/2",
    )
    return (
        Group("Where to look", search),
        _model(),
        Group("Price", (EPSILON, share)),
    )


def _read_subspaces(form: Form, card: Card) -> Asked:
    question = {
        "size": whole(given(form, "size", "Columns in a subspace"), "Columns in a subspace"),
        "top": whole(given(form, "top", "How many to name"), "How many to name"),
        "columns": form.all("columns") or None,
        "model": _read_model(form),
        "epsilon": _epsilon(form),
        **_optional(form, "count_share"),
    }
    return Asked(question, {})


# explain

_MARGIN = ("margin", "Margin")


def _explain(card: Card) -> tuple[Group, ...]:
    outlier = Group(
        "What is an outlier",
        (
            Field("metric", "In which column", type="select", options=choices(_numeric(card))),
            Field(
                "detector",
                "Rule",
                type="select",
                options=(
                    ("distance", "Few records near it (β, radius)"),
                    ("lof", "Local outlier factor"),
                    ("grubbs", "Grubbs' test"),
                    ("histogram", "A rare bin of the histogram"),
                ),
            ),
            Field("beta", "Most neighbours β", "For the first rule.", "number"),
            Field("radius", "Radius", "For the first rule.", "number"),
        ),
    )
    promise = Group(
        "Promise and price",
        (
            Field(
                "notion",
                "Who is covered",
                type="select",
                wide=True,
                options=(
                    ("differential", "Everyone else, without condition (first rule only)"),
                    ("conditional", "Everyone else, while the matching contexts stay the same"),
                ),
            ),
            EPSILON,
        ),
    )
    return (
        Group(
            "The record",
            record_fields(card),
            "The values you give, beside the outlying column, make the contexts. This record is "
            "named openly and is not protected.",
        ),
        outlier,
        promise,
        _guess(*_MARGIN, "By how many records it is within β where it stands out most."),
    )


def _read_explain(form: Form, card: Card) -> Asked:
    detector: Any = form.one("detector") or "distance"
    if detector == "distance":
        detector = {"kind": "distance", **_read_model(Form({**form.fields, "metric": []}))}
    question = {
        "record": record(form, card),
        "metric": given(form, "metric", "In which column"),
        "detector": detector,
        "epsilon": _epsilon(form),
        **_optional(form, "notion"),
    }
    return Asked(question, _guessed(form, *_MARGIN))


# publish

_PER_PERIOD = ("per_period", "Records in a period")


def _publish(card: Card) -> tuple[Group, ...]:
    moments = tuple(c.name for c in card.columns if c.type in ("date", "integer", "number"))
    dates = tuple(c.name for c in card.columns if c.type == "date")
    what = (
        Field("statistic", "Statistic", type="select", options=choices(("mean", "sum", "count"))),
        Field("column", "Of column", "None for a count.", "select", choices(_numeric(card), "–")),
        Field(
            "view",
            "Over",
            type="select",
            options=(("to_date", "all records so far"), ("each_period", "each period's own")),
        ),
    )
    when = (
        Field(
            "time",
            "Time column",
            type="select",
            options=choices((*dates, *_others(moments, dates))),
        ),
        Field("start", "Starts", "A date such as 2024-01-01, or a number.", required=True),
        Field("period", "Period", "day, week, month, or a number.", default="week"),
        Field("horizon", "How many periods", "At the most, ever.", "number", default="12"),
    )
    clip = (
        Field("lower", "Lower clip", "Empty: the card's bounds.", "number"),
        Field("upper", "Upper clip", "Values beyond are moved here.", "number"),
    )
    price = (
        Field(
            "noise",
            "Priced in",
            type="select",
            options=(("epsilon", "ε, Laplace noise"), ("rho", "ρ, Gaussian noise (needs a δ)")),
        ),
        Field("epsilon", "Price", "One price for the whole series.", default="1/2", required=True),
    )
    return (
        Group("What is published", what),
        Group("When", when),
        Group("Clips", clip, "A public interval; a narrow one means less noise."),
        Group("Price", price),
        _guess(*_PER_PERIOD, "About how many records come in one period."),
    )


def _others(names: tuple[str, ...], without: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in without)


def _read_publish(form: Form, card: Card) -> Asked:
    start = given(form, "start", "Starts")
    period = form.one("period") or "day"
    dated = card.column(given(form, "time", "Time column")).type == "date"
    statistic = form.one("statistic") or "mean"
    question: dict[str, Any] = {
        "statistic": statistic,
        "time": form.one("time"),
        "start": start if dated else decimal(start, "Starts"),
        "period": period if dated else decimal(period, "Period"),
        form.one("noise") or "epsilon": given(form, "epsilon", "Price"),
        **_optional(form, "view"),
    }
    if statistic != "count":
        question |= _optional(form, "column")
    if form.one("horizon"):
        question["horizon"] = whole(form.one("horizon"), "How many periods")
    if form.one("lower") or form.one("upper"):
        question["clip"] = [
            given(form, "lower", "Lower clip"),
            given(form, "upper", "Upper clip"),
        ]
    return Asked(question, _guessed(form, *_PER_PERIOD))


QUESTIONS: dict[str, QuestionForm] = {
    "identify": QuestionForm(
        "Identify", "Is this member of the data an anomaly?", _identify, _read_identify
    ),
    "screen": QuestionForm(
        "Screen", "Would this new record be an anomaly beside the data?", _screen, _read_screen
    ),
    "count": QuestionForm("Count", "How many outliers are there?", _count, _read_count),
    "subspaces": QuestionForm(
        "Subspaces", "In which columns do outliers live?", _subspaces, _read_subspaces
    ),
    "explain": QuestionForm(
        "Explain", "Among whom does this record stand out?", _explain, _read_explain
    ),
    "publish": QuestionForm(
        "Publish", "A mean, sum or count, period by period.", _publish, _read_publish
    ),
}
"""The questions, in the order in which people meet them."""
