"""One more record changes no other and no outcome: for every type, every encoding and every store.

The values and the stores are those of :mod:`tests.data.neighbouring`.
"""

import random
from contextlib import suppress
from itertools import cycle, product

import pytest
from tests.data.neighbouring import (
    ENCODINGS,
    KINDS,
    WRITERS,
    CannotStore,
    card_of,
    neighbours,
    postgres_writer,
    rows_of,
)

from whitecrow.card import CsvFormat
from whitecrow.data import read
from whitecrow.errors import InvalidInput

SLOW = ("duckdb", "iceberg", "sqlite")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_odd_value_in_memory_changes_no_other(kind):
    places, pairs = cycle(range(len(kind.ordinary) + 1)), 0
    for column, odd in product(kind.columns, range(len(kind.odd))):
        # Each encoding for some of the values, and all values as they are.
        for encode in {"plain", list(ENCODINGS)[odd % len(ENCODINGS)]}:
            try:
                tables = neighbours(kind, odd, next(places), ENCODINGS[encode])
            except CannotStore:
                continue
            without, with_odd = (rows_of(read(table, card_of(column))) for table in tables)
            assert with_odd == without, (column, odd, encode)
            pairs += 1
    assert pairs >= len(kind.columns) * len(kind.odd)


def stored_pair(rng, name, writer, folder):
    """Draw until it can be stored: two sources that differ in one record, and their card."""
    form = CsvFormat(encoding=name.removeprefix("csv ")) if name.startswith("csv") else None
    while True:
        kind, encode = rng.choice(KINDS), rng.choice(list(ENCODINGS.values()))
        odd, place = rng.randrange(len(kind.odd)), rng.randrange(len(kind.ordinary) + 1)
        card = card_of(rng.choice(kind.columns), form)
        target = folder / f"{rng.random()}"
        with suppress(CannotStore):
            tables = neighbours(kind, odd, place, encode)
            (target / "without").mkdir(parents=True)
            (target / "with").mkdir()
            without = writer(tables[0], target / "without")
            return without, writer(tables[1], target / "with"), card, (kind.name, odd, place)


def compare(name, writer, folder, pairs, seed=1):
    rng, refused = random.Random(f"{name} {seed}"), 0
    for _ in range(pairs):
        without, with_odd, card, about = stored_pair(rng, name, writer, folder)
        rows = outcome(without, card)
        assert outcome(with_odd, card) == rows, (name, about, card.columns[1])
        refused += rows == "refused"
    assert refused <= pairs / 3


def outcome(source, card):
    """What is read; a refusal must be one of the type, so of both or of none."""
    try:
        return rows_of(read(source, card))
    except InvalidInput:
        return "refused"


@pytest.mark.parametrize("name", WRITERS)
def test_an_odd_value_in_a_store_changes_no_other(tmp_path, name):
    compare(name, WRITERS[name], tmp_path, 3 if name in SLOW else 12)


def test_an_odd_value_in_postgresql_changes_no_other(tmp_path, server):
    url = server.url.replace("postgresql+psycopg", "postgresql")
    compare("postgresql", postgres_writer(url), tmp_path, 20)


@pytest.mark.study
@pytest.mark.parametrize("name", WRITERS)
def test_many_odd_values_in_a_store_change_no_other(tmp_path, name):
    compare(name, WRITERS[name], tmp_path, 100 if name in SLOW else 400, seed=2)
