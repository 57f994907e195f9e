"""Custom operations written in Python, whose rules are functions of tensors. See docs/guides/extending.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _core
from ._core import Tensor
from ._schema import Schema, parse

__all__ = ["GradientContext", "register_op"]

_SAVES = {"inputs": 1, "outputs": 2}


class GradientContext:
    """The arguments and results of a call, for a gradient rule. Arguments are also attributes, by their schema name.

    Attributes:
        inputs: The tensors of the call, in order; None for an omitted optional one. Needs saves="inputs".
        outputs: The results. Needs saves="outputs".
        attributes: The arguments that are not tensors, by name.
        needs_input_grad: Which inputs require a gradient.
        input_shapes, input_dtypes: The shapes and dtypes of the inputs; always available.
    """

    def __init__(self, schema: Schema, saved: int, view: Any) -> None:
        self._schema, self._saved, self._view = schema, saved, view
        self.attributes: dict[str, Any] = view.attributes
        self.needs_input_grad: tuple[bool, ...] = tuple(view.needs(i) for i in range(view.inputs))
        metas = [view.meta(i) for i in range(view.inputs)]
        self.input_shapes = tuple(_core.Size(shape) for shape, _ in metas)
        self.input_dtypes = tuple(dtype for _, dtype in metas)

    def _require(self, what: str) -> None:
        if not self._saved & _SAVES[what]:
            raise RuntimeError(f"[{self._schema.name}] the gradient reads {what} that were not saved: expected saves={what!r}")

    @property
    def inputs(self) -> tuple[Tensor | None, ...]:
        self._require("inputs")
        return tuple(self._view.input(i) for i in range(self._view.inputs))

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        self._require("outputs")
        return tuple(self._view.output(i) for i in range(1 + self._schema.results.count(",")))

    def places(self) -> Iterable[tuple[str, int | range]]:
        """The input index of each argument; a list takes the inputs that the other arguments leave."""
        return _places(self._schema, self._view.inputs)

    def __getattr__(self, name: str) -> Any:
        if name in self.attributes:
            return self.attributes[name]
        for parameter, place in self.places():
            if parameter == name:
                self._require("inputs")
                return self._view.input(place) if isinstance(place, int) else [self._view.input(i) for i in place]
        raise AttributeError(f"[{self._schema.name}] the schema has no argument {name!r}")


def _places(schema: Schema, count: int) -> Iterable[tuple[str, int | range]]:
    """Yields the input index of each tensor argument; a list takes the inputs that the others leave."""
    tensors = [p for p in schema.parameters if p.is_tensor]
    spread = count - sum(p.type != "Tensor[]" for p in tensors)
    start = 0
    for p in tensors:
        if p.type == "Tensor[]":
            yield p.name, range(start, start + spread)
            start += spread
        else:
            yield p.name, start
            start += 1


def _gradients(schema: Schema, grad: Callable[..., Any], saved: int) -> Callable[[Any, tuple[Tensor, ...]], tuple[Any, ...]]:
    """Returns the rule in the form that C++ calls: one gradient per input, with lists flattened."""
    arguments = [p for p in schema.parameters if p.is_tensor]

    def rule(view: Any, gradients: tuple[Tensor, ...]) -> tuple[Any, ...]:
        found = grad(GradientContext(schema, saved, view), *gradients)
        found = found if isinstance(found, tuple) and not (len(arguments) == 1 and arguments[0].type == "Tensor[]") else (found,)
        if len(found) != len(arguments):
            raise _core.GradientError(
                f"[{schema.name}] the gradient rule returned the wrong number of gradients: expected {len(arguments)}, got {len(found)}"
            )
        flat: list[Any] = []
        for (_, place), one in zip(_places(schema, view.inputs), found, strict=True):
            if isinstance(place, int):
                flat.append(one)
                continue
            several = [None] * len(place) if one is None else list(one)
            if len(several) != len(place):
                raise _core.GradientError(
                    f"[{schema.name}] the gradient of a list has a wrong length: expected {len(place)}, got {len(several)}"
                )
            flat += several
        return tuple(flat)

    return rule


def register_op(
    schema: str,
    *,
    infer: Callable[..., Any] | None = None,
    kernel: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
    grad: Callable[..., Any] | None = None,
    decompose: Callable[..., Any] | None = None,
    saves: str | Iterable[str] = "inputs",
    elementwise: bool = False,
    no_grad: str | None = None,
    doc: str | None = None,
) -> Any:
    """Registers an operation whose rules are Python functions, and returns the function that runs it.

    The operation works like a built-in one: it is differentiated, captured, saved in graphs by name and sent to other backends. Its
    function accepts `out=`; `plugins.operation("name_")` is its in-place form. Registering a name again replaces the operation.

    Without `kernel` and `decompose` the result is a decorator for the kernel.

    Args:
        schema: Name, arguments and results, such as "scale(Tensor input, float factor=1.0) -> Tensor". Rules are called with the
            arguments as declared: by position or, after `*`, by keyword.
        infer: Called with tensors on the device meta; returns empty tensors with the shapes and dtypes of the results. By default
            `decompose` is used. Without either, the kernel decides the shapes, and the operation cannot be captured.
        kernel: Computes the results from tensors in host memory. On a backend without host memory the decomposition is used, else copies
            of the tensors. A dict maps device types to kernels, such as {"cpu": f, "torch": g}, which receive tensors of that device.
        grad: Called as grad(ctx, *gradients) with a GradientContext and the gradients of the results; returns the gradient of each
            tensor argument, or None. It consists of operations, so it is differentiable.
        decompose: Computes the results by other operations, on any backend. Without `grad`, these operations are differentiated.
        saves: What is saved for `grad`: "inputs", "outputs", both, or nothing (()).
        elementwise: Promotes the inputs to one dtype and broadcasts them to one shape before the rules are called.
        no_grad: Why there is no gradient, if neither `grad` nor `decompose` is given.
        doc: A line of documentation; by default the first line of the docstring of the kernel or the decomposition.

    Returns:
        The function of the operation, or a decorator that returns it.

    Raises:
        ValueError: The schema is invalid, rules are missing, or C++ has an operation of this name.

    >>> @pyburn.register_op(
    ...     "soft_clip(Tensor input, float limit=1.0) -> Tensor",
    ...     infer=lambda x, limit: pyburn.empty_like(x),
    ...     grad=lambda ctx, dy: dy * (1 - (ctx.input / ctx.limit).tanh() ** 2),
    ... )
    ... def soft_clip(x, limit):
    ...     '''Keeps elements between -limit and limit, smoothly.'''
    ...     return limit * (x / limit).tanh()
    >>> x = pyburn.tensor([0.0, 100.0], requires_grad=True)
    >>> soft_clip(x, limit=2.0)
    tensor([0., 2.], grad_fn=<SoftClipBackward0>)
    """
    options: dict[str, Any] = {"infer": infer, "grad": grad, "saves": saves, "elementwise": elementwise, "no_grad": no_grad, "doc": doc}
    if kernel is None and decompose is None:
        return lambda function: register_op(schema, kernel=function, **options)
    if not isinstance(schema, str):
        raise TypeError(f"[register_op] schema must be a str: got {type(schema).__name__}")
    kernels: dict[str, Callable[..., Any]] = {} if kernel is None else dict(kernel) if isinstance(kernel, Mapping) else {"": kernel}
    rules = [("infer", infer), ("grad", grad), ("decompose", decompose), *(("kernel", function) for function in kernels.values())]
    for name, function in rules:
        if function is not None and not callable(function):
            raise TypeError(f"[register_op] {name} must be a function: got {type(function).__name__}")
    kept = (saves,) if isinstance(saves, str) else tuple(saves)
    if unknown := [word for word in kept if word not in _SAVES]:
        raise ValueError(f"[register_op] saves must be 'inputs', 'outputs' or both: got {unknown[0]!r}")
    saved = sum(_SAVES[word] for word in set(kept)) if grad is not None else 0
    if infer is None and not elementwise:
        infer = decompose
    if doc is None:
        first = next((f for f in (*kernels.values(), decompose) if f is not None), None)
        doc = (getattr(first, "__doc__", None) or "").strip().split("\n")[0]
    rule = None if grad is None else _gradients(parse(schema), grad, saved)
    functions = _core._register_operation(schema, doc, elementwise, saved, no_grad, infer, rule, decompose, kernels)
    return functions[parse(schema).function]
