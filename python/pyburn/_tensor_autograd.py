"""The autograd methods of the Tensor class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor


class RemovableHandle:
    """Removes a hook; also a context manager."""

    def __init__(self, remove):
        self._remove = remove

    def remove(self) -> None:
        if self._remove is not None:
            self._remove()
        self._remove = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def backward(self: Tensor, gradient=None, retain_graph: bool | None = None, create_graph: bool = False, inputs=None) -> None:
    """Computes the gradients of this tensor with respect to the leaves and adds them to their `.grad`.

    Args:
        gradient: The gradient of this tensor; not needed for a single element.
        retain_graph: Whether to keep the graph for another backward pass; by default the value of create_graph.
        create_graph: Whether to record the backward pass, for higher derivatives.
        inputs: Accumulates gradients only for these tensors.

    >>> x = pyburn.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    from .autograd import _as_list

    keep = create_graph if retain_graph is None else retain_graph
    _core._backward([self], [gradient], keep, create_graph, _as_list(inputs))


def _assign_requires_grad(self: Tensor, on: bool) -> None:
    if not self.is_leaf:  # requires_grad_() accepts a value that does not change anything
        raise _core.GradientError("you can only change requires_grad flags of leaf variables; use detach() to cut the history")
    _core._set_requires_grad(self, on)


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Sets requires_grad and returns the tensor.

    >>> pyburn.ones(2).requires_grad_().requires_grad
    True
    """
    _core._set_requires_grad(self, requires_grad)
    return self


def detach_(self: Tensor) -> Tensor:
    """Detaches the tensor from the graph, in place.

    >>> (pyburn.ones(2, requires_grad=True) * 2).detach_().requires_grad
    False
    """
    _core._detach_in_place(self)
    return self


def retain_grad(self: Tensor) -> None:
    """Keeps `.grad` of a non-leaf tensor.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> y.retain_grad()
    >>> y.sum().backward()
    >>> y.grad
    tensor([1., 1.])
    """
    _core._retain_grad(self)


def register_hook(self: Tensor, hook) -> RemovableHandle:
    """Registers a hook: hook(grad) is called when the gradient of this tensor is computed; its result replaces the gradient.

    Returns:
        A handle that removes the hook.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    if not callable(hook):
        raise TypeError(f"[register_hook] expected a function: got {type(hook).__name__}")
    number = _core._register_hook(self, hook)
    return RemovableHandle(lambda: _core._remove_hook(self, number))


def register_post_accumulate_grad_hook(self: Tensor, hook) -> RemovableHandle:
    """Registers a hook: hook(tensor) is called after a gradient is accumulated into this leaf, so that an optimizer can step and free
    it.

    Returns:
        A handle that removes the hook.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.mul_(10))
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    if not callable(hook):
        raise TypeError(f"[register_post_accumulate_grad_hook] expected a function: got {type(hook).__name__}")

    def call(leaf: Tensor) -> None:
        hook(leaf)

    number = _core._register_post_accumulate_grad_hook(self, call)
    return RemovableHandle(lambda: _core._remove_hook(self, number))


def _register_node_hook(self: Any, fn: Callable[..., Any]) -> RemovableHandle:
    """Registers a hook: fn(grad_inputs, grad_outputs) is called after the node's backward; a tuple it returns replaces grad_inputs.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> y = x * 3
    >>> handle = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 2, *inputs[1:]))
    >>> y.sum().backward()
    >>> x.grad
    tensor([6., 6.])
    """
    number = self._add_hook(fn, False)
    return RemovableHandle(lambda: self._remove_hook(number))


def _register_node_prehook(self: Any, fn: Callable[..., Any]) -> RemovableHandle:
    """Registers a hook: fn(grad_outputs) is called before the node's backward; a tuple it returns replaces them."""
    number = self._add_hook(fn, True)
    return RemovableHandle(lambda: self._remove_hook(number))


def is_inference(self: Tensor) -> bool:
    """Returns whether the tensor was created under inference_mode.

    >>> pyburn.ones(2).is_inference()
    False
    """
    return _core._is_inference(self)


def install() -> None:
    for function in (backward, requires_grad_, detach_, retain_grad, register_hook, register_post_accumulate_grad_hook):
        setattr(Tensor, function.__name__, function)
    for name, method in {"register_hook": _register_node_hook, "register_prehook": _register_node_prehook}.items():
        setattr(_core.Node, name, method)
    properties = {
        "grad": property(
            _core._grad_of,
            _core._set_grad,
            lambda self: _core._set_grad(self, None),
            "The gradient, after backward.\n\n>>> pyburn.ones(2).grad",
        ),
        "requires_grad": property(
            _core._requires_grad, _assign_requires_grad, None, "Is this tensor differentiated?\n\n>>> pyburn.ones(2).requires_grad"
        ),
        "grad_fn": property(_core._grad_fn, None, None, "The node that made this tensor; None for leaves.\n\n>>> pyburn.ones(2).grad_fn"),
        "output_nr": property(
            lambda self: _core._gradient_edge(self)[1],
            None,
            None,
            "Which output of its node this tensor is.\n\n>>> pyburn.ones(2).output_nr\n0",
        ),
        "retains_grad": property(
            _core._retains_grad, None, None, "Does a tensor that is no leaf keep its gradient?\n\n>>> pyburn.ones(2).retains_grad\nFalse"
        ),
        "is_leaf": property(
            _core._is_leaf, None, None, "Was this tensor made by the user, not by a recorded operation?\n\n>>> pyburn.ones(2).is_leaf"
        ),
        "data": property(
            _core._data,
            _core._set_data,
            None,
            "The same elements without a history; writes are not noticed.\n\n>>> pyburn.ones(2, requires_grad=True).data",
        ),
        "_grad": property(_core._grad_of, _core._set_grad, None, "The gradient, as older code for PyTorch sets it."),
        "_base": property(_core._base, None, None, "The tensor that this one is a view of."),
        "is_meta": property(
            lambda self: self.device.type == "meta", None, None, "Has it a shape and no values?\n\n>>> pyburn.ones(2).is_meta\nFalse"
        ),
        "is_inference": is_inference,
        "_is_view": lambda self: self._base is not None,
    }
    for name, value in properties.items():
        setattr(Tensor, name, value)
    for name in ("is_cuda", "is_mps", "is_sparse", "is_xpu"):  # queried by PyTorch programs
        setattr(Tensor, name, property(lambda self: False, None, None, f"False.\n\n>>> pyburn.ones(2).{name}\nFalse"))
