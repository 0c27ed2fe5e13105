"""The application: one curator for many people, over HTTP."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from whitecrow import __version__
from whitecrow.errors import InvalidInput
from whitecrow_server._handler import RequestHandler, encoded, refusal
from whitecrow_server._logs import keep_for_custodian
from whitecrow_server._metrics import Metrics
from whitecrow_server._proxies import TrustedProxies
from whitecrow_server._routes import router_of
from whitecrow_server._security import SecurityMiddleware
from whitecrow_server._service import Service
from whitecrow_server._settings import Settings
from whitecrow_server._telemetry import Telemetry


def create_app(
    settings: Settings, *, pages: Callable[[FastAPI, RequestHandler], None] | None = None
) -> FastAPI:
    """Build the application.

    Parameters
    ----------
    settings : Settings
        How it is set up.
    pages : callable, optional
        Adds web pages to the application: it is given the application and the handler, whose
        ``service`` does everything, with authorisation, for a person.

    Returns
    -------
    FastAPI
        With the service at ``app.state.service``.
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
