"""The outermost middleware: limits on bodies, host names, security headers, metrics, logs."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
import urllib.parse
from collections import deque
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whitecrow.custodian import write_down
from whitecrow_server._logs import LOG, Events
from whitecrow_server._metrics import Metrics
from whitecrow_server._onboarding import UPLOADS
from whitecrow_server._people import is_name
from whitecrow_server._proxies import counted_address
from whitecrow_server._settings import Settings

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""On every reply that does not set its own."""

_REFUSALS = (401, 402, 403, 404, 429)
"""What is told as a refusal. 404: it is the answer for what somebody may not know of."""

HELD_SECONDS = 1.0
"""How long a refusal for coming too often is held back: whoever sends on as soon as a reply is
there must not have us refuse all the time."""

_BROKEN = "The service failed. The custodian's log has the cause."
"""All that anybody outside learns of a fault of ours."""


class _Queue:
    """Requests of one address begin one after the other, with a step of all others in between.

    Sixty that come in one moment would otherwise be read, routed and refused in one go, while
    everybody else waits for the loop.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def wait(self, address: str) -> None:
        loop = asyncio.get_running_loop()
        if address in self._waiting:
            waiter = loop.create_future()
            self._waiting[address].append(waiter)
            await waiter
        else:
            self._waiting[address] = deque()
            loop.call_soon(self._next, loop, address)

    def _next(self, loop: asyncio.AbstractEventLoop, address: str) -> None:
        waiting = self._waiting[address]
        while waiting and waiting[0].done():  # whoever hung up
            waiting.popleft()
        if not waiting:
            del self._waiting[address]
            return
        waiting.popleft().set_result(None)
        loop.call_soon(self._next, loop, address)


class SecurityMiddleware:
    def __init__(
        self, app: ASGIApp, *, settings: Settings, metrics: Metrics, events: Events
    ) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._events, self._queue = events, _Queue()
        named = dict(HEADERS)
        if settings.provider is not None:
            # Signing out leads on to the provider, and browsers hold forms to where they lead.
            there = urllib.parse.urlsplit(settings.provider.issuer)
            named["Content-Security-Policy"] = named["Content-Security-Policy"].replace(
                "form-action 'self'", f"form-action 'self' {there.scheme}://{there.netloc}"
            )
        if settings.secure:
            named["Strict-Transport-Security"] = "max-age=31536000"
        self._headers = [(key.lower().encode(), value.encode()) for key, value in named.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._queue.wait(counted_address(HTTPConnection(scope)))
        started = time.perf_counter()
        self._metrics.began()
        status = 500

        async def reply(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status == 429:
                    await asyncio.sleep(HELD_SECONDS)
                headers = list(message.get("headers", ()))
                own = {name.lower() for name, _ in headers}
                message["headers"] = headers + [
                    pair for pair in self._headers if pair[0] not in own
                ]
            await send(message)

        try:
            await self._guarded(scope, receive, reply)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.ended(route, scope["method"], status, seconds)
            LOG.info(
                "request",
                route=route,
                method=scope["method"],
                status=status,
                seconds=round(seconds, 4),
                person=scope.get("state", {}).get("person", ""),
            )
            if status in _REFUSALS:
                self._tell_refusal(scope, route, status)

    def _tell_refusal(self, scope: Scope, route: str, status: int) -> None:
        person = scope.get("state", {}).get("person", "")
        if status == 404 and not person:
            return
        named = str(scope.get("path_params", {}).get("name", ""))
        about = "dataset" if "/datasets/" in route else "target"
        self._events.tell(
            "refusal",
            outcome="refused",
            actor=person,
            address=(scope.get("client") or ("",))[0],
            route=f"{scope['method']} {route}",
            reason=str(status),
            **{about: named if is_name(named) else ""},
        )

    async def _guarded(self, scope: Scope, receive: Receive, reply: Send) -> None:
        headers = dict(reversed(scope["headers"]))  # the first of a name counts
        if not self._known_host(headers.get(b"host", b"").decode("latin-1")):
            unknown = "This service does not answer to that host."
            await _refusal(400, "InvalidInput", unknown)(scope, receive, reply)
            return
        settings = self._settings
        largest, seconds = settings.largest_body, settings.body_seconds
        if scope["path"] == UPLOADS:
            largest, seconds = settings.largest_upload, settings.upload_seconds
        begun, size, complete = False, 0, False
        until: float | None = None
        too_large = f"The body is larger than {largest} bytes."
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > largest:
            await _refusal(413, "InvalidInput", too_large)(scope, receive, reply)
            return

        async def bounded() -> Message:
            nonlocal size, complete, until
            if complete:  # waiting for the caller to hang up, which takes as long as it takes
                return await receive()
            loop = asyncio.get_running_loop()
            until = until or loop.time() + seconds
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The body did not arrive in time.") from None
            complete = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > largest:
                raise HTTPException(413, too_large)
            return message

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = True
            await reply(message)

        try:
            await self._app(scope, bounded, noticed)
            return
        except Exception:  # noqa: BLE001 - a fault of ours is told to the custodian alone
            request_text = f"a request: {scope['method']}"
            write_down(self._settings.beside_ledger, request_text, traceback.format_exc())
        if not begun:
            await _refusal(500, "Unavailable", _BROKEN)(scope, receive, reply)

    def _known_host(self, host: str) -> bool:
        if not self._settings.hosts:
            return True
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        return name.strip("[]").lower() in self._settings.hosts


def _refusal(status: int, kind: str, words: str) -> Response:
    body = json.dumps({"error": {"type": kind, "reason": words}})
    # The rest of a body that was refused is not read: the connection ends here.
    return Response(body, status, {"Connection": "close"}, "application/json")
