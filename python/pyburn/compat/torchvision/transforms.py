"""torchvision.transforms: those of pyburn.data. Where torchvision's are modules, so that they stand in an nn.Sequential, these are, too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...data import transforms as _own
from ...data.transforms import InterpolationMode, Lambda, PILToTensor, ToPILImage, ToTensor, functional
from ...nn import Module
from ..absent import absent_names

__path__: list[str] = []
_PLAIN = ("Compose", "InterpolationMode", "Lambda", "PILToTensor", "ToPILImage", "ToTensor", "functional")


class TransformModule(Module):  # type: ignore[misc]
    """A transform of pyburn as a module; its attributes are the transform's."""

    kind: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        self.transform = self.kind(*(_inner(a) for a in args), **{name: _inner(value) for name, value in options.items()})

    def forward(self, *args: Any) -> Any:
        return self.transform(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "transform":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.__dict__["transform"], name)

    def __repr__(self) -> str:
        return repr(self.transform)


def _inner(value: Any) -> Any:
    """Transforms as pyburn knows them: it puts some together into one step."""
    if isinstance(value, TransformModule):
        return value.transform
    return [_inner(item) for item in value] if isinstance(value, list) else value


def _module(name: str) -> Any:
    kind = getattr(_own, name)
    make: Any = type(TransformModule)
    return make(name, (TransformModule,), {"kind": kind, "__doc__": kind.__doc__, "__module__": "torchvision.transforms"})


class Compose(_own.Compose):
    """Applies transforms in order.

    Args:
        transforms: The transforms.

    >>> Compose([Normalize([0.5], [0.5])])(pyburn.ones(1, 1, 1)).item()
    1.0
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        super().__init__([_inner(step) for step in transforms])


globals().update({name: _module(name) for name in _own.__all__ if name not in _PLAIN})
__all__ = ["Compose", "InterpolationMode", "Lambda", "PILToTensor", "ToPILImage", "ToTensor", "functional"]
__all__ += [name for name in _own.__all__ if name not in _PLAIN]

# `transforms` is the file that torchvision has them in.
__getattr__ = absent_names("torchvision.transforms", lambda name: sys.modules[__name__] if name == "transforms" else None)
