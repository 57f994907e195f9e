"""Custom operations with a user-defined gradient, written in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .modes import no_grad


class Context:
    """The `ctx` of a Function: passes data from forward to backward."""

    def __init__(self) -> None:
        self._saved: tuple[tuple[Tensor | None, int], ...] = ()
        self._kept: dict[int, Any] = {}  # saved tensors that are stored in another form, by index
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._materialize = True
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Saves tensors for backward; later in-place changes to them are detected in backward.

        Raises:
            TypeError: An argument is not a tensor.
        """
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"save_for_backward can only save tensors: argument {i} is a {type(tensor).__name__}")
        self._saved = tuple((t, t._version if t is not None else 0) for t in tensors)

    def _keep(self, outputs: list[Tensor | None], node: Any) -> None:
        """Replaces saved tensors that must not be stored directly: outputs, which would form a cycle, and all of them if saved-tensor
        hooks are active.
        """
        numbers = {id(tensor): i for i, tensor in enumerate(outputs) if tensor is not None and tensor.requires_grad}
        hooked = _core._has_saved_tensor_hooks()
        for i, (tensor, _) in enumerate(self._saved):
            if tensor is None:
                continue
            if (number := numbers.get(id(tensor))) is not None:
                self._kept[i] = _core._KeptTensor(tensor, node, number)
            elif hooked:
                self._kept[i] = _core._KeptTensor(tensor)
        if self._kept:
            self._saved = tuple((None, 0) if i in self._kept else entry for i, entry in enumerate(self._saved))
        self._dirty = ()

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The saved tensors.

        Raises:
            GradientError: A tensor was modified in place after it was saved.
        """
        for tensor, version in self._saved:
            if tensor is not None and tensor._version != version:
                raise _core.GradientError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"[{tensor.dtype} {tuple(tensor.shape)}] is at version {tensor._version}; expected version {version} instead"
                )
        if not self._kept:
            return tuple(tensor for tensor, _ in self._saved)
        return tuple(self._kept[i].unpack() if i in self._kept else tensor for i, (tensor, _) in enumerate(self._saved))

    saved_variables = saved_tensors  # deprecated alias

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """No effect; forward-mode differentiation is not supported."""

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Marks inputs that forward modified in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Marks outputs that have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Sets whether backward gets zeros (the default) or None for outputs without a gradient."""
        self._materialize = value


FunctionCtx = Context


class Function:
    """Base class of custom operations: implement the static methods forward(ctx, ...) and backward(ctx, *gradients), then call `apply`.

    >>> class Double(pyburn.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = pyburn.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs; override it as a static method.

        Args:
            *args: The context, then the arguments of `apply`.
            **kwargs: The keyword arguments of `apply`.

        Returns:
            A tensor or a tuple of tensors.
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function: a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Context, *gradients: Any) -> Any:
        """Computes the gradients of the arguments from those of the outputs; override it as a static method.

        Args:
            ctx: The context.
            *gradients: The gradient of each output.

        Returns:
            The gradient of each argument of forward; None for arguments without one.
        """
        raise NotImplementedError("a Function needs a static method backward(ctx, *gradients)")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward and records the operation.

        Args:
            *args: The arguments of forward after the context.
            **kwargs: Its keyword arguments.

        Returns:
            The result of forward.

        Raises:
            GradientError: A leaf that requires grad was modified in place.
        """
        ctx = Context()
        separate = hasattr(cls, "setup_context")
        if kwargs or separate:  # by position and with defaults, in the order of the gradients from backward
            import inspect  # imported here since it is slow to import

            signature, whole = inspect.signature(cls.forward), (() if separate else (ctx,)) + args
            signature.bind_partial(*whole, **kwargs)  # reports unknown names before missing ones
            bound = signature.bind(*whole, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args[not separate :], bound.kwargs
        inputs = [a for a in args if isinstance(a, Tensor)]
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        record = _core.is_grad_enabled() and any(ctx.needs_input_grad)
        with no_grad():
            if separate:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)  # type: ignore[attr-defined]
            else:
                result = cls.forward(ctx, *args, **kwargs)
        single = isinstance(result, Tensor)
        if not record or not (single or isinstance(result, tuple)):  # other results have no gradients
            return result
        outputs = [result] if single else list(result)

        for t in ctx._dirty:
            if any(x is not None and x.is_leaf and x.requires_grad for x in (t, t._base)):
                raise _core.GradientError(
                    f"[{cls.__name__}] a leaf Variable that requires grad, or a view of it, has been used in an in-place operation"
                )
        dirty = {id(t) for t in ctx._dirty}
        plain = {id(t) for t in ctx._non_differentiable}
        given = {id(t) for t in inputs}
        # An input that is returned unchanged becomes a new tensor, which can have its own history.
        outputs = [o.view(o.shape) if isinstance(o, Tensor) and id(o) in given and id(o) not in dirty else o for o in outputs]
        metas = [(o.shape, o.dtype, o.device) if isinstance(o, Tensor) else None for o in outputs]
        are_tensors = [isinstance(a, Tensor) for a in args]  # not the arguments: they would keep overwritten inputs alive

        def backward(gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
            if ctx._materialize:
                gradients = tuple(
                    _core.zeros(m[0], dtype=m[1], device=m[2]) if g is None and m is not None else g for g, m in zip(gradients, metas)
                )
            found = cls.backward(ctx, *gradients)
            found = found if isinstance(found, tuple) else (found,)
            expected = len(are_tensors)
            if len(found) < expected or any(g is not None for g in found[expected:]):
                raise _core.GradientError(
                    f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {expected}, got {len(found)})"
                )
            return tuple(g for g, is_tensor in zip(found, are_tensors) if is_tensor)

        attached = [o if isinstance(o, Tensor) and id(o) not in plain else None for o in outputs]
        written = [isinstance(o, Tensor) and id(o) in dirty for o in outputs]
        ctx._keep(attached, _core._attach_function(backward, cls.__name__, inputs, attached, written))
        return outputs[0] if single else tuple(outputs)


class InplaceFunction(Function):
    """A Function with an `inplace` flag, for older code."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


class _DifferentiatedOnce(Function):
    """Identity whose gradients cannot be differentiated again."""

    @staticmethod
    def forward(ctx: Context, count: int, *tensors: Any) -> Any:
        return tuple(tensor.clone() for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: Context, *gradients: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates the backward of a Function whose result cannot be differentiated: requesting its gradient raises RuntimeError.

    >>> class Cube(pyburn.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     @pyburn.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return 3 * g * ctx.saved_tensors[0] ** 2
    """

    @functools.wraps(backward)
    def once(ctx: Context, *gradients: Any) -> Any:
        with no_grad():
            found = backward(ctx, *gradients)
        recorded = [g for g in gradients if isinstance(g, Tensor) and g.requires_grad]
        results = found if isinstance(found, tuple) else (found,)
        tensors = [g for g in results if isinstance(g, Tensor)]
        if not recorded or not tensors or not _core.is_grad_enabled():
            return found
        marked = iter(_DifferentiatedOnce.apply(len(tensors), *tensors, *recorded))
        marks = tuple(next(marked) if isinstance(g, Tensor) else g for g in results)
        return marks if isinstance(found, tuple) else marks[0]

    return once
