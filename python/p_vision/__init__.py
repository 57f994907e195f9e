"""p_vision: a Keras-style model API on every backend of pyburn.

    from p_vision import Sequential, Input, Dense, googlenet, backend

    model = Sequential(backend="NdArray")
    model.add(Input(shape=(16,)))
    model.add(Dense(8))
    model = googlenet(backend.NDARRAY)
    history = model.train(train_data, epochs=2)

Names are imported lazily on first access; `__init__.pyi` maps each name to its module.
"""

from __future__ import annotations

import functools
import importlib
import pathlib
import re
from typing import Any


@functools.cache
def _places() -> dict[str, str]:
    """Maps each public name to its module, read from the stub file; functions defined in the stub itself are in `zoo`."""
    stub = pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    places = {name: module for module, name in re.findall(r"^from \.([\w.]*) import \w+ as (\w+)$", stub, re.MULTILINE)}
    return {**places, **dict.fromkeys(re.findall(r"^def ([a-z]\w*)\(", stub, re.MULTILINE), "zoo")}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(_places())
    if name == "__version__":
        return importlib.import_module("pyburn").__version__
    module = _places().get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if module in ("", name):  # the enum `backend` replaces the module of the same name
        return importlib.import_module(f".{name}", __name__)
    holder = importlib.import_module(f".{module}", __name__)
    found = holder.face(name) if module == "zoo" else getattr(holder, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(_places())
