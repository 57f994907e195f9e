"""Parses operation schemas and builds Python signatures from them."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import inspect
    from collections.abc import Sequence

# Python annotations of the schema types.
ANNOTATIONS = {
    "Tensor": "Tensor",
    "Tensor?": "Tensor | None",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor|Scalar": "Tensor | Number",
    "Scalar": "Number",
    "Scalar?": "Number | None",
    "int": "int",
    "int?": "int | None",
    "int[]": "int | Sequence[int]",
    "int[]?": "int | Sequence[int] | None",
    "float": "float",
    "float?": "float | None",
    "float[]": "float | Sequence[float]",
    "float[]?": "float | Sequence[float] | None",
    "bool": "bool",
    "bool?": "bool | None",
    "str": "str",
    "str?": "str | None",
    "DType": "DTypeLike",
    "DType?": "DTypeLike | None",
    "Device?": "DeviceLike | None",
    "Generator?": "Generator | None",
}
TENSORS = ("Tensor", "Tensor?", "Tensor[]", "Tensor|Scalar")


@dataclass(frozen=True)
class Parameter:
    """An argument of a schema; `default` is Python source, or None if the argument is required."""

    name: str
    type: str
    default: str | None
    keyword_only: bool

    @property
    def is_tensor(self) -> bool:
        return self.type in TENSORS


@dataclass(frozen=True)
class Schema:
    """A parsed schema, which C++ has validated."""

    name: str
    parameters: tuple[Parameter, ...]
    results: str

    @property
    def function(self) -> str:
        """The name of the public function; several schemas can be overloads of one function."""
        return self.name.split(".")[0]

    @property
    def annotation(self) -> str:
        """The annotation of the result."""
        if self.results.startswith("("):
            return f"tuple[{', '.join(['Tensor'] * len(self.results.split(',')))}]"
        return "tuple[Tensor, ...]" if self.results == "Tensor[]" else self.results


def parse(schema: str) -> Schema:
    """Parses a schema."""
    name, _, rest = schema.partition("(")
    body, _, results = rest.rpartition(") -> ")
    parameters: list[Parameter] = []
    keyword_only = False
    for part in body.split(", ") if body else []:
        if part == "*":
            keyword_only = True
            continue
        typed, _, default = part.partition("=")
        kind, _, word = typed.rpartition(" ")
        parameters.append(Parameter(word, kind, default or None, keyword_only))
    return Schema(name, tuple(parameters), results)


def signature_of(schema: str, out: bool = False) -> inspect.Signature:
    """Returns the signature of the function of a schema."""
    from inspect import Parameter as P
    from inspect import Signature

    parsed = parse(schema)
    parameters = [
        P(
            p.name,
            P.KEYWORD_ONLY if p.keyword_only else P.POSITIONAL_OR_KEYWORD,
            default=P.empty if p.default is None else ast.literal_eval(p.default),
            annotation=ANNOTATIONS[p.type],
        )
        for p in parsed.parameters
    ]
    if out:
        parameters.append(P("out", P.KEYWORD_ONLY, default=None, annotation=f"{parsed.annotation} | None"))
    return Signature(parameters, return_annotation=parsed.annotation)


def signature_of_forms(forms: Sequence[tuple[str, bool]]) -> inspect.Signature:
    """Returns the signature of a function with several forms, each a schema and whether it takes out=.

    If the parameters of one form include those of all others, in order, they are the signature, and those missing from another form are
    optional. If not, it has the parameters that all forms begin with, and *args and **kwargs.
    """
    from inspect import Parameter as P

    signatures = [signature_of(schema, out) for schema, out in forms]
    longest = max(signatures, key=lambda s: len(s.parameters))
    if len(signatures) == 1:
        return longest
    names = [list(s.parameters) for s in signatures]
    shared = [name for name in longest.parameters if all(name in other for other in names)]
    first = list(itertools.takewhile(lambda name: name in shared, longest.parameters))
    if all([name for name in longest.parameters if name in other] == other for other in names):
        kept, optional = list(longest.parameters.values()), False
        for i, p in enumerate(kept):
            optional = optional or p.name not in shared and p.kind is not P.KEYWORD_ONLY
            if p.default is P.empty and (p.name not in shared or (optional and p.kind is not P.KEYWORD_ONLY)):
                kept[i] = p.replace(default=None)
    else:
        kept = [p for p in longest.parameters.values() if p.name in first and p.kind is not P.KEYWORD_ONLY]
        kept += [P("args", P.VAR_POSITIONAL), P("kwargs", P.VAR_KEYWORD)]
    kept = [p.replace(annotation=P.empty) for p in kept]
    return longest.replace(parameters=kept, return_annotation=longest.empty)
