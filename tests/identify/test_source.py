"""Sensitive privacy counts the records that pass the card, not those of the source."""

import itertools
import math
from fractions import Fraction

import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.anomaly import law
from whitecrow.data import Card, Column, read
from whitecrow.privacy import SensitivePrivacy

# The analyst asks about x; nobody asks about y, and a record without it is left out.
CARD = Card("people", (Column("x", lower=-9, upper=9), Column("y", lower=0, upper=1)))
SMALL = Fraction(1, 10)


def question(radius, *, beta, k, epsilon=SMALL):
    model = wc.DistanceAnomaly(beta=beta, radius=radius)
    return wc.Identify({"x": 0.0}, model=model, k=k, epsilon=epsilon)


def counts(source, radius):
    """Copies and neighbours of the place 0 among the records that pass the card."""
    columns = {"x": [float(x) for x, _ in source], "y": [y for _, y in source]}
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    values = read(pa.table(columns, schema=schema), CARD).values("x")
    return int((values == 0).sum()), int((abs(values) <= radius).sum())


def yes(asked, source):
    """P(yes): the exact law of the mechanism on a source."""
    copies, neighbours = counts(source, asked.model.radius)
    flip = law.flip_probability(asked.bound(copies, neighbours, asked.epsilon), asked.epsilon)
    truth = law.is_anomaly(copies, neighbours, beta=asked.model.beta)
    return 1 - flip if truth else flip


def loss(asked, one, other):
    first, second = yes(asked, one), yes(asked, other)
    pairs = ((first, second), (1 - first, 1 - second))
    if any((a == 0) != (b == 0) for a, b in pairs):
        return math.inf
    return max(abs(math.log(a / b)) for a, b in pairs if a)


def test_neighbours_that_the_card_leaves_out_do_not_protect():
    """Thirty neighbours in the source, one record in the data: the loss is that of a lone one."""
    crowd = [(0.5, None)] * 30
    mine = (0.0, 0.5)
    asked = question(1.0, beta=18, k=2)
    assert loss(asked, [*crowd, mine], crowd) > 2
    copies = [(0.0, None)] * 30
    assert loss(question(0.0, beta=18, k=2), [*copies, mine], copies) == math.inf
    whole = [(0.5, 0.5)] * 30
    assert loss(asked, [*whole, mine], whole) <= float(SMALL) + 1e-12


def test_the_statement_speaks_of_records_that_pass_the_card():
    asked = question(1.0, beta=18, k=2)
    price = asked.price(CARD)
    assert isinstance(price, SensitivePrivacy)
    assert "at least 17 records that pass the card (itself included)" in price.statement()


KINDS = [(0.0, 0.5), (0.0, None), (0.5, 0.5), (0.5, None), (9.0, 0.5)]


@pytest.mark.parametrize("radius", [0.0, 1.0])
@pytest.mark.parametrize(("beta", "k"), [(2, 1), (3, 2)])
def test_the_proposition_holds_on_all_small_sources(radius, beta, k):
    """A record that is left out changes nothing; one with enough that pass loses at most epsilon.

    The old claim, with neighbours counted in the source, is broken on some of the same sources.
    """
    asked = question(radius, beta=beta, k=k, epsilon=Fraction(1, 2))
    old_claim_broken = False
    for numbers in itertools.product(range(3), repeat=len(KINDS)):
        source = [kind for kind, times in zip(KINDS, numbers, strict=True) for _ in range(times)]
        for mine in KINDS[:4]:
            more = [*source, mine]
            lost = loss(asked, source, more)
            near = [y for x, y in more if abs(x - mine[0]) <= radius]
            passing = sum(y is not None for y in near)
            if mine[1] is None:
                assert lost == 0
            elif passing >= asked.tau:
                assert lost <= 0.5 + 1e-12
            old_claim_broken |= len(near) >= asked.tau and lost > 0.5 + 1e-9
    assert old_claim_broken
