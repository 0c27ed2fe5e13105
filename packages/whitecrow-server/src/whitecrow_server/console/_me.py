"""One's own page: password, second factor, sessions and tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from whitecrow.errors import InvalidInput, NotSignedIn
from whitecrow_server._people import SCOPES
from whitecrow_server._proxies import counted_address
from whitecrow_server._sessions import first_step, new_key, turn_off, turn_on
from whitecrow_server.console._site import HOME, Again, Go, Page, Site, Visit

T = TypeVar("T")

_PASSWORDS = {"old": "Old", "new": "New", "again": "New, again"}


def add(site: Site) -> None:
    service = site.service

    def me(visit: Visit, **more: object) -> Page:
        by, at = service.sessions.password_set(visit.who.name)
        cookie = visit.request.cookies.get(site.cookie_name)
        values = {
            "sessions": service.members.sessions(visit.who, visit.who.name),
            "this": service.sessions.known_as(cookie),
            "factor": service.sessions.has_second_factor(visit.who.name),
            "new_key": "",
            "codes": [],
            "local": service.settings.local_accounts,
            "scopes": SCOPES,
            "tokens": service.members.tokens(visit.who, visit.who.name),
            "password": {"by": by, "at": at},
            "made": "",
        }
        return Page("me.html", {**values, **more})

    def password(visit: Visit) -> Go:
        old, new, again = (visit.form.untouched(field) for field in _PASSWORDS)
        if new != again:
            raise InvalidInput("The two new passwords differ.", parameter="again")
        try:
            address = counted_address(visit.request)
            service.sessions.change_password(visit.who.name, old, new, address=address)
        except NotSignedIn:
            raise InvalidInput("The old password is wrong.", parameter="old") from None
        return Go(f"{HOME}/sign-in")

    def token(visit: Visit) -> Page:
        text, _ = service.members.issue(
            visit.who, visit.who.name, label=visit.form.one("label"), scope=visit.form.one("scope")
        )
        return me(visit, made=text)

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
        return me(visit, new_key=visit.form.one("key") or new_key())

    def proved(visit: Visit, act: Callable[[Connection], T]) -> T:
        """Act for somebody who gave password and code: a browser left signed in is not enough."""
        form, name = visit.form, visit.who.name
        password = form.untouched("password")
        address = counted_address(visit.request)
        try:
            code = form.one("old_code")
            with service.sessions.proved(name, password, code, address=address) as (locked, _):
                return act(locked)
        except NotSignedIn:
            raise InvalidInput(
                "The password or the code of the present factor is wrong. A recovery code will do "
                "instead of a code."
            ) from None

    def confirm_factor(visit: Visit) -> Page:
        key, name = visit.form.one("key"), visit.who.name
        step = first_step(key, visit.form.one("code"))
        return me(visit, codes=proved(visit, lambda locked: turn_on(locked, name, key, step)))

    def remove_factor(visit: Visit) -> Go:
        who = visit.who
        if who.role in service.settings.second_factor:
            raise InvalidInput(
                "Your role needs a second factor here. A custodian takes away one that is lost."
            )
        proved(visit, lambda connection: turn_off(connection, who.name, by=who.signature))
        return Go(f"{HOME}/me?done=factor_off")

    site.get("/me", me, first=True)
    site.post("/me/password", password, first=True, again=Again(me, _PASSWORDS))
    site.post("/me/tokens", token)
    site.post("/me/tokens/revoke", revoke)
    site.post("/me/tokens/revoke-all", revoke_all)
    site.post("/me/sessions/end", end_session)
    site.post("/me/factor", begin_factor, first=True)
    site.post("/me/factor/confirm", confirm_factor, first=True, again=Again(begin_factor))
    site.post("/me/factor/remove", remove_factor, again=Again(me))
