"""The walk of a question on the architecture page is the one that the code takes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"

MOST = 25
"""How many files the walk may cross: lower it when it gets shorter, never raise it."""

TRACE = """
import json, sys, threading
from pathlib import Path
import whitecrow as wc
from whitecrow import demo

root = str(Path(wc.__file__).parent) + "/"
seen = set()

def hook(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(root):
        seen.add(code.co_filename[len(root):])

curator = wc.Curator.open(demo.DATA, card=demo.CARD, ledger=sys.argv[1], budget="10")
model = wc.DistanceAnomaly(beta=3, radius=2.0)
# The first question imports what all of them need; coins differ, so several are followed.
for age in range(30, 42):
    question = wc.Identify({"age": age, "bmi": 25.0}, model=model, k=2, epsilon="1/10")
    if age > 30:
        threading.setprofile(hook)
        sys.setprofile(hook)
    curator.ask(question)
    sys.setprofile(None)
    threading.setprofile(None)
print(json.dumps(sorted(seen)))
"""


def test_identify_crosses_the_files_that_the_page_draws(tmp_path):
    # A process of its own: which way is taken to count depends on what is loaded already.
    done = subprocess.run(
        [sys.executable, "-c", TRACE, str(tmp_path / "ledger.db")],
        capture_output=True,
        text=True,
        check=True,
    )
    walked = json.loads(done.stdout)
    text = PAGE.read_text(encoding="utf-8")
    drawn = re.findall(r"^   ([\w/]+\.py)  ", text, re.MULTILINE)
    assert sorted(drawn) == walked
    assert len(walked) <= MOST
    assert f"\n{len(walked)} files." in text
