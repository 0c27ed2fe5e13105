"""What is said with an explanation leaves out the record it speaks of."""

import whitecrow as wc
from whitecrow import demo


def test_the_statement_of_an_explanation_does_not_promise_anything_to_its_record():
    curator = wc.Curator.open(demo.DATA, card=demo.CARD, budget="3", ledger="sqlite://")
    release = curator.explain(
        {"ward": "maternity", "insurance": "public", "year": "2023", "cost": 14000},
        metric="cost",
        detector=wc.DistanceAnomaly(beta=20, radius=500),
        notion="differential",
        epsilon="1",
    )
    assert release.statement.endswith("named in the question and is not protected.")
