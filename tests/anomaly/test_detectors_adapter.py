"""Detectors of other libraries: registered by name, deterministic, fitted on every population."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from importlib.metadata import version

import numpy as np
import pytest

from whitecrow import plugins
from whitecrow.anomaly.detectors import (
    FittedDetector,
    LocalOutlierFactor,
    Parameter,
    Registered,
    detector_from_json,
    libraries,
    register_detector,
)
from whitecrow.anomaly.detectors.libraries import SHIPPED
from whitecrow.errors import InvalidInput, Unavailable

VALUES = np.array([0, 3, 4, 8, 9, 13, 17, 18, 25, 400])
NAMES = [detector.name for detector in SHIPPED]


@pytest.fixture
def own_names(monkeypatch):
    """A registry of this test's own."""
    monkeypatch.setattr(libraries, "_REGISTERED", {})
    libraries._enable.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    libraries._enable.cache_clear()


def test_scikit_learns_lof_agrees_with_ours():
    peer = FittedDetector("local_outlier_factor", n_neighbors=3)
    ours = LocalOutlierFactor(k=3)
    for own in map(int, VALUES):
        assert peer.outlier(VALUES, own) == ours.outlier(VALUES, own)


@pytest.mark.parametrize("name", NAMES)
def test_every_registered_detector_gives_one_verdict_and_one_spelling(name, capfd):
    detector = FittedDetector(name)
    again = detector_from_json(detector.to_json())
    assert again == detector
    assert hash(again) == hash(detector)
    for own in (9, 400):
        assert detector.outlier(VALUES, own) == again.outlier(VALUES, own)
    assert not detector.outlier(VALUES, 9)
    assert not detector.outlier(np.array([1, 2]), 2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["isolation_forest", "elliptic_envelope", "knn", "mad"])
def test_a_far_value_is_found(name):
    assert FittedDetector(name).outlier(VALUES, 400)


@pytest.mark.parametrize("detector", SHIPPED, ids=NAMES)
def test_every_end_of_every_range_works_and_the_next_value_is_refused(detector):
    for parameter in detector.parameters:
        if parameter.kind == "choice":
            for value in parameter.choices:
                FittedDetector(detector.name, **{parameter.name: value}).outlier(VALUES, 9)
            continue
        for value in (parameter.least, parameter.most):
            FittedDetector(detector.name, **{parameter.name: value})
        tiny = 1 if parameter.kind == "whole" else Fraction(1, 10**6)
        wrong = [parameter.least - tiny, parameter.most + tiny, True, "many", [], {}, float("nan")]
        for value in [*wrong, *([] if parameter.default is None else [None])]:
            with pytest.raises(InvalidInput, match=parameter.name):
                FittedDetector(detector.name, **{parameter.name: value})


def test_words_and_spelling_carry_every_parameter_and_the_version():
    two, three = (FittedDetector("local_outlier_factor", n_neighbors=k) for k in (2, 3))
    assert two != three
    assert two.words() != three.words()
    assert f"scikit-learn {version('scikit-learn')}" in two.words()
    shown = "FittedDetector('local_outlier_factor', contamination=None, n_neighbors=2)"
    assert repr(two) == shown
    one, other = (FittedDetector("ecod", contamination=c) for c in ("0.1", 0.1))
    assert one == other
    assert one.to_json()["parameters"] == {"contamination": "1/10"}


@pytest.mark.parametrize("name", ["os:system", "sklearn.svm:OneClassSVM", "", None, 3, ["ecod"]])
def test_only_registered_names_are_taken(name):
    with pytest.raises(InvalidInput, match="one of ecod, "):
        FittedDetector(name)
    with pytest.raises(InvalidInput, match="one of ecod, "):
        detector_from_json({"kind": "fitted", "name": name})


def test_an_operator_may_register_a_detector_with_its_ranges(own_names):
    def far(column, *, steps):
        return np.abs(column[:, 0] - np.median(column)) > steps

    steps = Parameter("steps", "whole", 100, least=1, most=1000)
    register_detector("far", far, parameters=[steps], version="7")
    detector = detector_from_json({"kind": "fitted", "name": "far", "parameters": {"steps": 50}})
    assert detector.outlier(VALUES, 400)
    assert detector.words() == "far(steps=50) of version 7, fitted on the population, says so"
    with pytest.raises(InvalidInput, match="steps"):
        FittedDetector("far", steps=1001)
    with pytest.raises(InvalidInput, match="taken"):
        register_detector("far", far, version="8")
    with pytest.raises(InvalidInput, match="version"):
        register_detector("other", far)
    with pytest.raises(InvalidInput, match="name"):
        register_detector("os:system", far, version="1")


def test_a_population_that_the_detector_refuses_has_no_outlier_but_lost_memory_is_no_verdict(
    own_names,
):
    def refuses(column):
        raise ValueError(column)

    def greedy(column):
        raise MemoryError

    register_detector("refuses", refuses, version="1")
    register_detector("greedy", greedy, version="1")
    assert not FittedDetector("refuses").outlier(VALUES, 400)
    with pytest.raises(MemoryError):
        FittedDetector("greedy").outlier(VALUES, 400)


class _Point:
    """An installed entry point."""

    def __init__(self, found):
        self.found, self.loaded, self.value = found, False, "somewhere"

    def load(self):
        self.loaded = True
        return self.found


def test_an_entry_point_is_loaded_only_if_the_operator_lists_it(own_names):
    plug_in = Registered("plug_in", lambda column: column[:, 0] > 0, version="1")
    point = _Point(plug_in)
    own_names.setattr(plugins, "entry_points", lambda group, name: [point] * (name == "plug_in"))
    with pytest.raises(InvalidInput):
        FittedDetector("plug_in")
    assert not point.loaded
    libraries._enable.cache_clear()
    own_names.setenv(libraries.ENABLED, "plug_in")
    FittedDetector("plug_in")
    assert point.loaded
    libraries._enable.cache_clear()
    own_names.setenv(libraries.ENABLED, "plug_in, missing")
    with pytest.raises(Unavailable, match="0 installed packages offer 'missing'"):
        FittedDetector("ecod")
    libraries._enable.cache_clear()
    point.found = "not a detector"
    own_names.setenv(libraries.ENABLED, "plug_in")
    with pytest.raises(Unavailable, match="is no Registered"):
        FittedDetector("ecod")


def test_a_package_that_is_not_installed_is_said_before_anything_is_asked(own_names):
    register_detector("absent", lambda column: column, packages=["no-such-package-anywhere"])
    with pytest.raises(Unavailable, match="no-such-package-anywhere"):
        FittedDetector("absent").ready()


def test_naming_a_detector_loads_no_other_library():
    code = (
        "import sys; from whitecrow.anomaly.detectors import FittedDetector;"
        "FittedDetector('isolation_forest', seed=3).words(); FittedDetector('mad').ready();"
        "print([m for m in ('sklearn', 'pyod') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
