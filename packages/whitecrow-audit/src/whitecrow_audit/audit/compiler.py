"""The compiler, audited: yes or no by a compiled mechanism, on edges of the sensitive graph.

No question of the curator uses it: draws are made with the researchers' own call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.identify.compiler import Compiled, compiled, optimal_base, randomized_response
from whitecrow_audit.audit.bounds import Loss
from whitecrow_audit.audit.case import Case, Draw, Laws, Sampler, both, worst_case
from whitecrow_audit.audit.identify import Step, places
from whitecrow_audit.audit.shipped import Records
from whitecrow_audit.verify.compiler import cautious_threshold
from whitecrow_audit.verify.sensitive import line

BETA, K = 4, 2
MODEL = DistanceAnomaly(BETA, 1)
NOTE = "Not a question of the curator; drawn by the call that researchers use."


def _optimal(epsilon: Fraction) -> Compiled:
    return compiled(optimal_base(MODEL, epsilon=epsilon), model=MODEL, k=K, universe=range(3))


def _response(epsilon: Fraction) -> Compiled:
    base = randomized_response(MODEL, epsilon=epsilon)
    return compiled(base, model=MODEL, k=K, universe=range(3))


def _invalid(epsilon: Fraction) -> Compiled:
    """Compile a base that errs more often than not near the boundary, in spite of (V)."""
    return Compiled(cautious_threshold(MODEL, epsilon=epsilon), MODEL, K)


BUILDS = {"optimal": _optimal, "response": _response, "invalid": _invalid}


@lru_cache(maxsize=64)
def _built(build: str, epsilon: Fraction) -> Compiled:
    return BUILDS[build](epsilon)


def _laws(build: str, epsilon: Fraction, step: Step, factor: Fraction) -> Laws:
    mechanism = _built(build, epsilon * factor)
    return both(lambda records: _law(mechanism, records["x"], step.place), step.records)


def _law(mechanism: Compiled, records: Sequence[int], place: int) -> dict[bool, float]:
    wrong = mechanism.wrong(records, place)
    truth, _ = MODEL.judged(records, place, None)
    return {truth: 1 - wrong, not truth: wrong}


def _case(name: str, build: str, epsilon: Fraction) -> Case:
    mechanism = _built(build, epsilon)
    claim = Loss(float(mechanism.epsilon))

    def sampler(step: Step) -> Sampler:
        def drawing(records: Records) -> Draw:
            return partial(mechanism.draw, records["x"], step.place)

        return Sampler("compiler", claim, lambda: both(drawing, step.records))

    steps, laws = places(line(3, 1, 5), BETA + 1 - K), partial(_laws, build, epsilon)
    return worst_case(name, steps, laws, sampler, most=30_000, note=NOTE)


def cases() -> Iterator[Case]:
    yield _case("optimal base", "optimal", Fraction(1))
    yield _case("randomized response", "response", Fraction(1))
    yield _case("mutant: an invalid base compiled", "invalid", Fraction(2))
