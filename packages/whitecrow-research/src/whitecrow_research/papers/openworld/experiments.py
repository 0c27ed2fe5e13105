"""The experiments: streams made as the paper says, released naively, scored three ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from whitecrow.attack import Verdict, evaluate, flag_fraction, score
from whitecrow.attack.judge import outlying_segments
from whitecrow.attack.naive import naive_scale
from whitecrow.attack.streams import Stream, bootstrap, gaussian, porto_like
from whitecrow_research.papers.report import Context

Floats = npt.NDArray[np.float64]

METHODS = {"Levene's test": "levene", "FWE": "fixed", "GWE": "growing"}
FLAGGED = 0.6  # of the segments: what precision, recall and T of every column imply (E26)


@dataclass(frozen=True)
class Sample:
    """What the release needs of one simulated year: daily means and sizes, and the truth."""

    means: Floats
    sizes: npt.NDArray[np.int64]
    outlying: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, stream: Stream) -> Sample:
        """Reduce a stream to what is released of it."""
        return cls(
            np.array([day.mean() for day in stream.days]),
            np.array([len(day) for day in stream.days]),
            stream.outlying,
        )


def trips(context: Context) -> Floats | None:
    """Return the distances of the taxi sample, or None where it is not available."""
    table = _table(context)
    return None if table is None else table[0]


def trips_by_day(context: Context) -> list[Floats] | None:
    """Return the distances of each full day of the taxi sample."""
    table = _table(context)
    if table is None:
        return None
    distances, dates = table
    days = [distances[dates == date] for date in np.unique(dates)]
    return [day for day in days if len(day) > 10]


def _table(context: Context) -> tuple[Floats, npt.NDArray[np.str_]] | None:
    path = context.dataset("nyc_taxi_sample.parquet")
    if path is None:
        return None
    from pyarrow import parquet

    found = parquet.read_table(path, columns=["distance_km", "date"])
    distances = found["distance_km"].to_numpy().astype(np.float64)
    return distances, np.asarray(found["date"].to_pylist())


def draw_samples(context: Context, source: str) -> list[Sample]:
    """Simulate years of a kind: "porto", "taxi", or a number of records a day (Gaussian).

    The paper averages over 100 runs; a quick run takes fewer.
    """
    return _samples(context.seed, context.quick, source, context)


@lru_cache(maxsize=16)
def _samples(seed: int, quick: bool, source: str, context: Context) -> list[Sample]:
    rng = np.random.default_rng([seed, *source.encode()])
    make: Callable[[], Stream]
    if source == "porto":
        runs, make = (20 if quick else 100), lambda: porto_like(rng)
    elif source == "taxi":
        pool = trips(context)
        assert pool is not None
        runs, make = (20 if quick else 100), lambda: bootstrap(rng, pool)
    else:
        size = int(source)
        runs = (4 if size > 1000 else 15) if quick else 100
        make = lambda: gaussian(rng, size=size)  # noqa: E731
    return [Sample.of(make()) for _ in range(runs)]


def judge(
    samples: Sequence[Sample], *, epsilon: float, width: int, seed: int = 1
) -> dict[str, Verdict]:
    """Release each sample naively and score it; return a verdict for each method."""
    rng = np.random.default_rng(seed)
    releases, truths = [], []
    for sample in samples:
        scales = [
            naive_scale(mean, int(size), epsilon)
            for mean, size in zip(sample.means, sample.sizes, strict=True)
        ]
        releases.append(sample.means + rng.laplace(0.0, 1.0, len(scales)) * np.array(scales))
        truths.append(outlying_segments(sample.outlying, width))
    found = {}
    for name, method in METHODS.items():
        scores = score(np.array(releases), width=width, method=method)
        found[name] = evaluate(scores, np.array(truths), flag_fraction(scores, FLAGGED))
    return found
