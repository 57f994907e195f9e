"""Normalization layers."""

from __future__ import annotations

from typing import Any

from .._core._nn import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LocalResponseNorm,
    Module,
    RMSNorm,
    SyncBatchNorm,
)

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
    "SyncBatchNorm",
]


def _convert_sync_batchnorm(cls: Any, module: Module, process_group: Any = None) -> Any:
    """Returns the module with every BatchNorm layer replaced by a SyncBatchNorm with the same state."""
    for name, child in list(module.named_children()):
        setattr(module, name, _convert_sync_batchnorm(cls, child, process_group))
    if not isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
        return module
    made = cls(**module._pb_config(), process_group=process_group)
    for name, _, value, _ in module._pb_entries():
        setattr(made, name, value)
    made.training = module.training
    return made


SyncBatchNorm.convert_sync_batchnorm = classmethod(_convert_sync_batchnorm)  # type: ignore[attr-defined]
