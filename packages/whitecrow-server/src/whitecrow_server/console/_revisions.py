"""The timeline of a dataset, its statement and report, and recording that its records changed."""

from __future__ import annotations

import datetime
from typing import Any

from whitecrow.errors import WhitecrowError, http_status
from whitecrow.ledger.growth import checked
from whitecrow.rendering.timeline import history
from whitecrow.terms import LINES
from whitecrow_server.console._custodian import CUSTODIAN, READERS, promised
from whitecrow_server.console._site import HOME, Go, Page, Sent, Site, Visit

GROWTHS = {
    "": "as declared before",
    "insert-only": "records are only added at the end",
    "any": "records may have been changed or removed",
}


def add(site: Site) -> None:
    service = site.service

    def timeline(visit: Visit, status: int = 200, **more: Any) -> Page:
        name = visit.part("name")
        dataset, found = service.dataset(visit.who, name), service.history.timeline(visit.who, name)
        admitted = [line for line in LINES if line in dataset["policy"]["notions"]]
        asked = visit.query("line")
        line = asked if asked in admitted else admitted[0]
        values = {
            "dataset": dataset,
            "found": found,
            "lines": admitted,
            "line": line,
            "picture": history(found, line).svg(),  # its texts are escaped
            "growths": GROWTHS,
            "wrong": "",
        }
        return Page("timeline.html", {**values, "typed": visit.form, **more}, status)

    def advance(visit: Visit) -> Page | Go:
        name, form = visit.part("name"), visit.form
        try:
            growth = checked(form.one("growth") or None)
            service.history.advance(visit.who, name, reason=form.one("reason"), growth=growth)
        except WhitecrowError as error:
            at = getattr(error, "parameter", None) or ""
            return timeline(visit, http_status(error), wrong=str(error), wrong_at=at)
        return Go(f"{HOME}/datasets/{name}/timeline?done=revision")

    def statement(visit: Visit) -> Page:
        """The joint promise, to be printed and signed."""
        name = visit.part("name")
        dataset = service.dataset(visit.who, name)
        values = {
            "dataset": dataset,
            "promise": promised(dataset),
            "today": datetime.datetime.now(datetime.UTC).isoformat(),
            **service.history.statement(visit.who, name),
        }
        return Page("statement.html", values)

    def report(visit: Visit) -> Sent:
        name = visit.part("name")
        return Sent(f"{name}-report.html", service.history.report(visit.who, name).encode())

    site.get("/datasets/{name}/timeline", timeline)
    site.get("/datasets/{name}/statement", statement, roles=READERS)
    site.get("/datasets/{name}/report", report, roles=READERS)
    site.post("/datasets/{name}/timeline", advance, roles=CUSTODIAN)
