"""The methods of Module that need no C++: PyTorch's names over the C++ registry."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._core import DType, Tensor, bfloat16, float16, float32, float64
from .._core._nn import Module, Sequential
from .hooks import Hook, RemovableHandle, add_hook
from .parameter import Parameter

# What the methods below may ask of `self`: everything, as far as type checkers are concerned.
_Bound: Any = object

_PARAMETER, _BUFFER, _MODULE = 0, 1, 2  # nn::Entry::Kind


class IncompatibleKeys(NamedTuple):
    """What load_state_dict could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"


class ModuleMethods(_Bound):
    """Copied into Module by install(); `self` is a Module."""

    # ---- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under a name."""
        self._register(name, _PARAMETER, param, True)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is part of the state but not trained."""
        self._register(name, _BUFFER, tensor, persistent)

    def register_module(self, name: str, module: Any) -> None:
        """Adds a child module under a name."""
        self._register(name, _MODULE, module, True)

    add_module = register_module

    # ---- walks

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names."""
        return iter(self._named_parameters(prefix, recurse, remove_duplicate))

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (p for _, p in self._named_parameters("", recurse, True))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names."""
        return iter(self._named_buffers(prefix, recurse, remove_duplicate))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (b for _, b in self._named_buffers("", recurse, True))

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """This module and all below it, with their dotted names."""
        for name, module in self._named_modules(prefix, remove_duplicate):
            if memo is not None:
                if module in memo:
                    continue
                memo.add(module)
            yield name, module

    def modules(self) -> Iterator[Any]:
        """This module and all below it, each once."""
        return (m for _, m in self._named_modules("", True))

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The direct children with their names."""
        seen = set()
        for name, child in self._named_children():
            if id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Any]:
        """The direct children, each once."""
        return (child for _, child in self.named_children())

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Calls fn on every module, children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # ---- by name

    def get_submodule(self, target: str) -> Any:
        """The module under a dotted name."""
        module = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter under a dotted name."""
        return _named_tensor(self, target, _PARAMETER, "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer under a dotted name."""
        return _named_tensor(self, target, _BUFFER, "a buffer")

    # ---- state

    def state_dict(self, *, destination: dict[str, Tensor] | None = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """All parameters and persistent buffers by their dotted names."""
        if destination is None:
            destination = OrderedDict()
        destination.update(self._state_dict(prefix, keep_vars))
        return destination

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copies tensors from a state dict into this module and those below it."""
        if not hasattr(state_dict, "items"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        return IncompatibleKeys(*self._load_state_dict(state_dict, strict, assign))

    def train(self, mode: bool = True) -> Any:
        """Sets training mode here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self._train(mode)
        return self

    def eval(self) -> Any:
        """Sets evaluation mode here and below."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Whether gradients are computed for the parameters."""
        self._requires_grad(requires_grad)
        return self

    # ---- moves

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Moves parameters and buffers: to(device), to(dtype), to(device, dtype) or to(tensor)."""
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        kwargs.pop("non_blocking", None)
        if kwargs:
            raise TypeError(f"to() got an unexpected keyword argument: {next(iter(kwargs))!r}")
        for value in args[:2]:
            if isinstance(value, Tensor):
                device, dtype = value.device, value.dtype
            elif isinstance(value, DType):
                dtype = value
            elif value is not None:
                device = value
        if dtype is not None:
            if not dtype.is_floating_point:
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
            self._to_dtype(dtype)
        if device is not None:
            self._to_device(device)
        return self

    def float(self) -> Any:
        """Floating parameters and buffers as float32."""
        return self.to(float32)

    def double(self) -> Any:
        """Floating parameters and buffers as float64."""
        return self.to(float64)

    def half(self) -> Any:
        """Floating parameters and buffers as float16."""
        return self.to(float16)

    def bfloat16(self) -> Any:
        """Floating parameters and buffers as bfloat16."""
        return self.to(bfloat16)

    def cpu(self) -> Any:
        """Moves everything to the CPU."""
        return self.to("cpu")

    @property
    def backend(self) -> Any:
        """The device that holds the parameters; None without any. Setting it moves the module."""
        for tensor in itertools.chain(self.parameters(), self.buffers()):
            return tensor.device
        return None

    @backend.setter
    def backend(self, device: Any) -> None:
        self._to_device(device)

    @property
    def config(self) -> dict[str, Any]:
        """The options this layer was made with."""
        return self._config()

    # ---- hooks

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Calls hook(module, args, output) after each forward; what it returns replaces the output."""
        return add_hook(self, "_forward_hooks", Hook(hook, with_kwargs, always_call), prepend)

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Calls hook(module, args) before each forward; what it returns replaces the arguments."""
        return add_hook(self, "_forward_pre_hooks", Hook(hook, with_kwargs, False), prepend)

    # ---- printing and copies

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands in the parentheses when the module is printed."""
        return self._extra_repr()

    def __repr__(self) -> str:
        children = [(name, repr(child)) for name, child in self._named_children()]
        return self._text(self._get_name(), self.extra_repr(), children)

    def __dir__(self) -> list[str]:
        registered = [name for name, *_ in self._entries() if name.isidentifier()]
        return sorted({*object.__dir__(self), *registered})

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(self.__dict__)
        state["training"] = self.training
        state["_entries"] = self._entries()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        self.training = state.pop("training")
        for entry in state.pop("_entries"):
            self._register(*entry)
        self.__dict__.update(state)
        if state.get("_forward_hooks") or state.get("_forward_pre_hooks") or "forward" in state:
            self._call_host(True)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return _unfilled, (type(self), self._config()), self.__getstate__()


class SequentialMethods(_Bound):
    """Copied into Sequential by install()."""

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._named_children())[index]))
        return self._at(index)

    def __setitem__(self, index: int, module: Any) -> None:
        setattr(self, _key(self, index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = [name for name, _ in self._named_children()]
        for name in names[index] if isinstance(index, slice) else [_key(self, index)]:
            delattr(self, name)
        kept = [module for _, module in self._named_children()]
        for name, _ in self._named_children():
            delattr(self, name)
        for i, module in enumerate(kept):
            self.add_module(str(i), module)

    def __iter__(self) -> Iterator[Any]:
        return (module for _, module in self._named_children())

    def extend(self, modules: Any) -> Any:
        """Adds modules at the end."""
        for module in modules:
            self.append(module)
        return self


def _key(sequential: Any, index: int) -> str:
    names = [name for name, _ in sequential._named_children()]
    if not -len(names) <= index < len(names):
        raise IndexError(f"index {index} is out of range")
    return names[index]


def _named_tensor(module: Any, target: str, kind: int, what: str) -> Any:
    path, _, name = target.rpartition(".")
    owner = module.get_submodule(path)
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    for found, found_kind, value, _ in owner._entries():
        if found == name and found_kind == kind:
            return value
    raise AttributeError(f"`{name}` is not {what}")


def _unfilled(cls: Any, config: dict[str, Any]) -> Any:
    return cls._unfilled(cls, config)


def install() -> None:
    """Gives the classes from C++ their Python methods."""
    for source, target in ((ModuleMethods, Module), (SequentialMethods, Sequential)):
        for name, value in vars(source).items():
            if name not in {"__module__", "__dict__", "__weakref__", "__doc__", "__qualname__"}:
                setattr(target, name, value)
