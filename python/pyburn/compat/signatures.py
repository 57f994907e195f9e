"""inspect.signature of layers' methods: libraries ask `layer.forward` which arguments it takes, and inspect does not know the binding's."""

from __future__ import annotations

import ast
import inspect
import re
from inspect import Parameter, Signature
from typing import Any

from ..nn import Identity

_OF_CLASS: Any = type(Identity.forward)
_OF_LAYER: Any = type(Identity().forward)
_plain = inspect.signature


def _signature(method: Any) -> Signature:
    """The arguments that the binding writes down as text, `def forward(self, input: Tensor) -> Tensor`; of several ways the first."""
    text, _, defaults_of_text = method.__nb_signature__[0]
    function = ast.parse(re.sub(r"\\(\d+)", r"\1", text) + ": ...").body[0]  # a default is its number in a tuple
    assert isinstance(function, ast.FunctionDef)

    def default_of(node: ast.expr | None) -> Any:
        return defaults_of_text[ast.literal_eval(node)] if node is not None else Parameter.empty

    given = function.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    found = [
        Parameter(arg.arg, Parameter.POSITIONAL_OR_KEYWORD, default=default_of(value)) for arg, value in zip(plain, defaults, strict=True)
    ]
    if given.vararg is not None:
        found.append(Parameter(given.vararg.arg, Parameter.VAR_POSITIONAL))
    for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(Parameter(arg.arg, Parameter.KEYWORD_ONLY, default=default_of(default)))
    if given.kwarg is not None:
        found.append(Parameter(given.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(found)


def signature(obj: Any, **options: Any) -> Signature:
    """inspect.signature that knows methods of layers as well."""
    if isinstance(obj, _OF_CLASS):
        return _signature(obj)
    if isinstance(obj, _OF_LAYER):
        whole = _signature(obj.__func__)
        return whole.replace(parameters=list(whole.parameters.values())[1:])
    return _plain(obj, **options)
