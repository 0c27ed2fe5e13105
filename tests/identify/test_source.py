"""Sensitive privacy counts the records that pass the card by the columns asked about."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.anomaly import law
from whitecrow.data import Card, Column, read
from whitecrow.privacy import SensitivePrivacy, compose

# The analyst asks about x, and nobody about y.
CARD = Card("people", (Column("x", lower=-9, upper=9), Column("y", lower=0, upper=1)))
# Under a public size a record without y is left out all the same.
PUBLIC_SIZE = replace(CARD, size_public=True, size=1000)
SMALL = Fraction(1, 10)


def question(radius, *, beta, k, epsilon=SMALL):
    model = wc.DistanceAnomaly(beta=beta, radius=radius)
    return wc.Identify({"x": 0.0}, model=model, k=k, epsilon=epsilon)


def counts(source, radius, card):
    """Copies and neighbours of the place 0 among the records that pass the card."""
    columns = {"x": [x for x, _ in source], "y": [y for _, y in source]}
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    values = read(pa.table(columns, schema=schema), card).matrix(["x"])
    return int((values == 0).sum()), int((abs(values) <= radius).sum())


def yes(asked, source, card):
    """P(yes): the exact law of the mechanism on a source."""
    copies, neighbours = counts(source, asked.model.radius, card)
    flip = law.flip_probability(asked.bound(copies, neighbours, asked.epsilon), asked.epsilon)
    truth = law.is_anomaly(copies, neighbours, beta=asked.model.beta)
    return 1 - flip if truth else flip


def loss(asked, one, other, card=CARD):
    first, second = yes(asked, one, card), yes(asked, other, card)
    pairs = ((first, second), (1 - first, 1 - second))
    if any((a == 0) != (b == 0) for a, b in pairs):
        return math.inf
    return max(abs(math.log(a / b)) for a, b in pairs if a)


def test_neighbours_that_the_card_leaves_out_do_not_protect():
    """Thirty neighbours in the source, one record in the data: the loss is that of a lone one."""
    crowd = [(0.5, None)] * 30
    mine = (0.0, 0.5)
    asked = question(1.0, beta=18, k=2)
    assert loss(asked, [*crowd, mine], crowd, PUBLIC_SIZE) > 2
    copies = [(0.0, None)] * 30
    assert loss(question(0.0, beta=18, k=2), [*copies, mine], copies, PUBLIC_SIZE) == math.inf
    whole = [(0.5, 0.5)] * 30
    assert loss(asked, [*whole, mine], whole, PUBLIC_SIZE) <= float(SMALL) + 1e-12


def test_a_column_that_nobody_asks_about_takes_no_neighbour_away():
    crowd, mine = [(0.5, None)] * 30, (0.0, 0.5)
    assert 0 < loss(question(1.0, beta=18, k=2), [*crowd, mine], crowd) <= float(SMALL) + 1e-12
    copies = [(0.0, None)] * 30
    assert loss(question(0.0, beta=18, k=2), [*copies, mine], copies) <= float(SMALL) + 1e-12


def test_the_statement_speaks_of_records_that_pass_the_card():
    asked = question(1.0, beta=18, k=2)
    price = asked.price(CARD)
    assert isinstance(price, SensitivePrivacy)
    assert "at least 17 records that pass the card (itself included)" in price.statement()


KINDS = [(0.0, 0.5), (0.0, None), (0.5, 0.5), (None, 0.5), (9.0, 0.5)]


@pytest.mark.parametrize("card", [CARD, PUBLIC_SIZE], ids=["by columns", "public size"])
@pytest.mark.parametrize("radius", [0.0, 1.0])
@pytest.mark.parametrize(("beta", "k"), [(2, 1), (3, 2)])
def test_the_proposition_holds_on_all_small_sources(radius, beta, k, card):
    """A record that is left out changes nothing; one with enough that pass loses at most epsilon.

    Under a public size the claim with neighbours counted in the source is broken on some of them;
    by the columns asked about it is the same claim.
    """
    asked = question(radius, beta=beta, k=k, epsilon=Fraction(1, 2))
    in_source_broken = False
    for numbers in itertools.product(range(3), repeat=len(KINDS)):
        source = [kind for kind, times in zip(KINDS, numbers, strict=True) for _ in range(times)]
        for mine in KINDS[:4]:
            more = [*source, mine]
            lost = loss(asked, source, more, card)
            if mine[0] is None or (card is PUBLIC_SIZE and mine[1] is None):
                assert lost == 0
                continue
            near = [y for x, y in more if x is not None and abs(x - mine[0]) <= radius]
            passing = [y for y in near if y is not None] if card is PUBLIC_SIZE else near
            if len(passing) >= asked.tau:
                assert lost <= 0.5 + 1e-12
            in_source_broken |= len(near) >= asked.tau and lost > 0.5 + 1e-9
    assert in_source_broken is (card is PUBLIC_SIZE)


def law_of(asked, source):
    """P(yes) and who is near, of a question over any columns."""
    names = list(asked.record)
    table = {"x": [x for x, _ in source], "y": [y for _, y in source]}
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    rows = read(pa.table(table, schema=schema), CARD).matrix(names)
    away = abs(rows - [[float(asked.record[name]) for name in names]]).max(axis=1, initial=0)
    copies, neighbours = int((away == 0).sum()), int((away <= asked.model.radius).sum())
    flip = law.flip_probability(asked.bound(copies, neighbours, asked.epsilon), asked.epsilon)
    return 1 - flip if law.is_anomaly(copies, neighbours, beta=asked.model.beta) else flip


def test_two_readings_add_up_on_the_pairs_that_both_zones_cover():
    """One question leaves out who has no x, the other who has no x or no y; one card.

    Were their zones merged, a record with neighbours by the first alone would be promised too much.
    """
    model = wc.DistanceAnomaly(beta=2, radius=1.0, metric="chebyshev")
    half = Fraction(1, 2)
    by_x = wc.Identify({"x": 0.0}, model=model, k=1, epsilon=half)
    by_both = wc.Identify({"x": 0.0, "y": 0.5}, model=model, k=1, epsilon=half)
    total = compose([by_x.price(CARD), by_both.price(CARD)])
    assert len(total.zones) == 2
    merged_broken = False
    for numbers in itertools.product(range(3), repeat=len(KINDS)):
        source = [kind for kind, times in zip(KINDS, numbers, strict=True) for _ in range(times)]
        for mine in KINDS[:4]:
            more = [*source, mine]
            lost, covered = 0.0, []
            for asked in (by_x, by_both):
                before, after = law_of(asked, source), law_of(asked, more)
                ratios = ((before, after), (1 - before, 1 - after))
                lost += max(
                    abs(math.log(a / b)) if a and b else math.inf for a, b in ratios if a or b
                )
                seen = [one for one in more if None not in one[: len(asked.record)]]
                near = [
                    one
                    for one in seen
                    if mine in seen
                    and all(
                        abs(a - b) <= 1
                        for a, b in zip(one, mine[: len(asked.record)], strict=False)
                    )
                ]
                covered.append(mine not in seen or len(near) >= asked.tau)
            if all(covered):
                assert lost <= float(total.epsilon) + 1e-12
            merged_broken |= covered[0] and lost > float(total.epsilon) + 1e-9
    assert merged_broken
