"""People: invitations, second factors, sessions, removal, keys, the trail, and the operator."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from click.testing import CliRunner

from whitecrow.cli import whitecrow as terminal
from whitecrow.demo import CARD
from whitecrow.errors import Forbidden, InvalidInput, NotKnown, NotSignedIn, Taken, TooMany
from whitecrow_server import Service, create_app
from whitecrow_server import _sessions as totp
from whitecrow_server._hashing import Hasher
from whitecrow_server._people import Trail
from whitecrow_server._sessions import first_step, turn_on
from whitecrow_server._tables import trail as trail_table

from .conftest import Caller, House, settings_for, settle_in

GOOD = "correct horse battery staple"
RFC_KEY = base64.b32encode(b"12345678901234567890").decode()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    settings = settings_for(tmp_path)
    app = create_app(settings)
    found = House(settings, app, settle_in(app.state.service))
    found.service.sessions._hasher = Hasher(
        PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    )
    yield found
    found.service.close()


@pytest.fixture
def service(house: House) -> Service:
    house.service.sessions.set_password("custodian", GOOD)
    return house.service


# RFC 6238, appendix B, for SHA-1
@pytest.mark.parametrize(
    ("moment", "code"),
    [
        (59, "94287082"),
        (1111111109, "07081804"),
        (1111111111, "14050471"),
        (1234567890, "89005924"),
        (2000000000, "69279037"),
        (20000000000, "65353130"),
    ],
)
def test_codes_are_those_of_the_standards_test_vectors(moment: int, code: str) -> None:
    assert totp.code_at(RFC_KEY, totp.step_at(moment), digits=8) == code


def test_a_code_counts_once_and_only_near_its_time() -> None:
    now = 1_000_000_000.0
    step = totp.step_at(now)
    for offset, fits in ((-2, False), (-1, True), (0, True), (1, True), (2, False)):
        given = totp.code_at(RFC_KEY, step + offset)
        assert (totp.fitting_step(RFC_KEY, given, now, after=None) is not None) == fits
    assert totp.fitting_step(RFC_KEY, totp.code_at(RFC_KEY, step), now, after=step) is None
    assert totp.fitting_step(RFC_KEY, "", now, after=None) is None


def turned_on(service: Service, name: str) -> tuple[str, list[str]]:
    key = totp.new_key()
    code = totp.code_at(key, totp.step_at(time.time()) - 1)
    with service.store.transaction() as connection:
        return key, turn_on(connection, name, key, first_step(key, code))


def test_with_a_second_factor_the_password_alone_opens_nothing(service: Service) -> None:
    with pytest.raises(InvalidInput, match="wrong for this key"):
        first_step(totp.new_key(), "000000x")
    key, codes = turned_on(service, "custodian")
    with pytest.raises(NotSignedIn):
        service.sessions.sign_in("custodian", GOOD)
    code = totp.code_at(key, totp.step_at(time.time()))
    service.sessions.sign_in("custodian", GOOD, code=code)
    with pytest.raises(NotSignedIn):  # seen over a shoulder
        service.sessions.sign_in("custodian", GOOD, code=code)
    service.sessions.sign_in("custodian", GOOD, code=codes[0])
    with pytest.raises(NotSignedIn):
        service.sessions.sign_in("custodian", GOOD, code=codes[0])


def test_guessing_codes_locks_even_with_the_right_password(service: Service) -> None:
    turned_on(service, "custodian")
    for _ in range(service.settings.lock_after):
        with pytest.raises(NotSignedIn):
            service.sessions.sign_in("custodian", GOOD, code="000000")
    with pytest.raises(TooMany):
        service.sessions.sign_in("custodian", GOOD, code="000000")


def test_whoever_knows_the_password_guesses_few_codes_a_month(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock of a quarter of an hour alone would let 480 a day be tried, 1 in 700 days be right."""
    key, codes = turned_on(service, "custodian")
    clock = [time.time()]
    monkeypatch.setattr("whitecrow_server._sessions.time.time", lambda: clock[0])

    def tried(days: int, code: str) -> int:
        """How many wrong codes are looked at in so many days of guessing without a pause."""
        looked_at, until = 0, clock[0] + days * 86_400
        while clock[0] < until:
            try:
                service.sessions.sign_in("custodian", GOOD, code=code)
            except TooMany as error:
                clock[0] += error.after
            except NotSignedIn:
                looked_at += 1
        return looked_at

    assert tried(29, "no code") == 50
    for good in (totp.code_at(key, totp.step_at(clock[0])), codes[0]):
        with pytest.raises(TooMany):
            service.sessions.sign_in("custodian", GOOD, code=good)
    service.sessions.end_second_factor("custodian", by="somebody else")
    service.sessions.sign_in("custodian", GOOD)
    key, codes = turned_on(service, "custodian")
    for _ in range(60):  # right ones are not counted
        clock[0] += 30
        good = totp.code_at(key, totp.step_at(clock[0]))
        service.sessions.sign_in("custodian", GOOD, code=good)


