"""torchvision.models: p_vision.models. Names of models that are not there can be imported, and raise when they are called."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from p_vision import models as _models
from p_vision.models import *  # noqa: F403

from ..absent import absent
from .builders import (  # type: ignore[assignment]  # noqa: F401  (these know what a program registers as well)
    WeightsEnum,
    get_model,
    get_model_builder,
    get_model_weights,
    get_weight,
    list_models,
    register_model,
)

__all__ = _models.__all__
__path__: list[str] = []


class _Models(ModuleType):
    """Keeps the function `alexnet` when the module torchvision.models.alexnet is imported, as PyTorch does."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _models.__all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Models


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torchvision.models' has no attribute {name!r}")
    if name in ("_api", "_meta", "_utils"):  # what models import beside layers
        return importlib.import_module(f"torchvision.models.{name}")
    try:
        return getattr(_models, name)
    except AttributeError:
        return absent(f"torchvision.models.{name}")
