"""The account of a dataset: its entries, spends without an answer, revisions, statement, report."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.ledger.revisions import checked_growth
from whitecrow.rendering import history
from whitecrow.terms import LINES
from whitecrow_server.console._datasets import CUSTODIAN, READERS, promised
from whitecrow_server.console._forms import whole
from whitecrow_server.console._site import HOME, Again, Go, Page, Sent, Site, Visit

_A_PAGE = 40
_AT_ONCE = 1_000
"""How many entries are read for the timeline; a longer account is checked when somebody asks."""

ACTS = {
    "open": "opened the account",
    "amend": "changed the promise",
    "allow": "set an allowance",
    "data": "recorded which records the account is for",
    "reserve": "asked; the spend is committed",
    "settle": "answered; the answer is stored",
    "fail": "failed; nothing was released",
    "halt": "an update of a publication failed; nothing was released",
    "review": "reviewed a failure",
    "void": "gave a spend back",
    "checkpoint": "verified everything up to here",
    "alarm": "gave an alarm",
}

GROWTHS = {
    "": "as declared before",
    "insert-only": "records are only added at the end",
    "any": "records may have been changed or removed",
}


_FILTERS = {"analyst": "analyst", "act": "kind", "kind": "asked"}
"""By what a visitor chooses entries, and what of an entry it is."""


def add(site: Site) -> None:
    service = site.service

    def ledger(visit: Visit) -> Page:
        name = visit.part("name")
        dataset = service.dataset(visit.who, name)
        before = whole(visit.query("before") or "0", "before")
        account = service.account(
            visit.who, name, before=before or None, limit=_AT_ONCE, newest_first=True
        )
        entries = account["entries"][::-1]
        wanted, told = {key: visit.query(key) for key in _FILTERS}, _told(entries)
        shown = [
            entry
            for entry in reversed(told)
            if all(wanted[key] in ("", entry[of]) for key, of in _FILTERS.items())
        ]
        pages = max(1, -(-len(shown) // _A_PAGE))
        page = min(max(1, whole(visit.query("page") or "1", "page")), pages)
        check = visit.query("check") or account["total"] <= _AT_ONCE
        values = {
            "dataset": dataset,
            "entries": shown[(page - 1) * _A_PAGE : page * _A_PAGE],
            "total": len(shown),
            "all": account["total"],
            "older": entries[0]["seq"] if entries and entries[0]["seq"] > 1 else None,
            "before": before or "",
            "page": page,
            "pages": pages,
            "wanted": wanted,
            "acts": ACTS,
            "analysts": sorted(account["analysts"]),
            "kinds": sorted({entry["asked"] for entry in told if entry["asked"]}),
            "head": account["head"],
            "finding": service.verify(visit.who, name) if check else None,
            "unsettled": account["unsettled"],
        }
        return Page("ledger.html", values)

    def recovery(visit: Visit) -> Page:
        name = visit.part("name")
        account = service.account(visit.who, name, limit=1)
        told = _told(service.unsettled(visit.who, name))
        values = {
            "dataset": service.dataset(visit.who, name),
            "entries": [entry for entry in told if entry["seq"] in account["unsettled"]],
            "failures": [entry for entry in told if entry["seq"] in account["failures"]],
        }
        return Page("recovery.html", values)

    def mend(visit: Visit) -> Page | Go:
        name, form = visit.part("name"), visit.form
        done = "review" if form.one("act") == "review" else "void"
        act = service.review if done == "review" else service.void
        try:
            act(visit.who, name, whole(form.one("entry"), "entry"), reason=form.one("reason"))
        except InvalidInput as error:
            at = f"{done[0]}{form.one('entry')}" if error.parameter == "reason" else ""
            return recovery(visit).refusing(error, at=at)
        return Go(f"{HOME}/datasets/{name}/recovery?done={done}")

    def timeline(visit: Visit) -> Page:
        name = visit.part("name")
        dataset, told = service.dataset(visit.who, name), service.history.timeline(visit.who, name)
        admitted = [line for line in LINES if line in dataset["policy"]["notions"]]
        asked = visit.query("line")
        line = asked if asked in admitted else admitted[0]
        values = {
            "dataset": dataset,
            "found": told,
            "lines": admitted,
            "line": line,
            "picture": history(told, line).svg(),  # its texts are escaped
            "growths": GROWTHS,
        }
        return Page("timeline.html", values)

    def advance(visit: Visit) -> Go:
        name, form = visit.part("name"), visit.form
        growth = checked_growth(form.one("growth") or None)
        service.history.advance(visit.who, name, reason=form.one("reason"), growth=growth)
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

    site.get("/datasets/{name}/ledger", ledger, roles=READERS)
    site.get("/datasets/{name}/recovery", recovery, roles=CUSTODIAN)
    site.post("/datasets/{name}/recovery", mend, roles=CUSTODIAN)
    site.get("/datasets/{name}/timeline", timeline)
    site.get("/datasets/{name}/statement", statement, roles=READERS)
    site.get("/datasets/{name}/report", report, roles=READERS)
    why_again = Again(timeline, {"reason": "Why"}, WhitecrowError)
    site.post("/datasets/{name}/timeline", advance, roles=CUSTODIAN, again=why_again)


def _told(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Entries with what a timeline says of them."""
    asked: dict[int, str] = {}
    told = []
    for entry in entries:
        content = entry["body"]
        closed = asked.get(entry["closes"] or 0, "")
        asked[entry["seq"]] = content.get("question", {}).get("kind", "") or closed
        told.append(
            {
                **entry,
                "asked": asked[entry["seq"]],
                "act": ACTS.get(entry["kind"], entry["kind"]),
                "price": content.get("price"),
                "reason": content.get("reason", ""),
            }
        )
    return told
