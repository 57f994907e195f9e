"""Python functions for operations that only their schema describes."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any

from . import _core


def _parameters(body: str) -> tuple[list[inspect.Parameter], set[str]]:
    """The parameters of a schema, and the names of those that are tensors."""
    parameters: list[inspect.Parameter] = []
    tensors: set[str] = set()
    keyword_only = False
    for part in filter(None, re.split(r",\s*(?![^(]*\))", body)):
        if part == "*":
            keyword_only = True
            continue
        typed, _, default = part.partition("=")
        annotation, _, name = typed.rpartition(" ")
        if annotation in ("Tensor", "Tensor?", "Tensor[]"):
            tensors.add(name)
        value = ast.literal_eval(default) if default else inspect.Parameter.empty
        kind = inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(name, kind, default=value, annotation=annotation))
    return parameters, tensors


def function_of(schema: str, doc: str) -> Callable[..., Any]:
    """A function with the signature of a schema, which runs the operation of that name."""
    name, _, rest = schema.partition("(")
    parameters, tensors = _parameters(rest.rpartition(") -> ")[0])
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
