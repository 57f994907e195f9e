"""The methods of Module that are implemented in Python: PyTorch's interface to the C++ registry."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .. import _core
from .._core import CaptureError, Device, DeviceError, DType, Tensor, bfloat16, empty_like, float16, float32, float64
from .._core._nn import Module
from .._device import check_keeps_data
from .module_registry import BUFFER, MODULE, PARAMETER, RegistryView
from .parameter import Parameter

# The type of `self` below; Any, so that type checkers accept all attributes.
_Bound: Any = object


class ModuleMethods(_Bound):
    """Methods copied into Module by install(); `self` is a Module."""

    call_super_init = False
    dump_patches = False  # for compatibility; unused in PyTorch as well
    T_destination = TypeVar("T_destination", bound=dict[str, Any])

    # ---- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a parameter under a name.

        >>> module = pyburn.nn.Module()
        >>> module.register_parameter("scale", pyburn.nn.Parameter(pyburn.ones(2)))
        >>> list(module.state_dict())
        ['scale']
        """
        self._pb_register(name, PARAMETER, param, True)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Registers a buffer: a tensor that is not trained.

        Args:
            name: The name.
            tensor: The tensor, or None.
            persistent: Whether the buffer is part of the state dict.

        >>> module = pyburn.nn.Module()
        >>> module.register_buffer("mean", pyburn.zeros(2))
        >>> list(module.state_dict())
        ['mean']
        """
        self._pb_register(name, BUFFER, tensor, persistent)

    def add_module(self, name: str, module: Any) -> None:
        """Registers a child module under a name.

        >>> module = pyburn.nn.Module()
        >>> module.add_module("layer", pyburn.nn.ReLU())
        >>> module.layer
        ReLU()
        """
        self._pb_register(name, MODULE, module, True)

    def register_module(self, name: str, module: Any) -> None:
        """Registers a child module under a name; alias of add_module.

        >>> module = pyburn.nn.Module()
        >>> module.register_module("layer", pyburn.nn.ReLU())
        >>> module.layer
        ReLU()
        """
        self.add_module(name, module)

    @property
    def _parameters(self) -> RegistryView:
        return RegistryView(self, PARAMETER)

    @property
    def _buffers(self) -> RegistryView:
        return RegistryView(self, BUFFER)

    @property
    def _modules(self) -> RegistryView:
        return RegistryView(self, MODULE)

    @_modules.setter
    def _modules(self, children: Any) -> None:
        self._pb_set_children(list(children.items()))

    @property
    def _non_persistent_buffers_set(self) -> set[str]:
        return {name for name, _, _, persistent in self._pb_entries(BUFFER) if not persistent}

    # ---- walks

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Iterates over the parameters of this module and its descendants, with their dotted names.

        Args:
            prefix: The prefix of the names.
            recurse: Whether to include descendants.
            remove_duplicate: Whether to yield shared parameters only once.

        >>> net = pyburn.nn.Sequential(pyburn.nn.Linear(2, 3))
        >>> [name for name, _ in net.named_parameters()]
        ['0.weight', '0.bias']
        """
        return iter(self._pb_named_parameters(prefix, recurse, remove_duplicate))

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterates over the parameters, each once.

        >>> sum(p.numel() for p in pyburn.nn.Linear(2, 3).parameters())
        9
        """
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Iterates over the buffers of this module and its descendants, with their dotted names.

        Args:
            prefix: The prefix of the names.
            recurse: Whether to include descendants.
            remove_duplicate: Whether to yield shared buffers only once.

        >>> [name for name, _ in pyburn.nn.BatchNorm2d(2).named_buffers()]
        ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return iter(self._pb_named_buffers(prefix, recurse, remove_duplicate))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterates over the buffers, each once.

        >>> len(list(pyburn.nn.BatchNorm2d(2).buffers()))
        3
        """
        return (b for _, b in self.named_buffers(recurse=recurse))

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Iterates over this module and its descendants, with their dotted names.

        Args:
            memo: Modules to skip; yielded modules are added.
            prefix: The prefix of the names.
            remove_duplicate: Whether to yield shared modules only once.

        >>> net = pyburn.nn.Sequential(pyburn.nn.Linear(2, 3))
        >>> [name for name, _ in net.named_modules()]
        ['', '0']
        """
        for name, module in self._pb_named_modules(prefix, remove_duplicate):
            if memo is not None:
                if module in memo:
                    continue
                memo.add(module)
            yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Iterates over this module and its descendants, each once unless remove_duplicate is False.

        >>> len(list(pyburn.nn.Sequential(pyburn.nn.ReLU(), pyburn.nn.ReLU()).modules()))
        3
        """
        return (m for _, m in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Iterates over the direct children with their names.

        >>> [name for name, _ in pyburn.nn.Sequential(pyburn.nn.ReLU()).named_children()]
        ['0']
        """
        seen = set()
        for name, child in self._pb_named_children():
            if id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Any]:
        """Iterates over the direct children, each once.

        >>> list(pyburn.nn.Sequential(pyburn.nn.ReLU()).children())
        [ReLU()]
        """
        return (child for _, child in self.named_children())

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Calls fn on every module, children first, and returns self.

        >>> net = pyburn.nn.Sequential(pyburn.nn.ReLU()).apply(lambda module: print(type(module).__name__))
        ReLU
        Sequential
        """
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # ---- by name

    def get_submodule(self, target: str) -> Any:
        """Returns the module with a dotted name.

        Raises:
            AttributeError: There is no such module.

        >>> pyburn.nn.Sequential(pyburn.nn.Sequential(pyburn.nn.ReLU())).get_submodule("0.0")
        ReLU()
        """
        module = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Replaces or adds the module with a dotted name; with `strict` it must already exist.

        Raises:
            ValueError: The name is empty, or `module` is not a Module.
            AttributeError: With strict, there is no such module.

        >>> net = pyburn.nn.Sequential(pyburn.nn.ReLU())
        >>> net.set_submodule("0", pyburn.nn.Identity())
        >>> net[0]
        Identity()
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if hasattr(parent, name):
            if not isinstance(getattr(parent, name), Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        elif strict:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Returns the parameter with a dotted name.

        Raises:
            AttributeError: There is no such parameter.

        >>> pyburn.nn.Sequential(pyburn.nn.Linear(2, 3)).get_parameter("0.bias").shape
        pyburn.Size([3])
        """
        return _named_tensor(self, target, PARAMETER, "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """Returns the buffer with a dotted name.

        Raises:
            AttributeError: There is no such buffer.

        >>> pyburn.nn.BatchNorm2d(2).get_buffer("running_var")
        tensor([1., 1.])
        """
        return _named_tensor(self, target, BUFFER, "a buffer")

    # ---- modes

    def train(self, mode: bool = True) -> Any:
        """Sets training mode (or evaluation mode if `mode` is False) for this module and its descendants, and returns self.

        >>> pyburn.nn.Linear(2, 3).train(False).training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self._pb_train(mode)
        return self

    def eval(self) -> Any:
        """Sets evaluation mode for this module and its descendants, and returns self.

        >>> pyburn.nn.Linear(2, 3).eval().training
        False
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Sets requires_grad of all parameters, and returns self.

        >>> pyburn.nn.Linear(2, 3).requires_grad_(False).weight.requires_grad
        False
        """
        self._pb_requires_grad(requires_grad)
        return self

    # ---- moves

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Replaces the contents of parameters, gradients and buffers, recursively; parameters keep their identity."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        self._pb_transform(fn)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Moves or casts parameters and buffers in place: to(device), to(dtype), to(device, dtype), to(tensor) or to(memory_format=...).

        Only floating-point tensors are cast. Returns self.

        Raises:
            TypeError: The arguments are invalid, or the dtype is not a floating-point one.

        >>> pyburn.nn.Linear(2, 3).to(pyburn.float64).weight.dtype
        pyburn.float64
        """
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        kwargs.pop("non_blocking", None)
        order = kwargs.pop("memory_format", None)
        if "copy" in kwargs:
            raise RuntimeError(".to() does not accept copy argument")
        if kwargs:
            raise TypeError(f"to() got an unexpected keyword argument: {next(iter(kwargs))!r}")
        if any(isinstance(value, bool) for value in args[: 1 if args and isinstance(args[0], (DType, Tensor)) else 2]):
            raise TypeError(f"to() takes a device, a dtype or a tensor: got {args}")
        for value in args[:2]:
            if isinstance(value, Tensor):
                device, dtype = value.device, value.dtype
            elif isinstance(value, DType):
                dtype = value
            elif value is not None:
                device = value
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")

        rank = {"channels_last": 4, "channels_last_3d": 5}.get(order.name) if order is not None else None

        def convert(t: Tensor) -> Tensor:
            if device is not None:
                t = _moved(t, device)
            t = t.to(memory_format=order) if t.ndim == rank else t
            return t.to(dtype) if dtype is not None and t.is_floating_point() else t

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Moves parameters and buffers to a device without copying their values.

        >>> pyburn.nn.Linear(2, 3).to_empty(device="cpu").weight.shape
        pyburn.Size([3, 2])
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def type(self, dst_type: Any) -> Any:
        """Casts all parameters and buffers, including integer ones, to a dtype.

        >>> pyburn.nn.BatchNorm2d(2).type(pyburn.float16).num_batches_tracked.dtype
        pyburn.float16
        """
        return self._apply(lambda t: t.to(dst_type))

    def float(self) -> Any:
        """Casts floating-point parameters and buffers to float32.

        >>> pyburn.nn.Linear(2, 3).float().weight.dtype
        pyburn.float32
        """
        return self.to(float32)

    def double(self) -> Any:
        """Casts floating-point parameters and buffers to float64.

        >>> pyburn.nn.Linear(2, 3).double().weight.dtype
        pyburn.float64
        """
        return self.to(float64)

    def half(self) -> Any:
        """Casts floating-point parameters and buffers to float16.

        >>> pyburn.nn.Linear(2, 3).half().weight.dtype
        pyburn.float16
        """
        return self.to(float16)

    def bfloat16(self) -> Any:
        """Casts floating-point parameters and buffers to bfloat16.

        >>> pyburn.nn.Linear(2, 3).bfloat16().weight.dtype
        pyburn.bfloat16
        """
        return self.to(bfloat16)

    def cpu(self) -> Any:
        """Moves parameters and buffers to the CPU.

        >>> pyburn.nn.Linear(2, 3).cpu().weight.device.type
        'cpu'
        """
        return self.to("cpu")

    def share_memory(self) -> Any:
        """Moves parameters and buffers to shared memory; see `Tensor.share_memory_`.

        >>> pyburn.nn.Linear(2, 3).share_memory().weight.is_shared()
        True
        """
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing; accepted for compatibility with PyTorch.

        Operations are fused by devices that support it, and `pyburn.inference.compile` converts a model to a graph.

        >>> pyburn.nn.Linear(2, 3).compile()
        """

    @property
    def backend(self) -> Any:
        """The device of the parameters, or None if there are none. Setting it moves the module.

        If the value does not name a device, it is stored as a plain attribute with a warning, so that models may use the name for something
        else.
        """
        if "backend" in self.__dict__:
            return self.__dict__["backend"]
        for tensor in itertools.chain(self.parameters(), self.buffers()):
            return tensor.device
        return None

    @backend.setter
    def backend(self, device: Any) -> None:
        try:
            place = Device(device)
        except (TypeError, DeviceError) as error:
            if isinstance(error, DeviceError) and (not isinstance(device, str) or _core._begins_as_device(device)):
                raise
            warnings.warn(f"{self._get_name()}.backend = {device!r} names no device and is kept as an attribute", stacklevel=2)
            self.__dict__["backend"] = device
            return
        self.__dict__.pop("backend", None)
        check_keeps_data(self, place)
        self.to(device=place)

    # ---- printing and copies

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Returns the text in the parentheses of the repr.

        >>> pyburn.nn.Linear(2, 3).extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return self._pb_extra_repr()

    def __repr__(self) -> str:
        children = [(name, repr(child)) for name, child in self._modules.items()]
        if self._pb_folds_repeated_children:
            children = self._pb_repeats_folded(children)
        return self._pb_text(self._get_name(), self.extra_repr(), children)

    def __dir__(self) -> list[str]:
        registered = [name for name, *_ in self._pb_entries() if name.isidentifier()]
        return sorted({*object.__dir__(self), *registered})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "training": self.training, "_pb_entries": self._pb_entries()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "training" in state:
            self.training = state.pop("training")
        for entry in state.pop("_pb_entries", ()):
            self._pb_put(*entry)
        self.__dict__.update(state)
        if "_pb_hooks" in state or "forward" in state:
            self._pb_call_host(True)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        """Pickles the registry separately if the class defines its own __setstate__, which may not know of it."""
        apart = type(self).__setstate__ is not Module.__setstate__
        registry = (self.training, self._pb_entries()) if apart else (True, ())
        return _unfilled, (type(self), self._pb_config(), *registry), self.__getstate__()


def _moved(tensor: Tensor, device: Any) -> Tensor:
    try:
        return tensor.to(device)
    except CaptureError as error:
        if not tensor.is_meta:
            raise
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Please use pyburn.nn.Module.to_empty() instead of pyburn.nn.Module.to() when moving "
            "module from meta to a different device."
        ) from error


def _named_tensor(module: Any, target: str, kind: int, what: str) -> Any:
    path, _, name = target.rpartition(".")
    owner = module.get_submodule(path)
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    for found, _, value, _ in owner._pb_entries(kind):
        if found == name:
            return value
    raise AttributeError(f"`{name}` is not {what}")


def _unfilled(cls: Any, config: dict[str, Any], training: bool = True, entries: Any = ()) -> Any:
    module = cls._pb_unfilled(cls, config)
    module.training = training
    for entry in entries:
        module._pb_put(*entry)
    return module
