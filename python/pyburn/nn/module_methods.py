"""The methods of Module that are implemented in Python: PyTorch's interface to the C++ registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .._core import Tensor
from .._core._nn import Module
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
