"""The autograd graph: nodes, hooks on several gradients, and hooks on saved tensors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from .._tensor_autograd import RemovableHandle

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

Node = _core.Node


class GradientEdge(NamedTuple):
    """The edge that a gradient flows along: output `output_nr` of a node.

    >>> x = pyburn.ones(1, requires_grad=True)
    >>> pyburn.autograd.graph.get_gradient_edge(x * 2).output_nr
    0
    """

    node: Any
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Returns the gradient edge of a tensor.

    Args:
        tensor: The tensor.

    Raises:
        RuntimeError: The tensor does not require grad.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> pyburn.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*_core._gradient_edge(tensor))


_refused = threading.local()


class saved_tensors_hooks:  # noqa: N801
    """Context manager in which tensors saved for backward are stored as pack_hook(tensor), and restored by unpack_hook.

    Args:
        pack_hook: Called with each tensor that is saved; returns what is stored.
        unpack_hook: Called with what was stored; returns the tensor.

    >>> x = pyburn.tensor([3.0], requires_grad=True)
    >>> with pyburn.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().tobytes(), lambda b: pyburn.frombuffer(b, dtype=pyburn.float32)):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if message := getattr(_refused, "message", None):
            raise RuntimeError(message)
        _core._push_saved_tensor_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error: object) -> None:
        _core._pop_saved_tensor_hooks()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Context manager in which tensors saved for backward are stored on the CPU, and moved back when needed.

    Args:
        pin_memory: Accepted for compatibility.
        device_type: Accepted for compatibility.

    >>> x = pyburn.tensor([3.0], requires_grad=True)
    >>> with pyburn.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.to("cpu")), lambda kept: kept[1].to(kept[0]))


class allow_mutation_on_saved_tensors(saved_tensors_hooks):  # noqa: N801
    """Context manager in which tensors saved for backward may be modified in place: copies are saved.

    >>> x = pyburn.tensor([3.0], requires_grad=True)
    >>> with pyburn.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x * 2
    ...     z = (y * y).sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([24.])
    """

    def __init__(self) -> None:
        super().__init__(lambda t: t.clone(), lambda kept: kept)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager in which saved_tensors_hooks raises RuntimeError with the given message.

    Args:
        error_message: The message of the error.

    Returns:
        A context manager.

    >>> with pyburn.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     pass
    """
    if _core._has_saved_tensor_hooks():
        raise RuntimeError(error_message)
    before = getattr(_refused, "message", None)
    _refused.message = error_message
    try:
        yield
    finally:
        _refused.message = before


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all") -> RemovableHandle:
    """Registers a hook on the gradients of several tensors, called once per backward pass.

    Args:
        tensors: The tensors.
        fn: The hook.
        mode: "all" calls fn with the list of all gradients (None if a tensor got none), "any" with the first gradient computed.

    Returns:
        A handle whose `remove` unregisters the hook.

    Raises:
        ValueError: mode is unknown.

    >>> a, b = pyburn.ones(2, requires_grad=True), pyburn.ones(2, requires_grad=True)
    >>> seen = []
    >>> handle = pyburn.autograd.graph.register_multi_grad_hook((a, b), lambda gradients: seen.append(len(gradients)))
    >>> (a * b).sum().backward()
    >>> seen
    [2]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    gathering = _Gathering(len(tensors), fn, mode == "any")
    handles = [tensor.register_hook(gathering.hook(i)) for i, tensor in enumerate(tensors)]

    def remove() -> None:
        for handle in handles:
            handle.remove()

    return RemovableHandle(remove)


class _Gathering:
    """Collects the gradients of one backward pass; concurrent passes of several threads are kept separate."""

    def __init__(self, count: int, function: Callable[..., None], first_only: bool) -> None:
        self.count, self.function, self.first_only = count, function, first_only
        self.passes: dict[int, list[Tensor | None]] = {}
        self.done: set[int] = set()
        self.lock = threading.Lock()

    def hook(self, index: int) -> Callable[[Tensor], None]:
        def arrived(gradient: Tensor) -> None:
            number = _core._current_pass()
            with self.lock:
                known = number in self.passes
                gradients = self.passes.setdefault(number, [None] * self.count)
                gradients[index] = gradient
                complete = all(g is not None for g in gradients)
            if not known:
                _core._after_this_pass(lambda: self._finish(number))
                _core._at_end_of_this_pass(lambda: self._forget(number))  # also after an error
            if self.first_only and not known:
                self.function(gradient)
            elif not self.first_only and complete:
                self.done.add(number)
                self.function(gradients)

        return arrived

    def _finish(self, number: int) -> None:
        if not self.first_only and number not in self.done:
            self.function(self.passes[number])

    def _forget(self, number: int) -> None:
        self.passes.pop(number, None)
        self.done.discard(number)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Marks tensors as modified in place, so that a backward pass that needs their old values raises an error.

    Args:
        tensor: A tensor or several.

    >>> x = pyburn.ones(2)
    >>> pyburn.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _core._increment_version(one)
