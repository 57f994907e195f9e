"""What the import statements of a model file find once `torch` is `pyburn` there: modules that pyburn has no file for, and einops."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_BACKENDS, _LAYERS = "einops._backends", "einops.layers.pyburn"


def has_file(name: str) -> bool:
    """Whether `pyburn.<name>` is a file of pyburn's."""
    return PathFinder.find_spec(f"pyburn.{name}", sys.modules["pyburn"].__path__) is not None


class BorrowedModules:
    """Finds `pyburn.backends.cudnn`, `pyburn.hub` and others as pyburn.compat finds those of torch; asked after all files."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not fullname.startswith("pyburn."):
            return None
        from .compat.finder import borrowed_spec

        return borrowed_spec(fullname)


class Einops:
    """Tells einops of pyburn's tensors when it is imported, and finds its layers: `from einops.layers.pyburn import Rearrange`."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname == _LAYERS:
            from . import _einops_layers

            return ModuleSpec(fullname, _Given(_einops_layers))  # type: ignore[arg-type]
        spec = PathFinder.find_spec(fullname, path) if fullname == _BACKENDS else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Followed(spec.loader)  # type: ignore[assignment]
        return spec


class _Given:
    """Gives a module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class _Followed:
    """Loads einops' backends and adds pyburn's."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _add_backend(module)


def _add_backend(module: ModuleType) -> None:
    """Makes the subclass of einops' AbstractBackend; einops looks for subclasses when it meets a tensor that it does not know."""
    from . import _core
    from .tensor import einsum, from_numpy

    class PyburnBackend(module.AbstractBackend):  # type: ignore[name-defined, misc]
        framework_name = "pyburn"
        _reductions = {"min": "amin", "max": "amax"}  # over several axes; `min` and `max` take one

        def is_appropriate_type(self, x: Any) -> bool:
            return isinstance(x, _core.Tensor)

        def from_numpy(self, x: Any) -> Any:
            return from_numpy(x)

        def to_numpy(self, x: Any) -> Any:
            return x.detach().numpy()

        def arange(self, start: int, stop: int) -> Any:
            return _core.arange(start, stop, dtype=_core.int64)

        def transpose(self, x: Any, axes: Sequence[int]) -> Any:
            return x.permute(axes)

        def reduce(self, x: Any, operation: str, axes: Sequence[int]) -> Any:
            if operation != "prod":
                return getattr(x, self._reductions.get(operation, operation))(dim=tuple(axes))
            for axis in sorted(axes, reverse=True):
                x = x.prod(dim=axis)
            return x

        def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
            return _core.stack(tensors)

        def add_axis(self, x: Any, new_position: int) -> Any:
            return x.unsqueeze(new_position)

        def tile(self, x: Any, repeats: Sequence[int]) -> Any:
            return x.expand([-1 if n == 1 else n for n in repeats])  # einops tiles new axes only

        def concat(self, tensors: Sequence[Any], axis: int) -> Any:
            return _core.cat(tensors, dim=axis)

        def is_float_type(self, x: Any) -> bool:
            return bool(x.is_floating_point())

        def layers(self) -> ModuleType:
            from . import _einops_layers

            return _einops_layers

        def einsum(self, pattern: str, *x: Any) -> Any:
            return einsum(pattern, *x)

    module.PyburnBackend = PyburnBackend  # type: ignore[attr-defined]  # einops holds it: a class that nothing holds is gone


def install() -> None:
    """Once, when pyburn is imported."""
    sys.meta_path.insert(0, Einops())
    sys.meta_path.append(BorrowedModules())
    if _BACKENDS in sys.modules:
        _add_backend(sys.modules[_BACKENDS])
