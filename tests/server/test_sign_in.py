"""Sign-in at the console: passwords, cookies, forms, lock-out. And tokens, their end included."""

from __future__ import annotations

import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.postgres import cluster, missing

import whitecrow as wc
from whitecrow.errors import Forbidden, NotSignedIn, TooMany
from whitecrow_server import Settings, create_app
from whitecrow_server._handler import Limits
from whitecrow_server._hashing import Hasher
from whitecrow_server._service import Service

from .conftest import Caller, House, person, settings_for

GOOD = "correct horse battery staple"


@pytest.fixture
def service(opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service with cheap hashes: their cost is argon2's business."""
    found = opened(lock_after=3).service
    from argon2 import PasswordHasher

    monkeypatch.setattr(
        found.sessions,
        "_hasher",
        Hasher(PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)),
    )
    found.sessions.set_password("ana", GOOD)
    return found


def test_the_right_password_opens_a_session(service: Service) -> None:
    session, cookie = service.sessions.sign_in("ana", GOOD)
    assert session.person == person("ana")
    assert service.sessions.visitor(cookie) == session
    service.sessions.sign_out(cookie)
    with pytest.raises(NotSignedIn):
        service.sessions.visitor(cookie)


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ana", "wrong"),
        ("bob", GOOD),
        ("nemo", GOOD),
        ("", ""),
        ("ana\0", GOOD),
        ("ana", "x" * 9999),
    ],
)
def test_everything_else_is_refused_in_the_same_words(
    service: Service, name: str, password: str
) -> None:
    with pytest.raises(NotSignedIn, match=r"^The name or the password is wrong\.$"):
        service.sessions.sign_in(name, password)


def test_a_forged_cookie_opens_nothing(service: Service) -> None:
    _, cookie = service.sessions.sign_in("ana", GOOD)
    for forged in (None, "", "x", cookie[:-1], cookie + "x", "a" + cookie[1:], "\ud800"):
        if forged != cookie:
            with pytest.raises(NotSignedIn):
                service.sessions.visitor(forged)


def test_after_failures_even_the_right_password_waits(service: Service) -> None:
    for _ in range(3):
        with pytest.raises(NotSignedIn):
            service.sessions.sign_in("ana", "wrong")
    with pytest.raises(TooMany) as locked:
        service.sessions.sign_in("ana", GOOD)
    assert 0 < locked.value.after <= 15 * 60
    # Strangers' names are locked alike: the lock does not say who exists.
    for _ in range(3):
        with pytest.raises(NotSignedIn):
            service.sessions.sign_in("nemo", "wrong")
    with pytest.raises(TooMany):
        service.sessions.sign_in("nemo", "wrong")


