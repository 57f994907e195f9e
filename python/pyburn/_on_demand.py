"""Modules of a package that are loaded when they are asked for, so that `import pyburn` stays quick."""

from __future__ import annotations

from collections.abc import Callable


def on_demand(package: str, *names: str) -> Callable[[str], object]:
    """The `__getattr__` of a package whose modules `names` are imported at their first use."""

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import importlib

        return importlib.import_module(f".{name}", package)

    return find


def borrowed(module: str) -> Callable[[str], object]:
    """The `__getattr__` of a module of PyTorch's that pyburn has a part of: the rest is what pyburn.compat answers."""

    def find(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        import importlib

        return getattr(importlib.import_module(".compat.namespaces", __package__).namespace(module), name)

    return find
