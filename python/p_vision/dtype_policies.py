"""Dtype policies: the dtypes of the weights and of the computation of layers.

>>> p_vision.DTypePolicy("mixed_bfloat16").compute_dtype
'bfloat16'
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pyburn
from pyburn import DType, Tensor

from .configured import Configured
from .symbolic.masks import mask_of, with_mask

_FLOATS = ("bfloat16", "float16", "float32", "float64")
_MIXED = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}


class DTypePolicy(Configured):
    """A dtype policy: the dtype of the weights and that of the computation of layers.

    A layer casts its inputs to the compute dtype and returns outputs of that dtype. In a mixed policy, operations that need the precision
    (exp, softmax, norms, sums) run in float32, as with `pyburn.autocast`.

    Args:
        name: One dtype for everything, such as "float32", or "mixed_bfloat16" or "mixed_float16" with float32 weights.

    Raises:
        ValueError: The name is unknown.

    >>> policy = p_vision.DTypePolicy("mixed_bfloat16")
    >>> policy.compute_dtype, policy.variable_dtype
    ('bfloat16', 'float32')
    """

    def __init__(self, name: str | None = None) -> None:
        name = "float32" if name is None else name
        dtype = getattr(pyburn, name, None) if isinstance(name, str) else None
        if not isinstance(dtype, DType) and name not in _MIXED:
            raise ValueError(f"[DTypePolicy] a policy is a dtype by name, or {' or '.join(map(repr, _MIXED))}: got {name!r}")
        self.name = name
        self.compute_dtype: str = _MIXED.get(name, name)
        self.variable_dtype: str = "float32" if name in _MIXED else name
        self._compute: DType = getattr(pyburn, self.compute_dtype)

    def cast(self, value: Any) -> Any:
        """Casts floating-point tensors to the compute dtype; returns other values unchanged.

        Args:
            value: The value.
        """
        if isinstance(value, Tensor) and value.is_floating_point() and self._compute.is_floating_point:
            return value if value.dtype == self._compute else with_mask(value.to(self._compute), mask_of(value))
        return value

    def computing(self) -> AbstractContextManager[Any]:
        """Returns the context manager that layers of this policy run in."""
        if self.name in _MIXED:
            return pyburn.autocast("cpu", dtype=self._compute)
        return pyburn.autocast("cpu", enabled=False) if pyburn.is_autocast_enabled() else nullcontext()

    def __str__(self) -> str:
        return self.name


def in_full(value: Any) -> Any:
    """Casts float16 and bfloat16 tensors to float32, in which losses and metrics are computed; returns other values unchanged."""
    if isinstance(value, Tensor) and value.dtype in (pyburn.float16, pyburn.bfloat16):
        return with_mask(value.float(), mask_of(value))
    return value


FloatDTypePolicy = DTypePolicy
_chosen: DTypePolicy | None = None  # set by set_dtype_policy; if None, layers keep the dtype of their inputs


def policy_of(dtype: Any) -> DTypePolicy | None:
    """Returns the policy for the `dtype` argument of a layer; None is the global policy, if one is set."""
    if dtype is None:
        return _chosen
    if isinstance(dtype, DTypePolicy):
        return dtype
    if isinstance(dtype, DType):
        return DTypePolicy(dtype.name)
    if isinstance(dtype, str):
        return DTypePolicy(dtype)
    raise TypeError(f"a dtype is a name, a dtype of pyburn or a DTypePolicy: got {dtype!r}")


def get(identifier: Any) -> DTypePolicy:
    """Returns the policy for a name, a dtype or a policy.

    Args:
        identifier: The name, the dtype or the policy; None for the default policy.

    >>> p_vision.dtype_policies.get("float16")
    DTypePolicy(name='float16')
    """
    return policy_of(identifier) or dtype_policy()


def dtype_policy() -> DTypePolicy:
    """Returns the default policy of layers."""
    return _chosen or DTypePolicy(pyburn.get_default_dtype().name)


def set_dtype_policy(policy: Any) -> None:
    """Sets the default policy of layers that are created later.

    Raises:
        ValueError: Layers cannot compute in this dtype.

    >>> p_vision.config.set_dtype_policy("mixed_bfloat16")
    >>> p_vision.Dense(3)(pyburn.ones(2, 4)).dtype
    pyburn.bfloat16
    >>> p_vision.config.set_dtype_policy("float32")
    """
    global _chosen
    found = get(policy)
    if found.compute_dtype not in _FLOATS:
        raise ValueError(f"[set_dtype_policy] layers compute in {', '.join(_FLOATS)} or a mixed policy: got {found.name!r}")
    _chosen = None if found.name == pyburn.get_default_dtype().name else found


__all__ = ["DTypePolicy", "FloatDTypePolicy", "get"]
