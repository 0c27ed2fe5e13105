"""Coming in and going out: sign-in, invitations, sign-out."""

from __future__ import annotations

import contextlib
import hmac
import secrets

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from whitecrow.errors import (
    InvalidInput,
    NotSignedIn,
    WhitecrowError,
    http_status,
    retry_after,
)
from whitecrow_server._people import is_name
from whitecrow_server._proxies import counted_address
from whitecrow_server._single_sign_on import Begun
from whitecrow_server.console._site import HOME, Form, Go, Page, Site, Visit, read_form

_STALE = "The form is stale; please try again."
_FORM_MINUTES = 30


def add(site: Site) -> None:
    service = site.service
    form_cookie, state_cookie = f"{site.cookie_name}-form", f"{site.cookie_name}-state"

    async def start() -> Response:
        return RedirectResponse(HOME, 303)

    async def sign_in_page(request: Request) -> Response:
        return _form(request, "", 200)

    def _form(request: Request, wrong: str, status: int, after: int | None = None) -> Response:
        """The form carries a random number that a cookie repeats: no other site can send it."""
        number = secrets.token_urlsafe(24)
        provider = service.settings.provider
        values = {
            "wrong": wrong,
            "number": number,
            "provider": "" if provider is None else provider.label,
            "local": service.settings.local_accounts,
        }
        reply = site.plain(request, Page("sign_in.html", values, status, after))
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
            name = form.one("name")
            said = {"actor": name if is_name(name) else "", "with": "password"}
            with service.events.during("sign-in", **said, address=address):
                found = service.sessions.sign_in(
                    name, typed, code=form.one("code"), address=address
                )[1]
            # A session that this browser still had is over: nobody else goes on using it.
            with contextlib.suppress(NotSignedIn):
                service.sessions.sign_out(request.cookies.get(site.cookie_name))
            return found

        try:
            cookie = await site.handler.passwords(request).run(job)
        except WhitecrowError as error:
            return _form(request, str(error), http_status(error), retry_after(error))
        reply = RedirectResponse(HOME, 303)
        reply.set_cookie(**service.sessions.cookie(), value=cookie)
        reply.delete_cookie(form_cookie)
        return reply

    async def to_provider(request: Request) -> Response:
        """Send the browser to the provider; what it must bring back lies in a cookie."""

        def job() -> Begun:
            site.handler.limits.take(f"address {counted_address(request)}")
            return service.single_sign_on.begin()

        try:
            begun = await site.handler.provider(request).run(job)
        except WhitecrowError as error:
            return _form(request, str(error), http_status(error), retry_after(error))
        reply = RedirectResponse(begun.url, 303)
        # Lax: it must come along when the provider's page sends the browser back.
        settings = {**service.sessions.cookie(), "key": state_cookie, "samesite": "lax"}
        reply.set_cookie(**{**settings, "max_age": _FORM_MINUTES * 60}, value=begun.state)
        return reply

    async def from_provider(request: Request) -> Response:
        query = request.query_params

        def job() -> str:
            site.handler.limits.take(f"address {counted_address(request)}")
            address = counted_address(request)
            said = {"with": "provider", "address": address}
            with service.events.during("sign-in", **said) as known:
                session, cookie = service.single_sign_on.finish(
                    state=query.get("state", ""),
                    held=request.cookies.get(state_cookie, ""),
                    code=query.get("code", ""),
                    error=query.get("error", ""),
                )
                known["actor"] = session.person.name
            return cookie

        try:
            cookie = await site.handler.provider(request).run(job)
        except WhitecrowError as error:
            reply = _form(request, str(error), http_status(error), retry_after(error))
            reply.delete_cookie(state_cookie)
            return reply
        # A page of our own, not a redirect: a strict cookie does not come along on a way that
        # began on another site.
        reply = site.plain(request, Page("signed_in.html"))
        reply.set_cookie(**service.sessions.cookie(), value=cookie)
        reply.delete_cookie(state_cookie)
        return reply

    def sign_out(visit: Visit) -> Go:
        service.sessions.sign_out(visit.request.cookies.get(site.cookie_name))
        service.events.tell("sign-out", actor=visit.who.name)
        return Go(_provider_sign_out(visit) or f"{HOME}/sign-in")

    def _provider_sign_out(visit: Visit) -> str:
        try:
            return service.single_sign_on.sign_out(visit.session)
        except WhitecrowError:  # the provider is away: the session here is over all the same
            return ""

    async def invited(request: Request) -> Response:
        """Let somebody who was invited choose a password."""
        code = request.path_params["code"]
        if request.method == "GET":
            return site.plain(request, Page("invited.html", {"wrong": "", "code": code}))

        def job(form: Form) -> None:
            site.handler.limits.take(f"address {counted_address(request)}")
            new, again = ((form.fields.get(key) or [""])[-1] for key in ("new", "again"))
            if new != again:
                raise InvalidInput("The two passwords differ.")
            name = service.sessions.accept(code, new)
            service.events.tell("people.accept", actor=name, target=name)

        try:
            form = await read_form(request, service.settings.largest_question)
            await site.handler.passwords(request).run(lambda: job(form))
        except WhitecrowError as error:
            values = {"wrong": str(error), "code": code}
            page = Page("invited.html", values, http_status(error), retry_after(error))
            return site.plain(request, page)
        return RedirectResponse(f"{HOME}/sign-in", 303)

    add_route = site.router.add_api_route
    add_route("/", start, methods=["GET"], response_model=None)
    add_route(f"{HOME}/sign-in", sign_in_page, methods=["GET"], response_model=None)
    add_route(f"{HOME}/sign-in", sign_in, methods=["POST"], response_model=None)
    add_route(f"{HOME}/sign-in/provider", to_provider, methods=["GET"], response_model=None)
    add_route(f"{HOME}/sign-in/provider/back", from_provider, methods=["GET"], response_model=None)
    site.post("/sign-out", sign_out, first=True)
    for method in ("GET", "POST"):
        add_route(f"{HOME}/invitation/{{code}}", invited, methods=[method], response_model=None)
