"""Import paths of PyTorch: `from pyburn.nn.modules.batchnorm import _BatchNorm`. Layers are in pyburn.nn; here are also the classes behind
them that code asks for with isinstance."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..._core import _nn
from .. import _layers, containers, hooks, lazy, lazy_layers, loss, module_state, parameter_containers, transformer
from ..families import RNNBase, RNNCellBase, family


def _layers_named(*words: str) -> tuple[type, ...]:
    return tuple(getattr(_layers, name) for name in _layers.__all__ if any(word in name for word in words))


def _repeated(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """What turns a number into n of it, and leaves a sequence as it is."""

    def repeated(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n

    return repeated


def _root(name: str) -> Callable[[], Any]:
    """What gives a class of `roots`, which is loaded when someone derives from one."""

    def root() -> Any:
        from . import roots

        return getattr(roots, name)

    return root


_batch = (*_layers_named("BatchNorm"),)
_instance = (*_layers_named("InstanceNorm"),)
_transposed = (*_layers_named("ConvTranspose"),)
_convolutions = (_layers.Conv1d, _layers.Conv2d, _layers.Conv3d, *_transposed)
_losses = _layers_named("Loss")
_weighted = (_layers.NLLLoss, _layers.CrossEntropyLoss, _layers.BCELoss, _layers.MultiMarginLoss, _layers.MultiLabelSoftMarginLoss)

# What is behind the layers, by the file where PyTorch has it.
_BEHIND: dict[str, dict[str, Any]] = {
    "activation": {},
    "adaptive": {},
    "batchnorm": {
        "_BatchNorm": family("_BatchNorm", _batch, "What every BatchNorm is.", _root("BatchNorm")),
        "_NormBase": family("_NormBase", (*_batch, *_instance), "What every BatchNorm and InstanceNorm is.", _root("NormOfBatches")),
    },
    "channelshuffle": {},
    "container": {},
    "conv": {
        "_ConvNd": family("_ConvNd", _convolutions, "What every convolution is.", _root("Convolution")),
        "_ConvTransposeNd": family("_ConvTransposeNd", _transposed, "What every transposed convolution is."),
    },
    "distance": {},
    "dropout": {"_DropoutNd": family("_DropoutNd", _layers_named("Dropout"), "What every dropout is.", _root("Dropout"))},
    "flatten": {},
    "fold": {},
    "instancenorm": {"_InstanceNorm": family("_InstanceNorm", _instance, "What every InstanceNorm is.", _root("InstanceNorm"))},
    "lazy": {"LazyModuleMixin": lazy.LazyModuleMixin},
    "linear": {"NonDynamicallyQuantizableLinear": _nn.NonDynamicallyQuantizableLinear},
    "loss": {
        "_Loss": family("_Loss", _losses, "What every loss is.", _root("Loss")),
        "_WeightedLoss": family("_WeightedLoss", _weighted, "What every loss with weights is.", _root("WeightedLoss")),
    },
    "module": {
        "_EXTRA_STATE_KEY_SUFFIX": "_extra_state",
        "_IncompatibleKeys": module_state.IncompatibleKeys,
        **{name: value for name, value in vars(hooks).items() if name.startswith("register_module_")},
    },
    "normalization": {},
    "padding": {},
    "pixelshuffle": {},
    "pooling": {
        "_MaxPoolNd": family("_MaxPoolNd", (_layers.MaxPool1d, _layers.MaxPool2d, _layers.MaxPool3d), "What every MaxPool is."),
        "_AvgPoolNd": family("_AvgPoolNd", (_layers.AvgPool1d, _layers.AvgPool2d, _layers.AvgPool3d), "What every AvgPool is."),
        "_AdaptiveAvgPoolNd": family("_AdaptiveAvgPoolNd", _layers_named("AdaptiveAvgPool"), "What every AdaptiveAvgPool is."),
        "_AdaptiveMaxPoolNd": family("_AdaptiveMaxPoolNd", _layers_named("AdaptiveMaxPool"), "What every AdaptiveMaxPool is."),
    },
    "rnn": {"RNNBase": RNNBase, "RNNCellBase": RNNCellBase},
    "sparse": {},
    "transformer": {},
    "upsampling": {},
    "utils": {f"_{name}": _repeated(n) for n, name in enumerate(("single", "pair", "triple", "quadruple"), 1)}
    | {"_ntuple": _repeated, "consume_prefix_in_state_dict_if_present": module_state.consume_prefix_in_state_dict_if_present},
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
