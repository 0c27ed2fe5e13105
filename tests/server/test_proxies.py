"""Whose address counts when a proxy stands in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

import whitecrow as wc
from whitecrow_server import Settings
from whitecrow_server._proxies import TrustedProxies, counted_address

from .conftest import House

Headers = list[tuple[str, str]]
PROXY = "10.1.2.3"


def _seen(peer: str, headers: Headers, proxies: tuple[str, ...] = ("10.0.0.0/8",)) -> Any:
    """What an application behind the middleware sees of a request."""
    seen: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope)

    scope = {
        "type": "http",
        "client": (peer, 1234),
        "scheme": "http",
        "headers": [(key.lower().encode(), value.encode("latin-1")) for key, value in headers],
    }
    anyio.run(TrustedProxies(app, proxies=proxies), scope, None, None)
    return seen


def _forwarded(*lines: str) -> Headers:
    return [("X-Forwarded-For", line) for line in lines]


@pytest.mark.parametrize(
    ("peer", "headers", "counts"),
    [
        # Nobody but a named proxy is believed.
        ("192.0.2.1", _forwarded("198.51.100.7"), "192.0.2.1"),
        ("127.0.0.1", _forwarded("198.51.100.7"), "127.0.0.1"),
        # The right-most address that is no proxy of ours: what is left of it the caller wrote.
        (PROXY, _forwarded("198.51.100.7"), "198.51.100.7"),
        (PROXY, _forwarded("203.0.113.9, 198.51.100.7"), "198.51.100.7"),
        (PROXY, _forwarded("203.0.113.9", "198.51.100.7"), "198.51.100.7"),
        (PROXY, _forwarded("203.0.113.9, 198.51.100.7, 10.9.9.9"), "198.51.100.7"),
        (PROXY, _forwarded("10.0.0.1, 198.51.100.7"), "198.51.100.7"),
        # All of them ours, none at all, or no addresses: the last that is known.
        (PROXY, _forwarded("10.4.4.4, 10.9.9.9"), "10.4.4.4"),
        (PROXY, [], PROXY),
        (PROXY, _forwarded("unknown"), PROXY),
        (PROXY, _forwarded("198.51.100.7, _hidden"), PROXY),
        # With ports, in brackets, IPv4 written as IPv6.
        (PROXY, _forwarded("198.51.100.7:4711"), "198.51.100.7"),
        (PROXY, _forwarded("[2001:db8::1]:4711"), "2001:db8::1"),
        (f"::ffff:{PROXY}", _forwarded("::ffff:198.51.100.7"), "198.51.100.7"),
    ],
)
def test_only_what_a_trusted_proxy_saw_itself_counts(
    peer: str, headers: Headers, counts: str
) -> None:
    assert _seen(peer, headers)["client"][0] == counts


def test_the_scheme_is_believed_from_the_same_proxies() -> None:
    said = [("X-Forwarded-Proto", "https")]
    assert _seen(PROXY, said)["scheme"] == "https"
    assert _seen("192.0.2.1", said)["scheme"] == "http"
    assert _seen(PROXY, [("X-Forwarded-Proto", "javascript")])["scheme"] == "http"


def test_proxies_are_addresses_or_networks() -> None:
    with pytest.raises(wc.InvalidInput, match="addresses or networks"):
        Settings(database="sqlite://", proxies=("crow.example.org",))


def _statuses(house: House, peer: str, forwarded: list[str]) -> list[int]:
    """Strangers' requests through one connection partner, one for each address it reports."""

    async def call() -> list[int]:
        transport = httpx.ASGITransport(app=house.app, client=(peer, 1))
        found = []
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
            for one in forwarded:
                reply = await web.get("/v1/me", headers={"X-Forwarded-For": one})
                found.append(reply.status_code)
        return found

    return anyio.run(call)


def test_a_header_of_ones_own_evades_no_limit(opened: Callable[..., House]) -> None:
    house = opened(rate=0.001, burst=2)
    assert _statuses(house, "127.0.0.1", [f"192.0.2.{i}" for i in range(4)]) == [401, 401, 429, 429]


def test_behind_a_proxy_strangers_do_not_lock_each_other_out(opened: Callable[..., House]) -> None:
    house = opened(rate=0.001, burst=2, proxies=("10.0.0.0/8",))
    assert _statuses(house, PROXY, [f"192.0.2.{i}" for i in range(4)]) == [401] * 4
    # One of them makes up more addresses; the proxy adds the one it sees.
    forged = [f"203.0.113.{i}, 192.0.2.200" for i in range(4)]
    assert _statuses(house, PROXY, forged) == [401, 401, 429, 429]


def test_all_addresses_of_one_ipv6_network_count_together() -> None:
    from starlette.requests import HTTPConnection

    def counted(host: str) -> str:
        return counted_address(HTTPConnection({"type": "http", "client": (host, 1)}))

    assert counted("2001:db8::1") == counted("2001:db8::ffff:1") != counted("2001:db8:0:1::1")
    assert counted("192.0.2.1") != counted("192.0.2.2")
