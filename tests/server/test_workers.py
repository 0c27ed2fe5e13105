"""Several workers are one service: one account, one set of numbers, an orderly end."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import requests
from benchmarks.service import in_folder, prepared, running

import whitecrow as wc
from whitecrow_server import Service, Settings

MODEL = wc.DistanceAnomaly(beta=5, radius=4.0)


@pytest.mark.timing
@pytest.mark.study
def test_workers_share_account_and_numbers_and_finish_what_they_began(tmp_path: Path) -> None:
    database = in_folder(tmp_path)
    tokens = prepared(database, ["ana"], budget="100")
    service = Service(Settings(database=database))
    auditor = service.people.add("auditor", "auditor")
    watching = service.people.issue(auditor.name, days=1)[0]
    service.close()
    last: list[object] = []
    with running(database, "--deadline", "screen=0.8", "--workers", "2", "--rate", "0") as there:

        def ask(i: int) -> None:
            # Each client has a connection of its own, so that both workers get some.
            with wc.Client(there.url, tokens["ana"], patience=1.0) as client:
                record = {"age": 20 + i, "bmi": 25.0}
                last.append(client.screen(record, model=MODEL, epsilon="1/100").charged)

        people = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        bearer = {"Authorization": f"Bearer {watching}"}
        for _ in range(4):
            numbers = requests.get(f"{there.url}/metrics", headers=bearer, timeout=10).text
            assert 'whitecrow_asks_total{kind="screen",outcome="charged"} 12.0' in numbers
        final = threading.Thread(target=ask, args=(40,))
        final.start()
        time.sleep(0.3)
        there.stop()
        final.join(timeout=30)
    assert last == [True] * 13
