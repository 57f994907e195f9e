"""Probability distributions with the names of torch.distributions: sampling, densities, entropies and divergences."""

from __future__ import annotations

import sys

from . import basic, families, gammas, transformed
from .basic import *  # noqa: F403
from .families import *  # noqa: F403
from .gammas import *  # noqa: F403
from .transformed import *  # noqa: F403

__all__ = [*basic.__all__, *families.__all__, *gammas.__all__, *transformed.__all__]

# PyTorch has one module per distribution, from which programs import: torch.distributions.normal.Normal.
_FILES = (
    "bernoulli",
    "beta",
    "categorical",
    "chi2",
    "dirichlet",
    "distribution",
    "exponential",
    "gamma",
    "gumbel",
    "independent",
    "kl",
    "laplace",
    "log_normal",
    "multivariate_normal",
    "normal",
    "one_hot_categorical",
    "poisson",
    "studentT",
    "transformed_distribution",
    "transforms",
    "uniform",
)
for _file in _FILES:
    sys.modules[f"{__name__}.{_file}"] = sys.modules[__name__]
    globals()[_file] = sys.modules[__name__]
