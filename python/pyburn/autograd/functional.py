"""Derivatives of functions, with the names of torch.autograd.functional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .modes import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tensors(given: Any, what: str) -> tuple[Tensor, ...]:
    """Returns a tensor, or a tuple or list of tensors, as a tuple."""
    several = (given,) if isinstance(given, Tensor) else given
    if not isinstance(several, (tuple, list)):
        raise TypeError(f"The {what} must be either a Tensor or a tuple of Tensors: got {type(given).__name__}")
    for i, one in enumerate(several):
        if not isinstance(one, Tensor):
            raise TypeError(f"The {what} must be either a Tensor or a tuple of Tensors: element {i} is a {type(one).__name__}")
    return tuple(several)


def _inputs(inputs: Any, create_graph: bool) -> tuple[tuple[Tensor, ...], bool]:
    """Returns the inputs as tensors to differentiate by, and whether a single tensor was given."""
    alone = isinstance(inputs, Tensor)
    several = _tensors(inputs, "inputs")
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in several), alone
    return tuple(x.detach().requires_grad_() for x in several), alone


def _outputs(func: Callable[..., Any], inputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], bool]:
    outputs = func(*inputs)
    alone = isinstance(outputs, Tensor)
    return _tensors(outputs, "outputs of the function"), alone


def gradients_or_zeros(outputs: Any, inputs: Any, weights: Any, create_graph: bool, strict: bool = False) -> tuple[Tensor, ...]:
    """Returns the gradients of the weighted outputs; zeros for inputs that they do not depend on, which strict=True does not allow."""
    from . import grad

    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    if not pairs:
        found: Any = [None] * len(inputs)
    else:
        options = {"retain_graph": True, "create_graph": create_graph, "allow_unused": True}
        found = grad([o for o, _ in pairs], inputs, [w for _, w in pairs], **options)
    if strict and any(g is None for g in found):
        raise RuntimeError("An output of the function does not depend on one of the inputs, which strict=True does not allow")
    return tuple(_core.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))


def _weights(v: Any, like: tuple[Tensor, ...], what: str) -> tuple[Tensor, ...]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {what} of the function is one number")
        return (_core.ones_like(like[0]),)
    several = _tensors(v, "vector v")
    if [tuple(w.shape) for w in several] != [tuple(x.shape) for x in like]:
        raise RuntimeError(f"v has the shapes {[tuple(w.shape) for w in several]}: the {what} has {[tuple(x.shape) for x in like]}")
    return several


def _result(tensors: tuple[Tensor, ...], alone: bool, create_graph: bool) -> Any:
    tensors = tensors if create_graph else tuple(t.detach() for t in tensors)
    return tensors[0] if alone else tensors


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Computes the vector-Jacobian product.

    Args:
        func: A function of tensors.
        inputs: A tensor or a tuple of tensors.
        v: The vector, of the shape of the outputs; None for a scalar output.
        create_graph: Whether the results can be differentiated.
        strict: Whether to raise an error if an output does not depend on an input.

    Returns:
        The outputs and the product.

    >>> pyburn.autograd.functional.vjp(lambda x: x * x, pyburn.tensor([1.0, 2.0]), pyburn.ones(2))[1]
    tensor([2., 4.])
    """
    with enable_grad():
        points, alone = _inputs(inputs, create_graph)
        outputs, single = _outputs(func, points)
        found = gradients_or_zeros(outputs, points, _weights(v, outputs, "output"), create_graph, strict)
    return _result(outputs, single, create_graph), _result(found, alone, create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Computes the Jacobian-vector product, as the gradient of a gradient, which is linear in its weights.

    Args:
        func: A function of tensors.
        inputs: A tensor or a tuple of tensors.
        v: The vector, of the shape of the inputs; None for a scalar input.
        create_graph: Whether the results can be differentiated.
        strict: Whether to raise an error if an output does not depend on an input.

    Returns:
        The outputs and the product.

    >>> pyburn.autograd.functional.jvp(lambda x: x * x, pyburn.tensor([1.0, 2.0]), pyburn.ones(2))[1]
    tensor([2., 4.])
    """
    with enable_grad():
        points, _ = _inputs(inputs, create_graph)
        direction = _weights(v, points, "input")
        outputs, single = _outputs(func, points)
        weights = tuple(_core.zeros_like(o).requires_grad_() for o in outputs)
        slopes = gradients_or_zeros(outputs, points, weights, True, strict)
        found = gradients_or_zeros(slopes, weights, direction, create_graph, strict)
    return _result(outputs, single, create_graph), _result(found, single, create_graph)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Computes the Jacobian, of shape (*output, *input).

    Args:
        func: A function of tensors.
        inputs: A tensor or a tuple of tensors.
        create_graph: Whether the result can be differentiated.
        strict: Whether to raise an error if an output does not depend on an input.
        vectorize: Accepted for compatibility with PyTorch.
        strategy: "reverse-mode", or with vectorize "forward-mode"; accepted for compatibility with PyTorch.

    Returns:
        A tensor, or nested tuples of them for several inputs or outputs.

    >>> pyburn.autograd.functional.jacobian(lambda x: x * x, pyburn.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _strategy(strategy, vectorize, "strategy")
    with enable_grad():
        points, alone = _inputs(inputs, create_graph)
        outputs, single = _outputs(func, points)
        rows = [_jacobian_of(output, points, create_graph, strict) for output in outputs]
    results = tuple(_result(row, alone, create_graph) for row in rows)
    return results[0] if single else results


def _strategy(given: str, vectorize: bool, name: str) -> None:
    if given not in ("reverse-mode", "forward-mode"):
        raise ValueError(f'Expected {name} to be either "forward-mode" or "reverse-mode": got {given!r}')
    if given == "forward-mode" and not vectorize:
        raise NotImplementedError(f'{name}="forward-mode" is only supported with vectorize=True')


def _jacobian_of(output: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool) -> tuple[Tensor, ...]:
    flat = output.reshape(-1)
    rows = [gradients_or_zeros((one,), inputs, (_core.ones_like(one),), create_graph, strict) for one in flat.unbind()]
    shape = tuple(output.shape)
    return tuple(
        _core.stack([row[i] for row in rows]).reshape((*shape, *x.shape)) if rows else x.new_zeros((*shape, *x.shape))
        for i, x in enumerate(inputs)
    )


def _slope(func: Callable[..., Any], create_graph: bool, strict: bool) -> Callable[..., tuple[Tensor, ...]]:
    """Returns the gradient function of a scalar function."""

    def slope(*inputs: Tensor) -> tuple[Tensor, ...]:
        outputs, _ = _outputs(func, inputs)
        if len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError("The function must return one number")
        return gradients_or_zeros((outputs[0].reshape(()),), inputs, (_core.ones((), dtype=outputs[0].dtype),), True, strict)

    return slope


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Computes the Hessian of a scalar function.

    Args:
        func: A function of tensors that returns a scalar.
        inputs: A tensor or a tuple of tensors.
        create_graph: Whether the result can be differentiated.
        strict: Whether to raise an error if the output does not depend on an input.
        vectorize: Accepted for compatibility with PyTorch; has no effect.
        outer_jacobian_strategy: Accepted for compatibility with PyTorch; has no effect.

    >>> pyburn.autograd.functional.hessian(lambda x: (x * x).sum(), pyburn.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 2.]])
    """
    alone = isinstance(inputs, Tensor)
    _strategy(outer_jacobian_strategy, vectorize, "outer_jacobian_strategy")
    found = jacobian(_slope(func, create_graph, strict), inputs, create_graph, strict)
    return found[0] if alone else found


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Computes the Hessian-vector product of a scalar function.

    Args:
        func: A function of tensors that returns a scalar.
        inputs: A tensor or a tuple of tensors.
        v: The vector, of the shape of the inputs; None for a scalar input.
        create_graph: Whether the results can be differentiated.
        strict: Whether to raise an error if the output does not depend on an input.

    Returns:
        The value of the function and the product.

    >>> pyburn.autograd.functional.hvp(lambda x: (x * x).sum(), pyburn.ones(2), pyburn.tensor([1.0, 3.0]))[1]
    tensor([2., 6.])
    """
    with enable_grad():
        points, alone = _inputs(inputs, create_graph)
        slopes = _slope(func, create_graph, strict)(*points)
        found = gradients_or_zeros(slopes, points, _weights(v, points, "input"), create_graph, strict)
        value = func(*points)
    return _result((value,), True, create_graph), _result(found, alone, create_graph)


vhp = hvp  # the Hessian is symmetric
