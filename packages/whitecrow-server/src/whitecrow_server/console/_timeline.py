"""The ledger as a timeline, its chain, and spends that never led to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whitecrow.errors import InvalidInput, http_status
from whitecrow_server.console._custodian import CUSTODIAN, READERS
from whitecrow_server.console._fields import whole
from whitecrow_server.console._show import gauges
from whitecrow_server.console._site import HOME, Go, Page, Site, Visit

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
    "review": "looked at a failure",
    "void": "gave a spend back",
    "checkpoint": "found everything right up to here",
    "alarm": "gave an alarm",
}


def add(site: Site) -> None:
    service = site.service

    def ledger(visit: Visit) -> Page:
        name = visit.part("name")
        found = service.dataset(visit.who, name)
        before = whole(visit.query("before") or "0", "before")
        account = service.account(
            visit.who, name, before=before or None, limit=_AT_ONCE, newest_first=True
        )
        entries = account["entries"][::-1]
        wanted = {key: visit.query(key) for key in ("analyst", "act", "kind")}
        shown = [one for one in _told(entries) if _fits(one, wanted)][::-1]
        pages = max(1, -(-len(shown) // _A_PAGE))
        page = min(max(1, whole(visit.query("page") or "1", "page")), pages)
        check = visit.query("check") or account["total"] <= _AT_ONCE
        values = {
            "dataset": found,
            "gauges": gauges(found),
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
            "kinds": sorted({one["asked"] for one in _told(entries) if one["asked"]}),
            "head": account["head"],
            "finding": service.verify(visit.who, name) if check else None,
            "unsettled": account["unsettled"],
        }
        return Page("ledger.html", values)

    def recovery(visit: Visit, status: int = 200, **more: Any) -> Page:
        name = visit.part("name")
        account = service.account(visit.who, name, limit=1)
        waiting = service.unsettled(visit.who, name)
        told = _told(waiting)
        values = {
            "dataset": service.dataset(visit.who, name),
            "entries": [one for one in told if one["seq"] in set(account["unsettled"])],
            "failures": [one for one in told if one["seq"] in set(account["failures"])],
            "wrong": "",
        }
        return Page("recovery.html", {**values, "typed": visit.form, **more}, status)

    def mend(visit: Visit) -> Page | Go:
        name, form = visit.part("name"), visit.form
        done = "review" if form.one("act") == "review" else "void"
        act = service.review if done == "review" else service.void
        try:
            act(visit.who, name, whole(form.one("entry"), "entry"), reason=form.one("reason"))
        except InvalidInput as error:
            at = f"{'r' if done == 'review' else 'v'}{form.one('entry')}"
            wrong = {"wrong": str(error), "wrong_at": at if error.parameter == "reason" else ""}
            return recovery(visit, http_status(error), **wrong)
        return Go(f"{HOME}/datasets/{name}/recovery?done={done}")

    site.get("/datasets/{name}/ledger", ledger, roles=READERS)
    site.get("/datasets/{name}/recovery", recovery, roles=CUSTODIAN)
    site.post("/datasets/{name}/recovery", mend, roles=CUSTODIAN)


def _told(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Entries with what a timeline says of them."""
    asked: dict[int, str] = {}
    found = []
    for entry in entries:
        content = entry["body"]
        kind = content.get("question", {}).get("kind", "")
        if kind:
            asked[entry["seq"]] = kind
        else:
            kind = asked.get(entry["closes"] or 0, "")
            if kind:
                asked[entry["seq"]] = kind
        found.append(
            {
                **entry,
                "asked": kind,
                "act": ACTS.get(entry["kind"], entry["kind"]),
                "price": content.get("price"),
                "reason": content.get("reason", ""),
            }
        )
    return found


def _fits(one: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return (
        wanted["analyst"] in ("", one["analyst"])
        and wanted["act"] in ("", one["kind"])
        and wanted["kind"] in ("", one["asked"])
    )
