"""Hand drawn answers to testers that other people wrote.

    python black_box.py TOOL FOLDER       in the environment of the tool

TOOL is jax-privacy, dp-auditorium, statdp, dp-sniper or delta-siege; FOLDER is what ``draws.py``
wrote. Prints a line a case: what the tool says. Only adapters are here; the tools are used as they
are.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

CONFIDENCE = 0.999


def loaded(folder: Path) -> Iterator[tuple[str, Any, Any, float, bool]]:
    """Yield name, both arrays, the claim, and whether it is a mutant."""
    for path in sorted(folder.glob("*.npz")):
        held = np.load(path)
        yield path.stem, held["one"], held["two"], float(held["epsilon"]), bool(held["mutant"])


def jax_privacy(one: Any, two: Any, epsilon: float) -> tuple[float, bool]:
    """Return its lower bound of epsilon (Clopper and Pearson over thresholds)."""
    from jax_privacy import auditing

    # Scores are ranks of answers by likelihood. All draws ranked them; there are few answers, so
    # that this choice adds little to what the tool corrects for by itself (its thresholds).
    bounds = []
    for left, right in ((one, two), (-two, -one)):
        auditor = auditing.CanaryScoreAuditor(right.astype(float), left.astype(float))
        bounds.append(auditor.epsilon_clopper_pearson(1 - CONFIDENCE, one_sided=False))
    found = float(max(bounds))
    return found, found > epsilon


def dp_auditorium(one: Any, two: Any, epsilon: float) -> tuple[float, bool]:
    """Return the histogram tester's lower bound of delta at the claimed epsilon."""
    from dp_auditorium.configs import privacy_property, property_tester_config
    from dp_auditorium.testers import histogram_tester

    size = int(max(one.max(), two.max())) + 1
    config = property_tester_config.HistogramPropertyTesterConfig(
        approximate_dp=privacy_property.ApproximateDp(epsilon=epsilon, delta=0.0),
        test_discrete_mechanism=True,
        histogram_size=size,
        min_value=0,
        max_value=size - 1,
    )
    tester = histogram_tester.HistogramTester(config)
    found = max(
        tester.estimate_lower_bound(one, two, 1 - CONFIDENCE),
        tester.estimate_lower_bound(two, one, 1 - CONFIDENCE),
    )
    return float(found), bool(tester.reject_property(found))


def statdp(one: Any, two: Any, epsilon: float) -> tuple[float, bool]:
    """Return its p-value for the event that the first half of the draws makes most telling."""
    from statdp.hypotest import test_statistics

    half = len(one) // 2
    size = int(max(one.max(), two.max())) + 1
    a, b = (np.bincount(side[:half], minlength=size) for side in (one, two))
    least = 1.0
    for left, right, x, y in ((a, b, one, two), (b, a, two, one)):
        gain = left - np.exp(epsilon) * right
        event = np.flatnonzero(gain > 0)
        cx, cy = (int(np.isin(side[half:], event).sum()) for side in (x, y))
        if cx:
            least = min(least, float(test_statistics(cx, cy, epsilon, len(one) - half)))
    return least, least < (1 - CONFIDENCE) / 2


def dp_sniper(one: Any, two: Any, epsilon: float) -> tuple[float, bool]:
    """Return its lower bound of epsilon for the attack that its classifier learns."""
    from dpsniper.attack.dpsniper import DPSniper
    from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory
    from dpsniper.classifiers.torch_optimizer_factory import SGDOptimizerFactory
    from dpsniper.mechanisms.abstract import Mechanism
    from dpsniper.probability.estimators import EpsEstimator, PrEstimator
    from dpsniper.search.ddconfig import DDConfig
    from dpsniper.utils.initialization import initialize_dpsniper

    pools = [np.random.default_rng(0).permutation(side).astype(float) for side in (one, two)]

    class Drawn(Mechanism):  # type: ignore[misc]
        """Hands out draws, none twice while there are any."""

        def __init__(self) -> None:
            self.at = [0, 0]

        def m(self, a: Any, n_samples: int = 1) -> Any:
            side = int(np.asarray(a).ravel()[0])
            first = self.at[side]
            self.at[side] = first + n_samples
            taken = np.take(pools[side], np.arange(first, first + n_samples), mode="wrap")
            return taken.reshape(-1, 1) / max(1.0, float(max(one.max(), two.max())))

    part = len(one) // 4
    config = DDConfig(
        n_processes=1, n_train=part, n=part, n_check=part, c=0.01, confidence=CONFIDENCE
    )
    mechanism = Drawn()
    bounds = []
    with initialize_dpsniper(config, out_dir="dp-sniper-output"):
        factory = LogisticRegressionFactory(
            in_dimensions=1, optimizer_factory=SGDOptimizerFactory()
        )
        for left, right in ((0, 1), (1, 0)):
            attack = DPSniper(mechanism, factory, config).best_attack(
                np.array([left]), np.array([right])
            )
            judge = EpsEstimator(PrEstimator(mechanism, part, config))
            _, lower = judge.compute_eps_estimate(np.array([left]), np.array([right]), attack)
            bounds.append(lower)
    found = float(max(bounds))
    return found, found > epsilon