def test_a_lock_ends(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        with pytest.raises(NotSignedIn):
            service.sessions.sign_in("ana", "wrong")
    later = time.time() + 15 * 60 + 1
    monkeypatch.setattr("whitecrow_server._sessions.time.time", lambda: later)
    service.sessions.sign_in("ana", GOOD)


def test_an_address_that_fails_often_is_locked(service: Service) -> None:
    for i in range(30):
        with pytest.raises(NotSignedIn):
            service.sessions.sign_in(f"nemo{i}", "wrong", address="192.0.2.1")
    with pytest.raises(TooMany):
        service.sessions.sign_in("ana", GOOD, address="192.0.2.1")
    service.sessions.sign_in("ana", GOOD, address="192.0.2.2")


def _guess_at_once(service: Service, guesses: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Send wrong passwords all at the same moment; return how many were looked at."""
    looked_at: list[str] = []
    matches = service.sessions._hasher.fits

    def noted(hashed: str, password: str) -> bool:
        looked_at.append(password)
        time.sleep(0.02)
        return matches(hashed, password)

    monkeypatch.setattr(service.sessions._hasher, "fits", noted)
    start = threading.Barrier(guesses)

    def guess(i: int) -> None:
        start.wait()
        with pytest.raises((NotSignedIn, TooMany)):
            service.sessions.sign_in("ana", f"wrong {i}", address="192.0.2.1")

    crowd = [threading.Thread(target=guess, args=(i,)) for i in range(guesses)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    return len(looked_at)


def test_guesses_sent_at_once_are_counted_before_they_are_looked_at(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _guess_at_once(service, 40, monkeypatch) == 3


@pytest.mark.skipif(bool(missing()), reason=missing() or "there")
def test_and_so_they_are_on_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster() as server:
        service = Service(Settings(database=server.url, lock_after=3))
        try:
            service.people.add("ana", "analyst")
            service.sessions.set_password("ana", GOOD)
            assert _guess_at_once(service, 10, monkeypatch) == 3
        finally:
            service.close()


def test_right_passwords_lock_nobody_out(service: Service) -> None:
    """Neither a name nor an address is locked by those who know their password."""
    people = [
        service.sessions.sign_in("ana", GOOD, address="192.0.2.1")[0].person.name for _ in range(40)
    ]
    assert people == ["ana"] * 40


def test_a_refused_attempt_does_not_prolong_the_lock(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        with pytest.raises(NotSignedIn):
            service.sessions.sign_in("ana", "wrong")
    later = time.time() + 10 * 60
    monkeypatch.setattr("whitecrow_server._sessions.time.time", lambda: later)
    for _ in range(5):
        with pytest.raises(TooMany) as locked:
            service.sessions.sign_in("ana", GOOD)
        assert locked.value.after <= 5 * 60


@pytest.mark.parametrize("act", ["disable", "reset"])
def test_a_sign_in_that_is_overtaken_leaves_no_session(
    service: Service, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """While the password is being checked its owner is shut out, or it is replaced."""
    matches = service.sessions._hasher.fits

    def overtaken(hashed: str, password: str) -> bool:
        found = matches(hashed, password)
        if act == "disable":
            service.members.disable(person("custodian"), "ana", True)
            service.members.disable(person("custodian"), "ana", False)
            service.sessions.set_password("ana", GOOD + "?")
        else:
            service.members.reset_password(person("custodian"), "ana")
        return found

    monkeypatch.setattr(service.sessions._hasher, "fits", overtaken)
    with pytest.raises(NotSignedIn):
        service.sessions.sign_in("ana", GOOD)
    with pytest.raises(NotSignedIn):
        service.sessions.change_password("ana", GOOD, GOOD + "!")


def test_a_session_ends_with_time_password_or_exclusion(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, cookie = service.sessions.sign_in("ana", GOOD)
    service.sessions.change_password("ana", GOOD, GOOD + "!")
    with pytest.raises(NotSignedIn):
        service.sessions.visitor(cookie)
    _, cookie = service.sessions.sign_in("ana", GOOD + "!")
    service.members.disable(person("custodian"), "ana", True)
    with pytest.raises(NotSignedIn):
        service.sessions.visitor(cookie)
    with pytest.raises(NotSignedIn):
        service.sessions.sign_in("ana", GOOD + "!")
    service.members.disable(person("custodian"), "ana", False)
    _, cookie = service.sessions.sign_in("ana", GOOD + "!")
    later = time.time() + 9 * 3600
    monkeypatch.setattr("whitecrow_server._sessions.time.time", lambda: later)
    with pytest.raises(NotSignedIn):
        service.sessions.visitor(cookie)


def test_a_form_needs_the_sessions_own_secret(service: Service) -> None:
    mine, _ = service.sessions.sign_in("ana", GOOD)
    other, _ = service.sessions.sign_in("ana", GOOD)
    service.sessions.check_form(mine, mine.csrf)
    for wrong in ("", None, other.csrf, mine.csrf + "x", "\ud800"):
        with pytest.raises(Forbidden):
            service.sessions.check_form(mine, wrong)


def test_passwords_are_long_and_kept_as_argon2id(service: Service) -> None:
    with pytest.raises(wc.InvalidInput):
        service.sessions.set_password("ana", "short")
    from sqlalchemy import select

    from whitecrow_server._tables import people

    with service.store.transaction(write=False) as connection:
        kept = connection.execute(select(people.c.password).where(people.c.name == "ana")).scalar()
    assert str(kept).startswith("$argon2id$")
    made = service.members.reset_password(person("custodian"), "ana")
    assert service.sessions.sign_in("ana", made)


def test_cookies_are_for_this_host_alone(tmp_path: Path) -> None:
    service = Service(settings_for(tmp_path, secure=True))
    cookie = service.sessions.cookie()
    service.close()
    assert cookie["key"].startswith("__Host-")
    assert cookie["secure"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "strict"


def test_a_token_is_kept_only_as_a_hash_and_can_be_ended(opened: Callable[..., House]) -> None:
    house = opened()
    call = Caller(house)
    made = call("custodian", "POST", "/v1/analysts/ana/tokens", json={"days": 1}).json()
    stored = Path(house.settings.database.removeprefix("sqlite:///"))
    assert made["token"].encode() not in stored.read_bytes()
    bearer = {"Authorization": f"Bearer {made['token']}"}
    assert call("nobody", "GET", "/v1/me", headers=bearer).json()["name"] == "ana"
    listed = call("ana", "GET", "/v1/analysts/ana/tokens")
    assert made["token"] not in listed.text
    call("ana", "DELETE", f"/v1/analysts/ana/tokens/{made['id']}")
    assert call("nobody", "GET", "/v1/me", headers=bearer).status_code == 401


def test_a_token_expires(opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch) -> None:
    house = opened()
    later = time.time() + 91 * 86_400
    monkeypatch.setattr("whitecrow_server._people.time.time", lambda: later)
    assert Caller(house)("ana", "GET", "/v1/me").status_code == 401


def test_somebody_shut_out_is_out_at_once(opened: Callable[..., House]) -> None:
    call = Caller(opened())
    assert call("ana", "GET", "/v1/me").status_code == 200
    call("custodian", "PATCH", "/v1/analysts/ana", json={"disabled": True})
    assert call("ana", "GET", "/v1/me").status_code == 401
    assert call("custodian", "PATCH", "/v1/analysts/custodian", json={"disabled": True}).is_error


def test_another_worker_knows_at_once(opened: Callable[..., House]) -> None:
    """Two applications on one store, as two workers: what one changes the other does not recall."""
    here = opened()
    there = House(here.settings, create_app(here.settings), here.tokens)
    there.service.start()
    try:
        call, other = Caller(here), Caller(there)
        made = call("ana", "POST", "/v1/analysts/ana/tokens", json={}).json()
        bearer = {"Authorization": f"Bearer {made['token']}"}
        clinic = "/v1/datasets/clinic"
        assert other("nobody", "GET", clinic, headers=bearer).status_code == 200
        call("ana", "DELETE", f"/v1/analysts/ana/tokens/{made['id']}")
        assert other("nobody", "GET", clinic, headers=bearer).status_code == 401
        assert other("ana", "GET", clinic).status_code == 200
        change = {"reason": "no longer", "readers": ["bob"]}
        assert call("custodian", "PATCH", clinic, json=change).status_code == 200
        assert other("ana", "GET", clinic).status_code == 404
        assert other("bob", "GET", clinic).status_code == 200
        call("custodian", "PATCH", "/v1/analysts/bob", json={"disabled": True})
        assert other("bob", "GET", clinic).status_code == 401
    finally:
        there.service.close()


def test_a_person_has_a_rate_and_strangers_share_their_address(
    opened: Callable[..., House],
) -> None:
    call = Caller(opened(rate=0.001, burst=2))
    assert [call("ana", "GET", "/v1/me").status_code for _ in range(3)] == [200, 200, 429]
    assert call("bob", "GET", "/v1/me").status_code == 200
    refused = call("ana", "GET", "/v1/me")
    assert int(refused.headers["Retry-After"]) >= 1
    assert [call("nobody", "GET", "/v1/me").status_code for _ in range(3)] == [401, 401, 429]


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    limits = Limits(rate=2.0, burst=1, clock=lambda: now[0])
    limits.take("ana")
    with pytest.raises(TooMany):
        limits.take("ana")
    now[0] = 0.5
    limits.take("ana")


def test_workers_share_their_limits(tmp_path: Path) -> None:
    """One person asks two workers in turn: together they allow what one would."""
    now = [5.0]
    workers = [
        Limits(rate=1.0, burst=4, shared=tmp_path / "limits", clock=lambda: now[0])
        for _ in range(2)
    ]
    for i in range(4):
        workers[i % 2].take("ana")
    for worker in workers:
        with pytest.raises(TooMany) as refused:
            worker.take("ana")
        assert refused.value.after == 1
        worker.take("bo")
    now[0] += 1
    workers[1].take("ana")
    with pytest.raises(TooMany):
        workers[0].take("ana")


def test_processes_count_every_request_once(tmp_path: Path) -> None:
    import multiprocessing

    fork = multiprocessing.get_context("fork")
    admitted = fork.Value("i", 0)

    def worker() -> None:
        limits = Limits(rate=1e-9, burst=300, shared=tmp_path / "limits")
        for _ in range(200):
            try:
                limits.take("ana")
            except TooMany:
                continue
            with admitted.get_lock():
                admitted.value += 1

    crowd = [fork.Process(target=worker) for _ in range(3)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join()
    assert admitted.value == 300


def test_a_crowd_of_strangers_takes_no_memory() -> None:
    limits = Limits(rate=1.0, burst=1, clock=lambda: 1.0)
    limits.take("address 0")
    tracemalloc.start()
    try:
        for i in range(1, 40_000):
            limits.take(f"address {i}")
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100_000
