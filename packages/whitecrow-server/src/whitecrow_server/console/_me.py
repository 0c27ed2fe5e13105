"""One's own page: password, second factor, sessions and tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from whitecrow.errors import InvalidInput, NotSignedIn
from whitecrow_server._people import SCOPES
from whitecrow_server._proxies import counted_address
from whitecrow_server._second_factor import first_step, turn_off, turn_on
from whitecrow_server.console._fields import mistake
from whitecrow_server.console._site import HOME, Go, Page, Site, Visit

T = TypeVar("T")

_PASSWORDS = {"old": "Old", "new": "New", "again": "New, again"}


def add(site: Site) -> None:
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
        return Page("me.html", {**_mine(visit), "new_factor": {"key": key, "address": address}})

    def proved(visit: Visit, act: Callable[[Connection], T]) -> T:
        """Act for somebody who gave password and code: a browser left signed in is not enough."""
        form, name = visit.form, visit.who.name
        password = (form.fields.get("password") or [""])[-1]
        address = counted_address(visit.request)
        try:
            with service.sessions.proved(name, password, form.one("old_code"), address=address) as (
                connection,
                _,
            ):
                return act(connection)
        except NotSignedIn:
            raise InvalidInput(
                "The password or the code of the factor in force is wrong. A recovery code will do "
                "instead of a code."
            ) from None

    def confirm_factor(visit: Visit) -> Page:
        key, name = visit.form.one("key"), visit.who.name
        try:
            step = first_step(key, visit.form.one("code"))
            codes = proved(visit, lambda connection: turn_on(connection, name, key, step))
        except InvalidInput as error:
            _, address = service.second_factor.begin(name)
            again = {"new_factor": {"key": key, "address": address}, "wrong": str(error)}
            return Page("me.html", {**_mine(visit), **again}, 422)
        return Page("me.html", {**_mine(visit), "codes": codes})

    def remove_factor(visit: Visit) -> Page | Go:
        who = visit.who
        try:
            if who.role in service.settings.second_factor:
                raise InvalidInput(
                    "Your role needs a second factor here. A custodian takes away one that is lost."
                )
            proved(visit, lambda connection: turn_off(connection, who.name, by=who.signature))
        except InvalidInput as error:
            return Page("me.html", {**_mine(visit), "wrong": str(error)}, 422)
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
