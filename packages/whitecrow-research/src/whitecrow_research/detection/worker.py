"""What other people's private packages do, run by a Python of their own: their pins are not ours.

``PYTHON worker.py TASK INPUT OUTPUT``: both files are NumPy archives; ``elsewhere.py`` writes the
one and reads the other. Seconds are the processor's. Needs ``dpmm`` or
``diffprivlib``, and nothing of whitecrow.
"""

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

EPSILON, DELTA = 1.0, 1e-6
COMPONENTS = 10


def synthetic(name: str, held: Any) -> tuple[Any, float]:
    """Synthetic records by a graphical model of noisy marginals, as many as were given."""
    import pandas  # type: ignore[import-untyped]
    from dpmm import pipelines  # type: ignore[import-not-found]

    codes, bins, seed = held["codes"], int(held["bins"]), int(held["seed"])
    names = [f"x{index}" for index in range(codes.shape[1])]
    kinds = {"mst": pipelines.MSTPipeline, "aim": pipelines.AIMPipeline}
    model = kinds[name](epsilon=EPSILON, delta=DELTA, disable_processing=True, n_jobs=1)
    begin = time.process_time()
    data = pandas.DataFrame(codes, columns=names)
    model.fit(data, domain=dict.fromkeys(names, bins), random_state=seed)
    seconds = time.process_time() - begin
    made = model.generate(n_records=len(codes), random_state=seed)
    return made[names].to_numpy(), seconds


def histograms(held: Any) -> tuple[Any, float]:
    """Sum of surprises by diffprivlib's histograms of single columns, pure epsilon shared out."""
    from diffprivlib.tools import histogram  # type: ignore[import-not-found]

    train, test = held["train"], held["test"]
    scores, bins = np.zeros(len(test)), int(held["bins"])
    begin = time.process_time()
    for column in range(train.shape[1]):
        per_column = EPSILON / train.shape[1]
        counts, _ = histogram(train[:, column], epsilon=per_column, bins=bins, range=(0.0, 1.0))
        cells = np.minimum((test[:, column] * bins).astype(int), bins - 1)
        scores -= np.log(np.maximum(counts, 1.0))[cells]
    return scores, time.process_time() - begin


def components(held: Any) -> tuple[Any, float]:
    """Distance by diffprivlib's principal components, each over its spread, and what is left."""
    from diffprivlib.models import PCA  # type: ignore[import-not-found]

    train, test = held["train"], held["test"]
    components = min(COMPONENTS, train.shape[1])
    begin = time.process_time()
    norm = float(np.sqrt(train.shape[1]))
    model = PCA(n_components=components, epsilon=EPSILON, bounds=(0.0, 1.0), data_norm=norm)
    model.fit(train)
    seconds = time.process_time() - begin
    away = model.transform(test)
    left = test - model.inverse_transform(away)
    spread = np.maximum(model.explained_variance_, 1e-9)
    return (away**2 / spread).sum(axis=1) + (left**2).sum(axis=1) / spread.min(), seconds


TASKS: dict[str, Callable[[Any], tuple[Any, float]]] = {
    "mst": partial(synthetic, "mst"),  # McKenna, Miklau and Sheldon 2021
    "aim": partial(synthetic, "aim"),  # McKenna, Mullins, Sheldon and Miklau 2022
    "histograms": histograms,
    "components": components,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    task, given, wanted = sys.argv[1:]
    with np.load(given, allow_pickle=False) as arrays:
        answer, taken = TASKS[task](arrays)
    np.savez(wanted, answer=np.asarray(answer), seconds=np.float64(taken))
