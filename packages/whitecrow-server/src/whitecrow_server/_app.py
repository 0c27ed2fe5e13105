"""The application: one curator for many people, over HTTP (``/v1/...``, ``/healthz``, ...).

Each route is declared with what it replies, and calls one method of the service for the person whom
the token names. Everything that waits (database, computation) runs in a thread, once per request.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials
from starlette.exceptions import HTTPException

from whitecrow import __version__
from whitecrow.errors import Forbidden, InvalidInput, WhitecrowError
from whitecrow_server import _schemas as schemas
from whitecrow_server._handler import BEARER, RequestHandler, encoded, refusal, unread
from whitecrow_server._logs import keep_for_custodian
from whitecrow_server._members import Members
from whitecrow_server._metrics import Metrics, Telemetry
from whitecrow_server._people import Person
from whitecrow_server._proxies import TrustedProxies
from whitecrow_server._security import SecurityMiddleware
from whitecrow_server._service import MOST_ENTRIES, Service
from whitecrow_server._settings import Settings
from whitecrow_server._store import Readiness


def create_app(
    settings: Settings, *, pages: Callable[[FastAPI, RequestHandler], None] | None = None
) -> FastAPI:
    """Build the application, with the service at ``app.state.service``.

    ``pages`` adds web pages: it is given the application and the handler, whose ``service`` does
    everything, with authorisation, for a person.
    """
    telemetry = None
    if settings.telemetry is not None:
        telemetry = Telemetry(settings.telemetry, headers=settings.telemetry_headers)
    service, metrics = Service(settings), Metrics(telemetry)
    if telemetry is not None:
        service.events.add(telemetry.event)
    handler = RequestHandler(service, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        # What is loaded by now stays. Looked through again and again for garbage, with the lock of
        # the interpreter held, it would keep everybody waiting for a tenth of a second.
        gc.collect()
        gc.freeze()
        yield
        service.close()
        if telemetry is not None:
            telemetry.close()

    app = FastAPI(
        title="whitecrow",
        version=__version__,
        summary="Outlier analysis on sensitive data, under provable privacy.",
        docs_url=None,  # its page loads scripts from another host
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service, app.state.handler, app.state.telemetry = service, handler, telemetry
    # Its routes themselves: a router that is included is searched anew by every request.
    app.router.routes += router_of(handler).routes
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _shape)
    if pages is not None:
        pages(app, handler)
    app.add_middleware(
        SecurityMiddleware, settings=settings, metrics=metrics, events=service.events
    )
    app.add_middleware(TrustedProxies, proxies=settings.proxies)  # the last added is outermost
    keep_for_custodian(settings)
    return app


async def _http(request: Request, error: Exception) -> Response:
    """FastAPI's own refusals, in the one form."""
    assert isinstance(error, HTTPException)
    kind = "TooMany" if error.status_code == 429 else "InvalidInput"
    body = {"error": {"type": kind, "reason": str(error.detail)}}
    headers = dict(error.headers or {})
    if error.status_code in (408, 413):  # the rest of the body is not read
        headers["Connection"] = "close"
    return Response(encoded(body), error.status_code, headers, "application/json")


