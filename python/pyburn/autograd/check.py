"""Compares gradients with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from . import _as_list, grad
from .modes import no_grad


class GradcheckError(RuntimeError):
    """A gradient differs from the finite difference."""


def _numerical(function: Callable[..., Any], inputs: list[Tensor], index: int, eps: float, weight: Tensor, which: int) -> list[float]:
    """d(sum(weight * output[which])) / d(inputs[index]), by central differences."""
    flat = inputs[index].data.reshape(-1) if inputs[index].is_contiguous() else None
    if flat is None:
        raise ValueError("[gradcheck] inputs must be contiguous")

    def value() -> float:
        with no_grad():
            return (_as_list(function(*inputs))[which].double() * weight).sum().item()

    slopes = []
    for i in range(flat.numel()):
        part = flat.select(0, i)
        before = part.item()
        part.fill_(before + eps)
        above = value()
        part.fill_(before - eps)
        below = value()
        part.fill_(before)
        slopes.append((above - below) / (2 * eps))
    return slopes


def gradcheck(
    func: Callable[..., Tensor | tuple[Tensor, ...]],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Checks the gradient of func at inputs (float64 tensors that require grad) against finite differences.

    >>> x = pyburn.rand(3, dtype=pyburn.float64, requires_grad=True)
    >>> pyburn.autograd.gradcheck(pyburn.exp, x)
    True
    """
    arguments = _as_list(inputs)
    checked = [i for i, t in enumerate(arguments) if isinstance(t, Tensor) and t.requires_grad]
    if not checked:
        raise ValueError("[gradcheck] expects at least one input tensor to require gradient")
    for i in checked:
        if arguments[i].dtype is not _core.float64:
            raise ValueError(f"[gradcheck] inputs must be float64 for finite differences: got {arguments[i].dtype}")
    generator = _core.Generator().manual_seed(7)
    outputs = [o for o in _as_list(func(*arguments)) if isinstance(o, Tensor) and o.requires_grad]
    if not outputs:
        raise ValueError("[gradcheck] no output of the function requires gradient")
    for which, output in enumerate(outputs):
        weight = _core.rand(output.shape, dtype=_core.float64, device=output.device, generator=generator) + 0.5
        exact = grad(output, [arguments[i] for i in checked], weight.to(output.dtype), retain_graph=True, allow_unused=True)
        for i, g in zip(checked, exact):
            slopes = _numerical(func, arguments, i, eps, weight, which)
            values = [0.0] * len(slopes) if g is None else g.reshape(-1).tolist()
            for k, (a, n) in enumerate(zip(values, slopes)):
                if not abs(a - n) <= atol + rtol * abs(n):
                    if not raise_exception:
                        return False
                    raise GradcheckError(
                        f"[gradcheck] gradient of output {which} for input {i}, element {k}: got {a}, finite difference {n}"
                    )
    return True


def gradgradcheck(
    func: Callable[..., Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Checks the gradient of the gradient of func against finite differences."""
    arguments = _as_list(inputs)
    outputs = [o for o in _as_list(func(*arguments)) if isinstance(o, Tensor) and o.requires_grad]
    generator = _core.Generator().manual_seed(11)
    if grad_outputs is None:
        seeds = [_core.rand(o.shape, dtype=o.dtype, device=o.device, generator=generator, requires_grad=True) for o in outputs]
    else:
        seeds = _as_list(grad_outputs)
    count = len(arguments)

    def first(*everything: Tensor) -> tuple[Tensor, ...]:
        values, gradients = everything[:count], everything[count:]
        results = [o for o in _as_list(func(*values)) if isinstance(o, Tensor) and o.requires_grad]
        wanted = [t for t in values if isinstance(t, Tensor) and t.requires_grad]
        with _enabled():
            found = grad(results, wanted, gradients, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    def differentiable(*everything: Tensor) -> tuple[Tensor, ...]:
        with _enabled():
            return first(*everything)

    return gradcheck(differentiable, [*arguments, *seeds], eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)


def _enabled():
    from .modes import enable_grad

    return enable_grad()
