"""What people may do about people and their tokens, each act with its authorisation."""

from __future__ import annotations

from typing import Any

from whitecrow.errors import Forbidden, InvalidInput
from whitecrow.server._people import People, Person, Token
from whitecrow.server._people import unknown as nobody
from whitecrow.server._sessions import Sessions

__all__ = ["Members", "need"]


def need(who: Person, *roles: str) -> None:
    """Refuse whoever has none of these roles."""
    if who.role not in roles:
        raise Forbidden(f"This needs the role {' or '.join(roles)}; yours is {who.role}.")


class Members:
    """The people of a service, for other people of it.

    Parameters
    ----------
    people : People
        Who there is.
    sessions : Sessions
        Who is signed in.
    token_days : int
        How long a token lasts unless said otherwise.
    """

    def __init__(self, people: People, sessions: Sessions, *, token_days: int) -> None:
        self._people, self._sessions, self._token_days = people, sessions, token_days

    def everybody(self, who: Person) -> list[dict[str, Any]]:
        """Everybody known to the service."""
        need(who, "custodian", "auditor")
        return [person.to_json() for person in self._people.all()]

    def person(self, who: Person, name: str) -> Person:
        """One person: oneself, or anybody for custodians and auditors."""
        if name != who.name and who.role == "analyst":
            raise nobody(name)
        return self._people.get(name)

    def invite(self, who: Person, name: str, role: str) -> Person:
        """Add a person with a role."""
        need(who, "custodian")
        return self._people.add(name, role)

    def disable(self, who: Person, name: str, disabled: bool) -> Person:
        """Deactivate a person, or activate them again."""
        need(who, "custodian")
        if name == who.name:
            raise InvalidInput("Nobody shuts themselves out; another custodian may.")
        return self._people.disable(name, disabled)

    def reset_password(self, who: Person, name: str) -> str:
        """Give a person a new random password for the console, shown once.

        It ends all they hold, sessions and tokens. Until they choose another, what is done with it
        is recorded as acted by whoever made it.
        """
        need(who, "custodian")
        self._people.get(name)
        return self._sessions.new_password(name, by=who.acting or who.name)

    def tokens(self, who: Person, name: str) -> list[Token]:
        """List a person's tokens, without their text."""
        self._own(who, name)
        return self._people.tokens(name)

    def issue(
        self, who: Person, name: str, *, days: int | None = None, label: str = ""
    ) -> tuple[str, Token]:
        """Make a token; its text is shown once.

        One made for somebody else says so, and every question asked with it is recorded with the
        name of whoever made it. One made with a token ends with that token.
        """
        self._own(who, name)
        days = self._token_days if days is None else days
        return self._people.issue(name, days=days, label=label, by=who)

    def revoke(self, who: Person, name: str, token: str) -> None:
        """Revoke a token, and all that were made with it."""
        self._own(who, name)
        self._people.revoke(name, token)

    def revoke_all(self, who: Person, name: str) -> None:
        """Revoke all tokens of a person."""
        self._own(who, name)
        self._people.revoke_all(name)

    def _own(self, who: Person, name: str) -> None:
        """Tokens are their owner's and the custodian's business."""
        if who.role == "custodian":
            self._people.get(name)
        elif who.role == "auditor" and name != who.name:
            raise Forbidden("An auditor does not handle other people's tokens.")
        elif name != who.name:
            raise nobody(name)