async def _shape(request: Request, error: Exception) -> Response:
    """A body or parameter of the wrong shape: say where and why, without quoting it."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    return refusal(InvalidInput(f"{where[:200]}: {first['msg']}."))


# Routes

_DATASET = "/v1/datasets/{name}"
_PERSON = "/v1/analysts/{name}"
_WITNESS = "/v1/witness/{ledger}"
_LARGE = ("/v1/datasets", _DATASET, f"{_DATASET}/drafts", _WITNESS)
_JSON, _OCTETS = "application/json", "application/octet-stream"

Json = dict[str, Any]
Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]
Number = Annotated[int, Query(ge=0, le=2**31 - 1)]
Handle = Callable[[Request], Coroutine[Any, Any, Response]]
Declare = Callable[..., Callable[[Callable[..., Any]], None]]


class StrictRoute(APIRoute):
    """A route that knows who asks before it reads a body, and parses it strictly."""

    def get_route_handler(self) -> Handle:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle
        large, scope = self.path_format in _LARGE, "witness" if self.path_format == _WITNESS else ""

        async def strictly(request: Request) -> Response:
            handler: RequestHandler = request.app.state.handler
            try:
                who = await handler.admit(request, scope=scope)
                share = handler.share(request, who)
                share.refuse_if_full()
            except WhitecrowError as error:
                return unread(error)
            settings = handler.service.settings
            most = settings.largest_body if large else settings.largest_question
            return await handle(schemas.StrictRequest(request, share, most))

        return strictly


class DirectRoute(APIRoute):
    """A route that is read by hand, and documented like all others.

    Asks are taken most, and what FastAPI does for any signature costs more than the rest of one.
    The bodies of plans are long: they are parsed where they delay nobody.
    """

    def get_route_handler(self) -> Handle:
        is_ask = self.path_format.endswith("/ask")

        async def directly(request: Request) -> Response:
            handler: RequestHandler = request.app.state.handler
            try:
                reply = handler.ask if is_ask else handler.plan
                return await reply(request, request.path_params["name"])
            except WhitecrowError as error:
                return refusal(error)

        return directly


def router_of(handler: RequestHandler) -> APIRouter:
    """Build the routes."""
    service = handler.service
    file = service.settings.ledger_file
    readiness = Readiness(service.store, None if file is None else file.parent)
    router = APIRouter(route_class=StrictRoute)
    route = partial(_route, handler, router)

    # Before all others, which a request is compared with one after the other.
    directly = partial(route, "POST", tag="questions", direct=True)
    answered = ("question", "answer", "guarantee", "statement", "charged")

    @directly(f"{_DATASET}/ask", *answered, also=(402,))
    def ask(who: Person, name: str, question: schemas.RawQuestion) -> None:
        """Answer a question (analyst, custodian). Asking again returns the stored answer, free."""

    @directly(f"{_DATASET}/plan", "questions", "charged", "price", "fits")
    def plan(who: Person, name: str, body: schemas.Batch) -> None:
        """What a batch of questions would cost together."""

    @router.get("/healthz", responses=replies("status"), tags=["service"])
    async def health() -> Response:
        """Whether the service runs: if not, start it anew. A database that is away is no reason."""
        return Response(encoded({"status": "ok"}), media_type=_JSON)

    @router.get("/readyz", responses=replies("status"), tags=["service"])
    async def ready() -> Response:
        """Whether the database takes writes: if not, send people elsewhere for a while."""

        def check() -> Json:
            readiness.check()
            return {"status": "ready"}

        return await handler.probe(check)

    @route("GET", "/metrics", tag="service", scope="metrics", media="text/plain; version=0.0.4")
    def metrics(who: Person) -> bytes:
        """Numbers for Prometheus, for custodians, auditors and their tokens of scope metrics."""
        if who.role == "analyst":
            raise Forbidden("The numbers are for custodians and auditors.")
        return handler.metrics.text()

    @route("PUT", _WITNESS, "statements", tag="witness", also=(409,), scope="witness")
    def testify(who: Person, ledger: str, body: schemas.Witnessed) -> Json:
        """Be told how far another instance's ledger is; one that goes back is refused."""
        return service.witnessing.keep(who, ledger, body.public, body.statement)

    @route("GET", _WITNESS, "statements", tag="witness", scope="witness")
    def testimony(who: Person, ledger: str) -> Json:
        """What a ledger has told its witness here, as it was signed."""
        return service.witnessing.read(who, ledger)

    @router.post("/v1/sign-in/device", responses=replies("device", "code"), tags=["people"])
    async def device(request: Request) -> Response:
        """Begin a sign-in at a terminal: a code to be typed at the provider's page."""
        return await handler.at_provider(request, service.single_sign_on.begin_device)

    @router.post("/v1/sign-in/device/{device}", responses=replies("state"), tags=["people"])
    async def device_token(request: Request, device: str) -> Response:
        """The token of a terminal that was approved, or what it waits for: pending or slow."""

        def work() -> Json:
            reply = service.single_sign_on.finish_device(device)
            if reply["state"] == "done":
                service.events.tell("sign-in", actor=reply["name"], **{"with": "device"})
            return reply

        return await handler.at_provider(request, work)

    @route("GET", "/v1/me", "name", "role", tag="people")
    def me(who: Person) -> Json:
        """Who you are."""
        return who.to_json()

    _add_datasets(route, service)
    _add_people(route, service.members)
    return router


