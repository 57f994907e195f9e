"""LazyModuleMixin: modules that infer the shapes of their parameters from the first call."""

from __future__ import annotations

from typing import Any

from .hooks import forget_if_empty
from .module_registry import BUFFER, PARAMETER
from .parameter import is_lazy


def _initialise_on_call(module: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    module._infer_parameters(module, args, kwargs)


def _take_shapes(module: Any, state_dict: Any, prefix: str, *_: Any) -> None:
    """Materializes parameters with the shapes in a state dict before it is loaded."""
    for name, _kind, tensor, _persistent in module._pb_entries(PARAMETER) + module._pb_entries(BUFFER):
        saved = state_dict.get(prefix + name)
        if is_lazy(tensor) and saved is not None and not is_lazy(saved):
            tensor.materialize(saved.shape)


class LazyModuleMixin:
    """Mixin for lazy modules, placed before the module class: `class LazyLinear(LazyModuleMixin, Linear)`.

    The class registers UninitializedParameter and UninitializedBuffer in __init__ and materializes them in
    `initialize_parameters(self, *args)`, which is called with the arguments of the first call. After that, the module becomes an instance
    of `cls_to_become`, if the class defines it.

    >>> class LazyScale(pyburn.nn.LazyModuleMixin, pyburn.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = pyburn.nn.UninitializedParameter()
    ...     def initialize_parameters(self, x):
    ...         self.scale.materialize(x.shape[-1:])
    ...         pyburn.nn.init.ones_(self.scale)
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> LazyScale()(pyburn.ones(2, 3)).shape
    pyburn.Size([2, 3])
    """

    __slots__ = ()  # keeps the layout of the class that the instance may become
    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        module._load_hook = module.register_load_state_dict_pre_hook(_take_shapes)
        module._initialize_hook = module.register_forward_pre_hook(_initialise_on_call, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materializes the parameters from the arguments of the first call.

        Args:
            *args: The arguments of the first call.
            **kwargs: Its options.
        """
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Returns whether a parameter or buffer of this module has no shape yet."""
        return any(is_lazy(tensor) for _, _, tensor, _ in self._pb_entries())

    def _infer_parameters(self: Any, module: Any, args: tuple, kwargs: dict[str, Any] | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        forget_if_empty(module)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        for name, _, tensor, _ in self._pb_entries():
            if is_lazy(tensor) and prefix + name in destination:
                destination[prefix + name] = tensor
