"""Registers backends by name, discovers those of other packages, and builds stacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .. import _core
from .._entry_points import Discovery

if TYPE_CHECKING:
    from .interface import Backend

ENTRY_POINTS = "pyburn.backends"


def register(
    name: str,
    factory: Callable[..., Backend],
    *,
    aliases: Iterable[str] = (),
    doc: str = "",
    unavailable: Callable[[], str | None] | None = None,
) -> None:
    """Registers a backend, so that ``device=name`` refers to it.

    Args:
        name: The name, case-insensitive.
        factory: Called once, when the name is first used: without arguments, or with the text after the colon for ``"name:text"``.
        aliases: Other names.
        doc: A line of documentation; by default the first line of the docstring of factory.
        unavailable: Returns why the backend cannot be used here, or None if it can.

    >>> from pyburn.backend.numpy_backend import NumpyBackend
    >>> class Renamed(NumpyBackend):
    ...     name = "renamed"
    >>> register("renamed", Renamed, doc="The numpy backend under another name.")
    >>> pyburn.ones(2, device="renamed") + 1
    tensor([2., 2.], device='renamed')
    """
    _core._register_backend(name.lower(), factory, [a.lower() for a in aliases], doc or (factory.__doc__ or "").split("\n")[0], unavailable)


def discover() -> None:
    """Registers the backends of installed packages; called before a name is reported as unknown.

    An entry point names a function that calls register(), or a module that does so on import. If one fails, its name is registered as
    unavailable with the reason, and the others are not affected.

    >>> pyburn.backend.discover()
    """
    _discovery.run()


def _register_failed(name: str, error: str) -> None:
    reason = f"its package failed with {error}"

    def factory() -> Backend:
        raise _core.DeviceError(f"[device] {name} is not available here: {reason}")

    register(name, factory, doc="A backend of another package.", unavailable=lambda: reason)


def stack(*parts: str | _core.Device | Backend) -> _core.Device:
    """Returns the device of a stack, outermost part first: ``stack("autodiff", "trace", "numpy")``.

    Args:
        parts: Names of decorators, then a name, a device or a Backend object. autodiff is not added automatically.

    Raises:
        TypeError: There are no parts.

    >>> pyburn.backend.stack("autodiff", "fusion", "cpu")
    device('autodiff(fusion(ndarray))')
    """
    if not parts:
        raise TypeError("[stack] expected at least one part: got none")
    names = [part for part in parts if isinstance(part, str)]
    if len(names) == len(parts):
        text = "(".join(names) + ")" * (len(names) - 1)
        return _core.Device(text if names[0].lower() == "autodiff" else f"inner({text})")
    return _core._stack(list(parts[:-1]), parts[-1])


def _numpy() -> Backend:
    from .numpy_backend import NumpyBackend

    return NumpyBackend()


def _torch(device: str = "") -> Backend:
    from . import torch_backend

    return torch_backend.make(device)


def _missing(package: str, hint: str) -> Callable[[], str | None]:
    def reason() -> str | None:
        from importlib.util import find_spec

        spec = find_spec(package)
        if spec is None:
            return f"the package {package} is not installed{hint}"
        own = spec.name != package or type(spec.loader).__module__.startswith("pyburn.")
        return f"pyburn.compat replaces the package {package} in this process" if own else None

    return reason


register("numpy", _numpy, doc="The reference: every operation in a line or two of numpy.", unavailable=_missing("numpy", ""))
register(
    "torch",
    _torch,
    aliases=["pytorch"],
    doc="PyTorch's kernels on its devices: torch:cpu, torch:cuda:0, torch:mps.",
    unavailable=_missing("torch", ": pip install torch"),
)


_discovery = Discovery(ENTRY_POINTS, _register_failed)
