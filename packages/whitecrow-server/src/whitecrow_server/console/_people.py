"""People, who may know of a dataset, and what each analyst may spend."""

from __future__ import annotations

from typing import Any

from whitecrow.errors import InvalidInput
from whitecrow.ledger import LINES
from whitecrow_server._catalogue import EVERY_ANALYST
from whitecrow_server._people import ROLES
from whitecrow_server.console._datasets import CUSTODIAN
from whitecrow_server.console._site import HOME, Again, Go, Page, Site, Visit


def add(site: Site) -> None:
    service = site.service

    def everybody(visit: Visit, **more: Any) -> Page:
        values = {
            "people": service.members.everybody(visit.who),
            "roles": ROLES,
            "made": None,
            "sent": None,
            "days": service.settings.invitation_days,
            "acts": service.members.acts(visit.who)["acts"][-20:][::-1],
        }
        return Page("people.html", {**values, **more})

    def invite(visit: Visit) -> Page:
        name, role = visit.form.one("name"), visit.form.one("role")
        service.members.invite(visit.who, name, role)
        return invited(visit)

    def invited(visit: Visit) -> Page:
        """A link with which they choose their own password; with single sign-on none is needed."""
        name = visit.form.one("name")
        if not service.settings.local_accounts:
            return everybody(visit)
        code = service.members.invitation(visit.who, name)
        provider = service.settings.provider
        base = visit.address if provider is None else provider.url
        link = f"{base}{HOME}/invitation/{code}"
        return everybody(visit, sent={"name": name, "link": link})

    def remove(visit: Visit) -> Go:
        name, reason = visit.form.one("name"), visit.form.one("reason")
        service.members.remove(visit.who, name, reason=reason)
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

    def allowances(visit: Visit) -> Page:
        name, everyone = visit.part("name"), service.members.everybody(visit.who)
        values = {
            "dataset": service.dataset(visit.who, name),
            "shares": service.account(visit.who, name, after=2**31 - 1)["analysts"],
            "analysts": [person["name"] for person in everyone if person["role"] == "analyst"],
            "everyone": EVERY_ANALYST,
            "lines": LINES,
        }
        return Page("allowances.html", values)

    def access(visit: Visit) -> Page | Go:
        name = visit.part("name")
        try:
            service.amend(
                visit.who, name, reason=visit.form.one("reason"), readers=visit.form.all("readers")
            )
        except InvalidInput as error:
            return _refusing(allowances(visit), error, "readers")
        return Go(f"{HOME}/datasets/{name}/analysts?done=access")

    def allow(visit: Visit) -> Page | Go:
        name, form = visit.part("name"), visit.form
        try:
            budget = form.one("budget") or None
            service.allow(visit.who, name, form.one("analyst"), budget, reason=form.one("reason"))
        except InvalidInput as error:
            return _refusing(allowances(visit), error, "allowance")
        return Go(f"{HOME}/datasets/{name}/analysts?done=allowance")

    site.get("/people", everybody, roles=CUSTODIAN)
    labels = {"name": "Name", "role": "Role", "reason": "Reason"}
    site.post("/people", invite, roles=CUSTODIAN, again=Again(everybody, labels))
    site.post("/people/password", password, roles=CUSTODIAN)
    site.post("/people/disable", disable, roles=CUSTODIAN)
    site.post("/people/invitation", invited, roles=CUSTODIAN)
    site.post("/people/factor", factor, roles=CUSTODIAN)
    site.post("/people/remove", remove, roles=CUSTODIAN, again=Again(everybody, labels))
    site.get("/datasets/{name}/analysts", allowances, roles=CUSTODIAN)
    site.post("/datasets/{name}/analysts", access, roles=CUSTODIAN)
    site.post("/datasets/{name}/allowances", allow, roles=CUSTODIAN)


def _refusing(page: Page, error: InvalidInput, form: str) -> Page:
    """A mistake in one of the page's two forms; both have a field for the reason."""
    field = {"epsilon": "budget"}.get(error.parameter, error.parameter)
    label = "ε" if field == "budget" else "Reason"
    at = f"{form}-{field}" if field in ("budget", "reason") else ""
    return page.refusing(error, {error.parameter: label}, at=at)
