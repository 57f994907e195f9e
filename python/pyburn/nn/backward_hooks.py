"""Backward hooks of modules: inputs and outputs pass through identity functions that see their gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ..autograd import Function


class BackwardHookFunction(Function):
    """Identity function that passes the gradients to a callback in the backward pass."""

    @staticmethod
    def forward(ctx: Any, on_gradients: Callable[[tuple], tuple], *tensors: Tensor) -> Any:
        ctx.on_gradients = on_gradients
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple:
        return (None, *ctx.on_gradients(gradients))


class BackwardHooks:
    """The backward hooks of one call of a module."""

    def __init__(self, module: Any, before: Sequence[Callable[..., Any]], hooks: Sequence[Callable[..., Any]]) -> None:
        self.module = module
        self.before = before
        self.hooks = hooks
        self.grad_outputs: tuple | None = None
        self.inputs = 0
        self.constants: dict[int, Tensor] = {}  # inputs that do not require grad: hooks get zeros
        self.watches_inputs = False

    def watch_inputs(self, args: tuple) -> tuple:
        self.inputs = len(args)
        self.constants = {
            i: a.detach() for i, a in enumerate(args) if isinstance(a, Tensor) and a.is_floating_point() and not a.requires_grad
        }
        args, where = _watched(args, lambda gradients: self._on_input_gradients(gradients, where))
        self.watches_inputs = bool(where)
        return args

    def watch_outputs(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {type(result)}",
                stacklevel=3,
            )
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        size = len(outputs)  # not the outputs: they would form a reference cycle with this lambda
        outputs, where = _watched(outputs, lambda gradients: self._on_output_gradients(gradients, where, size))
        if not isinstance(result, tuple):
            return outputs[0]
        make = getattr(type(result), "_make", None)  # a named tuple
        return make(outputs) if make and where else outputs

    def _on_output_gradients(self, gradients: tuple, where: list[int], size: int) -> tuple:
        self.grad_outputs = _spread(gradients, where, size)
        _core._at_end_of_this_pass(self._forget)  # the backward pass may not reach the inputs
        for hook in self.before:
            self.grad_outputs = _replaced(self.grad_outputs, hook(self.module, self.grad_outputs), "grad_output", "pre hook")
        result = tuple(self.grad_outputs[i] for i in where)
        if not self.watches_inputs:
            if self.hooks:
                warnings.warn(
                    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
                    "gradients.",
                    stacklevel=2,
                )
            for hook in self.hooks:
                found = hook(self.module, (None,) * self.inputs, self.grad_outputs)
                if found is not None and not (isinstance(found, tuple) and all(g is None for g in found)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                    )
            self.grad_outputs = None
        return result

    def _forget(self) -> None:
        self.grad_outputs = None

    def _on_input_gradients(self, gradients: tuple, where: list[int]) -> tuple:
        if self.grad_outputs is None:  # the gradient did not pass through the module's outputs
            return gradients
        grad_inputs = _spread(gradients, where, self.inputs)
        grad_inputs = tuple(_core.zeros_like(self.constants[i]) if i in self.constants else g for i, g in enumerate(grad_inputs))
        for hook in self.hooks:
            grad_inputs = _replaced(grad_inputs, hook(self.module, grad_inputs, self.grad_outputs), "grad_input", "hook")
        self.grad_outputs = None
        return tuple(grad_inputs[i] for i in where)


def _watched(values: tuple, on_gradients: Callable[[tuple], tuple]) -> tuple[tuple, list[int]]:
    """Returns the values with those tensors watched that require grad, and their indices."""
    where = [i for i, value in enumerate(values) if isinstance(value, Tensor) and value.requires_grad]
    if not _core.is_grad_enabled() or not where:
        return values, []
    changed = list(values)
    for i, tensor in zip(where, BackwardHookFunction.apply(on_gradients, *[values[i] for i in where])):
        changed[i] = tensor
    return tuple(changed), where


def _spread(gradients: tuple, where: list[int], size: int) -> tuple:
    spread: list[Any] = [None] * size
    for i, gradient in zip(where, gradients):
        spread[i] = gradient
    return tuple(spread)


def _replaced(old: tuple, new: Any, what: str, kind: str) -> tuple:
    if new is None:
        return old
    new = new if isinstance(new, tuple) else (new,)
    if len(new) != len(old):
        raise RuntimeError(f"Backward {kind} returned an invalid number of {what}, got {len(new)}, but expected {len(old)}")
    for before, after in zip(old, new):
        if before is None or after is None:
            continue
        if not isinstance(after, Tensor):
            raise TypeError(f"expected a Tensor, but hook returned '{type(after).__name__}'")
        _core._check_hook_result("hook", before, after)
    return new
