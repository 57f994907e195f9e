"""Initializers: fill a tensor in place, without recording gradients, and return it."""

from __future__ import annotations

import warnings
from typing import Any

from .._core import Generator, Tensor, _nn

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Returns the recommended gain for a nonlinearity.

    Args:
        nonlinearity: The name, such as "relu" or "leaky_relu".
        param: The negative slope for "leaky_relu".

    Raises:
        ValueError: param is not a number.

    >>> pyburn.nn.init.calculate_gain("leaky_relu", 0.0) == 2**0.5
    True
    """
    if nonlinearity == "leaky_relu" and (isinstance(param, bool) or not isinstance(param, (int, float, type(None)))):
        raise ValueError(f"negative_slope {param} not a valid number")
    return _nn._gain(nonlinearity, param if nonlinearity == "leaky_relu" else None)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills a tensor with samples from the uniform distribution on [a, b).

    Args:
        tensor: The tensor, filled in place.
        a: The lower bound.
        b: The upper bound.
        generator: The random generator; None uses the default one.

    Returns:
        The tensor.

    >>> pyburn.nn.init.uniform_(pyburn.empty(3), 2.0, 3.0).amin() >= 2
    tensor(True)
    """
    _nn._uniform(tensor, a, b, generator)
    return tensor


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills a tensor with samples from a normal distribution.

    Args:
        tensor: The tensor, filled in place.
        mean: The mean.
        std: The standard deviation.
        generator: The random generator; None uses the default one.

    Returns:
        The tensor.

    >>> pyburn.nn.init.normal_(pyburn.empty(2, 3), std=0.1).shape
    pyburn.Size([2, 3])
    """
    _nn._normal(tensor, mean, std, generator)
    return tensor


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Generator | None = None
) -> Tensor:
    """Fills a tensor with samples from a normal distribution truncated to [a, b].

    Args:
        tensor: The tensor, filled in place.
        mean: The mean.
        std: The standard deviation.
        a: The lower bound.
        b: The upper bound.
        generator: The random generator; None uses the default one.

    Returns:
        The tensor.

    >>> pyburn.nn.init.trunc_normal_(pyburn.empty(100), a=-1, b=1).abs().amax() <= 1
    tensor(True)
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.", stacklevel=2
        )
    _nn._trunc_normal(tensor, mean, std, a, b, generator)
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills a tensor with a value.

    Args:
        tensor: The tensor, filled in place.
        val: The value.

    Returns:
        The tensor.

    >>> pyburn.nn.init.constant_(pyburn.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    _nn._constant(tensor, val)
    return tensor


def ones_(tensor: Tensor) -> Tensor:
    """Fills a tensor with ones.

    Args:
        tensor: The tensor, filled in place.

    Returns:
        The tensor.

    >>> pyburn.nn.init.ones_(pyburn.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills a tensor with zeros.

    Args:
        tensor: The tensor, filled in place.

    Returns:
        The tensor.

    >>> pyburn.nn.init.zeros_(pyburn.ones(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix with the identity.

    Args:
        tensor: A 2-d tensor, filled in place.

    Returns:
        The tensor.

    >>> pyburn.nn.init.eye_(pyburn.empty(1, 2))
    tensor([[1., 0.]])
    """
    _nn._eye(tensor)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills a convolution weight with the Dirac delta, which preserves as many channels as possible.

    Args:
        tensor: A weight of 3 to 5 dimensions, filled in place.
        groups: The number of groups of the convolution.

    Returns:
        The tensor.

    >>> pyburn.nn.init.dirac_(pyburn.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    _nn._dirac(tensor, groups)
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills a tensor with samples from U(-b, b) with b = gain * sqrt(6 / (fan_in + fan_out)) (Glorot initialization).

    Args:
        tensor: A tensor of at least 2 dimensions, filled in place.
        gain: The gain.
        generator: The random generator; None uses the default one.

    Returns:
        The tensor.

    >>> pyburn.nn.init.xavier_uniform_(pyburn.empty(3, 3)).abs().amax() <= 1
    tensor(True)
    """
    _nn._xavier_uniform(tensor, gain, generator)
    return tensor


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills a tensor with samples from N(0, std^2) with std = gain * sqrt(2 / (fan_in + fan_out)) (Glorot initialization).

    Args:
        tensor: A tensor of at least 2 dimensions, filled in place.
        gain: The gain.
        generator: The random generator; None uses the default one.

    Returns:
        The tensor.

    >>> pyburn.nn.init.xavier_normal_(pyburn.empty(3, 5)).shape
    pyburn.Size([3, 5])
    """
    _nn._xavier_normal(tensor, gain, generator)
    return tensor


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    """Fills a tensor with samples from U(-b, b) with b = gain * sqrt(3 / fan) (He initialization).

    Args:
        tensor: The tensor.
        a: The negative slope for "leaky_relu".
        mode: "fan_in" or "fan_out".
        nonlinearity: The nonlinearity after the layer, which determines the gain.
        generator: The random generator; None uses the default one.

    Returns:
        The tensor.

    >>> pyburn.nn.init.kaiming_uniform_(pyburn.empty(2, 6), nonlinearity="relu").abs().amax() <= 1
    tensor(True)
    """
    if not _warned_of_nothing(tensor):
        _nn._kaiming_uniform(tensor, a, mode.lower(), nonlinearity, generator)
    return tensor


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    """Fills a tensor with samples from N(0, std^2) with std = gain / sqrt(fan) (He initialization).

    Args:
        tensor: The tensor.
        a: The negative slope for "leaky_relu".
        mode: "fan_in" or "fan_out".
        nonlinearity: The nonlinearity after the layer, which determines the gain.
        generator: The random generator; None uses the default one.

    Returns:
        The tensor.

    >>> pyburn.nn.init.kaiming_normal_(pyburn.empty(2, 6), mode="fan_out").shape
    pyburn.Size([2, 6])
    """
    if not _warned_of_nothing(tensor):
        _nn._kaiming_normal(tensor, a, mode.lower(), nonlinearity, generator)
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fills a tensor with a random (semi-)orthogonal matrix, scaled by gain.

    Args:
        tensor: A tensor of at least 2 dimensions, filled in place.
        gain: The factor.
        generator: The random generator; None uses the default one.

    Returns:
        The tensor.

    >>> w = pyburn.nn.init.orthogonal_(pyburn.empty(2, 3))
    >>> pyburn.allclose(w @ w.T, pyburn.eye(2), atol=1e-6)
    True
    """
    _nn._orthogonal(tensor, gain, generator)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fills a matrix with samples from N(0, std^2) and sets the fraction `sparsity` of each column to zero.

    Args:
        tensor: A 2-d tensor, filled in place.
        sparsity: The fraction of zeros per column.
        std: The standard deviation of the other elements.
        generator: The random generator; None uses the default one.

    Returns:
        The tensor.

    >>> (pyburn.nn.init.sparse_(pyburn.empty(10, 4), sparsity=0.3) == 0).sum()
    tensor(12)
    """
    _nn._sparse(tensor, sparsity, std, generator)
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    return _nn._fans(tensor)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def _warned_of_nothing(tensor: Any) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def _deprecated(name: str) -> Any:
    function = globals()[name]

    def old(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = name[:-1]
    old.__doc__ = f"The old name of {name}."
    return old


_RENAMED = "uniform_ normal_ constant_ eye_ dirac_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ orthogonal_ sparse_"
globals().update({name[:-1]: _deprecated(name) for name in _RENAMED.split()})
