"""Predicates on tensors, shapes and dtypes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import DType, Size


def is_floating_point(input: Tensor) -> bool:
    """Returns whether the dtype is floating point.

    Args:
        input: The tensor.

    >>> pyburn.is_floating_point(pyburn.ones(2)), pyburn.is_floating_point(pyburn.arange(2))
    (True, False)
    """
    return input.is_floating_point()


def is_signed(input: Tensor) -> bool:
    """Returns whether the dtype is signed.

    Args:
        input: The tensor.

    >>> pyburn.is_signed(pyburn.arange(2))
    True
    """
    return input.is_signed()


def is_complex(input: Tensor) -> bool:
    """Returns False: there are no complex tensors.

    Args:
        input: The tensor.

    >>> pyburn.is_complex(pyburn.ones(2))
    False
    """
    return False


def is_nonzero(input: Tensor) -> bool:
    """Returns whether the only element is not zero.

    Args:
        input: A tensor with one element.

    Raises:
        ArgumentError: input does not have exactly one element.

    >>> pyburn.is_nonzero(pyburn.tensor([1.5])), pyburn.is_nonzero(pyburn.tensor(False))
    (True, False)
    """
    if input.numel() != 1:
        raise _core.ArgumentError(f"[is_nonzero] expected one element: got {tuple(input.shape)}")
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Returns whether two tensors have the same shape.

    Args:
        input: The first tensor.
        other: The second tensor.

    >>> pyburn.is_same_size(pyburn.ones(2), pyburn.ones(2, 1))
    False
    """
    return input.shape == other.shape


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Returns whether both tensors refer to the same memory with the same offset, shape and strides.

    >>> x = pyburn.ones(2)
    >>> x.is_set_to(x.detach())
    True
    """
    one, other = ((x._storage_id, x.storage_offset(), x.shape, x.stride()) for x in (self, tensor))
    return one == other


def isreal(input: Tensor) -> Tensor:
    """Returns True for each element: there are no complex tensors.

    Args:
        input: The tensor.

    >>> pyburn.isreal(pyburn.tensor([1.0]))
    tensor([True])
    """
    return _core.ones_like(input, dtype=_core.bool)


def real(input: Tensor) -> Tensor:
    """Returns input: there are no complex tensors.

    Args:
        input: The tensor.

    >>> pyburn.real(pyburn.tensor([1.0]))
    tensor([1.])
    """
    return input


def conj(input: Tensor) -> Tensor:
    """Returns input: there are no complex tensors.

    Args:
        input: The tensor.

    >>> pyburn.tensor([1.0]).conj()
    tensor([1.])
    """
    return input


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """Returns the shape that results from broadcasting the given shapes.

    Args:
        *shapes: The shapes.

    Raises:
        RuntimeError: An argument is not a shape, or the shapes cannot be broadcast.

    >>> pyburn.broadcast_shapes((2, 1), (3,))
    pyburn.Size([2, 3])
    """
    if not shapes:
        return _core.Size([])
    for shape in shapes:
        if not isinstance(shape, int) and not hasattr(shape, "__iter__"):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
    stretched = [_core.empty(()).expand((shape,) if isinstance(shape, int) else tuple(islice(shape, 65))) for shape in shapes]  # 64 at most
    return _core.broadcast_tensors(*stretched)[0].shape


def can_cast(from_: DType, to: DType) -> bool:
    """Returns whether results of one dtype can be written into a tensor of another.

    Args:
        from_: The dtype of the results.
        to: The dtype of the tensor.

    >>> pyburn.can_cast(pyburn.int64, pyburn.float32), pyburn.can_cast(pyburn.float32, pyburn.int64)
    (True, False)
    """

    def kind(dtype: DType) -> int:
        return 0 if dtype is _core.bool else 2 if dtype.is_floating_point else 1

    return kind(from_) <= kind(to)


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """Returns the dtype of the sum of two tensors or numbers by type promotion.

    Args:
        tensor1: A tensor or number.
        tensor2: A tensor or number.

    >>> pyburn.result_type(pyburn.tensor([1, 2]), 1.5)
    pyburn.float32
    """

    def empty(value: Any) -> Any:
        return value[tuple(slice(0) for _ in range(value.ndim))] if isinstance(value, Tensor) and value.ndim else value

    a, b = empty(tensor1), empty(tensor2)
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        a = _core._tensor(a, None, None, False)
    return _core.where(_core._tensor(True, None, None, False), a, b).dtype


def get_device(self: Tensor) -> int:
    """Returns -1: there is one CPU.

    >>> pyburn.ones(2).get_device()
    -1
    """
    return -1


def install() -> None:
    """Adds these methods to the Tensor class."""
    for function in (is_complex, is_nonzero, is_same_size, is_set_to, isreal, conj, get_device):
        setattr(Tensor, function.__name__, function)
    for name in ("resolve_conj", "resolve_neg", "conj_physical"):
        setattr(Tensor, name, conj)
