"""A browser left signed in is not enough to replace a second factor, or to take it away."""

from __future__ import annotations

import time

import pytest

from whitecrow_server import _sessions as totp
from whitecrow_server._sessions import first_step, turn_on

from .conftest import PASSWORD, House, Visitor


@pytest.fixture
def frida(house: House) -> Visitor:
    """Somebody without a second factor, signed in."""
    service = house.service
    if "frida" not in [one.name for one in service.people.all()]:
        service.people.add("frida", "analyst")
        service.sessions.set_password("frida", PASSWORD)
    service.sessions.end_second_factor("frida", by="test")
    service.sessions.attempts.unlock("frida")
    return house.visitor("frida")


def _on(house: House, name: str) -> tuple[str, list[str]]:
    key = totp.new_key()
    step = first_step(key, totp.code_at(key, totp.step_at(time.time()) - 1))
    with house.service.store.transaction() as connection:
        return key, turn_on(connection, name, key, step)


def _new() -> dict[str, str]:
    """A key of the visitor's own choice and a code of it."""
    key = totp.new_key()
    return {"key": key, "code": totp.code_at(key, totp.step_at(time.time()))}


@pytest.mark.parametrize("act", ["confirm", "remove"])
@pytest.mark.parametrize("password", ["", "wrong", PASSWORD])
@pytest.mark.parametrize("code", ["", "000000", "used", "fresh", "recovery", "someone else's"])
def test_only_password_and_code_together_change_a_second_factor(
    house: House, frida: Visitor, act: str, password: str, code: str
) -> None:
    key, codes = _on(house, "frida")
    _, others = _on(house, "bob")
    house.service.sessions.end_second_factor("bob", by="test")
    step = totp.step_at(time.time())
    given = {
        "used": totp.code_at(key, step - 1),
        "fresh": totp.code_at(key, step),
        "recovery": codes[3],
        "someone else's": others[3],
    }.get(code, code)
    new = _new()
    form = {**new, "password": password, "old_code": given}
    status = frida.post(f"/me/factor/{act}", form).status_code
    may = password == PASSWORD and code in ("fresh", "recovery")
    assert status == ({"confirm": 200, "remove": 303}[act] if may else 422)
    assert house.service.sessions.has_second_factor("frida") == (act == "confirm" or not may)
    house.service.sessions.attempts.unlock("frida")
    if not may:  # the old one is in force, and nothing of it was used up
        signed_in = house.service.sessions.sign_in("frida", PASSWORD, code=codes[3])
        assert signed_in[0].person.name == "frida"


@pytest.mark.parametrize(("password", "status"), [("", 422), ("wrong", 422), (PASSWORD, 200)])
def test_the_first_factor_takes_the_password(
    house: House, frida: Visitor, password: str, status: int
) -> None:
    """Or whoever finds a browser signed in locks its owner out with a key of their own."""
    form = {**_new(), "password": password}
    assert frida.post("/me/factor/confirm", form).status_code == status
    assert house.service.sessions.has_second_factor("frida") == (status == 200)


def test_guesses_at_a_signed_in_browser_are_counted_like_those_at_the_door(
    house: House, frida: Visitor
) -> None:
    _on(house, "frida")
    form = {**_new(), "password": PASSWORD, "old_code": "000000"}
    codes = [frida.post("/me/factor/confirm", form).status_code for _ in range(7)]
    assert codes == [422] * house.service.settings.lock_after + [429] * 2
