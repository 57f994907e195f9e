"""Layers by name, for configurable models; after Burn."""

from __future__ import annotations

from typing import Any

from . import _layers, activation
from ._layers import Module

_NORMALISATIONS = ("identity", "batch", "group", "instance", "layer", "rms")


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _activations() -> dict[str, type]:
    names = [*activation.__all__, "Identity", "SwiGLU", "GEGLU", "ReGLU"]
    return {_plain(name): getattr(_layers, name) for name in names}


def Activation(name: str, **options: Any) -> Module:
    """Creates an activation by name, ignoring case and underscores.

    Args:
        name: The name of the activation class.
        **options: Its options.

    Returns:
        The module.

    Raises:
        ValueError: The name is unknown.

    >>> pyburn.nn.Activation("leaky_relu", negative_slope=0.2)
    LeakyReLU(negative_slope=0.2)
    >>> pyburn.nn.Activation("gelu_approximate")
    GELU(approximate='tanh')
    """
    if _plain(name) == "geluapproximate":
        return _layers.GELU(approximate="tanh")
    known = _activations()
    if _plain(name) not in known:
        raise ValueError(f"unknown activation {name!r}: expected one of {', '.join(sorted(known))}")
    return known[_plain(name)](**options)


def Normalization(name: str, num_features: int, *, dims: int = 1, num_groups: int = 1, **options: Any) -> Module:
    """Creates a normalization layer by name.

    Args:
        name: "identity", "batch", "group", "instance", "layer" or "rms".
        num_features: The number of features or channels.
        dims: The number of spatial dimensions, for batch and instance normalization.
        num_groups: The number of groups, for group normalization.
        **options: Options of the layer.

    Returns:
        The module.

    Raises:
        ValueError: The name is unknown, or dims is not 1, 2 or 3.

    >>> pyburn.nn.Normalization("group", 8, num_groups=2)
    GroupNorm(2, 8, eps=1e-05, affine=True, bias=True)
    >>> pyburn.nn.Normalization("batch", 8, dims=2, momentum=0.5)
    BatchNorm2d(8, eps=1e-05, momentum=0.5, affine=True, bias=True, track_running_stats=True)
    """
    kind = _plain(name).removesuffix("norm")
    if kind == "identity":
        return _layers.Identity()
    if kind in ("batch", "instance"):
        if dims not in (1, 2, 3):
            raise ValueError(f"dims must be 1, 2 or 3: got {dims}")
        return getattr(_layers, f"{kind.capitalize()}Norm{dims}d")(num_features, **options)
    if kind == "group":
        return _layers.GroupNorm(num_groups, num_features, **options)
    if kind in ("layer", "rms"):
        return (_layers.LayerNorm if kind == "layer" else _layers.RMSNorm)(num_features, **options)
    raise ValueError(f"unknown normalisation {name!r}: expected one of {', '.join(_NORMALISATIONS)}")


__all__ = ["Activation", "Normalization"]
