"""The adversary: what can be inferred from a series of releases, and how well.

:func:`attack` is Naghizade et al.'s, from the releases alone; :mod:`whitecrow.attack.ratio` is the
strongest adversary there is, with its theoretical power; :mod:`whitecrow.attack.naive` is the
release that fails.
"""

from whitecrow.attack.inference import (
    Inference,
    Series,
    ValueEstimate,
    attack,
    estimate_value,
    read_series,
)
from whitecrow.attack.naive import epsilon_for_loss, loss_probability
from whitecrow.attack.ratio import (
    Power,
    naive_log_ratio,
    naive_power,
    power_under_dp,
    power_under_zcdp,
    publisher_log_ratio,
    publisher_power,
)
from whitecrow.attack.scores import (
    Verdict,
    auc,
    evaluate,
    fixed_window,
    flag_fraction,
    growing_window,
    levene,
    overlap,
    scale_interval,
    score,
    simulated_threshold,
)

__all__ = [
    "Inference",
    "Power",
    "Series",
    "ValueEstimate",
    "Verdict",
    "attack",
    "auc",
    "epsilon_for_loss",
    "estimate_value",
    "evaluate",
    "fixed_window",
    "flag_fraction",
    "growing_window",
    "levene",
    "loss_probability",
    "naive_log_ratio",
    "naive_power",
    "overlap",
    "power_under_dp",
    "power_under_zcdp",
    "publisher_log_ratio",
    "publisher_power",
    "read_series",
    "scale_interval",
    "score",
    "simulated_threshold",
]
