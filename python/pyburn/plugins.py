"""Operations and backends of other packages, written in C++. See docs/extending.md."""

from __future__ import annotations

import os
from types import SimpleNamespace

from . import _core

_loaded: dict[str, SimpleNamespace] = {}


def load_library(path: str | os.PathLike[str]) -> SimpleNamespace:
    """Loads a plugin: a shared library that adds operations, backends, decorators, transports or layers.

    The library registers what it brings in `PYBURN_PLUGIN()` of the header pyburn/plugin.h.

    Args:
        path: The library.

    Returns:
        The operations of the plugin as functions. Loading it again gives the same ones.

    Raises:
        FileNotFoundError: There is no such file. Other errors of the system are OSErrors, too.
        PluginError: The file is not a plugin, was built against another version of pyburn, or fails to register what it brings.
            Nothing that it registered is kept.
    """
    from ._schema import function_of  # here, to keep `import pyburn` quick

    resolved = os.fsdecode(os.path.realpath(path))
    if resolved not in _loaded:
        functions = (function_of(schema, doc) for schema, doc in _core._load_library(os.fsencode(resolved)))
        _loaded[resolved] = SimpleNamespace(**{f.__name__: f for f in functions})
    return _loaded[resolved]
