"""Detectors of other libraries: deterministic ones, fitted anew on every population."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor as Peer
from sklearn.svm import OneClassSVM

from whitecrow.anomaly.detectors import FittedDetector, LocalOutlierFactor, detector_from_json
from whitecrow.errors import InvalidInput

VALUES = np.array([0, 3, 4, 8, 9, 13, 17, 18, 25, 400])


def test_scikit_learns_lof_agrees_with_ours():
    peer = FittedDetector(Peer(n_neighbors=3))
    ours = LocalOutlierFactor(k=3)
    for own in map(int, VALUES):
        assert peer.outlier(VALUES, own) == ours.outlier(VALUES, own)


def test_a_pyod_detector_is_fitted_too():
    pyod = pytest.importorskip("pyod.models.mad")
    detector = FittedDetector(pyod.MAD())
    assert detector.outlier(VALUES, 400)
    assert not detector.outlier(VALUES, 9)
    assert detector_from_json(detector.to_json()) == detector


def test_a_seeded_forest_is_deterministic_and_an_unseeded_one_is_refused():
    forest = FittedDetector(IsolationForest(n_estimators=10, random_state=3))
    assert forest.outlier(VALUES, 400) == forest.outlier(VALUES, 400)
    with pytest.raises(InvalidInput, match="random_state"):
        FittedDetector(IsolationForest())


def test_an_estimator_that_prints_what_it_sees_is_refused(capfd):
    with pytest.raises(InvalidInput, match="verbose"):
        FittedDetector(OneClassSVM(verbose=True))
    FittedDetector(OneClassSVM()).outlier(VALUES, 400)
    assert capfd.readouterr() == ("", "")


def test_populations_that_the_estimator_refuses_have_no_outlier():
    detector = FittedDetector(Peer(n_neighbors=3))
    assert not detector.outlier(np.array([1, 2]), 2)
    broken = FittedDetector(Peer(n_neighbors=3, metric="no such metric"))
    assert not broken.outlier(VALUES, 400)


def test_only_detectors_of_the_two_libraries_are_opened():
    class Mine:
        def fit_predict(self, values):
            return values

    with pytest.raises(InvalidInput):
        FittedDetector(Mine())
    with pytest.raises(InvalidInput):
        FittedDetector(np.zeros(3))
    for estimator in ("os:system", "sklearn.neighbors:nothing", "sklearn.utils:Bunch"):
        with pytest.raises(InvalidInput):
            detector_from_json({"kind": "fitted", "estimator": estimator, "parameters": {}})
    with pytest.raises(InvalidInput):
        detector_from_json(
            {
                "kind": "fitted",
                "estimator": "sklearn.neighbors._lof:LocalOutlierFactor",
                "parameters": {"nonsense": 1},
            }
        )


def test_parameters_must_be_plain_and_json_is_round():
    with pytest.raises(InvalidInput):
        FittedDetector(Peer(metric=lambda a, b: 0.0))
    detector = FittedDetector(Peer(n_neighbors=3))
    assert detector_from_json(detector.to_json()) == detector
    assert hash(detector) == hash(detector_from_json(detector.to_json()))
    assert repr(detector) == "FittedDetector(LocalOutlierFactor)"
    assert isinstance(detector.words(), str)


def test_a_clustering_is_no_outlier_detector():
    with pytest.raises(InvalidInput, match="outlier detector"):
        FittedDetector(KMeans(n_clusters=2, random_state=0))
