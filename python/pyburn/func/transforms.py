"""Derivatives of functions and vmap, with the names of torch.func.

Gradients are recorded by autograd, so transforms nest. `vmap` runs the function once per element and stacks the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._trees import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..autograd import enable_grad
from ..autograd.functional import gradients_or_zeros
from ..autograd.modes import keeping_graphs

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]


def _chosen(args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> tuple[Any, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    return tuple(args[number] for number in numbers)


def _replaced(args: tuple[Any, ...], argnums: int | tuple[int, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    changed = list(args)
    for number, value in zip(numbers, values, strict=True):
        changed[number] = value
    return tuple(changed)


def _points(tree: Any) -> Any:
    """Returns the tensors to differentiate by: views if they have a history, so that outer derivatives include it."""
    return tree_map(lambda x: (x.view_as(x) if x.requires_grad else x.detach().requires_grad_()) if isinstance(x, Tensor) else x, tree)


def _slopes(outputs: list[Tensor], weights: list[Tensor], points: Any) -> Any:
    """Returns the gradients in the structure of `points`, with zeros for points that nothing depends on."""
    leaves, spec = tree_flatten(points)
    return tree_unflatten(gradients_or_zeros(outputs, leaves, weights, create_graph=True), spec)


def _settled(tree: Any, args: Any) -> Any:
    """Detaches results, unless the arguments had a history, which an outer derivative needs."""
    if any(isinstance(x, Tensor) and x.requires_grad for x in tree_leaves(args)):
        return tree
    return tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, tree)


def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Returns a function that computes the gradient and the value of `func`.

    Args:
        func: A function that returns a tensor with one element.
        argnums: The arguments to differentiate by.
        has_aux: Whether func returns (value, aux).

    Raises:
        RuntimeError: func returns more than one number; raised by the call.

    >>> pyburn.func.grad_and_value(lambda x: (x * x).sum())(pyburn.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    def both(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            points = _points(_chosen(args, argnums))
            result = func(*_replaced(args, argnums, points), **kwargs)
            value, aux = result if has_aux else (result, None)
            if not isinstance(value, Tensor) or value.numel() != 1:
                raise RuntimeError("grad: expected a function that returns one number")
            slopes = _slopes([value], [_core.ones_like(value)], points)
        slope = slopes[0] if isinstance(argnums, int) else slopes
        given = (args, kwargs)
        return (_settled(slope, given), (_settled(value, given), _settled(aux, given)) if has_aux else _settled(value, given))

    return both


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Returns a function that computes the gradient of `func`.

    Args:
        func: A function that returns a tensor with one element.
        argnums: The arguments to differentiate by.
        has_aux: Whether func returns (value, aux); then the result is (gradient, aux).

    >>> pyburn.func.grad(pyburn.func.grad(lambda x: x**3))(pyburn.tensor(2.0))
    tensor(12.)
    """

    def gradient(*args: Any, **kwargs: Any) -> Any:
        slope, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (slope, value[1]) if has_aux else slope

    return gradient


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Returns the outputs, and a function that computes vector-Jacobian products.

    Args:
        func: A function of tensors.
        *primals: The point to differentiate at.
        has_aux: Whether func returns (value, aux).

    >>> outputs, pull = pyburn.func.vjp(lambda x: x * x, pyburn.tensor([1.0, 2.0]))
    >>> pull(pyburn.ones(2))
    (tensor([2., 4.]),)
    """
    with enable_grad():
        points = _points(primals)
        result = func(*points)
    outputs, aux = result if has_aux else (result, None)
    leaves = tree_leaves(outputs)

    def pull(*cotangents: Any) -> Any:
        weights = tree_leaves(cotangents)
        return _settled(_slopes(leaves, weights, points), (primals, weights))

    return (_settled(outputs, primals), pull, aux) if has_aux else (_settled(outputs, primals), pull)


def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> Any:
    """Returns the outputs and the Jacobian-vector product, by double backward.

    Args:
        func: A function of tensors.
        primals: The point to differentiate at.
        tangents: The vectors to multiply with.
        strict: Accepted for compatibility.
        has_aux: Whether func returns (value, aux).

    >>> pyburn.func.jvp(lambda x: x * x, (pyburn.tensor([1.0, 2.0]),), (pyburn.ones(2),))[1]
    tensor([2., 4.])
    """
    with enable_grad():
        points = _points(primals)
        result = func(*points)
        outputs, aux = result if has_aux else (result, None)
        leaves, spec = tree_flatten(outputs)
        weights = [_core.zeros_like(o).requires_grad_() for o in leaves]
        slopes = tree_leaves(_slopes(leaves, weights, points))
        found = tree_unflatten(_slopes(slopes, tree_leaves(tangents), weights), spec)
    given = (primals, tangents)
    results = (_settled(outputs, given), _settled(found, given))
    return (*results, aux) if has_aux else results


def jacrev(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, **options: Any) -> Callable[..., Any]:
    """Returns a function that computes the Jacobian, of shape (*output, *input), in reverse mode.

    Args:
        func: A function of tensors.
        argnums: The arguments to differentiate by.
        has_aux: Whether func returns (value, aux).
        **options: Accepted for compatibility.

    >>> pyburn.func.jacrev(lambda x: x * x)(pyburn.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    def jacobian(*args: Any) -> Any:
        with enable_grad():
            points = _points(_chosen(args, argnums))
            result = func(*_replaced(args, argnums, points))
            outputs, aux = result if has_aux else (result, None)
            leaves, spec = tree_flatten(outputs)
            rows = [_rows(output, points, isinstance(argnums, int)) for output in leaves]
        found = _settled(tree_unflatten(rows, spec), args)
        return (found, aux) if has_aux else found

    return jacobian


def _rows(output: Tensor, points: Any, single: bool) -> Any:
    rows = [_slopes([one], [_core.ones_like(one)], points) for one in output.reshape(-1).unbind()]
    together = tree_map(lambda *parts: _core.stack(parts).reshape(*output.shape, *parts[0].shape), rows[0], *rows[1:])
    return together[0] if single else together


jacfwd = jacrev  # the same values, computed in reverse mode


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """Returns a function that computes the Hessian.

    Args:
        func: A function that returns a tensor with one element.
        argnums: The arguments to differentiate by.

    >>> pyburn.func.hessian(lambda x: (x**3).sum())(pyburn.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None) -> Any:
    """Vectorizes `func` over a dimension of its arguments.

    Args:
        func: The function of one element.
        in_dims: The dimension of each argument to map over; None passes an argument whole.
        out_dims: The dimension of the results to stack along.
        randomness: Accepted for compatibility; has no effect.
        chunk_size: Accepted for compatibility; has no effect.

    Returns:
        A function of tensors with the additional dimension.

    Raises:
        ValueError: The mapped dimensions differ in size, or are empty; raised by the call.

    >>> pyburn.func.vmap(lambda x, y: (x * y).sum(), in_dims=(0, None))(pyburn.ones(3, 2), pyburn.ones(2))
    tensor([2., 2., 2.])
    """

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args)
        dims = _dims_of(args, in_dims)
        named, names = tree_flatten(kwargs)
        sizes = {x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None} | {
            x.shape[0] for x in named if isinstance(x, Tensor)
        }
        if len(sizes) != 1:
            raise ValueError(f"vmap: expected one size of the mapped axes: got {sorted(sizes)}")
        count = sizes.pop()
        if count == 0:
            raise ValueError("vmap: expected at least one element along the mapped axes, as the function runs once for each: got 0")
        results = []
        for i in range(count):
            parts = [x if d is None else x.select(d, i) for x, d in zip(leaves, dims, strict=True)]
            others = [x[i] if isinstance(x, Tensor) else x for x in named]
            with keeping_graphs(i + 1 < count):  # the function may take gradients in a graph that all elements share
                results.append(func(*tree_unflatten(parts, spec), **tree_unflatten(others, names)))
        return _stacked(results, out_dims)

    return mapped


def _dims_of(tree: Any, dims: Any) -> list[int | None]:
    """Returns the dimension of each leaf; an entry of `dims` applies to all leaves below it."""
    if isinstance(dims, int) or dims is None:
        return [dims if isinstance(x, Tensor) else None for x in tree_leaves(tree)]
    items = list(tree.values()) if isinstance(tree, dict) else list(tree)
    below = [dims[key] for key in tree] if isinstance(dims, dict) else list(dims)
    if len(items) != len(below):
        raise ValueError(f"vmap: in_dims has {len(below)} parts for {len(items)} arguments")
    return [axis for item, dim in zip(items, below, strict=True) for axis in _dims_of(item, dim)]


def _stacked(results: list[Any], out_dims: Any) -> Any:
    leaves = [tree_leaves(result) for result in results]
    spec = tree_flatten(results[0])[1]
    dims = [out_dims] * len(leaves[0]) if isinstance(out_dims, int) else tree_leaves(out_dims)
    return tree_unflatten([_core.stack(list(parts), dim) for parts, dim in zip(zip(*leaves, strict=True), dims, strict=True)], spec)
