"""The client for R against a running service, where R and httr2 are installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import House, listening

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "r" / "R" / "whitecrow.R"

SCRIPT = """
source(commandArgs(TRUE)[[1]])
crow <- crow_connect(commandArgs(TRUE)[[2]])
question <- list(kind = "screen", record = list(age = 74, bmi = 44), epsilon = "1/10",
                 model = list(beta = 5, radius = 4, metric = "euclidean"))
dummy <- crow_dummy(crow, "clinic", question)
first <- crow_ask(crow, "clinic", question)
again <- crow_ask(crow, "clinic", question)
refused <- tryCatch(crow_ask(crow, "clinic", modifyList(question, list(epsilon = "5000"))),
                    error = function(problem) conditionMessage(problem))
shown <- paste(capture.output(print(dummy)), collapse = " ")
open <- tryCatch(crow_connect("http://crow.example.org", "wc_x"),
                 error = function(problem) conditionMessage(problem))
cat(jsonlite::toJSON(list(
  datasets = crow_datasets(crow), price = crow_price(crow, "clinic", question)$price$epsilon,
  dummy = dummy$dummy, shown = shown, charged = c(first$charged, again$charged),
  same = identical(first$answer, again$answer), refused = refused, open = open,
  history = length(crow_history(crow, "clinic"))), auto_unbox = TRUE))
"""


def _has_r() -> bool:
    program = shutil.which("Rscript")
    if program is None:
        return False
    return not subprocess.run(
        [program, "-e", "library(httr2); library(jsonlite)"], capture_output=True, check=False
    ).returncode


def test_the_client_for_r_prices_tries_asks_and_tells_refusals(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not _has_r():
        pytest.skip(
            "R and httr2 are not installed (Debian: r-base-core, r-cran-httr2, r-cran-jsonlite)"
        )
    house = opened(budget="10", patience=240.0)
    house.service.curator(house.service.people.get("ana"), "clinic")
    monkeypatch.setenv("WHITECROW_TOKEN", house.tokens["ana"])
    with listening(house) as url:
        done = subprocess.run(
            ["Rscript", "-e", SCRIPT, str(CLIENT), url], capture_output=True, text=True, check=False
        )
    assert not done.returncode, done.stderr
    said = json.loads(done.stdout)
    assert said["datasets"] == "clinic"
    assert said["price"] == "1/10"
    assert said["dummy"] is True
    assert said["shown"].startswith("DUMMY")
    assert said["charged"] == [True, False]
    assert said["same"] is True
    assert "BudgetExhausted" in said["refused"]
    assert "https" in said["open"]
    assert said["history"] == 1
