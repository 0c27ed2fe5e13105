"""The site: who is visiting, may they be here, what do they get to see."""

from __future__ import annotations

import gzip
import importlib.util
import re
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from fastapi import APIRouter, HTTPException, Request, Response
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
from whitecrow.question import Release
from whitecrow.rendering import crow, page_rules, picture_rules
from whitecrow_server._handler import RequestHandler
from whitecrow_server._onboarding import saved
from whitecrow_server._people import ROLES, Person
from whitecrow_server._proxies import counted_address
from whitecrow_server._sessions import Session
from whitecrow_server._untrusted_input import read_body, strict_json
from whitecrow_server.console._show import FILTERS

T = TypeVar("T")

HOME = "/console"
_TEMPLATES = Path(__file__).parent / "templates"
_MOST_FIELDS = 25_000  # a card of 2,000 columns; what is read at all is bounded in bytes

DONE = {
    "registered": "The dataset is listed; its records are being read.",
    "policy": "The new promise is effective. The ledger keeps your reason.",
    "card": "The new card is effective; the records are being read again.",
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
    fields: Mapping[str, list[str]] = field(default_factory=dict)

    def one(self, name: str, default: str = "") -> str:
        """The value of a field, without spaces around it."""
        values = self.fields.get(name)
        return values[-1].strip() if values else default

    def untouched(self, name: str) -> str:
        """The value of a field as it was typed: a password may begin or end with a space."""
        return (self.fields.get(name) or [""])[-1]

    def all(self, name: str) -> list[str]:
        return list(self.fields.get(name, []))


async def read_form(request: Request, most: int) -> Form:
    """Read a form's body of at most so many bytes: plain fields, no files."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await read_body(request, most)
    try:
        if kind != "application/x-www-form-urlencoded":
            raise ValueError(kind)
        text = body.decode("ascii")
        fields = urllib.parse.parse_qs(
            text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise InvalidInput("The form could not be read; load the page again.") from None
    if "\0" in text or any("\0" in value for values in fields.values() for value in values):
        raise InvalidInput("The form contains a NUL character.")
    return Form(fields)


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

    @property
    def linked(self) -> Form:
        """What a link filled in: text in the fields of a form, read like what a person types."""
        query = self.request.query_params
        return Form({name: query.getlist(name) for name in query if name != "done"})

    @property
    def address(self) -> str:
        """The service's address as this visitor reaches it."""
        return str(self.request.base_url).rstrip("/")


@dataclass(frozen=True)
class Page:
    """What to show: a template and its values; with ``after``, when to come again."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    after: int | None = None

    def refusing(
        self,
        error: WhitecrowError,
        labels: Mapping[str, str] | None = None,
        *,
        at: str | None = None,
    ) -> Page:
        """The same page with what is wrong: at a field that has one of these labels, or ``at``."""
        wrong = mistake(error, labels or {}) | ({} if at is None else {"wrong_at": at})
        return replace(self, values={**self.values, **wrong}, status=http_status(error))


@dataclass(frozen=True)
class Go:
    """Where to go next, after a form was accepted."""

    to: str


@dataclass(frozen=True)
class Sent:
    name: str
    octets: bytes


Work = Callable[[Visit], Page | Go | Sent]


@dataclass(frozen=True)
class Again:
    """The page that shows a mistake to whoever typed it."""

    page: Callable[[Visit], Page]
    labels: Mapping[str, str] = field(default_factory=dict)  # of its fields, by their names
    errors: type[WhitecrowError] = InvalidInput

    def after(self, work: Work) -> Work:
        def tried(visit: Visit) -> Page | Go | Sent:
            try:
                return work(visit)
            except self.errors as error:
                return self.page(visit).refusing(error, self.labels)

        return tried


_SET_UP = f"{HOME}/me?done=factor_needed"

Asked = Callable[[Person, str, Form, Mapping[str, Any]], Mapping[str, Any]]
"""Makes a question of what a form holds, for a person and a dataset."""


_PARAMETER = re.compile(r"^The '([^']+)' parameter of .+?(?= must )")
_MISSING = re.compile(r"^\w+ needs '([^']+)'(?=: )")


def mistake(error: Exception, labels: Mapping[str, str]) -> dict[str, str]:
    """What a page shows of an error: the words, in terms of its fields, and the field if it is one.

    Examples
    --------
    >>> from whitecrow.errors import invalid
    >>> mistake(invalid("Count", "beta", "at least 1", 0), {"beta": "Most neighbours"})
    {'wrong': 'Most neighbours must be at least 1. Got 0 instead.', 'wrong_at': 'beta'}
    >>> mistake(InvalidInput("The two differ."), {})
    {'wrong': 'The two differ.', 'wrong_at': ''}
    """
    words, named = str(error), getattr(error, "parameter", "")
    at = next((name for name in (named, f"record.{named}") if name in labels), "")
    if at:
        for pattern, instead in ((_PARAMETER, labels[at]), (_MISSING, f"{labels[at]} is missing")):
            matched = pattern.match(words)
            if matched is not None and matched[1] == named:
                words = f"{instead}{words[matched.end() :]}"
    return {"wrong": words, "wrong_at": at}


def missing() -> NotKnown:
    """The one refusal for pages that do not exist and pages that are not for this visitor."""
    return NotKnown("There is no such page.")


class Site:
    def __init__(self, handler: RequestHandler) -> None:
        self.handler, self.service = handler, handler.service
        self.router = APIRouter(include_in_schema=False)
        self.get, self.post = partial(self._add, "GET"), partial(self._add, "POST")
        self._environment = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(FILTERS)
        self._environment.globals["plotly_styles"] = plotly_styles
        # A question's parts stay in their order, which one metric (haversine) reads.
        self._environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}

    def finish(self) -> None:
        """Add scripts and styles, and the page for addresses that lead nowhere."""
        for name, work in (("static/{name}", _own), ("plotly.min.js", _plotly)):
            self.router.add_api_route(f"{HOME}/{name}", work, methods=["GET"], response_model=None)
        self.get("/{rest:path}", _nowhere)

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
                who = await self._admitted(request, admitted)
                kind = request.query_params.get("kind", "")
                async with self.handler.uploading(who):
                    share = self.handler.lanes.reading.of(who.name)
                    await share.run(self.service.onboarding.clean_uploads)
                    name = await saved(request.stream(), kind, self.service.settings, share)
            except NotSignedIn:
                return RedirectResponse(f"{HOME}/sign-in", 303)
            except WhitecrowError as error:
                return JSONResponse({"reason": str(error)}, http_status(error))
            return JSONResponse({"file": name})

        self.router.add_api_route(HOME + path, endpoint, methods=["POST"], response_model=None)

    def _add(
        self,
        method: str,
        path: str,
        work: Work,
        *,
        roles: tuple[str, ...] = ROLES,
        asks: bool | Asked = False,
        first: bool = False,
        again: Again | None = None,
    ) -> None:
        """Add a page, or what a form does.

        With ``asks`` its reply leaves at the kind's published moment; it may make the question of
        what the form holds besides. ``first``: also for those who lack their second factor yet.
        ``again``: the page that says what is wrong with what was typed.
        """
        settings = self.service.settings
        most = settings.largest_question if asks is True else settings.largest_body

        act = work if again is None else again.after(work)

        def visited(request: Request, form: Form) -> Response:
            """Do it in a thread, for whoever it is by then: somebody may have been shut out."""
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
                reply = act(visit)
            except WhitecrowError as error:
                reply = _refused(error)
            if isinstance(reply, Go):
                return RedirectResponse(reply.to, 303)
            if isinstance(reply, Sent):
                named = urllib.parse.quote(reply.name, safe="")
                headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{named}"}
                return Response(reply.octets, 200, headers, "application/octet-stream")
            return self.rendered(request, reply, visit)

        async def endpoint(request: Request) -> Response:
            try:
                # Who is it, before anything of the body is read?
                session = await self._admitted(request, lambda: self.visitor(request))
                form = await read_form(request, most) if method == "POST" else Form()
                if session.lacks_factor and not first:
                    return RedirectResponse(_SET_UP, 303)
                job = partial(visited, request, form)
                if asks and session.person.role in roles:
                    return await self._asking(request, session.person, form, asks, job)
                return await self.handler.lanes.free.of(session.person.name).run(job)
            except NotSignedIn:
                return RedirectResponse(f"{HOME}/sign-in", 303)
            except WhitecrowError as error:
                return self.rendered(request, _refused(error))

        self.router.add_api_route(HOME + path, endpoint, methods=[method], response_model=None)

    async def _asking(
        self,
        request: Request,
        who: Person,
        form: Form,
        asks: bool | Asked,
        job: Callable[[], Response],
    ) -> Response:
        """Reply to a form that asks: in a slot, unless what comes of it is known already."""
        name, raw = request.path_params["name"], strict_json(form.one("question").encode())
        if not isinstance(raw, dict) or raw.get("kind") != request.path_params["kind"]:
            raise InvalidInput("The form is stale; load the page again.")

        def prepare() -> tuple[Any, Any]:
            asked = asks(who, name, form, raw) if callable(asks) else raw
            return self.handler.prepare(who, name, asked, at_once=form.one("at_once") == "yes")

        state = request.state
        shown: tuple[type[WhitecrowError], ...] = (BudgetExhausted, PolicyViolation)
        if callable(asks):  # the page of the form says so
            shown += (InvalidInput,)
        try:
            state.asking, state.out = await self.handler.prepared(who, prepare)
        except shown as error:
            state.out = error
        if state.out is not None:
            return await self.handler.lanes.free.of(who.name).run(job)
        async with self.handler.slot(request, state.asking):
            return await self.handler.in_slot(job)

    async def _admitted(self, request: Request, work: Callable[[], T]) -> T:
        """Identify the visitor, in turn with other addresses."""
        return await self.handler.lanes.admission.run(counted_address(request), work)

    def released(self, visit: Visit) -> Release:
        """Answer a form that asks, in its slot or without one; or refuse it."""
        state = visit.request.state
        out: Release | WhitecrowError | None = state.out
        if isinstance(out, WhitecrowError):
            raise out
        return out or self.handler.answered(visit.request, state.asking, lambda: visit.who)

    def visitor(self, request: Request) -> Session:
        return self.service.sessions.visitor(request.cookies.get(self.cookie_name))

    @property
    def cookie_name(self) -> str:
        return str(self.service.sessions.cookie()["key"])

    def rendered(self, request: Request, page: Page, visit: Visit | None = None) -> Response:
        """Show a page; without a visit, to somebody who is not signed in."""
        template = self._environment.get_template(page.template)
        text = template.render(
            {
                "home": HOME,
                "who": None if visit is None else visit.who,
                "csrf": "" if visit is None else visit.session.csrf,
                "typed": Form() if visit is None else visit.form,
                "wrong": "",
                "done": DONE.get(request.query_params.get("done", ""), ""),
                "here": request.url.path,
                "wrong_at": "",
                **page.values,
            }
        )
        headers = {} if page.after is None else {"Retry-After": str(page.after)}
        return HTMLResponse(text, page.status, headers)


def _refused(error: WhitecrowError) -> Page:
    values = {"reason": str(error)}
    return Page("refused.html", values, http_status(error), retry_after(error))


def _nowhere(visit: Visit) -> Page:
    raise missing()


# Scripts and styles: our own small files, and plotly from its installed package

_FOLDER = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FILES = {path.name: path for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES}
_SHARED: dict[str, Callable[[], str]] = {
    "console.css": page_rules,
    "pictures.css": picture_rules,
    "crow.svg": crow,
}
"""What the reports of the core show too."""
_CACHED = {"Cache-Control": "public, max-age=3600"}


def _own(name: str) -> Response:
    if name in _SHARED:
        return Response(_SHARED[name](), media_type=_TYPES[Path(name).suffix], headers=_CACHED)
    if name not in _FILES:
        raise HTTPException(404, "There is no such file.")
    path = _FILES[name]
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=_CACHED)


def _plotly(request: Request) -> Response:
    packed = "gzip" in request.headers.get("accept-encoding", "")
    body = _packed() if packed else plotly_script().read_bytes()
    headers = {**_CACHED, "Vary": "Accept-Encoding"}
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(body, media_type="text/javascript", headers=headers)


@lru_cache(maxsize=1)
def _packed() -> bytes:
    return gzip.compress(plotly_script().read_bytes(), 6)


@lru_cache(maxsize=1)
def plotly_styles() -> tuple[str, ...]:
    """The names of style sheets that plotly adds to a page unless they are there already.

    The content-security policy forbids it to; a page that holds empty elements of these names is
    left alone.
    """
    text = plotly_script().read_text(encoding="utf-8")
    return tuple(sorted(set(re.findall(r'getElementById\("([0-9a-f]{64})"\)', text))))


def plotly_script() -> Path:
    """Where plotly's own JavaScript lies: inside its Python package, which need not be imported."""
    package = importlib.util.find_spec("plotly")
    if package is None or package.origin is None:
        raise HTTPException(404, "Charts need plotly: pip install 'whitecrow[server]'.")
    return Path(package.origin).parent / "package_data" / "plotly.min.js"
