"""Reading the data sets as their publishers have them, into the columns that are used here."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

KM_PER_MILE = 1.609344

ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
    *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week"),
    *("native_country", "income"),
)

TITLES = (
    ("AssocAsstProfessor", r"(assoc|asst|assistant).*prof"),
    ("Professor", r"professor"),
    ("Lawyer", r"lawyer|counsel|crown|judge|attorney"),
    ("Director", r"director|chief"),
    ("Operator", r"operator|operating"),
    ("Technician", r"technician|technologist"),
    ("Maintainer", r"maintain|mechanic"),
    ("Engineer", r"engineer"),
    ("Manager", r"manager|supervisor"),
)
"""Families of job titles, by the first that fits."""


def labelled(paths: Sequence[Path]) -> Any:
    """A NumPy archive with X and y."""
    import pyarrow as pa

    with np.load(paths[0]) as archive:
        points, labels = archive["X"], archive["y"]
    columns = {f"x{index + 1}": points[:, index] for index in range(points.shape[1])}
    return pa.table({**columns, "label": labels.astype(np.int8)})


def credit_fraud(paths: Sequence[Path]) -> Any:
    """All payments; the column Draw says that nobody was drawn but all frauds, and the rest."""
    import pyarrow as pa
    from pyarrow import compute, csv

    table = csv.read_csv(paths[0])
    kind = compute.cast(table["Class"], pa.int8())
    draw = compute.if_else(compute.equal(kind, 1), "all_frauds", "random")
    return table.set_column(table.schema.get_field_index("Class"), "Class", kind).append_column(
        "Draw", draw
    )


def aps_trucks(paths: Sequence[Path]) -> Any:
    """Counters of trucks; the file begins with its licence."""
    import pyarrow as pa
    from pyarrow import compute, csv

    text = paths[0].read_bytes()
    start = text.index(b"class,")
    numbers = csv.ConvertOptions(null_values=["na"], strings_can_be_null=True)
    table = csv.read_csv(io.BytesIO(text[start:]), convert_options=numbers)
    failed = compute.cast(compute.equal(table["class"], "pos"), pa.int8())
    columns = {
        name: compute.fill_null(compute.cast(table[name], pa.float64()), float("nan"))
        for name in table.column_names
        if name != "class"
    }
    source = pa.array(["whole"] * len(failed))
    return pa.table({"class": failed, **columns, "source": source})


def adult(paths: Sequence[Path]) -> Any:
    """The census extract."""
    from pyarrow import csv

    text = paths[0].read_text(encoding="utf-8").replace(", ", ",").strip()
    return csv.read_csv(
        io.BytesIO(text.encode()),
        read_options=csv.ReadOptions(column_names=ADULT),
        convert_options=csv.ConvertOptions(null_values=["?"], strings_can_be_null=True),
    )


def ionosphere(paths: Sequence[Path]) -> Any:
    """34 numbers, and g (good) or b."""
    import pyarrow as pa
    from pyarrow import compute, csv

    names = [*(f"a{number:02}" for number in range(1, 35)), "class"]
    table = csv.read_csv(paths[0], read_options=csv.ReadOptions(column_names=names))
    good = compute.cast(compute.equal(table["class"], "g"), pa.int8())
    return table.set_column(34, "class", good)


def family(title: str) -> str | None:
    """The family of a job title, or None.

    Examples
    --------
    >>> family("associate professor"), family("crown counsel"), family("nurse")
    ('AssocAsstProfessor', 'Lawyer', None)
    """
    return next((name for name, words in TITLES if re.search(words, title)), None)


def ontario_salary(paths: Sequence[Path]) -> Any:
    """The salaries of 1999 to 2006 at the 8 most frequent employers, titles in families."""
    import pyarrow as pa
    from pyarrow import compute, csv

    texts = csv.ConvertOptions(column_types={"Salary Paid": pa.string()})
    wanted = ["Employer", "Job Title", "Calendar Year", "Salary Paid"]
    tables = [csv.read_csv(path, convert_options=texts).select(wanted) for path in paths]
    table = pa.concat_tables(tables, promote_options="permissive")
    year = table["Calendar Year"]
    table = table.filter(compute.and_(compute.greater_equal(year, 1999),
                                      compute.less_equal(year, 2006)))  # fmt: skip
    raw = compute.utf8_lower(compute.utf8_trim_whitespace(table["Job Title"]))
    dollars = compute.replace_substring_regex(table["Salary Paid"], r"[$,\s]", "")
    made = pa.table(
        {
            "Jobtitle": pa.array([family(title or "") for title in raw.to_pylist()], pa.string()),
            "Employer": compute.utf8_trim_whitespace(table["Employer"]),
            "Year": compute.cast(table["Calendar Year"], pa.int16()),
            "Salary": compute.cast(dollars, pa.float64()),
            "JobtitleRaw": raw,
        }
    )
    return _most_frequent(made, {"Employer": 8}).filter(~compute.is_null(compute.field("Jobtitle")))


def homicide(paths: Sequence[Path]) -> Any:
    """The most frequent agency types, states and weapons, where the victim's age is known."""
    import pyarrow as pa
    from pyarrow import compute, csv

    table = csv.read_csv(
        paths[0], convert_options=csv.ConvertOptions(column_types={"Perpetrator Age": pa.string()})
    )
    age = table["Victim Age"]
    table = table.filter(compute.less_equal(age, 120))
    made = pa.table(
        {
            "AgencyType": table["Agency Type"],
            "State": table["State"],
            "Weapon": table["Weapon"],
            "VictimAge": compute.cast(table["Victim Age"], pa.float32()),
            "Year": table["Year"],
            "Month": table["Month"],
            "VictimSex": table["Victim Sex"],
            "VictimRace": table["Victim Race"],
            "OffenderAge": table["Perpetrator Age"],
            "OffenderSex": table["Perpetrator Sex"],
            "Relationship": table["Relationship"],
            "Circumstance": table["Crime Type"],
            "Solved": table["Crime Solved"],
        }
    )
    return _most_frequent(made, {"AgencyType": 4, "State": 6, "Weapon": 6})


def taxi(paths: Sequence[Path]) -> Any:
    """Trips, miles as kilometres."""
    import pyarrow as pa
    from pyarrow import compute, csv

    table = csv.read_csv(paths[0])
    pickup = compute.cast(table["pickup"], pa.timestamp("us"))
    return pa.table(
        {
            "pickup": pickup,
            "dropoff": compute.cast(table["dropoff"], pa.timestamp("us")),
            "date": compute.strftime(pickup, format="%Y-%m-%d"),
            "distance_km": compute.multiply(table["distance"], KM_PER_MILE),
            "fare": table["fare"],
            "passengers": table["passengers"],
        }
    )


def _most_frequent(table: Any, keep: dict[str, int]) -> Any:
    """Records whose values are among the most frequent of each column, counted one by one."""
    import pyarrow as pa
    from pyarrow import compute

    for name, count in keep.items():
        counted = compute.value_counts(table[name].combine_chunks()).to_pylist()
        counted.sort(key=lambda item: (-item["counts"], str(item["values"])))
        chosen = pa.array([item["values"] for item in counted[:count]])
        table = table.filter(compute.is_in(table[name], chosen))
    return table
