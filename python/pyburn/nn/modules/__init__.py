"""PyTorch's import paths: `from pyburn.nn.modules.batchnorm import _BatchNorm`.

Layers are in pyburn.nn; this package also has their base classes, for isinstance checks. Custom layers can derive from the base classes
after `pyburn.compat.install()`, which adds their constructors.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..._core import _nn
from .. import _layers, containers, hooks, lazy, lazy_layers, loss, module_state, parameter_containers, transformer

# The base classes of layers, by PyTorch's file name; other files have only layers.
_OTHERS = (
    "activation adaptive channelshuffle container distance flatten fold normalization padding pixelshuffle sparse transformer upsampling"
)
_BEHIND: dict[str, dict[str, Any]] = {
    **{name: {} for name in _OTHERS.split()},
    "batchnorm": {"_BatchNorm": _nn._BatchNorm, "_NormBase": _nn._NormBase},
    "conv": {"_ConvNd": _nn._ConvNd, "_ConvTransposeNd": _nn._ConvTransposeNd},
    "dropout": {"_DropoutNd": _nn._DropoutNd},
    "instancenorm": {"_InstanceNorm": _nn._InstanceNorm},
    "lazy": {"LazyModuleMixin": lazy.LazyModuleMixin},
    "linear": {"NonDynamicallyQuantizableLinear": _nn.NonDynamicallyQuantizableLinear},
    "loss": {"_Loss": _nn._Loss, "_WeightedLoss": _nn._WeightedLoss},
    "module": {name: value for name, value in vars(hooks).items() if name.startswith("register_module_")},
    "pooling": {name: value for name, value in vars(_nn).items() if name.lower().endswith("poolnd")},
    "rnn": {"RNNBase": _nn.RNNBase, "RNNCellBase": _nn.RNNCellBase},
    "utils": {"consume_prefix_in_state_dict_if_present": module_state.consume_prefix_in_state_dict_if_present},
}
_PUBLIC: dict[str, Any] = {}
for _home in (_layers, containers, lazy_layers, loss, parameter_containers, transformer):
    _PUBLIC |= {name: value for name, value in vars(_home).items() if isinstance(value, type) and issubclass(value, _layers.Module)}
globals().update(_PUBLIC)
__all__ = sorted(name for name in _PUBLIC if not name.startswith("_"))
for _name, _private in _BEHIND.items():
    _kind = hooks.ModuleOfHooks if _name == "module" else ModuleType
    _module = _kind(f"{__name__}.{_name}", f"Where PyTorch has its layers of {_name}.")
    _module.__dict__.update(_PUBLIC | _private)
    globals()[_name] = sys.modules[_module.__name__] = _module
