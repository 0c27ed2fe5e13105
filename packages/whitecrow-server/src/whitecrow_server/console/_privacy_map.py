"""The privacy map of a dataset: facts, for the custodian's eyes only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.errors import InvalidInput
from whitecrow_server import Service
from whitecrow_server.console._datasets import CUSTODIAN
from whitecrow_server.console._forms import Field, Group, choices, decimal, given, labels_of, whole
from whitecrow_server.console._show import chart, trace
from whitecrow_server.console._site import Form, Page, Site, Visit

_MOST_POINTS = 4_000
_STYLES = (
    ("#8fa3bf", "circle"),
    ("#2f7fb8", "square"),
    ("#2a9d6f", "diamond"),
    ("#d9902f", "triangle-up"),
    ("#c2362b", "x"),
)
"""From the band that is usual to the one that is not."""
_COUNTED = ("euclidean", "manhattan", "chebyshev")


def add(site: Site) -> None:
    service = site.service

    def page(visit: Visit) -> Page:
        dataset = service.dataset(visit.who, visit.part("name"))
        form = visit.linked
        columns = dataset["card"]["columns"] if dataset["card"] else []
        names = [c["name"] for c in columns if c.get("type", "number") in ("number", "integer")]
        values: dict[str, Any] = {
            "dataset": dataset,
            "groups": _groups(names),
            "typed": form,
            "found": None,
        }
        try:
            if form.one("beta") and len(names) > 1:
                values["found"] = _mapped(service, visit, form)
        except InvalidInput as error:
            return Page("map.html", values).refusing(error, labels_of(values["groups"]))
        return Page("map.html", values)

    site.get("/datasets/{name}/map", page, roles=CUSTODIAN)


def _groups(names: list[str]) -> tuple[Group, ...]:
    first, second = (names + names)[:2] if names else ("", "")
    axes = (
        Field("x", "Across", type="select", options=choices(names), default=first),
        Field("y", "Up", type="select", options=choices(names), default=second),
    )
    question = (
        Field("beta", "Most neighbours β", type="number", default="10", required=True),
        Field("radius", "Radius", type="number", default="5", required=True),
        Field("k", "Margin k", type="number", default="1"),
        Field("epsilon", "Price ε", default="1/2", required=True),
        Field("notion", "Promise", type="select", options=choices(("sensitive", "differential"))),
        Field("metric", "Distance", type="select", options=choices(_COUNTED)),
    )
    return (Group("Columns", axes), Group("The question, asked about every record", question))


def _mapped(service: Service, visit: Visit, form: Form) -> dict[str, Any]:
    columns = [given(form, "x", "Across"), given(form, "y", "Up")]
    if columns[0] == columns[1]:
        raise InvalidInput("Choose two different columns.", parameter="y")
    model = DistanceAnomaly(
        whole(given(form, "beta", "β"), "β", "beta"),
        float(decimal(given(form, "radius", "Radius"), "Radius", "radius")),
        form.one("metric") or "euclidean",
    )
    drawn = service.privacy_map(
        visit.who,
        visit.part("name"),
        columns,
        model,
        most=_MOST_POINTS,
        k=whole(form.one("k") or "1", "Margin k", "k"),
        epsilon=given(form, "epsilon", "Price ε"),
        notion=form.one("notion") or "sensitive",
    )
    points = np.array(drawn["points"]).reshape(-1, len(columns))
    loss = _bands(points, drawn["loss"], columns, "Loss of each record", _STYLES)
    right = "Probability of a right answer"
    accuracy = _bands(points, drawn["accuracy"], columns, right, _STYLES[::-1])
    return {"rows": _summary(drawn), "charts": [loss, accuracy]}


def _summary(drawn: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("records", f"{drawn['records']:,}"),
        ("anomalies under this model", f"{drawn['anomalous']:,}"),
        ("covered by the promise", f"{drawn['covered']:,}"),
        ("not covered", f"{drawn['records'] - drawn['covered']:,}"),
        ("loss of a record, median", f"{drawn['cuts'][0]:.3g}"),
        ("loss, nine in ten at most", f"{drawn['cuts'][1]:.3g}"),
        ("largest finite loss", f"{drawn['cuts'][2]:.3g}"),
        ("records whose loss is unbounded", f"{drawn['unbounded']:,}"),
    ]


def _bands(
    points: Any,
    given: list[float],
    columns: list[str],
    title: str,
    styles: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Points in bands of equal width, each with its own colour and sign.

    A continuous scale would need plotly's colour bar, which breaks the content-security policy.
    """
    values = np.array(given)
    edges = np.linspace(float(values.min()), float(values.max()), len(styles) + 1)
    band = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, len(styles) - 1)
    traces = []
    for index, (colour, sign) in enumerate(styles):
        inside = points[band == index]
        if not len(inside):
            continue
        marker = {"color": colour, "symbol": sign, "size": 7, "line": {"width": 0.5}}
        name = f"{edges[index]:.3g} to {edges[index + 1]:.3g}"
        x, y = inside.round(6).T.tolist()
        traces.append(trace("markers", x, y, name=name, marker=marker))
    return chart(traces, x=columns[0], y=columns[1], label=title, showlegend=True)
