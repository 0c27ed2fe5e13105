"""Sites that learn together: masks, shares, charges, drop-outs."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
import whitecrow.sites as wc_sites
from whitecrow.errors import InvalidInput
from whitecrow.histogram.noise_budget import NoiseBudget
from whitecrow.learning import Learn
from whitecrow.noise.seeded import SeededSource
from whitecrow.sites import Circle, Key, Meeting, Member, SharedNoiseBudget, learn_together, mask

SITES = ("north", "south", "west")
CARD = wc.Card(
    "visits", (wc.Column("age", lower=0, upper=100), wc.Column("days", lower=0, upper=60))
)


def secrets_of(sites):
    keys = {name: Key() for name in sites}
    return {
        name: {
            other: keys[name].secret_with(keys[other].public) for other in sites if other != name
        }
        for name in sites
    }


def at_once(work):
    """Run one function a site, each in a thread; return what each returned or raised."""
    found = {}

    def run(name, function):
        try:
            found[name] = function()
        except InvalidInput as error:
            found[name] = error

    threads = [threading.Thread(target=run, args=pair) for pair in work.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def summed(circle, vectors, law="laplace", size=Fraction(3), seed=1):
    meeting, secrets = Meeting(circle, patience=120), secrets_of(circle.sites)
    budget = NoiseBudget(law, Fraction(1), "add_remove", 1)

    def work(place, name):
        noise = SharedNoiseBudget.at(budget, meeting.member(name, secrets[name])).histograms(
            Fraction(1), 1
        )
        object.__setattr__(noise, "size", size)
        return noise.added(vectors[name], SeededSource(seed + place))

    found = at_once(
        {name: (lambda p=place, n=name: work(p, n)) for place, name in enumerate(circle.sites)}
    )
    return found, meeting


def test_masks_cancel_in_the_sum_and_differ_in_every_round():
    secrets = secrets_of(SITES)
    masks = [mask(secrets[name], name, b"one", 50) for name in SITES]
    assert not sum(masks[1:], masks[0]).any()
    assert (masks[0] != mask(secrets[SITES[0]], SITES[0], b"two", 50)).any()


def test_all_sites_get_the_same_sum_of_all_counts():
    vectors = {name: np.arange(4) * (place + 1) for place, name in enumerate(SITES)}
    for law in ("laplace", "gaussian"):
        found, _ = summed(Circle("a", SITES), vectors, law, Fraction(1, 1000))
        assert all(total.tolist() == [0, 6, 12, 18] for total in found.values())


def test_what_the_coordinator_receives_looks_uniform_until_the_last_site_has_sent():
    vectors = {name: np.zeros(20_000, dtype=np.int64) for name in SITES}
    _, meeting = summed(Circle("a", SITES), vectors)
    sent = meeting.received[1]
    for name in SITES:
        rest = sum(sent[other] for other in SITES if other != name)
        for words in (sent[name], rest):
            bits = np.unpackbits(words.view(np.uint8)).mean()
            assert abs(bits - 0.5) < 5 * 0.5 / math.sqrt(64 * 20_000)


def test_with_all_honest_the_sum_has_the_central_law():
    size, scale = 200_000, Fraction(3)
    vectors = {name: np.zeros(size, dtype=np.int64) for name in SITES}
    found, _ = summed(Circle("a", SITES, honest=3), vectors, "laplace", scale)
    draws = found["north"]
    ratio = math.exp(-1 / 3)
    for place in range(-8, 9):
        chance = (1 - ratio) / (1 + ratio) * ratio ** abs(place)
        error = math.sqrt(chance * (1 - chance) / size)
        assert abs(float((draws == place).mean()) - chance) < 5 * error


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("honest", [2, 3])
def test_the_noise_of_any_honest_sites_suffices(law, honest):
    """Without the shares of the others the variance is still that of the central mechanism."""
    size, given = 60_000, Fraction(20)
    sites = SITES[:honest]
    zeros = np.zeros(size, dtype=np.int64)
    found, _ = summed(Circle("a", sites, honest=honest), dict.fromkeys(sites, zeros), law, given)
    ratio = math.exp(-1 / 20)
    variance = 2 * ratio / (1 - ratio) ** 2 if law == "laplace" else 20.0
    assert float(found[sites[0]].var()) == pytest.approx(variance, rel=0.06)
    wide, _ = summed(Circle("a", SITES, honest=2), dict.fromkeys(SITES, zeros), law, given)
    assert float(wide["west"].var()) == pytest.approx(1.5 * variance, rel=0.06)


def records(seed, size=3000):
    random = np.random.default_rng(seed)
    age = random.normal(55, 12, size).clip(0, 100)
    return pa.table({"age": age, "days": (age / 5 + random.exponential(3, size)).clip(0, 60)})


def opened(tmp_path, name, seed):
    tmp_path.mkdir(exist_ok=True)
    return wc.Curator.open(
        records(seed),
        card=CARD,
        name=name,
        budget="2, 1e-5",
        ledger=f"sqlite:///{tmp_path}/{name}.db",
    )


@pytest.mark.parametrize("price", [{"epsilon": "1"}, {"epsilon": "1", "delta": "1e-6"}])
def test_three_sites_learn_one_detector_and_each_pays_its_price_once(tmp_path, price):
    curators = {name: opened(tmp_path, name, seed) for seed, name in enumerate(SITES)}
    circle, secrets = Circle("first try", SITES), secrets_of(SITES)
    meeting = Meeting(circle, patience=60)

    def work(name):
        member = meeting.member(name, secrets[name])
        return learn_together(curators[name], Learn(**price), member)

    found = at_once({name: (lambda n=name: work(n)) for name in SITES})
    detectors = list(found.values())
    assert all(isinstance(one, wc.Detector) for one in detectors), detectors
    assert detectors[0].to_json() == detectors[1].to_json() == detectors[2].to_json()
    assert abs(detectors[0].records - 9000) < 500
    assert all(curator.remaining()["differential"] < 1.01 for curator in curators.values())
    assert "sites together" in detectors[0].notes[-1]
    again = learn_together(
        curators["north"], Learn(**price), meeting.member("north", secrets["north"])
    )
    assert again.to_json() == detectors[0].to_json()
    assert curators["north"].remaining()["differential"] > 0.9


def test_a_site_that_drops_out_makes_the_attempt_void_and_charged_and_the_rest_begin_again(
    tmp_path,
):
    curators = {name: opened(tmp_path, name, seed) for seed, name in enumerate(SITES)}
    secrets = secrets_of(SITES)
    meeting = Meeting(Circle("first try", SITES), patience=3)
    question = Learn(epsilon="1")

    def work(name, meeting, secrets):
        return learn_together(curators[name], question, meeting.member(name, secrets[name]))

    found = at_once({name: (lambda n=name: work(n, meeting, secrets)) for name in SITES[:2]})
    for name in SITES[:2]:
        assert isinstance(found[name], InvalidInput)
        assert "void" in str(found[name])
        assert curators[name].remaining()["differential"] == 1
    with pytest.raises(InvalidInput, match="new label"):
        work("north", meeting, secrets)
    rest = SITES[:2]
    fewer = secrets_of(rest)
    second = Meeting(Circle("second try", rest), patience=60)
    found = at_once({name: (lambda n=name: work(n, second, fewer)) for name in rest})
    assert all(isinstance(one, wc.Detector) for one in found.values()), found
    assert all(curators[name].remaining()["differential"] == 0 for name in rest)
    assert curators["west"].remaining()["differential"] == 2


def test_the_former_name_of_a_noise_budget_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match="SharedNoiseBudget"):
        assert wc_sites.SharedMoney is SharedNoiseBudget


def test_an_overlap_is_paid_for():
    budget = NoiseBudget("laplace", Fraction(1), "add_remove", 2)
    member = Member(
        Circle("a", SITES, overlap=3), "north", {"south": bytes(32), "west": bytes(32)}, max
    )
    shared = SharedNoiseBudget.at(budget, member)
    assert shared.histograms(Fraction(1), 1).size == 3 * budget.histograms(Fraction(1), 1).size


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sites": ("a",)}, "two or more"),
        ({"sites": ("a", "a")}, "different"),
        ({"label": ""}, "never used"),
        ({"honest": 4}, "from 1 to 3"),
        ({"overlap": 0}, "from 1 to 3"),
    ],
)
def test_a_circle_refuses_what_cannot_be_agreed_upon(given, said):
    with pytest.raises(InvalidInput, match=said):
        Circle(**{"label": "a", "sites": SITES, **given})


@pytest.mark.parametrize("price", [{"epsilon": "4"}, {"epsilon": "4", "delta": "1e-6"}])
def test_thresholds_of_all_sites_records_alarm_about_as_often_as_was_bought(tmp_path, price):
    curators = {
        name: wc.Curator.open(
            records(seed), card=CARD, name=name, budget="9, 1e-5", ledger="sqlite://"
        )
        for seed, name in enumerate(SITES)
    }
    meeting, secrets = Meeting(Circle("first try", SITES), patience=60), secrets_of(SITES)
    question = Learn(**price, false_alarms=[0.05, 1e-6])

    def work(name):
        return learn_together(curators[name], question, meeting.member(name, secrets[name]))

    found = at_once({name: (lambda n=name: work(n)) for name in SITES})
    detectors = list(found.values())
    assert all(isinstance(one, wc.Detector) for one in detectors), detectors
    assert detectors[0].to_json() == detectors[1].to_json() == detectors[2].to_json()
    everybody = pa.concat_tables([records(seed) for seed in range(3)])
    alarms = float(np.mean(detectors[0].predict(everybody, false_alarms=0.05)))
    assert 0.03 < alarms < 0.07
    with pytest.raises(InvalidInput, match="threshold"):  # one record in a million
        detectors[0].predict(everybody, false_alarms=1e-6)
    assert all(one.remaining()["differential"] == 5 for one in curators.values())


def test_replace_one_and_thresholds_at_no_price_are_refused_before_anything_is_charged(tmp_path):
    curator = opened(tmp_path, "north", 1)
    member = Meeting(Circle("a", SITES)).member("north", {"south": bytes(32), "west": bytes(32)})
    for question in (
        Learn(epsilon="1", false_alarms=[0.05], threshold_share="1e-30"),
        Learn(epsilon="1", relation="replace_one"),
    ):
        with pytest.raises(InvalidInput):
            learn_together(curator, question, member)
    assert curator.remaining()["differential"] == 2


def test_a_member_needs_a_long_secret_with_everybody():
    with pytest.raises(InvalidInput, match="each of the other"):
        Meeting(Circle("a", SITES)).member("north", {"south": bytes(32)})
    with pytest.raises(InvalidInput, match="32 bytes"):
        Meeting(Circle("a", SITES)).member("north", {"south": bytes(8), "west": bytes(32)})


# --- attempts that are interrupted, asked again, given back ---------------------------------------


class Coordinator:
    """Holds every round of a site, and completes it as the other site would, which counts nothing.

    Sums are made up, so that a test knows the way; what arrived is kept.
    """

    def __init__(self, last=10**9):
        self.sent, self.last = [], last

    def __call__(self, number, hidden):
        self.sent.append((number, hidden))
        if number == 0:
            return hidden
        if len(self.sent) > self.last:
            raise KeyboardInterrupt  # the site's process dies while it waits
        return np.arange(len(hidden), dtype=np.uint64) % 50

    def masked(self):
        return [hidden for number, hidden in self.sent if number]


def member_of(coordinator, label="first try"):
    circle = Circle(label, ("north", "south"))
    return Member(circle, "north", {"south": bytes(range(32))}, coordinator)


def interrupted(curator, question=None, last=3):
    coordinator = Coordinator(last)
    with pytest.raises(KeyboardInterrupt):
        learn_together(curator, question or Learn(epsilon="1/2"), member_of(coordinator))
    assert len(coordinator.masked()) == last
    return coordinator


def silent(monkeypatch):
    """Noise of 0, so that two messages differ by their masks alone."""
    zeros = lambda size, parts, count, source: np.zeros(count, dtype=np.int64)  # noqa: E731
    monkeypatch.setattr("whitecrow.sites.laplace_shares", zeros)


def test_an_interrupted_attempt_is_not_repeated_under_its_label(tmp_path):
    curator = opened(tmp_path, "north", 1)
    interrupted(curator)
    again = Coordinator()
    with pytest.raises(InvalidInput, match="new label"):
        learn_together(curator, Learn(epsilon="1/2"), member_of(again))
    assert again.sent == []
    assert curator.remaining()["differential"] == Fraction(3, 2)
    learn_together(curator, Learn(epsilon="1/2"), member_of(again, "second try"))
    assert curator.remaining()["differential"] == 1


def test_another_question_does_not_run_under_a_label_that_was_used(tmp_path):
    curator = opened(tmp_path, "north", 1)
    interrupted(curator)
    finished = Coordinator()
    learn_together(curator, Learn(epsilon="1/2"), member_of(finished, "second try"))
    for label in ("first try", "second try"):
        again = Coordinator()
        for question in (Learn(epsilon="1/4"), Learn(["age"], epsilon="1/2")):
            with pytest.raises(InvalidInput, match="new label"):
                learn_together(curator, question, member_of(again, label))
        assert again.sent == []
    assert curator.remaining()["differential"] == 1


def test_an_attempt_that_sent_numbers_is_never_given_back(tmp_path):
    curator = opened(tmp_path, "north", 1)
    interrupted(curator)
    assert curator.ledger.unsettled("north") == []
    spend = curator.ledger.entries("north", kind="reserve")[-1]
    with pytest.raises(wc.WhitecrowError, match="stays spent"):
        curator.ledger.void("north", spend.seq, reason="nobody saw it")
    assert curator.remaining()["differential"] == Fraction(3, 2)


def test_the_label_is_burned_before_the_first_number_leaves(tmp_path):
    curator = opened(tmp_path, "north", 1)
    known = []

    def exchange(number, hidden):
        known.append([entry.kind for entry in curator.ledger.entries("north")][-2:])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_together(curator, Learn(epsilon="1/2"), member_of(exchange))
    assert known == [["reserve", "settle"]]


def test_no_two_attempts_have_a_mask_in_common_even_where_the_ledger_forgot(tmp_path, monkeypatch):
    """A copy of the ledger from before the attempt, another account, another question: no mask."""
    silent(monkeypatch)
    first = interrupted(opened(tmp_path / "one", "north", 1))
    second = interrupted(opened(tmp_path / "two", "north", 1))
    third = interrupted(opened(tmp_path / "three", "north", 1), Learn(epsilon="1/4"))
    for one, two in ((first, second), (first, third)):
        for early, late in zip(one.masked(), two.masked(), strict=True):
            size = min(len(early), len(late))
            assert (early[:size] != late[:size]).all()


def test_masks_depend_on_question_and_card_and_on_what_every_site_drew():
    def masks(subject="one", south=0):
        words = np.zeros(4, dtype=np.uint64)
        coordinator = Coordinator()

        def exchange(number, hidden):
            if number == 0:
                words[:2] = hidden[:2]
                words[2:] = south
                return words
            return coordinator(number, hidden)

        member = Member(Circle("a", ("north", "south")), "north", {"south": bytes(32)}, exchange)
        member.subject = subject
        member.sum(np.zeros(8, dtype=np.int64))
        member.sum(np.zeros(8, dtype=np.int64))
        return [hidden.tobytes() for hidden in coordinator.masked()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whitecrow.sites.token_bytes", bytes)
        listed = [*masks(), *masks("two"), *masks(south=1)]
        assert len(set(listed)) == len(listed)
        assert masks() == masks()
    assert masks() != masks()


def test_a_coordinator_that_answers_with_old_numbers_gets_nothing(tmp_path):
    curator = opened(tmp_path, "north", 1)
    sent = []

    def exchange(number, hidden):
        sent.append(number)
        return np.zeros_like(hidden)

    with pytest.raises(wc.WhitecrowError):
        learn_together(curator, Learn(epsilon="1/2"), member_of(exchange))
    assert sent == [0]


def test_an_attempt_that_ended_before_its_label_was_burned_is_not_taken_up(tmp_path, monkeypatch):
    curator = opened(tmp_path, "north", 1)

    def dies(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(curator.ledger), "settle", dies)
    again = Coordinator()
    with pytest.raises(KeyboardInterrupt):
        learn_together(curator, Learn(epsilon="1/4"), member_of(again))
    monkeypatch.undo()
    with pytest.raises(InvalidInput, match="new label"):
        learn_together(curator, Learn(epsilon="1"), member_of(again))
    assert again.sent == []
