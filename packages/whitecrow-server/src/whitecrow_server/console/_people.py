"""People, who may know of a dataset, and what each analyst may spend."""

from __future__ import annotations

from typing import Any

from whitecrow.errors import InvalidInput, http_status
from whitecrow.ledger import LINES
from whitecrow_server._catalogue import EVERY_ANALYST
from whitecrow_server._people import ROLES
from whitecrow_server.console._custodian import CUSTODIAN
from whitecrow_server.console._fields import mistake
from whitecrow_server.console._site import HOME, Go, Page, Site, Visit


def add(site: Site) -> None:
    service = site.service

    def everybody(visit: Visit, **more: Any) -> Page:
        status = more.pop("status", 200)
        values = {
            "people": service.members.everybody(visit.who),
            "roles": ROLES,
            "wrong": "",
            "made": None,
            "sent": None,
            "days": service.settings.invitation_days,
            "acts": service.members.acts(visit.who)["acts"][-20:][::-1],
        }
        return Page("people.html", {**values, "typed": visit.form, **more}, status)

    def invite(visit: Visit) -> Page:
        try:
            person = service.members.invite(
                visit.who, visit.form.one("name"), visit.form.one("role")
            )
        except InvalidInput as error:
            wrong = mistake(error, {"name": "Name", "role": "Role"})
            return everybody(visit, **wrong, status=http_status(error))
        return invited(visit, person.name)

    def again(visit: Visit) -> Page:
        return invited(visit, visit.form.one("name"))

    def invited(visit: Visit, name: str) -> Page:
        """A link with which they choose their own password; with single sign-on none is needed."""
        if not service.settings.local_accounts:
            return everybody(visit)
        code = service.members.invitation(visit.who, name)
        provider = service.settings.provider
        base = str(visit.request.base_url).rstrip("/") if provider is None else provider.url
        link = f"{base}{HOME}/invitation/{code}"
        return everybody(visit, sent={"name": name, "link": link})

    def remove(visit: Visit) -> Page | Go:
        try:
            service.members.remove(
                visit.who, visit.form.one("name"), reason=visit.form.one("reason")
            )
        except InvalidInput as error:
            wrong = mistake(error, {"name": "Name", "reason": "Reason"})
            return everybody(visit, **wrong, status=http_status(error))
        return Go(f"{HOME}/people?done=removed")

    def factor(visit: Visit) -> Go:
        service.members.reset_second_factor(visit.who, visit.form.one("name"))
        return Go(f"{HOME}/people?done=factor_reset")

    def password(visit: Visit) -> Page:
        name = visit.form.one("name")
        if name == visit.who.name:
            raise InvalidInput("Change your own password on your own page.")
        return everybody(
            visit, made={"name": name, "password": service.members.reset_password(visit.who, name)}
        )

    def disable(visit: Visit) -> Go:
        shut = visit.form.one("disabled") == "yes"
        service.members.disable(visit.who, visit.form.one("name"), shut)
        return Go(f"{HOME}/people?done={'disabled' if shut else 'enabled'}")

    def allowances(visit: Visit, **more: Any) -> Page:
        name = visit.part("name")
        status = more.pop("status", 200)
        analysts = [
            p["name"] for p in service.members.everybody(visit.who) if p["role"] == "analyst"
        ]
        values = {
            "dataset": service.dataset(visit.who, name),
            "shares": service.account(visit.who, name, after=2**31 - 1)["analysts"],
            "analysts": analysts,
            "everyone": EVERY_ANALYST,
            "lines": LINES,
            "wrong": "",
            "typed": visit.form,
        }
        return Page("allowances.html", {**values, **more}, status)

    def access(visit: Visit) -> Page | Go:
        name = visit.part("name")
        try:
            service.amend(
                visit.who, name, reason=visit.form.one("reason"), readers=visit.form.all("readers")
            )
        except InvalidInput as error:
            return allowances(visit, **_wrong(error, "readers"), status=http_status(error))
        return Go(f"{HOME}/datasets/{name}/analysts?done=access")

    def allow(visit: Visit) -> Page | Go:
        name, form = visit.part("name"), visit.form
        try:
            budget = form.one("budget") or None
            service.allow(visit.who, name, form.one("analyst"), budget, reason=form.one("reason"))
        except InvalidInput as error:
            return allowances(visit, **_wrong(error, "allowance"), status=http_status(error))
        return Go(f"{HOME}/datasets/{name}/analysts?done=allowance")

    site.get("/people", everybody, roles=CUSTODIAN)
    site.post("/people", invite, roles=CUSTODIAN)
    site.post("/people/password", password, roles=CUSTODIAN)
    site.post("/people/disable", disable, roles=CUSTODIAN)
    site.post("/people/invitation", again, roles=CUSTODIAN)
    site.post("/people/factor", factor, roles=CUSTODIAN)
    site.post("/people/remove", remove, roles=CUSTODIAN)
    site.get("/datasets/{name}/analysts", allowances, roles=CUSTODIAN)
    site.post("/datasets/{name}/analysts", access, roles=CUSTODIAN)
    site.post("/datasets/{name}/allowances", allow, roles=CUSTODIAN)


def _wrong(error: InvalidInput, form: str) -> dict[str, str]:
    """A mistake in one of the page's two forms; both have a field for the reason."""
    named = {"epsilon": "budget"}.get(error.parameter, error.parameter)
    found = mistake(error, {error.parameter: "ε" if named == "budget" else "Reason"})
    return {**found, "wrong_at": f"{form}-{named}" if named in ("budget", "reason") else ""}
