"""Operations and backends of other packages. See docs/guides/extending.md."""

from __future__ import annotations

import os
import sys
import warnings
from types import SimpleNamespace
from typing import Any

from . import _core
from ._entry_points import Discovery

ENTRY_POINTS = "pyburn.ops"

_loaded: dict[str, SimpleNamespace] = {}


def load_library(path: str | os.PathLike[str]) -> SimpleNamespace:
    """Loads a plugin: a shared library that adds operations, backends, decorators, transports or layers.

    The library registers its contents in `PYBURN_PLUGIN()` of the header pyburn/plugin.h.

    Args:
        path: The library.

    Returns:
        The operations of the plugin as functions, and its layers as classes. Functions accept `out=`; in-place functions have a name
            that ends with an underscore. Loading a library again returns the same object.

    Raises:
        FileNotFoundError: The file does not exist. Other system errors are OSErrors, too.
        PluginError: The file is not a plugin, was built for another version of pyburn, or fails to register its contents. Nothing that
            it registered is kept.

    >>> load_library("missing.so")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: ...
    """
    resolved = os.fsdecode(os.path.realpath(path))
    if resolved not in _loaded:
        package = sys._getframe(1).f_globals.get("__name__", "__main__")  # the module where pickle looks for the layer classes
        operations, layers = _core._load_library(os.fsencode(resolved), package)
        _loaded[resolved] = SimpleNamespace(**_core._functions_named(operations), **layers)
    return _loaded[resolved]


def operation(name: str) -> Any:
    """Returns the function of an operation from another package or register_op(), by name.

    Packages that provide operations are loaded before a name is reported as unknown.
    """
    for last_try in (False, True):
        for function in (name, name.removesuffix("_")):
            found = _core._functions_named(_core._forms_of(function)).get(name)
            if found is not None:
                return found
        if not last_try:
            discover()
    raise ValueError(f"[operation] unknown operation: got {name!r}")


def discover() -> None:
    """Loads the packages that provide operations in the entry-point group `pyburn.ops`.

    Called before an operation is reported as unknown, such as one named in a graph. An entry point names a module that registers
    operations on import, or a function that does. If one fails, a warning is issued and the others are not affected.
    """
    _discovery.run()


def _warn(name: str, error: str) -> None:
    warnings.warn(f"[operation] the package of {name!r} failed with {error}", stacklevel=2)


_discovery = Discovery(ENTRY_POINTS, _warn)
