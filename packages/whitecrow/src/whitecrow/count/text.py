"""What ``describe`` says of a count, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whitecrow.counting.calibration import Calibration
from whitecrow.data import Card

if TYPE_CHECKING:
    from whitecrow.count.question import Count

_NOISES = {
    "smooth": "noise of Laplace core and power tail, scaled by the smooth sensitivity",
    "global": "discrete Laplace noise, scaled by the global sensitivity",
    "analytic_gaussian": "discrete Gaussian noise, scaled by the global sensitivity",
    "paper_gaussian": "the paper's Gaussian noise, scaled by the smooth sensitivity",
}


def count_words(question: Count, card: Card, guess: int | None) -> tuple[str, dict[str, Any]]:
    """Return the words and the figures of a description."""
    expected = question.expected_cluster_size if guess is None else guess
    columns = question.subspace(card)
    calibration = question.calibration(card)
    figures = {
        "mechanism": calibration.mechanism,
        "columns": list(columns),
        **error_figures(calibration, expected),
    }
    mean = ", distances averaged over the columns" if question.normalised else ""
    words = (
        f"The number of records that have at most {question.model.beta} records, themselves "
        f"included, within {question.model.radius:g} of them ({question.model.metric} over "
        f"{', '.join(columns)}{mean}), by {calibration.mechanism}"
        f"{' (chosen from public facts)' if question.mechanism == 'auto' else ''}: "
        f"{_NOISES[calibration.mechanism]}. {error_words(calibration, figures)}"
    )
    return words, figures


def error_figures(calibration: Calibration, cluster_size: int) -> dict[str, Any]:
    """Return the expected error of a count, and the error at the worst."""
    expected = calibration.expected_sensitivity(cluster_size)
    worst = float(calibration.cap)
    return {
        "expected_cluster_size": cluster_size,
        "median_error": calibration.error(0.5, expected),
        "error_95": calibration.error(0.95, expected),
        "worst_median_error": calibration.error(0.5, worst),
        "worst_error_95": calibration.error(0.95, worst),
        "global_sensitivity": calibration.cap,
    }


def error_words(calibration: Calibration, figures: Mapping[str, Any]) -> str:
    """Say how far off the answer will be."""
    error = f"{figures['median_error']:.3g} (median) and {figures['error_95']:.3g} (95 %)"
    if calibration.decay is None:
        return f"Error, whatever the data: {error}."
    return (
        f"Expected error: {error}, if about {figures['expected_cluster_size']} records near the "
        "threshold share a ball (a public guess); whatever the data, "
        f"{figures['worst_median_error']:.3g} and {figures['worst_error_95']:.3g}. The error "
        "itself is not released, for it depends on the data."
    )
