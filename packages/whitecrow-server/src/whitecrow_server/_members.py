"""What people may do about people and their tokens, each act with its authorisation."""

from __future__ import annotations

from typing import Any

from whitecrow.errors import Forbidden, InvalidInput
from whitecrow_server._logs import Events, told
from whitecrow_server._people import Act, People, Person, Token, Trail, need
from whitecrow_server._people import unknown as nobody
from whitecrow_server._sessions import Sessions
from whitecrow_server._settings import Settings

CUSTODIAN = ("custodian",)
READERS = ("custodian", "auditor")


class Members:
    """The people of a service, for other people of it.

    Every act that changes something stands in the trail, in the transaction that does it.
    """

    def __init__(
        self, people: People, sessions: Sessions, trail: Trail, settings: Settings, events: Events
    ) -> None:
        self.events = events
        self._people, self._sessions, self._settings = people, sessions, settings
        self._trail = trail

    def everybody(self, who: Person) -> list[dict[str, Any]]:
        need(who, *READERS)
        return [person.to_json() for person in self._people.all()]

    def person(self, who: Person, name: str) -> Person:
        """One person: oneself, or anybody for custodians and auditors."""
        if name != who.name and who.role == "analyst":
            raise nobody(name)
        return self._people.get(name)

    @told("people.invite", roles=CUSTODIAN)
    def invite(self, who: Person, name: str, role: str) -> Person:
        return self._people.add(name, role, act=Act(who.signature, "invite", name, {"role": role}))

    @told("people.invitation", roles=CUSTODIAN)
    def invitation(self, who: Person, name: str) -> str:
        """A code with which somebody chooses their own password, once; it expires."""
        self._need_local()
        self._people.get(name)
        days = self._settings.invitation_days
        act = Act(who.signature, "send-invitation", name, {"days": days})
        return self._sessions.invitation(name, days=days, act=act)

    @told("people.activation", roles=CUSTODIAN)
    def disable(self, who: Person, name: str, disabled: bool) -> Person:
        if name == who.name:
            raise InvalidInput("You cannot deactivate yourself; another custodian can.")
        act = Act(who.signature, "deactivate" if disabled else "activate", name)
        return self._people.disable(name, disabled, act=act)

    @told("people.remove", roles=CUSTODIAN)
    def remove(self, who: Person, name: str, *, reason: str) -> None:
        """Remove a person; the accounts keep what was asked and spent in their name."""
        if name == who.name:
            raise InvalidInput("You cannot remove yourself; another custodian can.")
        if not reason.strip():
            raise InvalidInput("Give a reason for the removal: the trail keeps it.")
        self._people.remove(name, act=Act(who.signature, "remove", name, {"reason": reason}))

    @told("people.password", roles=CUSTODIAN)
    def reset_password(self, who: Person, name: str) -> str:
        """Give a person a new random password for the console, shown once.

        It ends all they hold, sessions and tokens. Until they choose another, what is done with it
        is recorded as acted by whoever made it.
        """
        self._need_local()
        self._people.get(name)
        act = Act(who.signature, "reset-password", name)
        return self._sessions.new_password(name, by=who.acting or who.name, act=act)

    @told("people.second-factor", roles=CUSTODIAN)
    def reset_second_factor(self, who: Person, name: str) -> None:
        if name == who.name:
            raise InvalidInput(
                "You cannot take your own second factor away; another custodian can."
            )
        self._people.get(name)
        self._sessions.end_second_factor(name, by=who.signature)

    @told("trail.export", roles=READERS)
    def acts(self, who: Person, *, after: int = 0) -> dict[str, Any]:
        """The trail of administrators' acts, and whether its hashes fit."""
        return {"acts": self._trail.page(after=after), "broken": self._trail.broken()}

    @told("keys.rotate", roles=CUSTODIAN)
    def rotate_keys(self, who: Person) -> None:
        """Sign cookies with a new key; nobody is signed out."""
        self._sessions.keys.rotate(by=who.signature)

    # Sessions and tokens

    def sessions(self, who: Person, name: str) -> list[dict[str, Any]]:
        self._own(who, name)
        return self._sessions.listed(name)

    @told("session.end")
    def end_sessions(self, who: Person, name: str, session: str = "") -> None:
        """End one of a person's sessions, or all of them."""
        self._own(who, name)
        self._sessions.end(name, session, act=Act(who.signature, "end-sessions", name))

    def tokens(self, who: Person, name: str) -> list[Token]:
        self._own(who, name)
        return self._people.tokens(name)

    @told("token.issue")
    def issue(
        self, who: Person, name: str, *, days: int | None = None, label: str = "", scope: str = ""
    ) -> tuple[str, Token]:
        """Make a token; its text is shown once.

        One made for somebody else says so, and every question asked with it is recorded with the
        name of whoever made it. One made with a token ends with that token.
        """
        self._own(who, name)
        days = self._settings.token_days if days is None else days
        return self._people.issue(
            name, days=days, label=label, by=who, scope=scope, act=who.signature
        )

    @told("token.revoke")
    def revoke(self, who: Person, name: str, token: str) -> None:
        """Revoke a token, and all that were made with it."""
        self._own(who, name)
        self._people.revoke(name, token, act=Act(who.signature, "revoke", name, {"token": token}))

    @told("token.revoke")
    def revoke_all(self, who: Person, name: str) -> None:
        self._own(who, name)
        self._people.revoke_all(name, act=Act(who.signature, "revoke-all", name))

    def _need_local(self) -> None:
        if not self._settings.local_accounts:
            raise InvalidInput("Local accounts are switched off here: nobody has a password.")

    def _own(self, who: Person, name: str) -> None:
        """Tokens are their owner's and the custodian's business."""
        if who.role == "custodian":
            self._people.get(name)
        elif who.role == "auditor" and name != who.name:
            raise Forbidden("An auditor cannot manage other people's tokens.")
        elif name != who.name:
            raise nobody(name)
