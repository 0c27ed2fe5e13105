"""Whose address counts: the caller's, or the one that a trusted proxy reports.

Anybody can write ``X-Forwarded-For``. It is believed only from a proxy that the operator named, and
then the right-most address that is no such proxy counts: whatever stands left of it the caller may
have written.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from whitecrow.errors import invalid

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def networks(names: Iterable[str]) -> tuple[Network, ...]:
    """Read addresses and networks.

    Examples
    --------
    >>> networks(["10.0.0.0/8", "::1"])
    (IPv4Network('10.0.0.0/8'), IPv6Network('::1/128'))
    """
    trusted = []
    for network in names:
        try:
            trusted.append(ipaddress.ip_network(network, strict=False))
        except ValueError:
            raise invalid(
                "Settings", "proxies", "addresses or networks such as 10.0.0.0/8", network
            ) from None
    return tuple(trusted)


def counted_address(request: HTTPConnection) -> str:
    """What a caller's attempts are counted under.

    A household or a rented machine has a whole /64 of IPv6 addresses: it counts as one.
    """
    host = request.client.host if request.client else ""
    address = _address(host)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return host


class TrustedProxies:
    """ASGI middleware, before all others: puts the caller's address and scheme in place."""

    def __init__(self, app: ASGIApp, *, proxies: Iterable[str]) -> None:
        self._app, self._proxies = app, networks(proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._proxies and scope["type"] == "http":
            scope = self._resolved(scope)
        await self._app(scope, receive, send)

    def _resolved(self, scope: Scope) -> Scope:
        nearest = _address((scope.get("client") or ("", 0))[0])
        if nearest is None or not self._trusts(nearest):
            return scope
        reported = _listed(scope, b"x-forwarded-for")
        caller = nearest
        while reported and self._trusts(caller):
            told = _address(reported.pop())
            if told is None:  # not an address: the last one that is counts
                break
            caller = told
        # Each proxy adds to the right: the last is what the one next to us saw.
        schemes = _listed(scope, b"x-forwarded-proto")
        scheme = schemes[-1].lower() if schemes else ""
        resolved = {**scope, "client": (str(caller), 0)}
        if scheme in ("http", "https"):
            resolved["scheme"] = scheme
        return resolved

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self._proxies)


def _listed(scope: Scope, name: bytes) -> list[str]:
    """The values of a header, of all its lines, from left to right."""
    lines = [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
    return [address.strip() for address in ",".join(lines).split(",") if address.strip()]


def _address(given: str) -> Address | None:
    """Read an address, which may have a port; an IPv4-mapped IPv6 address is IPv4."""
    text = given.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
