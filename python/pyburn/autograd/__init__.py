"""Automatic differentiation: gradients of recorded operations, of any order."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from .._on_demand import on_demand
from .function import Function
from .modes import (
    detect_anomaly,
    enable_grad,
    graphs_stay,
    inference_mode,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)

__all__ = [
    "Function", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck", "inference_mode", "no_grad",
    "set_detect_anomaly", "set_grad_enabled", "Variable",
]  # fmt: skip


class _AnyTensor(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_AnyTensor):
    """PyTorch's wrapper from before 0.4: `Variable(x)` is a tensor with the memory of x and a separate history.

    >>> pyburn.autograd.Variable(pyburn.ones(2), requires_grad=True).requires_grad
    True
    """

    class _execution_engine:  # noqa: N801
        """Access to the running backward pass, as in PyTorch."""

        queue_callback: Any = staticmethod(_core._after_this_pass)

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:  # type: ignore[misc]
        return data.detach().requires_grad_(requires_grad)


TensorOrTensors = Tensor | Sequence[Tensor]


def _as_list(tensors, length: int | None = None) -> list:
    if tensors is None:
        return [None] * (length or 0)
    if isinstance(tensors, Mapping):
        if type(tensors) is not dict:  # as in PyTorch: other mappings may have another order
            raise TypeError(f"inputs by name must be a dict: got {type(tensors).__name__}")
        tensors = tensors.values()
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def backward(
    tensors, grad_tensors=None, retain_graph: bool | None = None, create_graph: bool = False, grad_variables=None, inputs=None
) -> None:
    """Computes gradients and accumulates them in the `.grad` of the leaves.

    Args:
        tensors: The tensors to differentiate.
        grad_tensors: The gradient of each tensor; None for scalars.
        retain_graph: Whether to keep the graph for another backward pass; by default the value of create_graph.
        create_graph: Whether to record the backward pass, for higher-order gradients.
        grad_variables: Deprecated alias of grad_tensors.
        inputs: The leaves whose gradients are accumulated; None for all.

    Raises:
        RuntimeError: The numbers of tensors and gradients differ, or inputs is empty.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> pyburn.autograd.backward((x * 3).sum())
    >>> x.grad
    tensor([3., 3.])
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    roots = _as_list(tensors)
    gradients = _as_list(grad_tensors, len(roots))
    if len(gradients) != len(roots):
        raise RuntimeError(f"[backward] got {len(roots)} tensors and {len(gradients)} gradients")
    if inputs is not None and len(_as_list(inputs)) == 0:
        raise RuntimeError("[backward] `inputs` argument cannot be empty")
    _core._backward(roots, gradients, create_graph if retain_graph is None else retain_graph, create_graph, _as_list(inputs))


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Computes the gradients of `outputs` with respect to `inputs` and returns them.

    Args:
        outputs: The tensors to differentiate.
        inputs: The tensors to differentiate by, or a dict of them, such as `dict(model.named_parameters())`.
        grad_outputs: The gradient of each output; None for scalars.
        retain_graph: Whether to keep the graph for another backward pass; by default the value of create_graph.
        create_graph: Whether to record the backward pass, for higher-order gradients.
        only_inputs: Accepted for compatibility with PyTorch; always True.
        allow_unused: Whether inputs that do not affect the outputs are allowed; their gradients are None.
        is_grads_batched: Whether the first dimension of grad_outputs, and of the results, is a batch of gradients.
        materialize_grads: Whether to return zeros instead of None.

    Returns:
        A tuple of gradients, or a dict if `inputs` is one.

    Raises:
        ValueError: materialize_grads is True and allow_unused is False.

    >>> x = pyburn.tensor([2.0], requires_grad=True)
    >>> (g,) = pyburn.autograd.grad(x * x * x, x, create_graph=True)
    >>> pyburn.autograd.grad(g, x)[0].item()
    12.0
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of the "
            "graph, please use pyburn.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError("[grad] Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False")
    if isinstance(inputs, Mapping):
        rest = (grad_outputs, retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads)
        return dict(zip(inputs, grad(outputs, _as_list(inputs), *rest)))
    roots, wanted = _as_list(outputs), _as_list(inputs)
    gradients = _as_list(grad_outputs, len(roots))
    keep = create_graph or graphs_stay() if retain_graph is None else retain_graph
    if is_grads_batched:
        count = next((len(g) for g in gradients if g is not None), 0)
        options: dict[str, Any] = {"create_graph": create_graph, "allow_unused": allow_unused, "materialize_grads": materialize_grads}
        rows = []
        for i in range(count):
            row = [None if g is None else g[i] for g in gradients]
            rows.append(grad(roots, wanted, row, retain_graph=keep or i + 1 < count, **options))
        return tuple(None if column[0] is None else _core.stack(column) for column in zip(*rows))
    found = _core._grad(roots, wanted, gradients, keep, create_graph, bool(allow_unused) or materialize_grads)
    if materialize_grads:
        # Zeros that can be differentiated again, for higher-order gradients.
        found = tuple(_core.zeros_like(x, requires_grad=create_graph) if g is None else g for g, x in zip(found, wanted))
    return found


if TYPE_CHECKING:
    gradcheck: Any
    gradgradcheck: Any
else:
    __getattr__, __dir__ = on_demand(__name__, "functional", "graph", places={"gradcheck": "check", "gradgradcheck": "check"})