def test_one_code_begins_one_session_however_many_send_it_at_once(service: Service) -> None:
    key, codes = turned_on(service, "custodian")

    def sign_in(code: str) -> bool:
        try:
            service.sessions.sign_in("custodian", GOOD, code=code)
        except (NotSignedIn, TooMany):
            return False
        return True

    for code in (totp.code_at(key, totp.step_at(time.time())), codes[0]):
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(sign_in, [code] * 4)) == 1


def test_an_address_that_is_locked_counts_nothing_against_names(service: Service) -> None:
    """A stranger behind one address locks few people out, and nobody once it is locked itself."""
    most = service.settings.lock_after * 10
    for number in range(most):
        with pytest.raises(NotSignedIn):
            service.sessions.sign_in(f"nobody-{number}", GOOD, address="192.0.2.1")
    for _ in range(service.settings.lock_after + 1):
        with pytest.raises(TooMany):
            service.sessions.sign_in("custodian", "wrong", address="192.0.2.1")
    service.sessions.sign_in("custodian", GOOD, address="192.0.2.2")


def test_an_invitation_lets_its_holder_choose_a_password_once_and_in_time(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    custodian = service.people.get("custodian")
    first, code = (service.members.invitation(custodian, "ana") for _ in range(2))
    with pytest.raises(NotSignedIn, match="ask for another"):  # a newer one was made
        service.sessions.accept(first, GOOD)
    assert service.sessions.accept(code, GOOD) == "ana"
    session, _ = service.sessions.sign_in("ana", GOOD)
    assert session.person.acting == ""  # nobody else knows it
    with pytest.raises(NotSignedIn):
        service.sessions.accept(code, GOOD)
    late = service.members.invitation(custodian, "ana")
    days = service.settings.invitation_days
    later = time.time() + days * 86_400 + 1
    monkeypatch.setattr("whitecrow_server._sessions.time.time", lambda: later)
    with pytest.raises(NotSignedIn, match="expired"):
        service.sessions.accept(late, GOOD)


def test_sessions_are_listed_and_can_be_ended_one_by_one(service: Service, house: House) -> None:
    call = Caller(house)
    service.sessions.set_password("ana", GOOD)
    cookies = [service.sessions.sign_in("ana", GOOD)[1] for _ in range(2)]
    ana = service.people.get("ana")
    listed = service.members.sessions(ana, "ana")
    assert len(listed) == 2
    assert {one["began_with"] for one in listed} == {"password"}
    this = service.sessions.known_as(cookies[0])
    service.members.end_sessions(ana, "ana", this)
    with pytest.raises(NotSignedIn):
        service.sessions.visitor(cookies[0])
    service.sessions.visitor(cookies[1])
    with pytest.raises(NotKnown):
        service.members.sessions(ana, "bob")
    house.tokens["custodian"] = service.people.issue("custodian", days=1)[0]
    assert call("custodian", "DELETE", "/v1/analysts/ana/sessions").status_code == 200
    with pytest.raises(NotSignedIn):
        service.sessions.visitor(cookies[1])


def test_a_new_key_signs_nobody_out_and_an_old_one_ends_with_its_sessions(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    cookie = service.sessions.sign_in("custodian", GOOD)[1]
    session = service.sessions.visitor(cookie)
    service.members.rotate_keys(session.person)
    again = service.sessions.visitor(cookie)
    service.sessions.check_form(again, session.csrf)  # a page that was open still works
    newer = service.sessions.sign_in("custodian", GOOD)[1]
    assert newer.rpartition(".")[2] != cookie.rpartition(".")[2]
    later = time.time() + service.settings.session_hours * 3600 + 60
    monkeypatch.setattr("whitecrow_server._sessions.time.time", lambda: later)
    before = service.sessions.keys._signer().secret_keys
    service.sessions.keys.rotate(by="custodian")
    after = service.sessions.keys._signer().secret_keys
    assert before[0] not in after
    assert before[-1] in after


def test_a_removed_person_leaves_the_name_and_nothing_to_act_with(
    service: Service, house: House
) -> None:
    custodian = service.people.get("custodian")
    service.sessions.set_password("ana", GOOD)
    cookie = service.sessions.sign_in("ana", GOOD)[1]
    token, _ = service.people.issue("ana", days=1)
    with pytest.raises(InvalidInput, match="a reason"):
        service.members.remove(custodian, "ana", reason=" ")
    service.members.remove(custodian, "ana", reason="left")
    for act in (
        lambda: service.sessions.visitor(cookie),
        lambda: service.sessions.sign_in("ana", GOOD),
        lambda: service.people.bearer(token),
    ):
        with pytest.raises(NotSignedIn):
            act()
    assert "ana" not in {one.name for one in service.people.all()}
    with pytest.raises(NotKnown):
        service.people.get("ana")
    with pytest.raises(NotKnown):
        service.people.disable("ana", False)
    with pytest.raises(Taken):
        service.members.invite(custodian, "ana", "analyst")
    with pytest.raises(InvalidInput, match="yourself"):
        service.members.remove(custodian, "custodian", reason="x")


def test_a_removed_dataset_leaves_its_account_and_its_name(service: Service) -> None:
    custodian = service.people.get("custodian")
    service.remove(custodian, "clinic", reason="the study is over")
    assert service.datasets(custodian) == []
    with pytest.raises(NotKnown):
        service.dataset(service.people.get("ana"), "clinic")
    kept = service.ledger.entries("clinic")
    assert "removed: the study is over" in json.dumps([one.to_json() for one in kept])
    with pytest.raises(Taken):
        service.register(custodian, "clinic", {"file": "clinic.csv"}, card=None)
    with pytest.raises(Forbidden):
        service.remove(service.people.get("ana"), "clinic", reason="x")


def test_a_token_for_metrics_reads_metrics_and_nothing_else(house: House) -> None:
    call = Caller(house)
    made = call("auditor", "POST", "/v1/analysts/auditor/tokens", json={"scope": "metrics"})
    assert made.json()["scope"] == "metrics"
    house.tokens["prometheus"] = made.json()["token"]
    assert call("prometheus", "GET", "/metrics").status_code == 200
    for method, path in (
        ("GET", "/v1/me"),
        ("GET", "/v1/datasets"),
        ("GET", "/v1/datasets/clinic/ledger"),
        ("POST", "/v1/analysts/auditor/tokens"),
        ("GET", "/v1/trail"),
    ):
        reply = call("prometheus", method, path, **({"json": {}} if method == "POST" else {}))
        assert reply.status_code == 403, path
        assert "metrics and nothing else" in reply.text
    wrong = call("auditor", "POST", "/v1/analysts/auditor/tokens", json={"scope": "everything"})
    assert wrong.status_code == 422


def test_every_act_about_people_stands_in_the_trail_and_a_changed_row_shows(
    service: Service,
) -> None:
    custodian = service.people.get("custodian")
    service.members.invite(custodian, "eve", "analyst")
    service.members.disable(custodian, "eve", True)
    service.members.reset_password(custodian, "bob")
    _, token = service.members.issue(custodian, "bob")
    service.members.revoke(custodian, "bob", token.id)
    service.members.rotate_keys(custodian)
    acts = service.members.acts(service.people.get("auditor"))["acts"]
    assert [(one["act"], one["target"]) for one in acts[-6:]] == [
        ("invite", "eve"),
        ("deactivate", "eve"),
        ("reset-password", "bob"),
        ("issue-token", "bob"),
        ("revoke", "bob"),
        ("rotate-keys", ""),
    ]
    with pytest.raises(Forbidden):
        service.members.acts(service.people.get("ana"))
    trail = Trail(service.store)
    assert trail.broken() is None
    number = acts[-6]["seq"]
    with service.store.transaction() as connection:
        mine = trail_table.c.seq == number
        connection.execute(trail_table.update().where(mine).values(actor="somebody else"))
    assert trail.broken() == number


def test_an_act_that_fails_leaves_no_trace_in_the_trail(service: Service) -> None:
    custodian = service.people.get("custodian")
    before = service.members.acts(custodian)["acts"]
    with pytest.raises(Taken):
        service.members.invite(custodian, "ana", "analyst")
    assert service.members.acts(custodian)["acts"] == before


def test_the_operator_lets_a_custodian_in_again_from_the_machine(
    service: Service, tmp_path: Path
) -> None:
    turned_on(service, "custodian")
    for _ in range(service.settings.lock_after):
        with pytest.raises(NotSignedIn):
            service.sessions.sign_in("custodian", "wrong")
    ledger = str(tmp_path / "service.db")
    run = ["--json", "people", "--ledger", ledger]
    said = CliRunner().invoke(terminal, [*run, "reset", "custodian"])
    assert said.exit_code == 0, said.output
    session, _ = service.sessions.sign_in("custodian", json.loads(said.output)["password"])
    assert session.person.acting.startswith("operator ")
    said = CliRunner().invoke(terminal, [*run, "trail"])
    found = json.loads(said.output)
    assert found["broken"] is None
    assert found["acts"][-1]["actor"].startswith("operator ")
    for more in (["list"], ["add", "carla", "custodian"], ["rotate-keys"], ["sign-out", "carla"]):
        done = CliRunner().invoke(terminal, [*run, *more])
        assert done.exit_code == 0, done.output
    assert CliRunner().invoke(terminal, [*run, "reset", "nobody"]).exit_code == 2


def test_the_first_password_can_come_from_a_file_and_is_printed_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whitecrow.cli.screen_output import Output
    from whitecrow_server import Settings
    from whitecrow_server.commands.serve import invite

    (tmp_path / "first").write_text(f"{GOOD}\n")
    monkeypatch.setenv("WHITECROW_CUSTODIAN", "carla")
    monkeypatch.setenv("WHITECROW_CUSTODIAN_PASSWORD_FILE", str(tmp_path / "first"))
    shown: list[str] = []
    monkeypatch.setattr(Output, "show", lambda self, said, words: shown.append(f"{said}{words}"))
    settings = Settings(database=f"sqlite:///{tmp_path / 'new.db'}")
    invite(Output(as_json=False), settings, demo=False, url="http://x")
    assert "http://x" in shown[0]
    assert GOOD not in shown[0]
    assert "wc_" not in shown[0]
    service = Service(settings)
    session, _ = service.sessions.sign_in("carla", GOOD)
    assert (session.person.role, session.person.acting) == ("custodian", "operator")
    service.close()


def test_a_port_that_is_taken_is_said_and_nothing_is_announced(tmp_path: Path) -> None:
    from whitecrow_server._listening import bound

    (held,) = bound("127.0.0.1", 0)
    port = held.getsockname()[1]
    ledger = str(tmp_path / "l.db")
    said = CliRunner().invoke(terminal, ["serve", "--ledger", ledger, "--port", str(port)])
    held.close()
    assert said.exit_code == 2
    assert "something else listens there" in said.output
    assert "listens on" not in said.output.replace("listens on there", "")


@pytest.mark.timing
def test_an_address_where_nobody_ever_answered_is_given_up_soon() -> None:
    import whitecrow as wc
    from whitecrow_server._listening import bound

    (held,) = bound("127.0.0.1", 0)
    port = held.getsockname()[1]
    held.close()
    began = time.monotonic()
    with pytest.raises(wc.Unavailable, match="cannot be reached"):
        wc.Client(f"http://127.0.0.1:{port}", "wc_x").datasets()
    assert time.monotonic() - began < 30
    with pytest.raises(wc.Unavailable, match="cannot be reached"):
        wc.Client("https://no-such-host.invalid", "wc_x").datasets()


def test_a_misspelt_column_is_refused_when_the_dataset_is_registered(house: House) -> None:
    service = house.service
    card = CARD.read_text(encoding="utf-8").replace("bmi", "bmj")
    with pytest.raises(InvalidInput, match=r"column 'bmj'.*Did you mean 'bmi'"):
        service.register(
            service.people.get("custodian"), "other", {"file": "clinic.csv"}, card=card
        )
    assert [one.name for one in service.catalogue.all()] == ["clinic"]


def test_alive_does_not_need_the_database_and_ready_does(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whitecrow.errors import NotReady

    def away() -> None:
        raise NotReady("away")

    call = Caller(house)
    monkeypatch.setattr(house.service.store, "probe", away)
    monkeypatch.setattr(house.service.store, "transaction", away)
    assert call("nobody", "GET", "/healthz").status_code == 200
    assert call("nobody", "GET", "/readyz").status_code == 503
