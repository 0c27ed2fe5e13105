"""The façades over a curator use the scales of a card."""

import numpy as np
import pytest

import whitecrow as wc
from whitecrow.data import Card, Column
from whitecrow.sklearn import PrivateNoveltyDetector, PrivateOutlierDetector

pytestmark = pytest.mark.filterwarnings("ignore:.*goes with 0.4:DeprecationWarning")

CARD = Card("two units", (Column("x0", scale=1), Column("x1", scale=1000)))


@pytest.mark.parametrize("detector", [PrivateOutlierDetector, PrivateNoveltyDetector])
def test_a_detector_measures_in_the_scales_of_its_card(detector):
    crowd = np.random.default_rng(0).normal(size=(300, 2)) * [1.0, 1000.0]
    far = np.array([[9.0, 9000.0]])
    how = {"beta": 3, "radius": 1.0, "epsilon": 20, "budget": 80, "verbose": False}
    found = detector(metric="standardised", card=CARD, **how).fit(np.vstack([crowd, far]))
    near = crowd[:1] if detector is PrivateOutlierDetector else np.array([[0.0, 0.0]])
    assert found.predict(near).tolist() == [1]
    if detector is PrivateOutlierDetector:
        assert found.predict(far).tolist() == [-1]


def test_without_a_card_scales_are_asked_for():
    detector = PrivateNoveltyDetector(metric="standardised", verbose=False)
    with pytest.raises(wc.InvalidInput, match="no scale on the card"):
        detector.fit(np.ones((5, 2))).predict([[0.0, 0.0]])
