"""One's own page: password, second factor, sessions and tokens."""

from __future__ import annotations

from whitecrow.console._fields import mistake
from whitecrow.console._site import HOME, Go, Page, Site, Visit
from whitecrow.errors import InvalidInput, NotSignedIn
from whitecrow.server._people import SCOPES
from whitecrow.server._proxies import counted_address

__all__ = ["add"]

_PASSWORDS = {"old": "Old", "new": "New", "again": "New, again"}


def add(site: Site) -> None:
    """Add the pages."""
    service = site.service

    def me(visit: Visit) -> Page:
        return Page("me.html", _mine(visit))

    def _mine(visit: Visit) -> dict[str, object]:
        by, at = service.sessions.password_set(visit.who.name)
        cookie = visit.request.cookies.get(site.cookie_name)
        return {
            "sessions": service.members.sessions(visit.who, visit.who.name),
            "this": service.sessions.known_as(cookie),
            "factor": service.second_factor.held(visit.who.name),
            "new_factor": None,
            "codes": [],
            "local": service.settings.local_accounts,
            "scopes": SCOPES,
            "tokens": service.members.tokens(visit.who, visit.who.name),
            "password": {"by": by, "at": at},
            "made": "",
            "wrong": "",
        }

    def password(visit: Visit) -> Page | Go:
        form = visit.form
        old, new, again = ((form.fields.get(key) or [""])[-1] for key in ("old", "new", "again"))
        try:
            if new != again:
                raise InvalidInput("The two new passwords differ.", parameter="again")
            address = counted_address(visit.request)
            service.sessions.change_password(visit.who.name, old, new, address=address)
        except NotSignedIn:
            wrong = {"wrong": "The old password is wrong.", "wrong_at": "old"}
            return Page("me.html", {**_mine(visit), **wrong}, 422)
        except InvalidInput as error:
            return Page("me.html", {**_mine(visit), **mistake(error, _PASSWORDS)}, 422)
        return Go(f"{HOME}/sign-in")

    def token(visit: Visit) -> Page:
        written, _ = service.members.issue(
            visit.who, visit.who.name, label=visit.form.one("label"), scope=visit.form.one("scope")
        )
        return Page("me.html", {**_mine(visit), "made": written})

    def revoke(visit: Visit) -> Go:
        service.members.revoke(visit.who, visit.who.name, visit.form.one("id"))
        return Go(f"{HOME}/me?done=revoked")

    def revoke_all(visit: Visit) -> Go:
        service.members.revoke_all(visit.who, visit.who.name)
        return Go(f"{HOME}/me?done=revoked_all")

    def end_session(visit: Visit) -> Go:
        name = visit.who.name
        service.members.end_sessions(visit.who, name, visit.form.one("id"))
        return Go(f"{HOME}/me?done=session_ended")

    def begin_factor(visit: Visit) -> Page:
        key, address = service.second_factor.begin(visit.who.name)
        shown = {"key": key, "address": address}
        return Page("me.html", {**_mine(visit), "new_factor": shown})

    def confirm_factor(visit: Visit) -> Page:
        key = visit.form.one("key")
        try:
            codes = service.second_factor.confirm(visit.who.name, key, visit.form.one("code"))
        except InvalidInput as error:
            _, address = service.second_factor.begin(visit.who.name)
            again = {"new_factor": {"key": key, "address": address}, "wrong": str(error)}
            return Page("me.html", {**_mine(visit), **again}, 422)
        return Page("me.html", {**_mine(visit), "codes": codes})

    def remove_factor(visit: Visit) -> Page | Go:
        if visit.who.role in service.settings.second_factor:
            needed = (
                "Your role needs a second factor here. A custodian takes away one that is lost."
            )
            return Page("me.html", {**_mine(visit), "wrong": needed}, 422)
        password = (visit.form.fields.get("password") or [""])[-1]
        try:
            address = counted_address(visit.request)
            service.sessions.confirm(visit.who.name, password, address=address)
        except NotSignedIn:
            return Page("me.html", {**_mine(visit), "wrong": "The password is wrong."}, 422)
        service.second_factor.remove(visit.who.name, by=visit.who.signature)
        return Go(f"{HOME}/me?done=factor_off")

    site.get("/me", me, first=True)
    site.post("/me/password", password, first=True)
    site.post("/me/tokens", token)
    site.post("/me/tokens/revoke", revoke)
    site.post("/me/tokens/revoke-all", revoke_all)
    site.post("/me/sessions/end", end_session)
    site.post("/me/factor", begin_factor, first=True)
    site.post("/me/factor/confirm", confirm_factor, first=True)
    site.post("/me/factor/remove", remove_factor)
