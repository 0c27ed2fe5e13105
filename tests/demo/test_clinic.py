"""Where the bundled data come from: a clinic that does not exist, with patients who never lived.

The card ``clinic.toml`` is written by hand, from the ranges below.
"""

from __future__ import annotations

import csv
import random

from whitecrow.demo import DATA

WARDS = ("cardiology", "geriatrics", "maternity", "orthopaedics", "paediatrics", "surgery")
INSURANCE = ("private", "public", "none")
YEARS = ("2021", "2022", "2023", "2024")
COST = {"cardiology": 9.2, "geriatrics": 8.6, "maternity": 8.1, "orthopaedics": 8.9}


def rows(count: int = 1500, seed: int = 20240229) -> list[dict[str, object]]:
    """Return the made-up stays: two ordinary crowds and a few patients unlike any other."""
    random_ = random.Random(seed)
    found = []
    for number in range(count):
        if random_.random() < 0.6:
            age, bmi, systolic = random_.gauss(68, 8), random_.gauss(27, 3), random_.gauss(140, 11)
            ward = random_.choice(("cardiology", "geriatrics", "orthopaedics", "surgery"))
        else:
            age, bmi, systolic = random_.gauss(33, 7), random_.gauss(23, 2.5), random_.gauss(118, 9)
            ward = random_.choice(("maternity", "orthopaedics", "paediatrics", "surgery"))
        if number % 75 == 17:  # the white crows
            age, bmi = random_.uniform(19, 94), random_.choice((13.5, 44.0, 52.0))
            systolic = random_.choice((82.0, 205.0, 222.0))
        cost = random_.lognormvariate(COST.get(ward, 8.4), 0.35)
        if number % 250 == 11:
            cost *= 6
        found.append(
            {
                "age": min(95, max(18, round(age))),
                "bmi": min(60.0, max(12.0, round(bmi, 1))),
                "systolic": min(240, max(70, round(systolic))),
                "ward": ward,
                "insurance": random_.choices(INSURANCE, (2, 7, 1))[0],
                "year": random_.choice(YEARS),
                "cost": min(200_000, round(cost)),
                "day": f"2024-{1 + number // 500:02d}-{1 + number // 17 % 28:02d}",
            }
        )
    return found


def test_the_bundled_clinic_is_made_by_these_rules_and_this_seed():
    with DATA.open(newline="", encoding="utf-8") as file:
        bundled = list(csv.DictReader(file))
    assert bundled == [{name: str(value) for name, value in row.items()} for row in rows()]
