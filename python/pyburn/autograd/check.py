"""Checks of gradients against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ..tensor import tensor
from . import _as_list, grad
from .modes import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """Raised when a gradient differs from the finite difference."""


class _Slopes:
    """Central differences of sum(weight * output[which]) with respect to one input."""

    def __init__(self, function: Callable[..., Any], inputs: list[Any], eps: float, weight: Tensor, which: int) -> None:
        self.function, self.inputs, self.eps, self.weight, self.which = function, inputs, eps, weight, which

    def _value(self) -> float:
        outputs = [o for o in _as_list(self.function(*self.inputs)) if isinstance(o, Tensor) and o.is_floating_point()]
        with no_grad():
            return (outputs[self.which].double() * self.weight).sum().item()

    def of_each(self, index: int) -> list[float]:
        """Returns the difference quotient for each element of the input."""
        data, slopes = self.inputs[index].data, []
        for i in range(data.numel()):
            part = data[tuple(_core.unravel_index(tensor(i), tuple(data.shape)))] if data.ndim else data
            before = part.item()
            part.fill_(before + self.eps)
            above = self._value()
            part.fill_(before - self.eps)
            below = self._value()
            part.fill_(before)
            slopes.append((above - below) / (2 * self.eps))
        return slopes

    def along(self, index: int, direction: Tensor) -> float:
        """Returns the difference quotient along a direction."""
        data = self.inputs[index].data
        before = data.clone()
        data.copy_(before + direction * self.eps)
        above = self._value()
        data.copy_(before - direction * self.eps)
        below = self._value()
        data.copy_(before)
        return (above - below) / (2 * self.eps)


def gradcheck(
    func: Callable[..., Tensor | tuple[Tensor, ...]],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Checks the gradients of a function against finite differences.

    Other options of PyTorch are accepted; they have no effect.

    Args:
        func: A function of tensors that returns one or several tensors.
        inputs: The inputs; float64 tensors that require grad.
        eps: The step of the finite differences.
        atol: The absolute tolerance.
        rtol: The relative tolerance.
        raise_exception: Whether to raise an error instead of returning False.
        fast_mode: Whether to compare along one random direction instead of for each element.

    Returns:
        Whether the gradients are correct.

    Raises:
        GradcheckError: A gradient differs from the finite difference.
        ValueError: No input requires grad.

    >>> x = pyburn.rand(3, dtype=pyburn.float64, requires_grad=True)
    >>> pyburn.autograd.gradcheck(pyburn.exp, x)
    True
    """
    try:
        _check(func, _as_list(inputs), eps, atol, rtol, fast_mode)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(func: Callable[..., Any], arguments: list[Any], eps: float, atol: float, rtol: float, fast: bool) -> None:
    checked = [i for i, t in enumerate(arguments) if isinstance(t, Tensor) and t.requires_grad]
    if not checked:
        raise ValueError("[gradcheck] expects at least one input tensor to require gradient")
    if any(arguments[i].dtype is not _core.float64 for i in checked):
        warnings.warn("[gradcheck] finite differences want inputs of float64: others will likely fail", stacklevel=3)
    generator = _core.Generator().manual_seed(7)
    floating = [o for o in _as_list(func(*arguments)) if isinstance(o, Tensor) and o.is_floating_point()]
    for which, output in enumerate(floating):
        weight = _core.rand(output.shape, dtype=_core.float64, device=output.device, generator=generator) + 0.5
        slopes = _Slopes(func, arguments, eps, weight, which)
        wanted = [arguments[i] for i in checked]
        exact: Sequence[Any] = [None] * len(wanted)
        if output.requires_grad:
            exact = grad(output, wanted, weight.to(output.dtype), retain_graph=True, allow_unused=True)
        for i, g in zip(checked, exact, strict=True):
            values, numbers = [0.0] * arguments[i].numel() if g is None else g.reshape(-1).tolist(), []
            if fast:
                direction = _core.rand(arguments[i].shape, dtype=arguments[i].dtype, device=output.device, generator=generator)
                direction = direction / direction.norm().clamp(min=1e-12)
                values = [0.0 if g is None else (g * direction).sum().item()]
                numbers = [slopes.along(i, direction)]
            else:
                numbers = slopes.of_each(i)
            for k, (a, n) in enumerate(zip(values, numbers, strict=True)):
                if not abs(a - n) <= atol + rtol * abs(n):
                    raise GradcheckError(
                        f"[gradcheck] Jacobian mismatch for output {which} with respect to input {i}, "
                        f"{'along a direction' if fast else f'element {k}'}: got {a}, finite difference {n}"
                    )


def gradgradcheck(
    func: Callable[..., Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Checks second-order gradients of a function against finite differences; options as for `gradcheck`.

    Args:
        func: A function of tensors that returns a tensor.
        inputs: The inputs; float64 tensors that require grad.
        grad_outputs: The gradients of the outputs; random by default.
        eps: The step of the finite differences.
        atol: The absolute tolerance.
        rtol: The relative tolerance.
        raise_exception: Whether to raise an error instead of returning False.
        fast_mode: Whether to compare along one random direction instead of for each element.

    Returns:
        Whether the gradients are correct.

    >>> x = pyburn.rand(3, dtype=pyburn.float64, requires_grad=True)
    >>> pyburn.autograd.gradgradcheck(lambda x: x**3, x)
    True
    """
    arguments = _as_list(inputs)
    outputs = [o for o in _as_list(func(*arguments)) if isinstance(o, Tensor) and o.requires_grad]
    generator = _core.Generator().manual_seed(11)
    if grad_outputs is None:
        seeds = [_core.rand(o.shape, dtype=o.dtype, device=o.device, generator=generator, requires_grad=True) for o in outputs]
    else:
        seeds = _as_list(grad_outputs)
    count = len(arguments)

    def differentiable(*everything: Tensor) -> tuple[Tensor, ...]:
        values, gradients = everything[:count], everything[count:]
        with enable_grad():
            results = [o for o in _as_list(func(*values)) if isinstance(o, Tensor) and o.requires_grad]
            wanted = [t for t in values if isinstance(t, Tensor) and t.requires_grad]
            found = grad(results, wanted, gradients, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    options: dict[str, Any] = {"eps": eps, "atol": atol, "rtol": rtol, "raise_exception": raise_exception, "fast_mode": fast_mode}
    return gradcheck(differentiable, [*arguments, *seeds], **options)
