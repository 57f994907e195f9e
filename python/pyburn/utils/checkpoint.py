"""Activation checkpointing: recomputes activations in the backward pass to save memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import Tensor
from ..amp.autocast_mode import autocast, get_autocast_dtype, is_autocast_enabled
from ..autograd import Function, backward, enable_grad


class _Place:
    """The position of a tensor in the arguments."""

    def __init__(self, index: int) -> None:
        self.index = index


def _taken_out(value: Any, tensors: list[Tensor]) -> Any:
    """Replaces tensors in the arguments by their positions, and appends them to the list."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Place(len(tensors) - 1)
    if type(value) in (list, tuple):
        return type(value)(_taken_out(item, tensors) for item in value)
    return {key: _taken_out(item, tensors) for key, item in value.items()} if type(value) is dict else value


def _put_back(value: Any, tensors: Any) -> Any:
    if isinstance(value, _Place):
        return tensors[value.index]
    if type(value) in (list, tuple):
        return type(value)(_put_back(item, tensors) for item in value)
    return {key: _put_back(item, tensors) for key, item in value.items()} if type(value) is dict else value


class _Checkpoint(Function):
    """Saves only the inputs; backward reruns the forward pass with the same random numbers and differentiates it."""

    @staticmethod
    def forward(
        ctx, function: Callable[..., Any], arguments: Any, preserve_rng_state: bool, anchor: Tensor | None, *tensors: Tensor
    ) -> Any:
        ctx.function, ctx.arguments, ctx.anchored, ctx.tensors = function, arguments, anchor is not None, tensors
        ctx.random = _core.default_generator.get_state() if preserve_rng_state else None
        ctx.autocast = (get_autocast_dtype("cpu"), is_autocast_enabled("cpu"))
        args, kwargs = _put_back(arguments, tensors)
        return function(*args, **kwargs)

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Any, ...]:
        tensors = [t.detach().requires_grad_(t.requires_grad) for t in ctx.tensors]
        args, kwargs = _put_back(ctx.arguments, tensors)
        now = _core.default_generator.get_state()
        if ctx.random is not None:
            _core.default_generator.set_state(ctx.random)
        try:
            with enable_grad(), autocast("cpu", ctx.autocast[0], ctx.autocast[1]):
                outputs = ctx.function(*args, **kwargs)
        finally:
            _core.default_generator.set_state(now)
        outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        roots = [(o, g) for o, g in zip(outputs, gradients) if isinstance(o, Tensor) and o.requires_grad and g is not None]
        if roots:
            backward([o for o, _ in roots], [g for _, g in roots])
        elif not ctx.anchored:
            raise RuntimeError("none of the outputs of the checkpointed function requires grad")
        return (None, None, None, None, *(t.grad for t in tensors))


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Runs function(*args, **kwargs) without saving intermediate results; backward computes them again.

    Parameters used by the function get their gradients even if no argument requires one, unless `use_reentrant` is True. The options
    after `preserve_rng_state` are PyTorch's and have no effect.

    Args:
        function: The function or module to run.
        args: Its arguments.
        use_reentrant: True disables gradients if no argument requires one.
        preserve_rng_state: Whether the recomputation uses the same random numbers.
        kwargs: Its keyword arguments.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> pyburn.utils.checkpoint.checkpoint(lambda t: (t * t).exp(), x).sum().backward()
    """
    if not _core.is_grad_enabled():
        return function(*args, **kwargs)
    tensors: list[Tensor] = []
    arguments = _taken_out((args, kwargs), tensors)
    anchor = None if use_reentrant else _core.zeros(0).requires_grad_()
    return _Checkpoint.apply(function, arguments, preserve_rng_state, anchor, *tensors)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Runs a sequence of functions or modules in checkpointed segments; the last segment is not checkpointed.

    Raises:
        ValueError: segments is less than 1 or greater than the number of functions.
    """
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


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Has no effect: backward always recomputes the whole function."""
    yield


def get_device_states(*args: Any) -> tuple[list[Any], list[Any]]:
    """Returns no states: there are no generators per device."""
    return [], []


def set_device_states(devices: Any, states: Any, **options: Any) -> None:
    """Does nothing; see get_device_states."""