def _add_datasets(route: Declare, service: Service) -> None:
    @route("GET", "/v1/datasets", "datasets", tag="datasets")
    def datasets(who: Person) -> Json:
        """The datasets you may know of."""
        return {"datasets": service.datasets(who)}

    @route("POST", "/v1/datasets", "name", "card", tag="datasets", status=201, also=(409,))
    def register(who: Person, body: schemas.Registration) -> Json:
        """List a dataset (custodian); its records are read in the background."""
        return service.register(who, **dict(body))

    @route("GET", _DATASET, "name", "ready", "card", "policy", "remaining", tag="datasets")
    def dataset(who: Person, name: str) -> Json:
        """A dataset's card, policy, deadlines and what remains."""
        return service.dataset(who, name)

    @route("PATCH", _DATASET, "name", "card", tag="datasets")
    def amend(who: Person, name: str, body: schemas.Amendment) -> Json:
        """Change budget, policy, card or readers (custodian); the chain keeps the reason."""
        return service.amend(who, name, **dict(body))

    @route("GET", f"{_DATASET}/drafts", "drafts", tag="datasets")
    def drafts(who: Person, name: str) -> Json:
        """The cards that profiles drafted, the newest first (custodian)."""
        return {"drafts": [draft.to_json() for draft in service.onboarding.drafts(who, name)]}

    @route("POST", f"{_DATASET}/drafts", "card", "edited", tag="datasets")
    def accept(who: Person, name: str, body: schemas.Acceptance) -> Json:
        """Use a drafted card, as it is or edited (custodian); the chain keeps which."""
        return service.onboarding.accept(who, name, body.draft, reason=body.reason)

    @route("POST", f"{_DATASET}/removal", tag="datasets")
    def remove(who: Person, name: str, body: schemas.Removal) -> None:
        """Take a dataset off the list; its account stays (custodian)."""
        service.remove(who, name, reason=body.reason)

    @route("POST", f"{_DATASET}/revisions", tag="datasets")
    def advance(who: Person, name: str, body: schemas.Advance) -> Json:
        """Record that the records changed: the next revision of the account (custodian)."""
        return service.history.advance(who, name, **dict(body))

    @route("GET", f"{_DATASET}/timeline", "dataset", "events", "spent", "budget", tag="datasets")
    def timeline(who: Person, name: str) -> Json:
        """Revisions, publications, alarms and the budget over time, as far as you may know."""
        return service.history.timeline(who, name)

    @route("PUT", f"{_DATASET}/allowances", tag="datasets")
    def allow(who: Person, name: str, body: schemas.Allowance) -> None:
        """Cap what one analyst may spend (custodian)."""
        service.allow(who, name, body.analyst, body.budget, reason=body.reason)

    # Questions

    @route("POST", f"{_DATASET}/price", "words", "price", "figures", tag="questions")
    def price(who: Person, name: str, question: schemas.Priced) -> Json:
        """What a question would cost and how accurate it would be, from public facts."""
        public = question.pop("public", {})
        description = service.price(who, name, question, public).to_json()
        return {**description, "deadline": service.deadline(who, name, question)}

    advice = ("model", "columns", "share", "question", "description")

    @route("POST", f"{_DATASET}/advice", *advice, tag="questions")
    def advise(who: Person, name: str, body: schemas.Contamination) -> Json:
        """A model for a wanted share of outliers, and what a better one costs; from public facts.

        Synthetic records are drawn from the newest profile (for an analyst: of their own), or from
        the card. The question that comes back has the radius chosen by the data.
        """
        return service.onboarding.advise(who, name, **dict(body)).to_json()

    @route("POST", f"{_DATASET}/dummy", "question", "answer", "statement", "dummy", tag="questions")
    def dummy(who: Person, name: str, question: schemas.RawQuestion) -> Json:
        """Answer a question about synthetic records: free, and it says nothing of anybody."""
        return service.dummy(who, name, question).to_json()

    @route("GET", f"{_DATASET}/detectors/{{entry}}", tag="questions", media=_OCTETS)
    def detector(who: Person, name: str, entry: str) -> bytes:
        """The file of a detector that you learned, by its entry; whitecrow score opens it."""
        return service.detector(who, name, entry).to_bytes()

    # The account

    @route("GET", f"{_DATASET}/ledger", "dataset", "spent", "remaining", tag="ledger")
    def ledger(
        who: Person,
        name: str,
        after: Number = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES)] = MOST_ENTRIES,
        skip: Number = 0,
        newest_first: bool = False,
    ) -> Json:
        """A page of the account: entries for custodians and auditors, an analyst's own questions.

        Entries after one number, or the newest first; an analyst's newest questions but the first
        so many that are skipped.
        """
        return service.account(
            who, name, after=after, limit=limit, skip=skip, newest_first=newest_first
        )

    @route("GET", f"{_DATASET}/ledger/verification", "ok", "entries", "head", tag="ledger")
    def verify(who: Person, name: str, full: bool = False) -> Json:
        """Check the chain and the sums since the newest checkpoint, or all (custodian, auditor)."""
        return service.verify(who, name, full=full)

    @route("POST", f"{_DATASET}/ledger/voids", tag="ledger")
    def void(who: Person, name: str, body: schemas.Voiding) -> None:
        """Give back a spend that never led to an answer (custodian)."""
        service.void(who, name, body.entry, reason=body.reason)

    @route("POST", f"{_DATASET}/ledger/reviews", tag="ledger")
    def review(who: Person, name: str, body: schemas.Review) -> None:
        """Say that a failure was looked at, so that the dataset takes questions (custodian)."""
        service.review(who, name, body.entry, reason=body.reason)


