"""Parametrizations: parameters of a module that are computed from other tensors on access.

A parametrized module is an instance of its own subclass, which has a property for each parametrized tensor. The original tensors are in
`module.parametrizations`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..._core import Tensor
from ..._core._nn import Module, ModuleDict, ModuleList
from ...autograd import enable_grad, no_grad
from ..module_methods import _unfilled
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cached_values: dict[tuple[int, str], Tensor] = {}
_caching = 0


@contextmanager
def cached() -> Iterator[None]:
    """Context manager in which each parametrized tensor is computed only once.

    Returns:
        The context manager.

    >>> import pyburn.nn.utils.parametrize as P
    >>> layer = pyburn.nn.utils.parametrizations.weight_norm(pyburn.nn.Linear(2, 3))
    >>> with P.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _cached_values.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and the input of the first one as `original` (or `original0`, ...).

    Args:
        modules: The parametrizations.
        original: The tensor.
        unsafe: Whether parametrizations may change its shape or dtype.

    Raises:
        ValueError: A parametrization or its right_inverse returns something unsuitable.

    >>> layer = pyburn.nn.utils.parametrizations.weight_norm(pyburn.nn.Linear(2, 3))
    >>> len(layer.parametrizations.weight)
    1
    """

    def __init__(self, modules: Sequence[Any], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        shape, dtype = original.shape, original.dtype
        if isinstance(new, Tensor):
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            if original.device != new.device:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the device.\n"
                    f"original.device: {original.device}\nright_inverse(original).device: {new.device}"
                )
            if new is not original:
                original.data = new.detach()
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(part).__name__}."
                    )
                plain = part.detach().clone()
                _register(self, f"original{i}", Parameter(plain, original.requires_grad) if isinstance(original, Parameter) else plain)
        if not unsafe:
            self._check(self(), shape, dtype)

    @staticmethod
    def _check(value: Any, shape: Any, dtype: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        if value.dtype != dtype:
            raise ValueError(
                "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\n"
                f"unparametrized dtype: {dtype}\nparametrized dtype: {value.dtype}"
            )
        if value.shape != shape:
            raise ValueError(
                "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
                f"unparametrized shape: {shape}\nparametrized shape: {value.shape}"
            )

    def _originals(self) -> list[Tensor]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Sets the tensor to a value by computing the originals with the right inverses.

        Args:
            value: The new value of the tensor.

        Raises:
            RuntimeError: A parametrization has no right_inverse.
            ValueError: A right_inverse returns something unsuitable.
        """
        with no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            if self.is_tensor != isinstance(new, Tensor):
                raise ValueError(f"`right_inverse` should return {'a tensor' if self.is_tensor else 'tensors'}. Got {type(new).__name__}")
            parts = [new] if self.is_tensor else list(new)
            if len(parts) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(parts)}."
                )
            for original, part in zip(self._originals(), parts):
                if original.dtype != part.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {part.dtype} while `original` has dtype {original.dtype}"
                    )
                original.data = part.detach().clone()

    def forward(self) -> Any:
        modules = list(self)
        value = modules[0](*self._originals())
        for module in modules[1:]:
            value = module(value)
        return value


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Registers a parametrization: `module.tensor_name` becomes the output of `parametrization` for the original tensor.

    Args:
        module: The module.
        tensor_name: The name of the parameter or buffer.
        parametrization: A module. If it has a method `right_inverse`, the tensor keeps its value where possible and may be assigned to.
        unsafe: Whether the parametrization may change shape or dtype.

    Returns:
        The module.

    Raises:
        ValueError: There is no such tensor, or the parametrization returns an invalid one.

    >>> class Symmetric(pyburn.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = pyburn.nn.Linear(3, 3)
    >>> _ = pyburn.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> pyburn.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parametrizations = module.parametrizations[tensor_name]
        if not unsafe:
            _check_next(getattr(module, tensor_name), parametrization)
        parametrizations.append(parametrization)
        parametrizations.unsafe = parametrizations.unsafe or unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(type(module), tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Returns whether a module has any parametrized tensor, or one of that name.

    Args:
        module: The module.
        tensor_name: The name of a tensor; None for any.

    >>> pyburn.nn.utils.parametrize.is_parametrized(pyburn.nn.utils.parametrizations.weight_norm(pyburn.nn.Linear(2, 3)), "weight")
    True
    """
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Makes a tensor a plain one again.

    Args:
        module: The module.
        tensor_name: The name of the tensor.
        leave_parametrized: Whether to keep the current value instead of the original one.

    Returns:
        The module.

    Raises:
        ValueError: The tensor is not parametrized, or has several originals and leave_parametrized is False.

    >>> layer = pyburn.nn.utils.parametrizations.weight_norm(pyburn.nn.Linear(2, 3))
    >>> pyburn.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        with enable_grad():
            value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """Returns the class of a module without parametrizations.

    Args:
        module: The module.

    >>> layer = pyburn.nn.utils.parametrizations.weight_norm(pyburn.nn.Linear(2, 3))
    >>> pyburn.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Copies the parametrizations and original tensors of one module to another.

    Args:
        from_module: The module to copy from.
        to_module: The module to copy to.
        tensor_name: The name of a tensor; None for all.

    Returns:
        to_module.

    >>> one = pyburn.nn.utils.parametrizations.weight_norm(pyburn.nn.Linear(2, 3))
    >>> two = transfer_parametrizations_and_params(one, pyburn.nn.Linear(2, 3))
    >>> is_parametrized(two, "weight")
    True
    """
    if not is_parametrized(from_module):
        return to_module
    assert isinstance(from_module.parametrizations, ModuleDict)
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        parametrizations = from_module.parametrizations[name]
        for parametrization in parametrizations:
            register_parametrization(to_module, name, parametrization, unsafe=parametrizations.unsafe)
        for target, source in zip(to_module.parametrizations[name]._originals(), parametrizations._originals()):
            target.data = source.detach().clone()
    return to_module


def _register(module: Any, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_next(value: Tensor, parametrization: Any) -> None:
    ParametrizationList._check(parametrization(value), value.shape, value.dtype)
    if hasattr(parametrization, "right_inverse"):
        inverse = parametrization.right_inverse(parametrization(value))
        if not isinstance(inverse, Tensor):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
        if inverse.dtype != value.dtype or inverse.shape != value.shape:
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the dtype and shape of the tensor: "
                f"got {inverse.dtype} and {tuple(inverse.shape)} instead of {value.dtype} and {tuple(value.shape)}"
            )


def _inject_class(module: Any) -> None:
    """Gives a module its own subclass, which can have properties."""
    cls: Any = type(module)
    metaclass: Any = type(cls)

    def reduce(self: Any, protocol: Any) -> tuple:
        names = list(self.parametrizations)
        return _rebuild, (cls, names, self._pb_config()), Module.__getstate__(self)

    module.__class__ = metaclass(f"Parametrized{cls.__name__}", (cls,), {"__reduce_ex__": reduce, "__module__": cls.__module__})


def _inject_property(cls: Any, name: str) -> None:
    def get(self: Any) -> Tensor:
        if not _caching:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cached_values:
            _cached_values[key] = self.parametrizations[name]()
        return _cached_values[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(cls, name, property(get, put))


def _rebuild(cls: Any, names: list[str], config: dict[str, Any]) -> Any:
    module = _unfilled(cls, config)
    _inject_class(module)
    for name in names:
        _inject_property(type(module), name)
    return module
