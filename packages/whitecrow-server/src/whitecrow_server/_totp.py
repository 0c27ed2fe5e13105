"""Codes that change every half minute (RFC 6238), as a second factor beside the password."""

from __future__ import annotations

import base64
import hmac
import secrets
import struct
import urllib.parse

_SECONDS, _DIGITS = 30, 6
_AROUND = 1  # clocks differ: the codes before and after count too


def new_key() -> str:
    """A new key, as people type it into an application.

    Examples
    --------
    >>> len(new_key())
    32
    """
    return base64.b32encode(secrets.token_bytes(20)).decode()


def step_at(moment: float) -> int:
    return int(moment // _SECONDS)


def code_at(key: str, step: int, *, digits: int = _DIGITS) -> str:
    """The code of one half minute (RFC 4226, section 5.3, with HMAC-SHA-1).

    Examples
    --------
    >>> code_at(base64.b32encode(b"12345678901234567890").decode(), 59 // 30, digits=8)
    '94287082'
    """
    mac = hmac.digest(base64.b32decode(key), struct.pack(">Q", step), "sha1")
    offset = mac[-1] & 15
    number = int.from_bytes(mac[offset : offset + 4], "big") & 0x7FFFFFFF
    return str(number % 10**digits).zfill(digits)


def fitting_step(key: str, given: str, moment: float, *, after: int | None) -> int | None:
    """The half minute whose code was given, later than the last one that was taken; or None.

    A code counts once: whoever looks over a shoulder cannot use it again.
    """
    typed = "".join(given.split())
    found = None
    for step in range(step_at(moment) - _AROUND, step_at(moment) + _AROUND + 1):
        fits = hmac.compare_digest(code_at(key, step).encode(), typed.encode("utf-8", "replace"))
        if fits and (after is None or step > after):
            found = step
    return found


def address(name: str, key: str) -> str:
    """What an application reads, often as a picture.

    Examples
    --------
    >>> address("carla", "ABC")
    'otpauth://totp/whitecrow:carla?secret=ABC&issuer=whitecrow'
    """
    query = urllib.parse.urlencode({"secret": key, "issuer": "whitecrow"})
    return f"otpauth://totp/whitecrow:{urllib.parse.quote(name)}?{query}"
