"""Exact draws against OpenDP in the same run: nanoseconds a draw, and their ratio.

`python -m benchmarks.noise [--quick]`

Like is compared with like:

- *one draw*: a call that returns one number, the parameter having been used before (OpenDP: a
  measurement made once and invoked again; ours: the function, its tables in the cache). OpenDP has
  no public Bernoulli(exp). The closest is its randomized response, a coin of fixed probability
  given as a double; the coin one can build from its exact noise is a Laplace draw compared with 0.
  Ours computes e^-x anew at each draw.
- *array*: many draws in one call (OpenDP: a measurement of vectors; ours: `whitecrow.noise.bulk`).
- *first draw*: the parameter is new, so tables (ours) or a measurement (theirs) are made first.
  Shown for completeness: it is not a draw, and not in `ratio_min`.

Both draw from the operating system's randomness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

from benchmarks.common import best_of, emit, parser, print_table
from whitecrow import noise
from whitecrow.noise import bulk

ARRAY = 10_000


@dataclass(frozen=True)
class Case:
    """One row: a name for programs, words for people, and the two things to time."""

    name: str
    what: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    draws: int = 1  # in one call


def coins(dp: Any) -> list[Case]:
    """Coins of probability e^-x."""
    cases = []
    for x in (Fraction(1, 10), Fraction(1, 2)):
        response = dp.m.make_randomized_response_bool(math.exp(-x))
        cases.append(
            Case(
                "bernoulli_exp",
                f"coin e^-({x}) | randomized response",
                lambda x=x: noise.bernoulli_exp(x),  # type: ignore[misc]
                lambda response=response: response(True),  # type: ignore[misc]
            )
        )
    laplace = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
    cases.append(
        Case(
            "bernoulli_exp",
            "coin e^-1 | Laplace draw > 0",
            lambda: noise.bernoulli_exp(1),
            lambda: laplace(0) > 0,
        )
    )
    return cases


def noises(dp: Any, scales: Sequence[int]) -> list[Case]:
    """Discrete Laplace and Gaussian noise of several scales: one draw, an array, a first draw."""
    number, vector = dp.atom_domain(T=int), dp.vector_domain(dp.atom_domain(T=int))
    zeros = [0] * ARRAY
    fresh = count(1)
    laws: Any = (
        (
            "laplace",
            lambda scale: scale,
            (noise.discrete_laplace, bulk.discrete_laplace),
            (dp.m.make_laplace, dp.absolute_distance(T=int), dp.l1_distance(T=int)),
        ),
        (
            "gaussian",
            lambda scale: scale * scale,
            (noise.discrete_gaussian, bulk.discrete_gaussian),
            (dp.m.make_gaussian, dp.absolute_distance(T=float), dp.l2_distance(T=float)),
        ),
    )
    cases = []
    for name, parameter, (one, many), (make, metric, vector_metric) in laws:

        def first_of_ours(one: Any = one, parameter: Any = parameter) -> int:
            return int(one(parameter(10 + Fraction(next(fresh), 7919))))

        def first_of_theirs(make: Any = make, metric: Any = metric) -> int:
            return int(make(number, metric, scale=10 + next(fresh) / 7919)(0))

        for scale in scales:
            single = make(number, metric, scale=float(scale))
            array = make(vector, vector_metric, scale=float(scale))
            ours = parameter(scale)
            cases += [
                Case(
                    name,
                    f"{name} of scale {scale}, one draw",
                    lambda one=one, ours=ours: one(ours),  # type: ignore[misc]
                    lambda single=single: single(0),  # type: ignore[misc]
                ),
                Case(
                    f"{name}_array",
                    f"{name} of scale {scale}, array",
                    lambda many=many, ours=ours: many(ours, ARRAY),  # type: ignore[misc]
                    lambda array=array: array(zeros),  # type: ignore[misc]
                    ARRAY,
                ),
            ]
        cases.append(Case(f"{name}_first", f"{name}, first draw", first_of_ours, first_of_theirs))
    return cases


def nanoseconds(case: Case, repeat: int) -> tuple[float, float]:
    """Return the time of a draw of ours and of theirs: the best of ``repeat`` short rounds each.

    Rounds alternate, so that a busy machine slows both sides alike.
    """
    runs = case.ours, case.theirs
    calls = [max(1, int(0.01 / max(best_of(run, 2), 1e-7))) for run in runs]
    best = [math.inf, math.inf]
    for _ in range(repeat):
        for side, (run, number) in enumerate(zip(runs, calls, strict=True)):
            spent = best_of(lambda run=run, number=number: _times(run, number), 1)  # type: ignore[misc]
            best[side] = min(best[side], spent / (number * case.draws) * 1e9)
    return best[0], best[1]


def _times(run: Callable[[], object], number: int) -> None:
    for _ in range(number):
        run()


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "").parse_args(argv)
    import opendp.prelude as dp

    dp.enable_features("contrib")
    repeat = 8 if options.quick else 30
    scales = (10, 1000) if options.quick else (1, 10, 1000, 10**6)
    rows = []
    ratios: dict[str, float] = {}
    for case in [*coins(dp), *noises(dp, scales)]:
        ours, theirs = nanoseconds(case, repeat)
        rows.append((case.what, ours, theirs, theirs / ours))
        ratios[case.name] = min(ratios.get(case.name, math.inf), theirs / ours)
    print_table(("draw", "whitecrow ns", "OpenDP ns", "ratio"), rows)
    for name, ratio in ratios.items():
        emit(name, ratio)
    emit("ratio_min", min(r for name, r in ratios.items() if not name.endswith("_first")))


if __name__ == "__main__":
    main()
