"""The provider of single sign-on, as the operator sets it up: one TOML file.

Whoever can write this file decides who is custodian. Its secret may lie in a file of its own.
"""

from __future__ import annotations

import tomllib
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from whitecrow.errors import InvalidInput, invalid
from whitecrow_server._people import ROLES

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_safe(url: str) -> bool:
    """Whether secrets may travel to an address: through TLS, or on this machine.

    Examples
    --------
    >>> is_safe("https://id.example.org"), is_safe("http://127.0.0.1:4593"), is_safe("http://x.org")
    (True, True, False)
    """
    found = urllib.parse.urlsplit(url)
    return bool(found.hostname) and (
        found.scheme == "https" or (found.scheme == "http" and found.hostname in _LOOPBACK)
    )


@dataclass(frozen=True)
class Provider:
    """An OpenID Connect provider, and what its groups may do here.

    Parameters
    ----------
    issuer : str
        The provider's address, as its tokens name it.
    client_id, client_secret : str
        As whom this service is known there; no secret: a public client.
    url : str
        The address at which people reach this service: the provider sends them back there.
    roles : mapping
        From group to role. Of several groups of a person the first one listed here counts.
    programs : mapping
        From a program's client id to its role: programs come with tokens of their own.
    subjects : mapping
        From a program's client id to the subject of its service account, where the provider gives
        it one that is not the client id and says nothing else of the grant (Keycloak).
    audience : str
        What a program's token must be made for; empty: programs are not admitted.
    groups, name : str
        The claims with a person's groups and with their name here.
    scopes : tuple of str
        What is asked for.
    skew : int
        By how many seconds the provider's clock may differ.
    adopt : bool
        Whether a first sign-in takes over a local account of the same name. Only where the
        provider's names are the names here.
    authority : str
        A file with the certificate authority of the provider (PEM); empty: the system's.
    label : str
        What the sign-in page calls it.
    """

    issuer: str
    client_id: str
    url: str
    roles: Mapping[str, str]
    client_secret: str = field(default="", repr=False)
    programs: Mapping[str, str] = field(default_factory=dict)
    subjects: Mapping[str, str] = field(default_factory=dict)
    audience: str = ""
    groups: str = "groups"
    name: str = "preferred_username"
    scopes: tuple[str, ...] = ("openid", "profile")
    skew: int = 60
    adopt: bool = False
    authority: str = ""
    label: str = "your organisation"

    def __post_init__(self) -> None:
        for what in ("issuer", "url"):
            if not is_safe(getattr(self, what)):
                raise invalid("Provider", what, "an https address", getattr(self, what))
        object.__setattr__(self, "scopes", tuple(self.scopes))
        object.__setattr__(self, "url", self.url.rstrip("/"))
        if "openid" not in self.scopes:
            raise invalid("Provider", "scopes", "a list with 'openid'", self.scopes)
        for given in (self.roles, self.programs):
            for group, role in given.items():
                if role not in ROLES:
                    raise invalid("Provider", f"role of {group!r}", f"one of {ROLES}", role)
        for program, subject in self.subjects.items():
            if program not in self.programs or not isinstance(subject, str) or not subject:
                raise invalid("Provider", "subjects", "the subjects of its programs", program)
        if not 0 <= self.skew <= 600:
            raise invalid("Provider", "skew", "from 0 to 600 seconds", self.skew)
        if self.programs and self.audience in ("", self.client_id):
            # A token made for this service's sign-in must not pass for a program's.
            raise InvalidInput(
                "Programs need an audience of their own: set 'audience' to what their tokens are "
                "made for, and not to the client_id."
            )

    @property
    def redirect(self) -> str:
        """Where the provider sends people back to."""
        return f"{self.url}/console/sign-in/provider/back"

    def role_of(self, groups: object) -> str | None:
        """The role of somebody in these groups; None if no group has one.

        Examples
        --------
        >>> provider = Provider("https://id.org", "crow", "https://crow.org",
        ...                     {"dp-officers": "custodian", "researchers": "analyst"})
        >>> provider.role_of(["researchers", "staff"]), provider.role_of("staff")
        ('analyst', None)
        """
        held = [groups] if isinstance(groups, str) else groups
        if not isinstance(held, list):
            return None
        return next((role for group, role in self.roles.items() if group in held), None)

    @classmethod
    def from_file(cls, path: str) -> Provider:
        """Read a TOML file; ``client_secret_file`` in it names a file with the secret."""
        try:
            found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
            secret = found.pop("client_secret_file", None)
            if secret is not None:
                found["client_secret"] = Path(secret).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            raise InvalidInput(
                f"The provider's file {path!r}, or the secret file it names, cannot be read as "
                "TOML. docs/single-sign-on.md has an example."
            ) from None
        return cls.from_json(found)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Provider:
        known = {one.name for one in fields(cls)}
        unknown = sorted(set(found) - known)
        missing = sorted({"issuer", "client_id", "url", "roles"} - set(found))
        if unknown or missing:
            words = [f"does not know {', '.join(unknown)}"] if unknown else []
            words += [f"lacks {', '.join(missing)}"] if missing else []
            raise InvalidInput(f"The provider's file {' and '.join(words)}.")
        for name in ("issuer", "client_id", "url", "client_secret", "audience", "groups", "name"):
            if not isinstance(found.get(name, ""), str):
                raise invalid("Provider", name, "a text", found[name])
        for name in ("roles", "programs", "subjects"):
            if not isinstance(found.get(name, {}), Mapping):
                raise invalid("Provider", name, "a table of names and texts", found[name])
        return cls(**found)
