"""Passwords, hashed in a process of low priority: anybody may cause it, and nobody waits.

A hash takes four threads and 64 MiB for a moment, on purpose, and is made for names that nobody has
too. Among the threads that reply it would take the processors from them. A thread of low priority
would not do: while it has the interpreter's lock and no processor, all others wait for it.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from whitecrow.errors import NotReady
from whitecrow_server._children import Helper, Wire, end_with_service

_LONGEST_SECONDS = 30.0
_LOWER_PRIORITY = 10


class Hasher:
    """Hashes passwords with argon2id, one at a time; in this process until a service begins."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._lock = threading.Lock()
        self._process: Helper | None = None

    def begin(self) -> None:
        """Hash in a process of its own from now on."""
        self._process = Helper("whitecrow_server._hashing")
        self._process.begin()

    def hash(self, password: str) -> str:
        """The hash of a password, with a salt of its own."""
        return str(self._asked({"password": password}))

    def fits(self, hashed: str, password: str) -> bool:
        return bool(self._asked({"password": password, "hash": hashed}))

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def _asked(self, asked: dict[str, str]) -> Any:
        process = self._process
        if process is None:
            with self._lock:
                return _reply(self._hasher, asked)
        try:
            return process.asked(asked, _LONGEST_SECONDS)
        except (EOFError, OSError):
            pass
        raise NotReady("The password could not be checked; try again in a moment.", after=5)


def _reply(hasher: PasswordHasher, asked: dict[str, str]) -> str | bool:
    password = asked["password"].encode("utf-8", "surrogatepass")  # whatever was typed
    if "hash" not in asked:
        return hasher.hash(password)
    try:
        return hasher.verify(asked["hash"], password)
    except (VerificationError, InvalidHashError):
        return False


def main(wire: int, life: int) -> None:
    """Hash what is asked on a socket, until the service ends."""
    end_with_service(life)
    os.nice(_LOWER_PRIORITY)
    end, hasher = Wire(socket.socket(fileno=wire)), PasswordHasher()
    while True:
        end.send(_reply(hasher, end.receive()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