def delta_siege(one: Any, two: Any, epsilon: float) -> tuple[float, bool]:
    """Return the epsilon that its best witness proves; its line search is over delta from 0 up.

    The tool's package imports mechanisms of many libraries, which are not what is judged here and
    of which some have no package any more. They are replaced by empty modules; its search,
    classifier, witnesses and bounds are its own.
    """
    for name in _SIEGE_WRAPS:
        sys.modules[name] = _Empty(name)
        above, _, last = name.rpartition(".")
        if above:
            setattr(sys.modules[above], last, sys.modules[name])
    from deltasiege import DeltaSiege
    from deltasiege.attack import LinesearchEstimator, WitnessOptimization
    from deltasiege.classifiers import SklearnClassifier
    from deltasiege.ddsampler import SimpleSampler
    from deltasiege.logging import Logger
    from deltasiege.mechanism import LaplaceMechanism
    from deltasiege.utils import Config
    from sklearn.linear_model import LogisticRegression

    pools = [np.random.default_rng(0).permutation(side).astype(float) for side in (one, two)]
    at = [0, 0]

    class Drawn(LaplaceMechanism):  # type: ignore[misc]
        """Hands out draws, none twice while there are any; its promise is a pure epsilon."""

        def __call__(self, x: float, n: int) -> Any:
            side = int(x)
            first = at[side]
            at[side] = first + n
            return np.take(pools[side], np.arange(first, first + n), mode="wrap")

    # It writes what it found with pickle, which looks classes up by their names.
    Drawn.__qualname__ = "Drawn"
    globals()["Drawn"] = Drawn
    part = len(one) // 5
    config = Config(
        n_train=part,
        n_init=part,
        n_check=part,
        n_final=part,
        batch_size=part,
        confidence=CONFIDENCE,
        n_jobs=1,
        n_experiments=1,
    )
    space = SimpleSampler(Drawn, [(0.0, 1.0)], epsilon=(epsilon, epsilon), sensitivity=(1.0, 1.0))
    folder = tempfile.TemporaryDirectory()
    siege = DeltaSiege(
        config=config,
        search_space=space,
        classifier_factories=SklearnClassifier.get_factory(classifier=LogisticRegression()),
        logger=Logger(Logger.State.SILENT),
        base_folder=Path(folder.name),
    )
    witness = WitnessOptimization.get_factory(
        estimator=LinesearchEstimator(delta_steps=np.zeros(1))
    )
    found = siege.run("siege", witnesses_factories=witness)
    trial = found.experiments[0].trials[0]
    loss = float(trial.witnesses[trial.best_witness_idx].estimate_c)
    # Its loss is the least guarantee (1/epsilon) that fits, relative to the one that is promised.
    return epsilon / loss if loss > 0 else float("inf"), loss < 1


_SIEGE_WRAPS = (
    "aim",
    "cdp2adp",
    "diffprivlib",
    "diffprivlib.mechanisms",
    "dpopt",
    "dpopt.optimizer",
    "dpopt.optimizer.optimizer_generator",
    "dpopt.optimizer.optimizers",
    "dpopt.probability",
    "dpopt.probability.estimators",
    "mbi",
    "mst",
    "opendp",
    "opendp.combinators",
    "opendp.measurements",
    "opendp.mod",
    "pydp",
    "pydp.algorithms",
    "pydp.algorithms.numerical_mechanisms",
)


class _Empty(ModuleType):
    """A module in which every name is there and none does anything."""

    __path__: ClassVar[list[str]] = []
    __all__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *given, **named: None})


TOOLS: dict[str, Callable[[Any, Any, float], tuple[float, bool]]] = {
    "jax-privacy": jax_privacy,
    "dp-auditorium": dp_auditorium,
    "statdp": statdp,
    "dp-sniper": dp_sniper,
    "delta-siege": delta_siege,
}


def main(tool: str, folder: Path) -> None:
    """Judge every case."""
    for name, one, two, epsilon, mutant in loaded(folder):
        found, violated = TOOLS[tool](one, two, epsilon)
        kind = "mutant" if mutant else "shipped"
        said = "violation" if violated else "nothing"
        right = "as it should" if violated == mutant else ("MISSED" if mutant else "FALSE ALARM")
        print(tool, kind, name, f"{epsilon:g}", f"{found:.4g}", said, right, sep="\t", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