def _add_people(route: Declare, members: Members) -> None:
    @route("GET", "/v1/analysts", "analysts", tag="people")
    def people(who: Person) -> Json:
        """Everybody, whatever their role (custodian, auditor)."""
        return {"analysts": members.everybody(who)}

    @route("POST", "/v1/analysts", "name", "role", tag="people", status=201, also=(409,))
    def invite(who: Person, body: schemas.Invitation) -> Json:
        """Make somebody known (custodian)."""
        return members.invite(who, body.name, body.role).to_json()

    @route("GET", _PERSON, "name", "role", tag="people")
    def person(who: Person, name: str) -> Json:
        """One person: yourself, or anybody for custodians and auditors."""
        return members.person(who, name).to_json()

    @route("PATCH", _PERSON, "name", "role", tag="people")
    def change(who: Person, name: str, body: schemas.Change) -> Json:
        """Shut somebody out, or let them in again (custodian)."""
        return members.disable(who, name, body.disabled).to_json()

    @route("POST", f"{_PERSON}/password", "password", tag="people", status=201)
    def reset(who: Person, name: str) -> Json:
        """Give somebody a new random password for the console (custodian), shown once."""
        return {"password": members.reset_password(who, name)}

    @route("POST", f"{_PERSON}/invitation", "code", tag="people", status=201)
    def invitation(who: Person, name: str) -> Json:
        """A code with which somebody chooses a password, once and soon (custodian)."""
        return {"code": members.invitation(who, name)}

    @route("POST", f"{_PERSON}/removal", tag="people")
    def remove(who: Person, name: str, body: schemas.Removal) -> None:
        """Remove somebody; the accounts keep what was asked and spent (custodian)."""
        members.remove(who, name, reason=body.reason)

    @route("DELETE", f"{_PERSON}/second-factor", tag="people")
    def no_second_factor(who: Person, name: str) -> None:
        """Take away the second factor of somebody who lost it (custodian)."""
        members.reset_second_factor(who, name)

    @route("GET", f"{_PERSON}/sessions", "sessions", tag="people")
    def sessions(who: Person, name: str) -> Json:
        """What is known of somebody's sessions (their own, or any for the custodian)."""
        return {"sessions": members.sessions(who, name)}

    @route("DELETE", f"{_PERSON}/sessions", tag="people")
    def end_sessions(who: Person, name: str) -> None:
        """End all of somebody's sessions."""
        members.end_sessions(who, name)

    @route("GET", "/v1/trail", "acts", "broken", tag="people")
    def trail(who: Person, after: Number = 0) -> Json:
        """What administrators did about people, tokens and keys (custodian, auditor)."""
        return members.acts(who, after=after)

    @route("POST", "/v1/keys", tag="service")
    def rotate(who: Person) -> None:
        """Sign cookies with a new key; nobody is signed out (custodian)."""
        members.rotate_keys(who)

    @route("GET", f"{_PERSON}/tokens", "tokens", tag="people")
    def tokens(who: Person, name: str) -> Json:
        """What is known of somebody's tokens (their own, or any for the custodian)."""
        return {"tokens": [token.to_json() for token in members.tokens(who, name)]}

    @route("POST", f"{_PERSON}/tokens", "token", "id", "expires", tag="people", status=201)
    def issue(who: Person, name: str, body: schemas.NewToken) -> Json:
        """Make a token; its text is shown in this reply and never again."""
        text, token = members.issue(who, name, **dict(body))
        return {"token": text, **token.to_json()}

    @route("DELETE", f"{_PERSON}/tokens", tag="people")
    def revoke_all(who: Person, name: str) -> None:
        """End all of somebody's tokens, and all that were made with them."""
        members.revoke_all(who, name)

    @route("DELETE", f"{_PERSON}/tokens/{{token}}", tag="people")
    def revoke(who: Person, name: str, token: str) -> None:
        """End a token's life, and that of all that were made with it."""
        members.revoke(who, name, token)


