"""The data sets of the papers: what is said of them holds, and originals become them."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from whitecrow.cli import whitecrow
from whitecrow_research.papers import Context
from whitecrow_research.papers.asif.sets import load
from whitecrow_research.papers.data import FILES, convert, fingerprint, state

BY_NAME = {file.name: file for file in FILES}


def run(*words):
    return CliRunner().invoke(whitecrow, [str(word) for word in words])


def test_what_is_said_of_each_file_holds_of_our_copy(shared_data):
    for file in FILES:
        path = shared_data / file.name
        assert state(file, shared_data) == "as ours"
        assert (parquet.read_metadata(path).num_rows, path.stat().st_size) == (file.rows, file.size)
        named = parquet.read_schema(path).names
        assert named[0] in file.columns or len(named) == 15


def test_originals_become_the_files(shared_data, tmp_path):
    made = convert(shared_data / "adbench", tmp_path)
    assert made["thyroid.parquet"] == "3,772 rows, as ours"
    assert made["mammography.parquet"] == "11,183 rows, as ours"
    assert made["adult.parquet"] == "no adult.data there"


ADULT = """39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, \
Male, 2174, 0, 40, United-States, <=50K
50, ?, 83311, Bachelors, 13, Married, Exec, Husband, White, Male, 0, 0, 13, ?, >50K

"""
SALARIES = """Sector,Last Name,First Name,Salary Paid,Benefits,Employer,Job Title,Calendar Year
Universities,A,B,"$106,601.41",$1.00,York University,Associate Professor,1999
Universities,A,B,"$206,601.41",$1.00,York University,Professor of Law,2006
Universities,A,B,"$206,601.41",$1.00,York University,Nurse,2006
Universities,A,B,"$206,601.41",$1.00,York University,Professor,2007
"""
REPORTS = """Record ID,Agency Type,State,Weapon,Victim Age,Year,Month,Victim Sex,Victim Race,\
Perpetrator Age,Perpetrator Sex,Relationship,Crime Type,Crime Solved
1,Sheriff,Alaska,Knife,14,1980,May,Male,White, ,Male,Wife,Murder,Yes
2,Sheriff,Alaska,Knife,998,1980,May,Male,White,15,Male,Wife,Murder,Yes
"""
TRIPS = """pickup,dropoff,passengers,distance,fare,tip
2019-03-23 20:21:09,2019-03-23 20:27:24,1,1.6,7.0,2.15
"""


def test_small_originals_of_each_form_are_read(tmp_path):
    counters = [f"c{place:03}" for place in range(170)]
    originals = {
        "creditcard.csv": "Time," + ",".join(f"V{n}" for n in range(1, 29)) + ",Amount,Class\n"
        + "\n".join(",".join(["0.5"] * 30 + [kind]) for kind in ('"0"', '"1"')),
        "aps_failure_training_set.csv": "A licence.\n\nclass," + ",".join(counters) + "\n"
        + "pos," + ",".join(["1"] * 170) + "\nneg,na," + ",".join(["2"] * 169) + "\n",
        "adult.data": ADULT.replace("\\\n", ""),
        "ionosphere.data": ",".join(["1"] + ["0.25"] * 33) + ",g\n" + ",".join(["0"] * 34) + ",b\n",
        "en-1999-pssd.csv": SALARIES,
        "database.csv": REPORTS.replace("\\\n", ""),
        "taxis.csv": TRIPS,
    }  # fmt: skip
    folder, out = tmp_path / "originals", tmp_path / "made"
    folder.mkdir()
    for name, text in originals.items():
        (folder / name).write_text(text, encoding="utf-8")
    done = run("--json", "papers", "data", "--convert", folder, "--out", out)
    assert done.exit_code == 0, done.output
    made = {name: parquet.read_table(out / name).to_pylist() for name in BY_NAME
            if (out / name).exists()}  # fmt: skip
    assert len(made) == 7
    assert json.loads(done.output)["thyroid.parquet"] == "no 38_thyroid.npz there"
    assert [row["Draw"] for row in made["credit_fraud_sample.parquet"]] == ["random", "all_frauds"]
    trucks = made["aps_trucks_sample.parquet"]
    assert ([row["class"] for row in trucks], np.isnan(trucks[1]["c000"])) == ([1, 0], True)
    assert made["adult.parquet"][0]["age"] == 39
    assert made["adult.parquet"][1]["workclass"] is None
    assert [row["class"] for row in made["ionosphere.parquet"]] == [1, 0]
    titles = [(row["Jobtitle"], row["Salary"]) for row in made["ontario_salary.parquet"]]
    assert titles == [("AssocAsstProfessor", 106_601.41), ("Professor", 206_601.41)]
    assert [row["VictimAge"] for row in made["homicide.parquet"]] == [14.0]
    assert made["nyc_taxi_sample.parquet"][0]["distance_km"] == pytest.approx(2.5749504)
    assert load("APS Trucks", Context(out, tmp_path)) is not None


def test_a_file_that_is_not_the_original_is_refused(tmp_path):
    (tmp_path / "taxis.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    done = run("papers", "data", "--convert", tmp_path, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "taxis.csv" in done.output
    assert run("papers", "data", "--convert", tmp_path).exit_code == 2


def test_the_list_says_what_is_there(shared_data, tmp_path):
    shutil.copy(shared_data / "thyroid.parquet", tmp_path)
    told = json.loads(run("--json", "papers", "data", "--data", tmp_path).output)
    assert set(told) == set(BY_NAME)
    assert told["thyroid.parquet"]["here"] == "as ours"
    assert told["adult.parquet"]["here"] == "missing"
    for file in told.values():
        assert len(file["checksum"]) == 64
        assert file["origin"]
    words = run("papers", "data").output
    assert all(name in words for name in BY_NAME)


def test_the_checksum_is_of_values_not_of_bytes():
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    assert fingerprint(table) == fingerprint(pa.table({"a": [1.0, 2.0], "b": ["x", None]}))
    for other in ({"a": [1, 3], "b": ["x", None]}, {"a": [1, 2], "b": ["x", ""]},
                  {"c": [1, 2], "b": ["x", None]}):  # fmt: skip
        assert fingerprint(pa.table(other)) != fingerprint(table)
