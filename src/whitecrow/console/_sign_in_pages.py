"""Coming in and going out: sign-in, sign-out, one's own password and tokens."""

from __future__ import annotations

import contextlib
import hmac
import secrets

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from whitecrow.console._fields import mistake
from whitecrow.console._site import HOME, Go, Page, Site, Visit, read_form
from whitecrow.errors import InvalidInput, NotSignedIn, WhitecrowError, http_status, retry_after
from whitecrow.server._proxies import counted_address

__all__ = ["add"]

_STALE = "The form is stale; please try again."
_FORM_MINUTES = 30
_PASSWORDS = {"old": "Old", "new": "New", "again": "New, again"}


def add(site: Site) -> None:
    """Add the pages."""
    service = site.service
    form_cookie = f"{site.cookie_name}-form"

    async def start() -> Response:
        return RedirectResponse(HOME, 303)

    async def sign_in_page(request: Request) -> Response:
        return _form(request, "", 200)

    def _form(request: Request, wrong: str, status: int, after: int | None = None) -> Response:
        """The form carries a random number that a cookie repeats: no other site can send it."""
        number = secrets.token_urlsafe(24)
        reply = site.plain(
            request, Page("sign_in.html", {"wrong": wrong, "number": number}, status, after)
        )
        settings = service.sessions.cookie()
        reply.set_cookie(
            **{**settings, "key": form_cookie, "max_age": _FORM_MINUTES * 60}, value=number
        )
        return reply

    async def sign_in(request: Request) -> Response:
        try:
            form = await read_form(request, service.settings.largest_question)
        except InvalidInput as error:
            return _form(request, str(error), 422)
        expected = request.cookies.get(form_cookie, "")
        if not expected or not hmac.compare_digest(expected.encode(), form.one("number").encode()):
            return _form(request, _STALE, 403)

        def job() -> str:
            address = counted_address(request)
            site.handler.limits.take(f"address {address}")
            # A password may begin or end with a space: it is taken as it was typed.
            typed = (form.fields.get("password") or [""])[-1]
            found = service.sessions.sign_in(form.one("name"), typed, address=address)[1]
            # A session that this browser still had is over: nobody else goes on using it.
            with contextlib.suppress(NotSignedIn):
                service.sessions.sign_out(request.cookies.get(site.cookie_name))
            return found

        try:
            cookie = await site.handler.threads.run(job)
        except WhitecrowError as error:
            return _form(request, str(error), http_status(error), retry_after(error))
        reply = RedirectResponse(HOME, 303)
        reply.set_cookie(**service.sessions.cookie(), value=cookie)
        reply.delete_cookie(form_cookie)
        return reply

    def sign_out(visit: Visit) -> Go:
        service.sessions.sign_out(visit.request.cookies.get(site.cookie_name))
        return Go(f"{HOME}/sign-in")

    def me(visit: Visit) -> Page:
        return Page("me.html", _mine(visit))

    def _mine(visit: Visit) -> dict[str, object]:
        by, at = service.sessions.password_set(visit.who.name)
        return {
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
        written, _ = service.members.issue(visit.who, visit.who.name, label=visit.form.one("label"))
        return Page("me.html", {**_mine(visit), "made": written})

    def revoke(visit: Visit) -> Go:
        service.members.revoke(visit.who, visit.who.name, visit.form.one("id"))
        return Go(f"{HOME}/me?done=revoked")

    def revoke_all(visit: Visit) -> Go:
        service.members.revoke_all(visit.who, visit.who.name)
        return Go(f"{HOME}/me?done=revoked_all")

    add_route = site.router.add_api_route
    add_route("/", start, methods=["GET"], response_model=None)
    add_route(f"{HOME}/sign-in", sign_in_page, methods=["GET"], response_model=None)
    add_route(f"{HOME}/sign-in", sign_in, methods=["POST"], response_model=None)
    site.post("/sign-out", sign_out)
    site.get("/me", me)
    site.post("/me/password", password)
    site.post("/me/tokens", token)
    site.post("/me/tokens/revoke", revoke)
    site.post("/me/tokens/revoke-all", revoke_all)
