"""The page of a screening: a file is dropped, and each record of it is flagged or is not."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whitecrow.curator.transcripts import paid_series
from whitecrow.data import Card
from whitecrow.data.asked import read_asked
from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.rendering import chance
from whitecrow.screening import MOST_AT_ONCE, Screening
from whitecrow_server._people import Person
from whitecrow_server._untrusted_input import question_from, strict_json
from whitecrow_server.console._datasets import ASKING
from whitecrow_server.console._show import chart, trace
from whitecrow_server.console._site import HOME, Form, Page, Sent, Site, Visit

_SHOWN = 100
_LONGEST = 20_000


def add(site: Site) -> None:
    service = site.service

    def page(visit: Visit, flags: Mapping[str, Any] | None = None) -> Page:
        dataset = service.dataset(visit.who, visit.part("name"))
        question = strict_json((visit.form.one("question") or visit.query("question")).encode())
        series = _series(question)
        values = {
            "dataset": dataset,
            "at": f"{HOME}/datasets/{dataset['name']}/ask/screening/flags",
            "question": {"kind": "screening", **series.to_json()},
            "columns": series.names(service.curator(visit.who, dataset["name"]).card),
            "most": MOST_AT_ONCE,
            "longest": _LONGEST,
            "typed": visit.form.one("records"),
            "flags": flags,
        }
        return Page("screening.html", values)

    def batch(who: Person, name: str, form: Form, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The question about the records of a form, which are read as the data's own are."""
        series, curator = _series(raw), service.curator(who, name)
        paid_series(curator, series, analyst=who.name)  # or it is refused
        records = _records(form.one("records"), curator.card, series)
        return {"kind": "screening", **series.of_all(records).to_json()}

    def flags(visit: Visit) -> Page | Sent:
        try:
            release = site.released(visit)
        except WhitecrowError as error:
            return page(visit).refusing(error, at="records")
        if visit.form.one("as") == "csv":
            lines = [f"{row},{int(flag)}" for row, flag in enumerate(release.answer, 1)]
            return Sent("flags.csv", "\n".join(["row,anomaly", *lines, ""]).encode())
        asked = release.question["batch"]
        rows = [
            (row, *asked[row - 1].values()) for row, flag in enumerate(release.answer, 1) if flag
        ]
        shown = {
            "records": len(release.answer),
            "anomalies": len(rows),
            "heads": list(asked[0]),
            "rows": rows[:_SHOWN],
        }
        return page(visit, flags=shown)

    site.get("/datasets/{name}/screening", page, roles=ASKING)
    site.post("/datasets/{name}/ask/{kind}/flags", flags, roles=ASKING, asks=batch)


def _series(raw: object) -> Screening:
    question = question_from(raw) if isinstance(raw, dict) else None
    if not isinstance(question, Screening):
        raise InvalidInput("The form is stale; open the screening again.")
    return question.paid_as()


def _records(text: str, card: Card, series: Screening) -> list[dict[str, Any]]:
    lines = text.count("\n")
    if lines > MOST_AT_ONCE:
        raise InvalidInput(
            f"There are {lines:,} records; without scripts a page screens {MOST_AT_ONCE:,} at a "
            "time. Send them in parts, or use `whitecrow screening ask`."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.csv"
        path.write_text(text, encoding="utf-8")
        asked = read_asked(path, card, columns=series.names(card))
    return [record for record in asked.records if record is not None]


def error_curve(figures: Mapping[str, Any]) -> dict[str, Any] | None:
    """How often an answer is wrong by how many records are near: a table and a picture."""
    errors = figures.get("error_by_neighbours")
    if errors is None:
        return None
    percents = [round(100 * error, 4) for error in errors.values()]
    line = trace("lines+markers", map(int, errors), percents, tone="accent")
    label = "How often an answer is wrong, by the records near the one asked about"
    return {
        "rows": [(f"{int(count):,}", chance(error)) for count, error in errors.items()],
        "chart": chart([line], x="records near it", y="wrong, in %", label=label),
    }
