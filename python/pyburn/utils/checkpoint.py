"""Gradient checkpointing: memory for time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from ..autograd import Function, backward, enable_grad


class _Checkpoint(Function):
    """Forward keeps only the inputs; backward runs forward again, with the same random numbers, and differentiates it."""

    @staticmethod
    def forward(ctx, function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        ctx.function, ctx.args = function, args
        ctx.random = _core.default_generator.get_state() if preserve_rng_state else None
        return function(*args)

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Any, ...]:
        args = [a.detach().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in ctx.args]
        now = _core.default_generator.get_state()
        if ctx.random is not None:
            _core.default_generator.set_state(ctx.random)
        try:
            with enable_grad():
                outputs = ctx.function(*args)
        finally:
            _core.default_generator.set_state(now)
        outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        roots = [(o, g) for o, g in zip(outputs, gradients) if isinstance(o, Tensor) and o.requires_grad and g is not None]
        if not roots:
            raise RuntimeError("none of the outputs of the checkpointed function requires grad")
        backward([o for o, _ in roots], [g for _, g in roots])
        return (None, None, *(a.grad if isinstance(a, Tensor) else None for a in args))


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True, **kwargs: Any
) -> Any:
    """Runs function(*args) without keeping what it computes inside; backward computes it again.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> pyburn.utils.checkpoint.checkpoint(lambda t: (t * t).exp(), x).sum().backward()
    """
    run = (lambda *a: function(*a, **kwargs)) if kwargs else function
    return _Checkpoint.apply(run, preserve_rng_state, *args)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Runs a chain of functions or modules in checkpointed segments; the last segment runs as usual."""
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= len(chain):
        raise ValueError(f"[checkpoint_sequential] expected 1 to {len(chain)} segments: got {segments}")
    size = len(chain) // segments

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for step in chain[start:end]:
                x = step(x)
            return x

        return run

    for start in range(0, size * (segments - 1), size):
        input = checkpoint(part(start, start + size), input, **kwargs)
    return part(size * (segments - 1), len(chain))(input)
