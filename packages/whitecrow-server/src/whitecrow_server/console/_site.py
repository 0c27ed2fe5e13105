"""The site: who is visiting, may they be here, what do they get to see."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from whitecrow.errors import (
    BudgetExhausted,
    InvalidInput,
    NotKnown,
    NotSignedIn,
    PolicyViolation,
    WhitecrowError,
    http_status,
    retry_after,
)
from whitecrow_server._handler import RequestHandler
from whitecrow_server._people import ROLES, Person
from whitecrow_server._sessions import Session
from whitecrow_server._untrusted_input import read_body, strict_json
from whitecrow_server._uploads import kept
from whitecrow_server.console import _show as show
from whitecrow_server.console import _static as static

HOME = "/console"
_TEMPLATES = Path(__file__).parent / "templates"
_MOST_FIELDS = 25_000  # a card of 2,000 columns; what is read at all is bounded in bytes

DONE = {
    "registered": "The dataset is listed; its records are being read.",
    "policy": "The new promise is in force. The ledger keeps your reason.",
    "card": "The new card is in force; the records are being read again.",
    "access": "The list of readers is changed.",
    "allowance": "The allowance is set. The ledger keeps your reason.",
    "void": "The spend was given back. The ledger keeps your reason.",
    "revision": "The revision is recorded; the records are being read again.",
    "review": "The failure is reviewed. The ledger keeps your reason.",
    "disabled": "This person is deactivated; their sessions and tokens have ended.",
    "enabled": "This person may sign in again.",
    "password": "Your password is changed.",
    "revoked": "The token is revoked, with all that were made with it.",
    "revoked_all": "All your tokens are revoked.",
    "session_ended": "The session has ended.",
    "factor_off": "Your second factor is off: the password alone signs you in.",
    "factor_needed": "Your role needs a second factor here: set it up below, then all is open.",
    "factor_reset": "The second factor of this person is off.",
    "removed": "This person is removed. The accounts keep what was asked in their name.",
    "dataset_removed": "The dataset is off the list. Its account stays.",
}
"""What a page says after an act: fixed words, so that no link can put words in our mouth."""


@dataclass(frozen=True)
class Form:
    """What a form sent."""

    fields: Mapping[str, list[str]] = field(default_factory=dict)

    def one(self, name: str, default: str = "") -> str:
        """The value of a field, without spaces around it."""
        found = self.fields.get(name)
        return found[-1].strip() if found else default

    def all(self, name: str) -> list[str]:
        """The values of a field that may come several times."""
        return list(self.fields.get(name, []))


async def read_form(request: Request, most: int) -> Form:
    """Read a form's body of at most so many bytes: plain fields, no files."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await read_body(request, most)
    try:
        if kind != "application/x-www-form-urlencoded":
            raise ValueError(kind)
        written = body.decode("ascii")
        found = urllib.parse.parse_qs(
            written, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise InvalidInput("The form could not be read; load the page again.") from None
    if "\0" in written or any("\0" in one for values in found.values() for one in values):
        raise InvalidInput("The form holds a character that is not text.")
    return Form(found)


@dataclass(frozen=True)
class Visit:
    """A request by somebody who is signed in."""

    request: Request
    session: Session
    form: Form = field(default_factory=Form)

    @property
    def who(self) -> Person:
        return self.session.person

    def part(self, name: str) -> str:
        return str(self.request.path_params[name])

    def query(self, name: str) -> str:
        return self.request.query_params.get(name, "").strip()


@dataclass(frozen=True)
class Page:
    """What to show: a template and its values; with ``after``, when to come again."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    after: int | None = None


@dataclass(frozen=True)
class Go:
    """Where to go next, after a form was accepted."""

    to: str


@dataclass(frozen=True)
class Sent:
    """A file to be saved by the browser."""

    name: str
    octets: bytes


_SET_UP = f"{HOME}/me?done=factor_needed"

Work = Callable[[Visit], Page | Go | Sent]
Asked = Callable[[Person, str, Form, Mapping[str, Any]], Mapping[str, Any]]
"""Makes a question of what a form holds, for a person and a dataset."""


def missing() -> NotKnown:
    """The one refusal for pages that do not exist and pages that are not for this visitor."""
    return NotKnown("There is no such page.")


class Site:
    """The pages and what they share."""

    def __init__(self, handler: RequestHandler) -> None:
        self.handler, self.service = handler, handler.service
        self.router = APIRouter(include_in_schema=False)
        self._environment = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(show.FILTERS)
        self._environment.globals["plotly_styles"] = static.plotly_styles
        # A question's parts stay in their order, which one metric (haversine) reads.
        self._environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}

    def finish(self) -> None:
        """Add scripts and styles, and the page for addresses that lead nowhere."""
        static.add(self.router)
        self.get("/{rest:path}", _nowhere)

    def get(
        self, path: str, work: Work, *, roles: tuple[str, ...] = ROLES, first: bool = False
    ) -> None:
        """Add a page; ``first``: also for those who have yet to set up their second factor."""
        self._add(path, work, "GET", roles, asks=False, first=first)

    def post(
        self,
        path: str,
        work: Work,
        *,
        roles: tuple[str, ...] = ROLES,
        asks: bool | Asked = False,
        first: bool = False,
    ) -> None:
        """Add what a form does; with ``asks``, its reply leaves at the kind's published moment.

        ``asks`` may make the question of what the form holds besides.
        """
        self._add(path, work, "POST", roles, asks=asks, first=first)

    def upload(self, path: str, *, roles: tuple[str, ...]) -> None:
        """Add an address that takes in a data file, for a script of a page; it replies with JSON.

        Role and form token are checked by the headers, before anything of the file is read.
        """

        async def endpoint(request: Request) -> Response:
            def admitted() -> Person:
                session = self.visitor(request)
                request.state.person = session.person.name
                self.handler.limits.take(f"person {session.person.name}")
                if session.lacks_factor or session.person.role not in roles:
                    raise missing()
                self.service.sessions.check_form(session, request.headers.get("x-csrf"))
                return session.person

            try:
                who = await self.handler.admission(request).run(admitted)
                kind = request.query_params.get("kind", "")
                async with self.handler.uploading(who):
                    share = self.handler.lanes.reading.of(who.name)
                    await share.run(self.service.onboarding.clean_uploads)
                    found = await kept(request.stream(), kind, self.service.settings, share)
            except NotSignedIn:
                return RedirectResponse(f"{HOME}/sign-in", 303)
            except WhitecrowError as error:
                return JSONResponse({"reason": str(error)}, http_status(error))
            return JSONResponse({"file": found})

        self.router.add_api_route(HOME + path, endpoint, methods=["POST"], response_model=None)

    def _add(
        self,
        path: str,
        work: Work,
        method: str,
        roles: tuple[str, ...],
        *,
        asks: bool | Asked,
        first: bool,
    ) -> None:
        settings = self.service.settings
        most = settings.largest_question if asks is True else settings.largest_body

        async def endpoint(request: Request) -> Response:
            form = Form()
            try:
                # Who is it, before anything of the body is read?
                session = await self.handler.admission(request).run(lambda: self.visitor(request))
                if method == "POST":
                    form = await read_form(request, most)
            except NotSignedIn:
                return RedirectResponse(f"{HOME}/sign-in", 303)
            except WhitecrowError as error:
                return self._refused(request, error)
            if session.lacks_factor and not first:
                return RedirectResponse(_SET_UP, 303)
            free = self.handler.lanes.free.of(session.person.name)

            def job() -> Response:
                return self._visit(request, form, work, method, roles, first)

            who, kind = session.person, str(request.path_params.get("kind", ""))
            try:
                if not asks or who.role not in roles:
                    return await free.run(job)
                name = request.path_params["name"]
                written = strict_json(form.one("question").encode())
                at_once = form.one("at_once") == "yes"
                if not isinstance(written, dict) or written.get("kind") != kind:
                    raise InvalidInput("The form is stale; load the page again.")

                def prepare() -> tuple[Any, Any]:
                    asked = asks(who, name, form, written) if callable(asks) else written
                    return self.handler.prepare(who, name, asked, at_once=at_once)

                try:
                    asking, request.state.out = await self.handler.prepared(who, prepare)
                except (BudgetExhausted, PolicyViolation) as error:  # the page of the form says so
                    request.state.out = error
                except InvalidInput as error:
                    if not callable(asks):
                        raise
                    request.state.out = error
                if request.state.out is not None:
                    return await free.run(job)
                request.state.asking = asking
                async with self.handler.slot(request, asking):
                    return await self.handler.in_slot(job)
            except WhitecrowError as error:
                return self._refused(request, error)

        self.router.add_api_route(HOME + path, endpoint, methods=[method], response_model=None)

    def _visit(
        self,
        request: Request,
        form: Form,
        work: Work,
        method: str,
        roles: tuple[str, ...],
        first: bool,
    ) -> Response:
        try:
            session = self.visitor(request)
        except NotSignedIn:
            return RedirectResponse(f"{HOME}/sign-in", 303)
        if session.lacks_factor and not first:
            return RedirectResponse(_SET_UP, 303)
        visit = Visit(request, session, form)
        request.state.person = visit.who.name
        try:
            self.handler.limits.take(f"person {visit.who.name}")
            if visit.who.role not in roles:
                raise missing()
            if method == "POST":
                self.service.sessions.check_form(session, form.one("csrf"))
            found = work(visit)
        except WhitecrowError as error:
            found = Page(
                "refused.html", {"reason": str(error)}, http_status(error), retry_after(error)
            )
        if isinstance(found, Go):
            return RedirectResponse(found.to, 303)
        if isinstance(found, Sent):
            named = urllib.parse.quote(found.name, safe="")
            headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{named}"}
            return Response(found.octets, 200, headers, "application/octet-stream")
        return self.rendered(request, found, session)

    def _refused(self, request: Request, error: WhitecrowError) -> Response:
        values = {"reason": str(error)}
        page = Page("refused.html", values, http_status(error), retry_after(error))
        return self.plain(request, page)

    def visitor(self, request: Request) -> Session:
        """Who is signed in, by the cookie."""
        return self.service.sessions.visitor(request.cookies.get(self.cookie_name))

    @property
    def cookie_name(self) -> str:
        return str(self.service.sessions.cookie()["key"])

    def plain(self, request: Request, page: Page) -> Response:
        """Show a page to somebody who is not signed in."""
        return self.rendered(request, page, None)

    def rendered(self, request: Request, page: Page, session: Session | None) -> Response:
        template = self._environment.get_template(page.template)
        text = template.render(
            {
                "home": HOME,
                "who": None if session is None else session.person,
                "csrf": "" if session is None else session.csrf,
                "done": DONE.get(request.query_params.get("done", ""), ""),
                "here": request.url.path,
                "wrong_at": "",
                **page.values,
            }
        )
        headers = {} if page.after is None else {"Retry-After": str(page.after)}
        return HTMLResponse(text, page.status, headers)


def _nowhere(visit: Visit) -> Page:
    raise missing()
