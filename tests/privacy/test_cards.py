"""Zones belong to a card: the exact joint law of two answers under two cards, on every edge."""

import itertools
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whitecrow as wc
from whitecrow.anomaly import law
from whitecrow.data import Card, Column
from whitecrow.ledger.account import Account
from whitecrow.privacy import (
    ConditionalPrivacy,
    SensitivePrivacy,
    Zone,
    compose,
    guarantee,
    intersect,
    of_revision,
)

EPSILON = Fraction(1)
MODEL = wc.DistanceAnomaly(beta=6, radius=1.0)
WIDE = Card("visits", (Column("age", lower=0, upper=9, outside="clip"),))
NARROW = Card("visits", (Column("age", lower=0, upper=3, outside="clip"),))
PLACES = (0, 3, 9)
"""Where records may lie in the source; the narrow card reads 9 as 3."""
CLIPPED = {WIDE.fingerprint(): (0, 3, 9), NARROW.fingerprint(): (0, 3, 3)}


def question(place, card):
    return wc.Identify({"age": place}, model=MODEL, k=1, epsilon=EPSILON)


def probability_of_yes(counts, place, card):
    """The exact law of one answer, from the mechanism's own bound on the counts as read."""
    read = CLIPPED[card.fingerprint()]
    asked = question(place, card)
    near = sum(n for n, at in zip(counts, read, strict=True) if abs(at - place) <= MODEL.radius)
    copies = sum(n for n, at in zip(counts, read, strict=True) if at == place)
    truth = copies > 0 and near <= MODEL.beta
    wrong = law.flip_probability(asked.bound(copies, near, EPSILON), EPSILON)
    return 1 - wrong if truth else wrong


def joint_loss(counts, more, asked):
    """The loss of all answers together; each looks at the records alone, so losses add up."""
    total = 0.0
    for place, card in asked:
        p, q = (probability_of_yes(x, place, card) for x in (counts, more))
        total += max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
    return total


def covered(zones, more, cell):
    """Whether a record of a cell lies in all zones, each under its own card."""
    for zone in zones:
        read = CLIPPED[zone.card]
        near = sum(
            n for n, at in zip(more, read, strict=True) if abs(at - read[cell]) <= zone.radius
        )
        if near < zone.tau:
            return False
    return True


def worst(zones, asked):
    """The largest joint loss of a record that the zones cover, over all small databases."""
    found = 0.0
    for counts in itertools.product(range(8), repeat=3):
        for cell in range(3):
            more = tuple(n + (i == cell) for i, n in enumerate(counts))
            if covered(zones, more, cell):
                found = max(found, joint_loss(counts, more, asked))
    return found


ASKED = ((9, WIDE), (3, NARROW))


def test_a_zone_of_one_card_says_nothing_of_an_answer_under_another():
    prices = [question(place, card).price(card) for place, card in ASKED]
    total = compose(prices)
    assert total.epsilon == 2
    assert {zone.card for zone in total.zones} == {WIDE.fingerprint(), NARROW.fingerprint()}
    assert worst(total.zones, ASKED) <= 2 + 1e-9
    # What was reported before cards were told apart: one zone, and a record loses far more.
    merged = (Zone(total.tau, total.radius, total.metric, total.columns, NARROW.fingerprint()),)
    assert worst(merged, ASKED) > 5


def test_a_joint_statement_names_the_cards_it_speaks_of():
    prices = [question(place, card).price(card) for place, card in ASKED]
    said = compose(prices).statement()
    for card in (WIDE, NARROW):
        assert f"card {card.fingerprint()[:8]}" in said
    # One card is the one in force, and needs no name.
    assert WIDE.fingerprint()[:8] not in prices[0].statement()


@pytest.mark.parametrize("card", ["one@1", "one@2", "other@1", ""])
def test_zones_merge_only_within_one_reading(card):
    found = intersect([Zone(3, 2.0, card="one@1"), Zone(5, 1.0, card=card)])
    assert len(found) == (1 if card == "one@1" else 2)


def test_an_entry_without_a_card_is_kept_apart_and_says_that_it_holds_under_every_card():
    old = guarantee(
        {"notion": "sensitive", "epsilon": "1", "delta": "0", "tau": 5, "radius": 1.0}
        | {"metric": "euclidean", "columns": ["age"]}
    )
    new = SensitivePrivacy(1, 3, 2.0, columns=("age",), card="one@1")
    assert len(compose([old, new]).zones) == 2
    assert "under every card that was in force" in compose([old, old]).statement()


def test_the_accounts_sums_and_their_json_tell_cards_apart():
    account = Account()
    for card in ("one@1", "other@1", "one@1"):
        account = account.with_release(SensitivePrivacy(1, 5, 1.0, card=card))
    assert [zone.card for zone in account.zones] == ["one@1", "other@1"]
    assert Account.from_json(account.to_json()) == account
    total = account.line("sensitive", Fraction(0))
    assert guarantee(total.to_json()) == total


def test_a_condition_of_one_revision_is_not_that_of_the_next():
    stated = ConditionalPrivacy(1, "the contexts stay the same", zones=(Zone(5, 1.0, card="one"),))
    first, second = of_revision(stated, 1), of_revision(stated, 2)
    assert len(compose([first, second]).conditions) == 2
    assert len(compose([first, second]).zones) == 2
    assert compose([first, first]).conditions == first.conditions


def test_a_column_named_like_a_bin_has_a_zone_of_its_own():
    """Names are the custodian's: what a zone looks at is told from names, not read out of them."""
    named = "pay in 2 equal parts"
    card = wc.Card(
        "staff",
        (wc.Column("pay", lower=0, upper=10), wc.Column(named, "integer", lower=0, upper=10)),
    )
    model = wc.DistanceAnomaly(6, 0)
    binned = wc.Lookahead(["pay"], model=model, k=2, epsilon=1, bins=2).price(card)
    plain = wc.Lookahead([named], model=model, k=2, epsilon=1).price(card)
    assert binned.zones[0].place != plain.zones[0].place
    joint = compose([binned, plain])
    assert len(joint.zones) == 2
    assert guarantee(json.loads(json.dumps(joint.to_json()))) == joint
    assert "pay in 2 equal parts" in joint.statement()


def test_zones_of_older_ledgers_are_read_as_they_were_written():
    written = {"tau": 3, "radius": 0.0, "metric": "euclidean", "columns": ["pay in 2 equal parts"]}
    zone = Zone.from_json(written)
    assert zone.to_json() == written
    assert zone.place != Zone(3, 0.0, columns=(("pay", "in 2 equal parts"),)).place


@given(st.lists(st.text(max_size=3), min_size=1, max_size=3, unique=True), st.data())
def test_different_columns_and_cuts_are_different_places(names, data):
    """Whatever columns are called: two zones share a place only if they look at the same thing."""
    cut = st.sampled_from(["", "in 2 equal parts", "cut at 1"])
    listed = [
        tuple((name, how) if (how := data.draw(cut)) else name for name in names) for _ in (0, 1)
    ]
    one, two = (SensitivePrivacy(1, 3, 1.0, columns=columns).zones[0] for columns in listed)
    assert (one.place == two.place) == (listed[0] == listed[1])
    assert Zone.from_json(json.loads(json.dumps(one.to_json()))) == one
    assert len(intersect([one, two])) == (1 if listed[0] == listed[1] else 2)
