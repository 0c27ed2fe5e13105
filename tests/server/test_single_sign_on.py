"""Single sign-on against a provider that does everything wrong: each fault has its refusal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import whitecrow as wc
from whitecrow.errors import Forbidden, InvalidInput, NotReady, NotSignedIn
from whitecrow_server import Provider, Service, Settings, create_app
from whitecrow_server._single_sign_on import SingleSignOn, _own

from .conftest import Caller, House, listening, settings_for, settle_in
from .mock_provider import AUDIENCE, CLIENT, SECRET, MockProvider, mock_provider

ROLES = {"officers": "custodian", "researchers": "analyst", "inspectors": "auditor"}


@pytest.fixture
def idp() -> Iterator[MockProvider]:
    with mock_provider() as found:
        yield found


def provider_of(idp: MockProvider, **changes: Any) -> Provider:
    basic = {
        "issuer": idp.issuer,
        "client_id": CLIENT,
        "client_secret": SECRET,
        "url": "http://localhost",
        "roles": ROLES,
        "programs": {"nightly": "analyst"},
        "audience": AUDIENCE,
    }
    return Provider.from_json({**basic, **changes})


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Callable[..., House]]:
    """Services with people and a listed dataset, whose records nobody reads here."""
    made: list[House] = []

    def make(**changes: Any) -> House:
        settings = settings_for(tmp_path, **changes)
        app = create_app(settings)
        made.append(House(settings, app, settle_in(app.state.service)))
        return made[-1]

    yield make
    for house in made:
        house.service.close()


@pytest.fixture
def house(plain: Callable[..., House], idp: MockProvider) -> House:
    return plain(provider=provider_of(idp))


@pytest.fixture
def sso(house: House) -> SingleSignOn:
    return house.service.single_sign_on


def signed_in(sso: SingleSignOn, idp: MockProvider) -> Any:
    url, state = sso.begin()
    back = idp.authorize(url)
    return sso.finish(state=back["state"], held=state, code=back["code"], error="")


def test_somebody_the_provider_knows_is_signed_in_with_the_role_of_their_group(
    house: House, sso: SingleSignOn, idp: MockProvider
) -> None:
    session, cookie = signed_in(sso, idp)
    assert (session.person.name, session.person.role) == ("olga", "analyst")
    assert house.service.sessions.visitor(cookie) == session
    idp.user["groups"] = ["staff", "researchers", "officers"]
    assert signed_in(sso, idp)[0].person.role == "custodian"  # the first that the file lists
    with pytest.raises(NotSignedIn):  # what began in the other role is over
        house.service.sessions.visitor(cookie)


def changed(**claims: Any) -> Callable[[MockProvider], None]:
    def bend(idp: MockProvider) -> None:
        idp.bend = lambda said: {**said, **claims}

    return bend


def _unsigned(idp: MockProvider) -> None:
    idp.sign = idp.unsigned


def _public_key(idp: MockProvider) -> None:
    idp.sign = idp.with_public_key


def _stranger(idp: MockProvider) -> None:
    other = MockProvider()
    other.server.server_close()
    other.issuer = idp.issuer
    idp.sign = other.signed


FAULTS: dict[str, tuple[Callable[[MockProvider], None], str]] = {
    "wrong issuer": (changed(iss="https://evil.example.org"), "another issuer made it"),
    "wrong audience": (changed(aud="another"), "made for another service"),
    "several audiences": (changed(aud=[CLIENT, "another"]), "several audiences"),
    "for another party": (changed(azp="another"), "made for another service"),
    "wrong nonce": (changed(nonce="another"), "belongs to another sign-in"),
    "no nonce": (changed(nonce=""), "belongs to another sign-in"),
    "expired": (changed(exp=int(time.time()) - 120), "has expired"),
    "no end": (changed(exp=None), "has expired"),
    "of the future": (changed(iat=int(time.time()) + 7200), "compare the clocks"),
    "no subject": (changed(sub=""), "says of nobody"),
    "alg none": (_unsigned, "no key of the provider signed it"),
    "HS256 with the public key": (_public_key, "no key of the provider signed it"),
    "a stranger's key": (_stranger, "no key of the provider signed it"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_a_token_is_refused_with_its_reason(
    house: House, sso: SingleSignOn, idp: MockProvider, fault: str
) -> None:
    bend, words = FAULTS[fault]
    bend(idp)
    with pytest.raises(NotSignedIn, match=words):
        signed_in(sso, idp)
    assert "olga" not in {one.name for one in house.service.people.all()}


def test_clocks_may_differ_by_the_skew(sso: SingleSignOn, idp: MockProvider) -> None:
    now = int(time.time())
    for claims in ({"exp": now - 20, "iat": now - 300}, {"iat": now + 20}):
        changed(**claims)(idp)
        session, _ = signed_in(sso, idp)
        assert session.person.name == "olga"


@pytest.mark.parametrize("keep_name", [False, True])
def test_a_rotated_key_is_fetched_and_the_old_one_no_longer_counts(
    sso: SingleSignOn, idp: MockProvider, monkeypatch: pytest.MonkeyPatch, keep_name: bool
) -> None:
    signed_in(sso, idp)
    old, old_name = idp.key, idp.kid
    idp.rotate(keep_name=keep_name)
    monkeypatch.setattr("whitecrow_server._single_sign_on._KEY_REFRESH_SECONDS", 0.0)
    signed_in(sso, idp)
    from joserfc import jwt

    idp.sign = lambda claims: jwt.encode({"alg": "RS256", "kid": old_name}, claims, old)
    with pytest.raises(NotSignedIn, match="no key of the provider"):
        signed_in(sso, idp)


def test_made_up_keys_do_not_make_us_fetch_the_keys_again_and_again(
    sso: SingleSignOn, idp: MockProvider
) -> None:
    signed_in(sso, idp)
    _stranger(idp)
    for _ in range(5):
        with pytest.raises(NotSignedIn):
            signed_in(sso, idp)
    assert idp.fetched_keys <= 2


def test_a_provider_that_is_away_is_a_503_and_local_accounts_go_on(
    house: House, sso: SingleSignOn, idp: MockProvider
) -> None:
    idp.away = True
    with pytest.raises(NotReady, match="cannot be reached"):
        sso.begin()
    house.service.sessions.set_password("ana", "correct horse battery staple")
    house.service.sessions.sign_in("ana", "correct horse battery staple")


def test_a_provider_that_goes_away_in_the_middle_signs_nobody_in(
    sso: SingleSignOn, idp: MockProvider
) -> None:
    url, state = sso.begin()
    back = idp.authorize(url)
    idp.away = True
    with pytest.raises(NotReady, match="cannot be reached"):
        sso.finish(state=back["state"], held=state, code=back["code"], error="")


def test_a_state_counts_once_and_only_for_the_browser_that_left_with_it(
    sso: SingleSignOn, idp: MockProvider
) -> None:
    url, state = sso.begin()
    back = idp.authorize(url)
    for brought, held in (("", ""), (back["state"], ""), (back["state"], "another"), ("x", "x")):
        with pytest.raises(NotSignedIn, match="begin again"):
            sso.finish(state=brought, held=held, code=back["code"], error="")
    sso.finish(state=back["state"], held=state, code=back["code"], error="")
    again = idp.authorize(url)
    with pytest.raises(NotSignedIn, match="used already"):
        sso.finish(state=again["state"], held=state, code=again["code"], error="")


def test_whoever_refuses_at_the_provider_is_not_signed_in(
    sso: SingleSignOn, idp: MockProvider
) -> None:
    _, state = sso.begin()
    with pytest.raises(NotSignedIn, match="did not sign you in"):
        sso.finish(state=state, held=state, code="", error="access_denied")


def test_a_stolen_code_is_worth_nothing_without_the_verifier(
    sso: SingleSignOn, idp: MockProvider
) -> None:
    (_, mine), (other, _) = sso.begin(), sso.begin()
    stolen = idp.authorize(other)["code"]
    with pytest.raises(NotSignedIn, match="refused this sign-in"):
        sso.finish(state=mine, held=mine, code=stolen, error="")


def test_nobody_without_a_mapped_group_comes_in(sso: SingleSignOn, idp: MockProvider) -> None:
    for groups in ([], ["staff"], "staff", None, 3):
        idp.user["groups"] = groups
        with pytest.raises(Forbidden, match="None of your groups"):
            signed_in(sso, idp)


def test_groups_that_the_token_leaves_out_are_asked_for(
    sso: SingleSignOn, idp: MockProvider
) -> None:
    idp.bend = lambda said: {key: one for key, one in said.items() if key != "groups"}
    assert signed_in(sso, idp)[0].person.role == "analyst"


def test_a_local_account_is_not_taken_over_unless_the_operator_says_so(
    plain: Callable[..., House], idp: MockProvider
) -> None:
    idp.user["preferred_username"] = "ana"
    careful = plain(provider=provider_of(idp)).service
    with pytest.raises(Forbidden, match="already that is not yours"):
        signed_in(careful.single_sign_on, idp)
    adopting = Service(
        Settings(database=careful.settings.database, provider=provider_of(idp, adopt=True), rate=0)
    )
    assert signed_in(adopting.single_sign_on, idp)[0].person.name == "ana"
    adopting.close()
    idp.user["sub"] = "somebody else who is called ana"
    with pytest.raises(Forbidden, match="already that is not yours"):
        signed_in(careful.single_sign_on, idp)


def test_whoever_is_renamed_at_the_provider_stays_the_same_person(
    sso: SingleSignOn, idp: MockProvider
) -> None:
    signed_in(sso, idp)
    idp.user["preferred_username"] = "olga.married"
    assert signed_in(sso, idp)[0].person.name == "olga"


def test_a_deactivated_person_does_not_come_back_through_the_provider(
    house: House, sso: SingleSignOn, idp: MockProvider
) -> None:
    signed_in(sso, idp)
    house.service.people.disable("olga", True)
    with pytest.raises(NotSignedIn, match="deactivated"):
        signed_in(sso, idp)


def test_local_accounts_can_be_switched_off(
    plain: Callable[..., House], idp: MockProvider, tmp_path: Path
) -> None:
    service = plain(provider=provider_of(idp), local_accounts=False).service
    service.sessions.set_password("ana", "correct horse battery staple")
    with pytest.raises(Forbidden, match="switched off"):
        service.sessions.sign_in("ana", "correct horse battery staple")
    signed_in(service.single_sign_on, idp)
    with pytest.raises(InvalidInput, match="nobody could sign in"):
        Settings(database="sqlite://", local_accounts=False)


def test_a_terminal_signs_in_with_a_code_typed_elsewhere(house: House, idp: MockProvider) -> None:
    from whitecrow.client import device_token

    told: list[str] = []
    pauses: list[float] = []

    def approve(seconds: float) -> None:
        pauses.append(seconds)
        idp.approved = len(pauses) == 3

    with listening(house) as url:
        token = device_token(url, tell=told.append, sleep=approve)
        with wc.Client(url, token) as client:
            assert client.datasets() == ()
            custodian = house.service.people.get("custodian")
            house.service.amend(custodian, "clinic", reason="Olga", readers=["olga"])
            assert client.datasets() == ("clinic",)
    assert told == [f"Open {idp.issuer}/activate and type the code WDJB-MJHT."]
    made = house.service.people.tokens("olga")
    assert [one.label for one in made] == ["single sign-on"]
    assert made[0].expires - made[0].created <= house.settings.session_hours * 3600


def test_a_device_that_nobody_began_gets_nothing(house: House) -> None:
    call = Caller(house)
    reply = call("nobody", "POST", "/v1/sign-in/device/made-up")
    assert reply.status_code == 401
    assert "begin again" in reply.json()["refused"]["reason"]


def test_a_service_without_a_provider_offers_no_such_sign_in(plain: Callable[..., House]) -> None:
    call = Caller(plain())
    assert call("nobody", "POST", "/v1/sign-in/device").status_code == 404


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_program_is_known_by_a_token_of_its_own(house: House, idp: MockProvider) -> None:
    call = Caller(house)
    token = idp.program_token()
    assert call("", "GET", "/v1/me", headers=bearer(token)).json()["name"] == "nightly"
    version, fetched = house.service.store.version(), len(idp.calls)
    assert call("", "GET", "/v1/datasets", headers=bearer(token)).json() == {"datasets": []}
    assert (house.service.store.version(), len(idp.calls)) == (version, fetched)
    house.service.people.disable("nightly", True)
    assert call("", "GET", "/v1/me", headers=bearer(token)).status_code == 401


PROGRAM_FAULTS: dict[str, tuple[dict[str, Any], int, str]] = {
    "made for another service": ({"aud": CLIENT}, 401, "another service"),
    "expired": ({"exp": int(time.time()) - 120}, 401, "expired"),
    "another issuer": ({"iss": "https://evil.example.org"}, 401, "another issuer"),
    "not listed": ({"sub": "other", "client_id": "other"}, 403, "no role here"),
    "a person's": ({"sub": "u-1"}, 403, "a person's"),
    "a person's who chose a name": (
        {"sub": "u-1", "preferred_username": "service-account-nightly"},
        403,
        "a person's",
    ),
    "a person's, by their name as the subject": ({"auth_time": 1}, 403, "a person's"),
    "a person's, by their session": ({"sid": "x"}, 403, "a person's"),
    "a person's, by their address": ({"email": "nightly@example.org"}, 403, "a person's"),
    "another grant": ({"gty": "password"}, 403, "a person's"),
    "another kind": ({"type": "access_token", "sub": "u-1"}, 403, "a person's"),
    "a program's word and a person's": ({"type": "client_token", "sid": "x"}, 403, "a person's"),
    "two words for the grant": ({"type": "client_token", "idtyp": "user"}, 403, "a person's"),
}


@pytest.mark.parametrize("fault", PROGRAM_FAULTS)
def test_every_fault_of_a_programs_token_is_refused(
    house: House, idp: MockProvider, fault: str
) -> None:
    claims, status, words = PROGRAM_FAULTS[fault]
    reply = Caller(house)("", "GET", "/v1/me", headers=bearer(idp.program_token(**claims)))
    assert reply.status_code == status
    assert words in str(reply.json())


@pytest.mark.parametrize(
    "said",
    [
        {"gty": "client-credentials", "sub": "nightly@clients"},
        {"idtyp": "app", "sub": "0a1b"},
        {"type": "client_token", "sub": "0a1b"},
    ],
    ids=lambda said: next(iter(said)),
)
def test_a_provider_says_in_its_own_words_that_a_token_is_a_programs(
    house: House, idp: MockProvider, said: dict[str, Any]
) -> None:
    token = idp.program_token(**said)
    reply = Caller(house)("", "GET", "/v1/me", headers=bearer(token))
    assert (reply.json()["name"], reply.json()["role"]) == ("nightly", "analyst")


@pytest.mark.parametrize(
    ("subject", "own"), [("5f5f-0b0a", True), ("u-1", False), ("nightly", False)]
)
def test_a_subject_that_was_written_down_is_the_only_one(subject: str, own: bool) -> None:
    claims = {"sub": subject, "preferred_username": "service-account-nightly", "sid": "x"}
    assert _own(claims, "nightly", "5f5f-0b0a") is own


@pytest.mark.parametrize("sign", ["unsigned", "with_public_key"])
def test_a_program_cannot_sign_its_token_itself(house: House, idp: MockProvider, sign: str) -> None:
    idp.sign = getattr(idp, sign)
    reply = Caller(house)("", "GET", "/v1/me", headers=bearer(idp.program_token()))
    assert reply.status_code == 401
    assert "no key of the provider" in str(reply.json())


def test_a_file_that_is_wrong_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "provider.toml"
    (tmp_path / "secret").write_text("hidden\n")
    good = (
        'issuer = "https://id.example.org"\nclient_id = "crow"\n'
        f'client_secret_file = "{tmp_path / "secret"}"\n'
        'url = "https://crow.example.org/"\n[roles]\nofficers = "custodian"\n'
    )
    file.write_text(good)
    found = Provider.from_file(str(file))
    assert found.client_secret == "hidden"  # noqa: S105 - of a made-up file
    assert "hidden" not in repr(found)
    assert found.redirect == "https://crow.example.org/console/sign-in/provider/back"
    for bad, words in (
        (good.replace("https://id", "http://id"), "an https address"),
        (good.replace("custodian", "king"), "one of"),
        (good.replace("client_id", "client"), "lacks client_id"),
        (good.replace("[roles]", 'scopes = ["email"]\n[roles]'), "openid"),
        (good + '[programs]\nnightly = "analyst"\n', "audience"),
        ("not toml", "cannot be read"),
    ):
        file.write_text(bad)
        with pytest.raises(InvalidInput, match=words):
            Provider.from_file(str(file))
    settings = Settings(database="sqlite://", provider=found)
    assert Settings.from_text(settings.to_text()).provider == found
