"""The strongest adversary: a likelihood-ratio test that knows the mechanism and all other records.

By the lemma of Neyman and Pearson no test has more power at the same false-alarm rate. If even this
one fails against a publication, "the attack failed" means something.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whitecrow.attack.naive import naive_scale
from whitecrow.publish.mechanism import begin, turn
from whitecrow.publish.plan import PublicationPlan, Stage

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Power:
    """The trade-off curve of a test.

    Parameters
    ----------
    alarms, power : arrays
        False-alarm rates in increasing order, and the power reached at each.
    """

    alarms: Floats
    power: Floats

    @property
    def auc(self) -> float:
        """The area under the curve: 0.5 is guessing."""
        widths = np.diff(self.alarms)
        return float((widths * (self.power[1:] + self.power[:-1])).sum() / 2)

    def at(self, alarm: float) -> float:
        """Return the power at one false-alarm rate."""
        return float(np.interp(alarm, self.alarms, self.power))


def power_of(quiet: Floats, loud: Floats) -> Power:
    """Return the best trade-off between two laws over the same outcomes.

    Outcomes are taken in falling order of the ratio, which is the likelihood-ratio test.
    """
    order = np.argsort(-loud / np.maximum(quiet, 1e-300), kind="stable")
    alarms = np.concatenate([[0.0], np.cumsum(quiet[order])])
    power = np.concatenate([[0.0], np.cumsum(loud[order])])
    return Power(alarms / alarms[-1], power / power[-1])


def power_under_dp(epsilon: float) -> Power:
    """Return the most power that epsilon-DP allows: ``min(e^eps a, 1 - e^-eps (1 - a))``.

    Its area is ``e^eps / (1 + e^eps)``.
    """
    corner = 1.0 / (1.0 + math.exp(epsilon))
    return Power(np.array([0.0, corner, 1.0]), np.array([0.0, 1.0 - corner, 1.0]))


def power_under_zcdp(rho: float) -> Power:
    """Return the power against Gaussian noise that costs rho: a shift of sqrt(2 rho) deviations.

    It is what the discrete Gaussian mechanism allows (its area is ``Phi(sqrt(rho))``).
    """
    from scipy.special import ndtr

    cuts = np.linspace(12.0, -12.0, 4001)
    shift = math.sqrt(2.0 * rho)
    alarms = np.concatenate([[0.0], ndtr(-cuts), [1.0]])
    power = np.concatenate([[0.0], ndtr(shift - cuts), [1.0]])
    return Power(alarms, power)


# ---- against the naive release -----------------------------------------------------------------


def _two_laws(
    others: npt.ArrayLike, outlier: float, epsilon: float, multiple: float
) -> tuple[float, float, float, float]:
    rest = np.asarray(others, dtype=np.float64)
    without, joined = float(rest.mean()), (float(rest.sum()) + outlier) / (len(rest) + 1)
    scale = naive_scale(without, len(rest), epsilon, multiple)
    return without, scale, joined, naive_scale(joined, len(rest) + 1, epsilon, multiple)


def naive_log_ratio(
    outputs: npt.ArrayLike,
    others: npt.ArrayLike,
    outlier: float,
    epsilon: float,
    *,
    multiple: float = 2.0,
) -> Floats:
    """Return the log-likelihood ratio "the outlier is in" against "it is not" at each output."""
    mean, scale, grown, wider = _two_laws(others, outlier, epsilon, multiple)
    r = np.asarray(outputs, dtype=np.float64)
    return np.asarray(
        math.log(scale / wider) + np.abs(r - mean) / scale - np.abs(r - grown) / wider
    )


def naive_power(
    others: npt.ArrayLike, outlier: float, epsilon: float, *, multiple: float = 2.0
) -> Power:
    """Return the theoretical power of that test, from the two Laplace laws on a fine grid."""
    mean, scale, grown, wider = _two_laws(others, outlier, epsilon, multiple)
    reach = 40.0 * max(scale, wider)
    edges = np.linspace(min(mean, grown) - reach, max(mean, grown) + reach, 200_001)
    return power_of(_masses(edges, mean, scale), _masses(edges, grown, wider))


def _masses(edges: Floats, centre: float, scale: float) -> Floats:
    """Return what a Laplace law has between each two edges."""
    z = (edges - centre) / scale
    below = np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0)), 1 - 0.5 * np.exp(-np.maximum(z, 0)))
    return np.diff(below)


# ---- against our publisher ---------------------------------------------------------------------


def publisher_log_ratio(
    plan: PublicationPlan,
    outputs: Sequence[tuple[int, ...]],
    without: Sequence[npt.ArrayLike],
    joined: Sequence[npt.ArrayLike],
) -> float:
    """Return the log-likelihood ratio of "joined" against "without" for a released series.

    Each hypothesis, with the past outputs, fixes the number that each period's noise was added to,
    so the implied noise is known and its probability too: the ratio is exact.

    Parameters
    ----------
    plan : PublicationPlan
        What is public.
    outputs : sequence of tuples
        The released running sums, in refined units, as ``publish.mechanism.turn`` gives them.
    without, joined : sequences of arrays
        The values of each period under the two hypotheses.
    """
    return _log_likelihood(plan, outputs, joined) - _log_likelihood(plan, outputs, without)


def _log_likelihood(
    plan: PublicationPlan, outputs: Sequence[tuple[int, ...]], days: Sequence[npt.ArrayLike]
) -> float:
    position, total = begin(plan), 0.0
    silence = (0,) * plan.channels
    for shown, day in zip(outputs, days, strict=True):
        increments = plan.encode(np.asarray(day, dtype=np.float64))
        stage = plan.stage(position.epoch)
        _, fixed = turn(plan, position, increments, silence)
        noises = tuple(a - b for a, b in zip(shown, fixed, strict=True))
        total += sum(_log_weight(stage, position.within, noise) for noise in noises)
        position, _ = turn(plan, position, increments, noises)
    return total


def _log_weight(stage: Stage, within: int, noise: int) -> float:
    """The log-probability of a draw, up to a constant that both hypotheses share."""
    if stage.noise == "laplace":
        return -abs(noise) / float(stage.scale_at(within))
    return -float(noise * noise / (2 * stage.scale_at(within)))


def publisher_power(plan: PublicationPlan) -> Power:
    """Return the theoretical power against one event of full size, at any period.

    Under Laplace noise on independent periods it is that of a shift by epsilon scales; under
    Gaussian noise that of a shift by sqrt(2 rho) deviations. (The event of an outlier beyond the
    clip is of full size: nothing in the data is easier to see.)
    """
    budget = float(plan.budget)
    if plan.noise == "gaussian":
        return power_under_zcdp(budget)
    edges = np.linspace(-60.0, 60.0 + budget, 240_001)
    return power_of(_masses(edges, 0.0, 1.0), _masses(edges, budget, 1.0))