def _route(
    handler: RequestHandler,
    router: APIRouter,
    method: str,
    path: str,
    *keys: str,
    tag: str,
    status: int = 200,
    also: tuple[int, ...] = (),
    media: str = _JSON,
    scope: str = "",
    direct: bool = False,
) -> Callable[[Callable[..., Any]], None]:
    """Declare what is done for a person, by path, query and body; it replies these keys.

    What is ``direct`` is declared for its description alone: :class:`DirectRoute` does it.
    """

    def declare(work: Callable[..., Any]) -> None:
        async def endpoint(request: Request, bearer: Bearer, **given: Any) -> Response:
            return await handler.act(
                request, lambda who: work(who, **given), status=status, scope=scope, media=media
            )

        # What FastAPI reads and documents: all that the work is given but who asks.
        request, bearer, _ = inspect.signature(endpoint, eval_str=True).parameters.values()
        _, *given = inspect.signature(work, eval_str=True).parameters.values()
        signature = inspect.Signature([request, bearer, *given], return_annotation=Response)
        endpoint.__signature__ = signature  # type: ignore[attr-defined]
        endpoint.__name__, endpoint.__doc__ = work.__name__, work.__doc__
        replied = replies(*keys, status=status, also=also, media=media.partition(";")[0])
        router.add_api_route(
            path,
            endpoint,
            methods=[method],
            status_code=status,
            responses=replied,
            tags=[tag],
            route_class_override=DirectRoute if direct else None,
        )

    return declare


# What the OpenAPI document says of replies: every status that can come back, and its shape

_WORDS = {
    200: "Done.",
    201: "Made.",
    400: "The request cannot be read, or names a host this service does not answer to.",
    401: "No token, or one that is unknown, expired or revoked.",
    402: "The budget does not suffice; nothing was spent.",
    403: "The role or the policy forbids it; nothing was spent.",
    404: "There is no such thing, or none that you may know of.",
    408: "The body did not arrive in time.",
    409: "The name is taken.",
    413: "The body is too large.",
    422: "A value is not what it must be; nothing was spent.",
    429: "Too many requests; Retry-After says when to come again.",
    503: "Not available now; Retry-After says when to come again.",
}

_EVERYWHERE = (400, 401, 403, 404, 408, 413, 422, 429, 503)

_MESSAGE = {
    "type": "object",
    "required": ["type", "reason"],
    "properties": {
        "type": {"type": "string", "description": "The library's name for the error."},
        "reason": {"type": "string"},
        "requested": {"type": "string"},
        "remaining": {"type": "string"},
    },
}

_REFUSAL = {
    "type": "object",
    "properties": {"refused": _MESSAGE, "error": _MESSAGE},
    "minProperties": 1,
    "maxProperties": 1,
}


def replies(
    *keys: str, status: int = 200, also: tuple[int, ...] = (), media: str = "application/json"
) -> dict[int | str, Json]:
    """Describe what a route may reply: an object with these keys, or a refusal."""
    shape: dict[str, Any] = {"type": "string"}
    if media == "application/json":
        shape = {"type": "object", "required": list(keys)}
    described: dict[int | str, Json] = {
        status: {"description": _WORDS[status], "content": {media: {"schema": shape}}}
    }
    for refused in (*_EVERYWHERE, *also):
        described[refused] = {
            "description": _WORDS[refused],
            "content": {"application/json": {"schema": _REFUSAL}},
        }
    return described
