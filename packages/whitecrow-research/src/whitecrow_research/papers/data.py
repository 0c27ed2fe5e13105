"""The public data sets of the papers: what each file holds, where it is from, how to make it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.errors import InvalidInput
from whitecrow_research.papers import originals

Make = Callable[[Sequence[Path]], Any]


@dataclass(frozen=True)
class DataFile:
    """One file of the folder that ``--data`` names.

    Parameters
    ----------
    name : str
        Of the file.
    columns : str
        In words where there are many.
    rows : int
        How many records our copy has.
    size : int
        Its bytes.
    checksum : str
        SHA-256 of its values (not of its bytes, which depend on who wrote the Parquet file).
    origin : str
        Where it comes from, in words.
    serves : str
        Which tables and figures need it.
    originals : str
        Names of the original files, as published (a pattern where there are several).
    make : callable
        Makes the table from the originals.
    """

    name: str
    columns: str
    rows: int
    size: int
    checksum: str
    origin: str
    serves: str
    originals: str
    make: Make


FILES = (
    DataFile(
        "thyroid.parquet",
        "x1 to x6, label",
        3_772,
        32_576,
        "a98c51622f8ef81e02e2ff6c8271fd2be7e044e2adc761258c85882810f2d1f1",
        "Thyroid disease of the UCI repository as the outlier collection ODDS has it, in the "
        "archive 38_thyroid.npz of ADBench; whole, values in [0, 1]",
        "asif: all tables, Figures 3 to 5",
        "38_thyroid.npz",
        originals.labelled,
    ),
    DataFile(
        "mammography.parquet",
        "x1 to x6, label",
        11_183,
        155_871,
        "a000b2215ba8b98e242a8a38b7393ee2163e872014bcb351bdf8edcd7aa0601a",
        "Mammography of ODDS, in the archive 23_mammography.npz of ADBench; whole",
        "asif: all tables, Figures 3 to 5",
        "23_mammography.npz",
        originals.labelled,
    ),
    DataFile(
        "credit_fraud_sample.parquet",
        "Time, V1 to V28, Amount, Class, Draw",
        25_385,
        6_900_922,
        "cdd15d5eb3138919e0ebe2de7a4e9e341a2506b1f7f8156451a0723d3a6211eb",
        "card payments of September 2013 by the machine learning group of the Université libre de "
        "Bruxelles, creditcard.csv with 284,807 rows; our copy has all 492 frauds and 5.6 % of the "
        "others, from samples that were published; the whole file gives the whole set",
        "asif: all tables, Figures 3 to 5",
        "creditcard.csv",
        originals.credit_fraud,
    ),
    DataFile(
        "aps_trucks_sample.parquet",
        "class, aa_000 to eg_000 (170), source",
        13_274,
        5_401_331,
        "8b4330f6b114bf6adaba725a4b6482d4febb55e8f2c4bedfc4aab3f65fc9a5f6",
        "APS failures at Scania trucks of the UCI repository, aps_failure_training_set.csv with "
        "60,000 rows; our copy is a sample of 22 %; the whole file gives the whole set",
        "asif: all tables, Figures 3 to 5",
        "aps_failure_training_set.csv",
        originals.aps_trucks,
    ),
    DataFile(
        "adult.parquet",
        "the 15 columns of the census extract",
        32_561,
        280_968,
        "f48ebcc0a5c18b75f28591637c0a5880b24e25576fda64ae8070eeb335ce4d40",
        "Adult of the UCI repository, adult.data; whole, '?' as missing",
        "okada: Tables 1 and 2, Figures 4 and 6",
        "adult.data",
        originals.adult,
    ),
    DataFile(
        "ionosphere.parquet",
        "a01 to a34, class",
        351,
        90_996,
        "a5a3e5e77671975b196e241b5d58069edd4536ae75d43f953d9f10cb5082de5f",
        "Ionosphere of the UCI repository, ionosphere.data; whole, class 1 is good",
        "okada: Table 2, Figure 7",
        "ionosphere.data",
        originals.ionosphere,
    ),
    DataFile(
        "ontario_salary.parquet",
        "Jobtitle, Employer, Year, Salary, JobtitleRaw",
        65_231,
        525_814,
        "9b77fda6a99c93376c327b4a0ae83d41a5917befe2a57d7e53921af7f86f9699",
        "public salaries of 100,000 dollars and more by the government of Ontario, the yearly "
        "files en-YYYY-pssd.csv; 1999 to 2006, the 8 most frequent employers, job titles in 9 "
        "families by keyword; the paper names neither its years nor its titles. Our copy sorted "
        "titles with a longer list of words than the conversion has, so its values differ",
        "pcor: Tables 2 to 12, all figures",
        "en-*-pssd.csv",
        originals.ontario_salary,
    ),
    DataFile(
        "homicide.parquet",
        "AgencyType, State, Weapon, VictimAge and 9 more",
        42_532,
        191_094,
        "7195fe0b09a191ae428f2e39d9ad2712eb6a824527bc5ec76e456c3824ebb19f",
        "homicide reports gathered by the Murder Accountability Project; our copy has six western "
        "states; the conversion takes the file database.csv that the paper names: the 4 most "
        "frequent agency types, 6 states, 6 weapons, unknown ages left out",
        "pcor: Table 13",
        "database.csv",
        originals.homicide,
    ),
    DataFile(
        "nyc_taxi_sample.parquet",
        "pickup, dropoff, date, distance_km, fare, passengers",
        6_433,
        115_186,
        "a28b8dc211ca8c927a8a751772dfa42c4e7d38b66068a1b8cd38a7240439eba4",
        "trips of March 2019 by the taxi commission of New York, as the example file taxis.csv of "
        "the seaborn library has them; stands in for Porto's, whose sample is not public",
        "openworld: Figure 2, Table 4 (stand-in)",
        "taxis.csv",
        originals.taxi,
    ),
)


def fingerprint(table: Any) -> str:
    """SHA-256 of the names and values of a table, whoever wrote it.

    Numbers count as doubles, everything else as its text; a missing value is its own.
    """
    digest = hashlib.sha256()
    for name in table.column_names:
        column = table.column(name)
        digest.update(f"\x1e{name}\x1f".encode())
        if _numeric(column.type):
            values = column.to_numpy().astype(np.float64)
            digest.update(np.where(np.isnan(values), np.nan, values).tobytes())
        else:
            texts = ("\x00" if value is None else str(value) for value in column.to_pylist())
            digest.update("\x1f".join(texts).encode())
    return digest.hexdigest()


def _numeric(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def state(file: DataFile, folder: Path) -> str:
    """Say whether a file is in a folder, and whether it has the values of our copy."""
    path = folder / file.name
    if not path.exists():
        return "missing"
    from pyarrow import parquet

    table = parquet.read_table(path)
    if fingerprint(table) == file.checksum:
        return "as ours"
    return f"other values, {table.num_rows:,} rows"


def convert(folder: Path, out: Path) -> Mapping[str, str]:
    """Make the files whose originals lie in a folder; say what became of each."""
    from pyarrow import parquet

    converted = {}
    for file in FILES:
        paths = sorted(folder.glob(file.originals))
        if not paths:
            converted[file.name] = f"no {file.originals} there"
            continue
        try:
            table = file.make(paths)
        except (KeyError, ValueError, OSError) as error:
            raise InvalidInput(
                f"{paths[0].name} is not the file that {file.name} is made from: {error}"
            ) from None
        out.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, out / file.name, compression="zstd")
        converted[file.name] = f"{table.num_rows:,} rows, {state(file, out)}"
    return converted
