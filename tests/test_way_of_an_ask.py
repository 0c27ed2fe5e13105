"""How many files of ours one ask passes through: a bound is lowered when the way gets shorter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COLD, WARM, LEARN, SERVED = 32, 25, 32, 36

FOLLOW = """
import json, sys, threading
from pathlib import Path

import whitecrow as wc
from whitecrow import demo

files, following = set(), False
folders = (f"{Path(wc.__file__).parent}/",)


def hook(frame, event, argument):
    code = frame.f_code
    if following and event == "call" and code.co_name != "<module>":
        ours = code.co_filename.startswith(folders)
        if ours and threading.current_thread().name != "whitecrow-curator-pool":
            files.add(code.co_filename)


def follow(act):
    global following
    files.clear()
    following = True
    sys.setprofile(hook)
    act()
    sys.setprofile(None)
    following = False
    return len(files)


threading.setprofile(hook)  # for every thread that is started from now on
"""

LIBRARY = (
    FOLLOW
    + """
curator = wc.Curator.open(demo.DATA, card=demo.CARD, ledger=sys.argv[1], budget="100")
model = wc.DistanceAnomaly(beta=3, radius=2.0)
questions = [
    wc.Identify({"age": age, "bmi": 25.0}, model=model, k=2, epsilon="1/10")
    for age in range(30, 42)
]
cold = follow(lambda: curator.ask(questions[0]))
warm = follow(lambda: [curator.ask(question) for question in questions[1:]])
questions = [wc.Learn(epsilon=price) for price in ("1", "2")]
learn = max(follow(lambda: curator.ask(question)) for question in questions)
print(json.dumps([cold, warm, learn]))
"""
)

SERVICE = (
    FOLLOW
    + """
import asyncio

import httpx

import whitecrow_server
from whitecrow_server import Settings, create_app
from whitecrow_server._logs import configure
from whitecrow_server._processes import DatasetProcess

folders += (f"{Path(whitecrow_server.__file__).parent}/",)
configure(level="critical")
DatasetProcess.warmed = False
app = create_app(
    Settings(database=f"sqlite:///{sys.argv[1]}", data=str(demo.DATA.parent), rate=0, patience=60.0)
)
service = app.state.service
custodian = service.people.add("custodian", "custodian")
service.members.invite(custodian, "ana", "analyst")
service.register(
    custodian, "clinic", {"file": demo.DATA.name}, card=demo.CARD.read_text(), readers=["ana"]
)
token, _ = service.members.issue(custodian, "ana", label="test")
service.start()


async def main():
    transport = httpx.ASGITransport(app=app)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
        for age in range(30, 36):
            question = {
                "kind": "identify",
                "record": {"age": age, "bmi": 25.0, "systolic": 120},
                "model": {"beta": 5, "radius": 4.0, "metric": "euclidean"},
                "epsilon": "1/100",
            }
            global following
            following = age > 30  # the first waits for the records
            sys.setprofile(hook)
            reply = await web.post("/v1/datasets/clinic/ask", json=question, headers=headers)
            sys.setprofile(None)
            assert reply.status_code == 200, reply.text


asyncio.run(main())
following = False
service.close()
print(json.dumps(len(files)))
"""
)


def counted(program: str, path: Path) -> object:
    # A process of its own: what is loaded already decides which files run.
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_an_ask_of_the_library_passes_through_few_files(tmp_path: Path) -> None:
    cold, warm, learn = counted(LIBRARY, tmp_path / "ledger.db")  # type: ignore[misc]
    assert (cold <= COLD, warm <= WARM, learn <= LEARN) == (True, True, True), (cold, warm, learn)


def test_an_ask_over_http_passes_through_few_files_of_the_worker(tmp_path: Path) -> None:
    pytest.importorskip("whitecrow_server")
    served = counted(SERVICE, tmp_path / "service.db")
    assert isinstance(served, int)
    assert served <= SERVED
