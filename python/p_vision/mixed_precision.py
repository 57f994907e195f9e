"""Keras's former names of dtype policies."""

from __future__ import annotations

from .dtype_policies import DTypePolicy as DTypePolicy
from .dtype_policies import DTypePolicy as Policy
from .dtype_policies import dtype_policy as dtype_policy
from .dtype_policies import dtype_policy as global_policy
from .dtype_policies import set_dtype_policy as set_dtype_policy
from .dtype_policies import set_dtype_policy as set_global_policy
from .optimizers import LossScaleOptimizer as LossScaleOptimizer

__all__ = ["DTypePolicy", "LossScaleOptimizer", "Policy", "dtype_policy", "global_policy", "set_dtype_policy", "set_global_policy"]
