"""torch.library.custom_op over pyburn.register_op."""

from __future__ import annotations

import collections.abc
import importlib
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.autograd.function import Context

_known: dict[str, CustomOp] = {}
_defined: dict[str, str] = {}  # schemas that wait for a kernel
_waiting: dict[str, list[Callable[[CustomOp], Any]]] = {}  # what was registered for them before

_ONE = {Tensor: "Tensor", int: "int", float: "float", bool: "bool", str: "str", pyburn.DType: "DType"}
_LISTS = (list, collections.abc.Sequence)


def _schema_type(annotation: Any) -> str | None:
    """The type in a schema of an annotation; None for those that no schema has."""
    if annotation in _ONE:
        return _ONE[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        others = [part for part in parts if part is not type(None)]
        if set(others) == {int, float, bool} or set(others) == {int, float}:
            inner: str | None = "Scalar"
        else:
            inner = _schema_type(others[0]) if len(others) == 1 else None
        optional = len(others) < len(parts)
        return inner if inner is None or not optional else None if inner == "Tensor[]" else inner + "?"
    if origin in _LISTS and len(parts) == 1 and parts[0] in (Tensor, int, float):
        return f"{_ONE[parts[0]]}[]"
    return None


def _default(value: Any) -> str | None:
    """A default in a schema; None for values that cannot stand there."""
    if isinstance(value, (tuple, list)) and all(type(item) in (int, float) for item in value):
        return f"({','.join(map(repr, value))})"
    return repr(value) if value is None or isinstance(value, (bool, int, float, str)) else None


def infer_schema(prototype: Callable[..., Any], name: str = "") -> str | None:
    """The schema of a function from its annotations; None where they say something that no schema of pyburn says."""
    try:
        hints = typing.get_type_hints(prototype)
    except Exception:  # names that exist for type checkers alone
        return None
    arguments: list[str] = []
    for p in inspect.signature(prototype).parameters.values():
        kind = _schema_type(hints.get(p.name))
        default = "" if p.default is inspect.Parameter.empty else _default(p.default)
        if kind is None or default is None or p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            return None
        if p.kind is p.KEYWORD_ONLY and "*" not in arguments:
            arguments.append("*")
        arguments.append(f"{kind} {p.name}" + (f"={default}" if default else ""))
    result = hints.get("return")
    parts = typing.get_args(result)
    if result is Tensor:
        results = "Tensor"
    elif typing.get_origin(result) is tuple and all(part is Tensor for part in parts):
        results = f"({', '.join(f'Tensor result{i}' for i in range(len(parts)))})"
    else:
        return None
    return f"{name}({', '.join(arguments)}) -> {results}"


def _as_ours(schema: str) -> str:
    """A schema of PyTorch in the words of pyburn: several results have names."""
    arguments, _, results = schema.strip().replace("SymInt", "int").rpartition(" -> ")
    parts = results[1:-1].split(",") if results.startswith("(") else []
    if len(parts) == 1:
        results = "Tensor"
    elif parts:
        named = [part if " " in part.strip() else f"{part.strip()} result{i}" for i, part in enumerate(parts)]
        results = f"({', '.join(part.strip() for part in named)})"
    return f"{arguments} -> {results}"


def _readable(read: Callable[[int], Tensor], i: int, shape: Any, dtype: Any) -> Tensor:
    """A saved tensor; one without data where it was written in the meantime, which is an error only for a rule that computes with it."""
    try:
        return read(i)
    except pyburn.GradientError:
        return pyburn.empty(shape, dtype=dtype, device="meta")


class CustomOp:
    """An operation of a program's own: torch.ops.place.name.

    It is a row of pyburn if its annotations or its schema say what it takes; otherwise, or if it writes into its arguments, the function
    itself, whose gradient is that of what it does.
    """

    def __init__(self, name: str, function: Callable[..., Any], schema: str | None, kernels: dict[str, Callable[..., Any]]) -> None:
        self.name, self.function, self.__doc__ = name, function, function.__doc__
        self._schema, self._kernels = schema, kernels
        self._fake: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        self._operation = function
        try:
            self._register()
        except ValueError:  # types that no schema of pyburn has
            self._schema = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operation(*args, **kwargs)

    def _register(self) -> None:
        if self._schema is None:
            return
        doc = (self.__doc__ or "").strip().split("\n")[0]
        self._operation = pyburn.register_op(
            self._schema, kernel=self._kernels, infer=self._fake, grad=self._gradient, saves=("inputs", "outputs"), doc=doc
        )

    def _gradient(self, saved: Any, *gradients: Tensor) -> Any:
        if self._backward is None:
            raise RuntimeError(
                f"Trying to backward through {self.name}.default but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        ctx, schema = Context(), saved._schema
        view, places = saved._view, dict(saved.places())
        arguments: dict[str, Any] = dict(saved.attributes)
        needs: dict[str, Any] = {}

        def tensor(i: int) -> Tensor | None:
            return _readable(view.input, i, saved.input_shapes[i], saved.input_dtypes[i])

        for name, place in places.items():
            several = not isinstance(place, int)
            arguments[name] = [tensor(i) for i in place] if several else tensor(place)
            needs[name] = [view.needs(i) for i in place] if several else view.needs(place)
        positional = [p.name for p in schema.parameters if not p.keyword_only]
        keywords = {p.name: arguments[p.name] for p in schema.parameters if p.keyword_only}
        ctx.needs_input_grad = tuple(needs.get(name, False) for name in positional)
        if self._setup_context is not None:
            outputs = tuple(_readable(view.output, i, g.shape, g.dtype) for i, g in enumerate(gradients))
            named: dict[str, Any] = {"keyword_only_inputs": keywords} if keywords else {}
            output = outputs[0] if len(outputs) == 1 else outputs
            self._setup_context(ctx=ctx, inputs=tuple(arguments[name] for name in positional), output=output, **named)
        found = self._backward(ctx, *gradients)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(positional):
            raise RuntimeError(
                f"{self.name}: the backward must return a gradient per argument: expected {len(positional)}, got {len(found)}"
            )
        by_name = dict(zip(positional, found, strict=True))
        chosen = tuple(by_name.get(name) for name in places)
        return chosen if len(chosen) > 1 else chosen[0]

    @property
    def default(self) -> CustomOp:
        """The only overload."""
        return self

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None) -> None:
        """Sets the gradient: backward(ctx, *gradients), and what it keeps: setup_context(ctx, inputs, output)."""
        if self._schema is None:
            raise RuntimeError(
                f"Cannot register autograd formula for {self.name}: expected a functional operator whose annotations or schema= say what "
                "it takes and returns"
            )
        self._backward, self._setup_context = backward, setup_context
        self._register()

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Sets the function that says what the results look like, on tensors without data."""
        self._fake = fn
        self._register()
        return fn

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Sets the function that is used on some types of devices; None: on all."""
        if fn is None:
            return lambda function: self.register_kernel(device_types, function)
        self._kernels |= kernels_of(device_types, fn)
        self._register()
        return fn

    def register_vmap(self, func: Any = None, /) -> Any:
        """Returns the function: vmap runs an operation for each element."""
        return func if func is not None else lambda function: function


def kernels_of(device_types: Any, function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """A function for some types of devices as register_op takes it; without types, and for cpu, it serves host memory."""
    chosen = ["cpu"] if device_types is None else [device_types] if isinstance(device_types, str) else list(device_types)
    return {"" if kind == "cpu" else kind: function for kind in chosen}


def custom_op(
    name: str,
    fn: Any = None,
    /,
    *,
    mutates_args: Any = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """The operation under "place::name", which torch.ops.place.name is from then on."""
    if fn is None:
        return lambda function: custom_op(name, function, mutates_args=mutates_args, device_types=device_types, schema=schema)
    if not name.partition("::")[2]:
        raise ValueError(f"Expected op name to be of the form 'namespace::name', got {name!r}")
    whole = None  # what it is for a function that writes
    if not mutates_args:
        whole = infer_schema(fn, name) if schema is None else name + _as_ours(schema)
    return _published(CustomOp(name, fn, whole, kernels_of(device_types, fn)))


def _published(operation: CustomOp) -> CustomOp:
    """Makes it torch.ops.place.name."""
    from .operators import Place

    place, _, word = operation.name.partition("::")
    setattr(importlib.import_module("torch.ops").__dict__.setdefault(place, Place(place)), word, operation)
    _known[operation.name] = operation
    for register in _waiting.pop(operation.name, ()):
        register(operation)
    return operation


def _with_operation(op: Any, register: Callable[[CustomOp], Any]) -> None:
    """Calls a function with an operation: now, or when a defined one gets its first kernel. Those of torchvision are complete."""
    found = op if isinstance(op, CustomOp) else _known.get(op)
    if found is not None:
        register(found)
    elif op in _defined:
        _waiting.setdefault(op, []).append(register)
    elif not str(op).startswith("torchvision::"):
        raise NotImplementedError(f"[compat] torch.library: expected an operation made by custom_op or define, got {op!r}")


def register_fake(op: Any, func: Any = None, /, **options: Any) -> Any:
    """torch.library.register_fake."""
    if func is None:
        return lambda function: register_fake(op, function)
    _with_operation(op, lambda found: found.register_fake(func))
    return func


def register_kernel(op: Any, device_types: Any, func: Any = None, /, **options: Any) -> Any:
    """torch.library.register_kernel."""
    if func is None:
        return lambda function: register_kernel(op, device_types, function)
    _with_operation(op, lambda found: found.register_kernel(device_types, func))
    return func


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None) -> None:
    """torch.library.register_autograd."""
    _with_operation(op, lambda found: found.register_autograd(backward, setup_context=setup_context))


def define(qualname: str, schema: str = "", *, lib: Any = None, **options: Any) -> Any:
    """torch.library.define: the schema of an operation, whose kernels impl() gives."""
    _defined[qualname] = schema
    return lambda function: function


_NO_DEVICES = ("cuda", "mps", "xpu", "hpu", "privateuse1")


def impl(qualname: str, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """torch.library.impl: a kernel for types of devices, or for a dispatch key."""
    if func is None:
        return lambda function: impl(qualname, types, function)
    key = types.lower() if isinstance(types, str) else types
    implicit = key == "compositeimplicitautograd"  # its gradient is that of what it does
    if key in _NO_DEVICES:  # never runs, because these devices do not exist
        return func
    if str(key).startswith("autograd"):
        raise NotImplementedError(f"[compat] torch.library.impl for {types!r} is not implemented: use torch.library.register_autograd")
    if key == "meta" or qualname in _known or qualname not in _defined:
        _with_operation(qualname, lambda found: found.register_fake(func) if key == "meta" else found.register_kernel(key, func))
    else:
        schema = None if implicit else qualname + _as_ours(_defined[qualname])
        kinds = None if key in ("default", "compositeexplicitautograd") else key
        _published(CustomOp(qualname, func, schema, kernels_of(kinds, func)))
    return func
