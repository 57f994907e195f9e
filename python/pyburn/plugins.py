"""Operations and backends of other packages, written in C++. See docs/extending.md."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pyburn import _core

_loaded: dict[Path, SimpleNamespace] = {}


def load_library(path: str | os.PathLike[str]) -> SimpleNamespace:
    """Loads a shared library that adds operations or backends; gives its operations as functions.

    The library has a C function `pyburn_plugin`, which registers what it brings. Loading it again gives the same functions.
    """
    resolved = Path(path).resolve(strict=True)
    if resolved not in _loaded:
        functions = (_function(schema, doc) for schema, doc in _core._load_library(str(resolved)))
        _loaded[resolved] = SimpleNamespace(**{f.__name__: f for f in functions})
    return _loaded[resolved]


def _parameters(body: str) -> tuple[list[inspect.Parameter], set[str]]:
    """The parameters of a schema, and the names of those that are tensors."""
    parameters, tensors, kind = [], set(), inspect.Parameter.POSITIONAL_OR_KEYWORD
    for part in filter(None, re.split(r",\s*(?![^(]*\))", body)):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        typed, _, default = part.partition("=")
        annotation, _, name = typed.rpartition(" ")
        if annotation in ("Tensor", "Tensor?", "Tensor[]"):
            tensors.add(name)
        value = _default(default) if default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=value, annotation=annotation))
    return parameters, tensors


def _default(text: str) -> Any:
    constants = {"None": None, "True": True, "False": False}
    if text in constants:
        return constants[text]
    if text.startswith("'"):
        return text.strip("'")
    return float(text) if re.search(r"[.e]|inf|nan", text) else int(text)


def _function(schema: str, doc: str) -> Callable[..., Any]:
    match = re.fullmatch(r"(\w+)\((.*)\) -> (.+)", schema)
    if match is None:
        raise _core.ArgumentError(f"[load_library] not a schema: got {schema!r}")
    name, body = match[1], match[2]
    parameters, tensors = _parameters(body)
    signature = inspect.Signature(parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"[{name}] {error}") from None
        bound.apply_defaults()
        inputs: list[Any] = []
        attributes: dict[str, Any] = {}
        device = None
        for key, value in bound.arguments.items():
            if key == "device":
                device = value
            elif key not in tensors:
                attributes[key] = value
            elif isinstance(value, (list, tuple)):
                inputs += value
            else:
                inputs.append(value)
        return _core._call_operation(name, inputs, attributes, device)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{schema}\n\n{doc}"
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call
