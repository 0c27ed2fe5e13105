"""The client for R against a running service, where R and httr2 are installed."""

from __future__ import annotations

import json
import re
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
refusal <- function(url) tryCatch({ crow_connect(url, "wc_x"); "connected" },
                                  error = function(problem) conditionMessage(problem))
open <- vapply(c("http://crow.example.org", "HTTP://crow.example.org", "hTTp://crow.example.org",
                 "ftp://crow.example.org", "crow.example.org", "http://localhost@crow.example.org"),
               refusal, "")
secret <- "wc_never_to_be_seen"
mine <- crow_connect("HTTPS://crow.example.org", secret)
seen <- paste(c(capture.output(print(mine)), capture.output(str(mine)), format(mine),
                capture.output(print(unclass(mine)))), collapse = " ")
cat(jsonlite::toJSON(list(
  datasets = crow_datasets(crow), price = crow_price(crow, "clinic", question)$price$epsilon,
  dummy = dummy$dummy, shown = shown, charged = c(first$charged, again$charged),
  same = identical(first$answer, again$answer), refused = refused, open = unname(open),
  seen = grepl(secret, seen, fixed = TRUE),
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
    assert all("https" in one for one in said["open"])
    assert said["seen"] is False
    assert said["history"] == 1


def test_every_way_to_show_a_value_of_the_client_is_declared_and_written() -> None:
    """Without R: what is exported is there, and a connection has a way to be shown of its own."""
    source = CLIENT.read_text(encoding="utf-8")
    names = (CLIENT.parents[1] / "NAMESPACE").read_text(encoding="utf-8")
    shown = set(re.findall(r"S3method\((\w+), (\w+)\)", names))
    classes = set(re.findall(r'class = "(\w+)"', source))
    assert {("print", one) for one in classes} <= shown
    assert ("format", "whitecrow_connection") in shown
    for generic, of in shown:
        assert f"{generic}.{of} <- function" in source
    for name in re.findall(r"crow_\w+", names):
        assert f"{name} <- function" in source
    # The token is in no field: only a function returns it.
    assert re.findall(r"\btoken = ([^,)]+)", source) == ["NULL", "function("]
    # An address is compared in one case, and with what is safe.
    assert 'startsWith(url, "http' not in source
    assert 'scheme != "https" && !local' in source
