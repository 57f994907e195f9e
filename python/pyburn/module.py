"""Modules, parameters, containers and model summaries: `pyburn.nn` without the layers."""

from .nn import (
    Buffer,
    LazyModuleMixin,
    Module,
    ModuleDict,
    ModuleList,
    Parameter,
    ParameterDict,
    ParameterList,
    Sequential,
    UninitializedBuffer,
    UninitializedParameter,
)
from .nn.hooks import (
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .nn.summary import LayerSummary, ModelSummary, summary

__all__ = [
    "Buffer",
    "LayerSummary",
    "LazyModuleMixin",
    "ModelSummary",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "UninitializedBuffer",
    "UninitializedParameter",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "summary",
]
