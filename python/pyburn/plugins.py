"""Operations and backends of other packages, written in C++. See docs/extending.md."""

from __future__ import annotations

import os
from types import SimpleNamespace

from . import _core

_loaded: dict[str, SimpleNamespace] = {}


def load_library(path: str | os.PathLike[str]) -> SimpleNamespace:
    """Loads a shared library that adds operations or backends; gives its operations as functions.

    The library has a C function `pyburn_plugin`, which registers what it brings. Loading it again gives the same functions.
    """
    from ._schema import function_of  # here, to keep `import pyburn` quick

    resolved = os.path.realpath(path)
    if resolved not in _loaded:
        functions = (function_of(schema, doc) for schema, doc in _core._load_library(resolved))
        _loaded[resolved] = SimpleNamespace(**{f.__name__: f for f in functions})
    return _loaded[resolved]
