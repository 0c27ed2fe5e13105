"""Sign-in, invitations and sign-out."""

from __future__ import annotations

import contextlib
import hmac
import secrets

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from whitecrow.errors import InvalidInput, NotSignedIn, WhitecrowError, http_status, retry_after
from whitecrow_server._people import is_name
from whitecrow_server._proxies import counted_address
from whitecrow_server.console._site import HOME, Form, Go, Page, Site, Visit, read_form

_STALE = "The form is stale; please try again."
_FORM = 30 * 60
"""For how many seconds a form, or a way to the provider, may be open."""


def add(site: Site) -> None:
    service, lanes = site.service, site.handler.lanes
    form_cookie, state_cookie = f"{site.cookie_name}-form", f"{site.cookie_name}-state"

    async def start() -> Response:
        return RedirectResponse(HOME, 303)

    async def sign_in_page(request: Request) -> Response:
        return _form(request)

    def _refused(request: Request, error: WhitecrowError) -> Response:
        return _form(request, str(error), http_status(error), retry_after(error))

    def _form(
        request: Request, wrong: str = "", status: int = 200, after: int | None = None
    ) -> Response:
        """The form carries a random number that a cookie repeats: no other site can send it."""
        number = secrets.token_urlsafe(24)
        provider = service.settings.provider
        values = {
            "wrong": wrong,
            "number": number,
            "provider": "" if provider is None else provider.label,
            "local": service.settings.local_accounts,
        }
        reply = site.rendered(request, Page("sign_in.html", values, status, after))
        reply.set_cookie(**service.sessions.cookie(key=form_cookie, max_age=_FORM), value=number)
        return reply

    async def sign_in(request: Request) -> Response:
        try:
            form = await read_form(request, service.settings.largest_question)
        except InvalidInput as error:
            return _refused(request, error)
        expected = request.cookies.get(form_cookie, "")
        if not expected or not hmac.compare_digest(expected.encode(), form.one("number").encode()):
            return _form(request, _STALE, 403)

        def job() -> str:
            address, name, code = counted_address(request), form.one("name"), form.one("code")
            actor = {"actor": name if is_name(name) else "", "with": "password"}
            with service.events.during("sign-in", **actor, address=address):
                password = form.untouched("password")
                cookie = service.sessions.sign_in(name, password, code=code, address=address)[1]
            # A session that this browser still had is over: nobody else goes on using it.
            with contextlib.suppress(NotSignedIn):
                service.sessions.sign_out(request.cookies.get(site.cookie_name))
            return cookie

        try:
            cookie = await site.handler.stranger(request, lanes.passwords, job)
        except WhitecrowError as error:
            return _refused(request, error)
        reply = RedirectResponse(HOME, 303)
        reply.set_cookie(**service.sessions.cookie(), value=cookie)
        reply.delete_cookie(form_cookie)
        return reply

    async def to_provider(request: Request) -> Response:
        """Send the browser to the provider; what it must bring back lies in a cookie."""

        try:
            begin = service.single_sign_on.begin
            url, state = await site.handler.stranger(request, lanes.provider, begin)
        except WhitecrowError as error:
            return _refused(request, error)
        reply = RedirectResponse(url, 303)
        # Lax: it must come along when the provider's page sends the browser back.
        how = service.sessions.cookie(key=state_cookie, samesite="lax", max_age=_FORM)
        reply.set_cookie(**how, value=state)
        return reply

    async def from_provider(request: Request) -> Response:
        query = request.query_params

        def job() -> str:
            how = {"with": "provider", "address": counted_address(request)}
            with service.events.during("sign-in", **how) as told:
                session, cookie = service.single_sign_on.finish(
                    state=query.get("state", ""),
                    held=request.cookies.get(state_cookie, ""),
                    code=query.get("code", ""),
                    error=query.get("error", ""),
                )
                told["actor"] = session.person.name
            return cookie

        try:
            cookie = await site.handler.stranger(request, lanes.provider, job)
        except WhitecrowError as error:
            reply = _refused(request, error)
            reply.delete_cookie(state_cookie)
            return reply
        # A page of our own, not a redirect: a strict cookie does not come along on a way that
        # began on another site.
        reply = site.rendered(request, Page("signed_in.html"))
        reply.set_cookie(**service.sessions.cookie(), value=cookie)
        reply.delete_cookie(state_cookie)
        return reply

    def sign_out(visit: Visit) -> Go:
        service.sessions.sign_out(visit.request.cookies.get(site.cookie_name))
        service.events.tell("sign-out", actor=visit.who.name)
        # Where the provider is away, the session here is over all the same.
        with contextlib.suppress(WhitecrowError):
            return Go(service.single_sign_on.sign_out(visit.session) or f"{HOME}/sign-in")
        return Go(f"{HOME}/sign-in")

    async def invited(request: Request) -> Response:
        code = request.path_params["code"]
        if request.method == "GET":
            return site.rendered(request, Page("invited.html", {"wrong": "", "code": code}))

        def job(form: Form) -> None:
            new = form.untouched("new")
            if new != form.untouched("again"):
                raise InvalidInput("The two passwords differ.")
            name = service.sessions.accept(code, new)
            service.events.tell("people.accept", actor=name, target=name)

        try:
            form = await read_form(request, service.settings.largest_question)
            await site.handler.stranger(request, lanes.passwords, lambda: job(form))
        except WhitecrowError as error:
            values = {"wrong": str(error), "code": code}
            page = Page("invited.html", values, http_status(error), retry_after(error))
            return site.rendered(request, page)
        return RedirectResponse(f"{HOME}/sign-in", 303)

    for method, path, endpoint in (
        ("GET", "/", start),
        ("GET", f"{HOME}/sign-in", sign_in_page),
        ("POST", f"{HOME}/sign-in", sign_in),
        ("GET", f"{HOME}/sign-in/provider", to_provider),
        ("GET", f"{HOME}/sign-in/provider/back", from_provider),
        ("GET", f"{HOME}/invitation/{{code}}", invited),
        ("POST", f"{HOME}/invitation/{{code}}", invited),
    ):
        site.router.add_api_route(path, endpoint, methods=[method], response_model=None)
    site.post("/sign-out", sign_out, first=True)
