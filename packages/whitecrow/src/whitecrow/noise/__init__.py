"""Exact sampling: every draw follows its law to the last bit.

Randomness comes from the operating system. Samplers take ``Fraction`` or ``int`` and refuse
floats; none of them uses floating point to decide.
``proof.md`` beside this file proves each law. The closed forms are in :mod:`whitecrow.noise.laws`,
many draws at once in :mod:`whitecrow.noise.bulk`.
"""

from whitecrow.noise._choice import exponential_levels, exponential_mechanism, permute_and_flip, top
from whitecrow.noise._exact import bernoulli, bernoulli_exp, bernoulli_logistic
from whitecrow.noise._integers import core_tail, discrete_gaussian, discrete_laplace, geometric
from whitecrow.noise._source import Source, system_source

__all__ = [
    "Source",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_logistic",
    "core_tail",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_levels",
    "exponential_mechanism",
    "geometric",
    "permute_and_flip",
    "system_source",
    "top",
]
