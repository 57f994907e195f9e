"""Collating samples into batches."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ..tensor.creation import as_tensor, tensor

Collate = Callable[..., Any]

# NumPy string and object dtypes, which tensors do not support.
_NO_NUMBERS = re.compile(r"[SaUO]")


def default_convert(data: Any) -> Any:
    """Converts NumPy arrays to tensors, recursively in dicts, lists and tuples. Other values are returned unchanged.

    Args:
        data: A value, or nested lists, tuples and dicts of values.

    Returns:
        The same structure with tensors in place of arrays and numbers.

    >>> import numpy
    >>> default_convert([numpy.zeros(2), "text"])
    [tensor([0., 0.], dtype=pyburn.float64), 'text']
    """
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy":
        if kind.__name__ == "ndarray" and _NO_NUMBERS.search(data.dtype.str) is not None:
            return data
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(part) for part in data))
    if isinstance(data, tuple):
        return [default_convert(part) for part in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like(data, [default_convert(part) for part in data])
    return data


def collate(batch: Any, *, collate_fn_map: dict[type | tuple[type, ...], Collate] | None = None) -> Any:
    """Collates samples into a batch, with a collate function per type.

    Args:
        batch: The samples.
        collate_fn_map: Functions by type, called as `function(samples, collate_fn_map=map)`.

    Raises:
        RuntimeError: Sequences in the samples differ in length.
        TypeError: A type is not supported.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for named, function in collate_fn_map.items():
            if isinstance(first, named):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _like(first, {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        sizes = {len(sample) for sample in batch}
        if len(sizes) > 1:
            raise RuntimeError(f"each element in list of batch should be of equal size: got sizes {sorted(sizes)}")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(first, tuple) else _like(first, columns)
    raise TypeError(_complaint(kind))


def default_collate(batch: Any) -> Any:
    """Collates samples into a batch.

    Tensors and arrays are stacked, numbers become a tensor, strings a list. Dicts, tuples and lists are collated recursively; graphs become
    one graph of disconnected components.

    Args:
        batch: The samples.

    Returns:
        A batch of the structure of a sample, with stacked tensors.

    Raises:
        RuntimeError: Samples differ in shape or length.
        TypeError: A type is not supported.

    >>> default_collate([(pyburn.ones(2), 0), (pyburn.zeros(2), 1)])
    [tensor([[1., 1.],
            [0., 0.]]), tensor([0, 1])]
    """
    graph = sys.modules.get("pyburn.nn.geometric")  # without this import there are no graphs
    if graph is not None and isinstance(batch[0], graph.Data):
        return graph.Batch.from_data_list(batch)
    return collate(batch, collate_fn_map=default_collate_fn_map)


def _like(original: Any, parts: Any) -> Any:
    """Returns the parts in a container of the original's class if possible, else in a plain one."""
    try:
        if isinstance(original, MutableMapping) and type(original) is not dict:
            clone = copy.copy(original)
            clone.update(parts)
            return clone
        if isinstance(original, MutableSequence) and type(original) is not list:
            filled = copy.copy(original)
            for i, part in enumerate(parts):
                filled[i] = part
            return filled
        return parts if type(original) in (dict, list) else type(original)(parts)  # type: ignore[call-arg]
    except (TypeError, IndexError):
        return parts


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """Stacks tensors of equal shape along a new first dimension."""
    first = batch[0].shape
    for i, sample in enumerate(batch):
        if sample.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(sample.shape)} at entry {i}: "
                "pad the samples, or pass collate_fn"
            )
    return _core.stack(list(batch))


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Stacks arrays of equal shape along a new first dimension, with one copy."""
    import numpy as np

    if _NO_NUMBERS.search(batch[0].dtype.str) is not None:
        raise TypeError(_complaint(batch[0].dtype))
    for i, sample in enumerate(batch):
        if sample.shape != batch[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(batch[0].shape)} at entry 0 "
                f"and {list(sample.shape)} at entry {i}: pad the samples, or pass collate_fn"
            )
    return as_tensor(np.stack(batch))


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Converts NumPy scalars to a 1-d tensor."""
    import numpy as np

    return as_tensor(np.stack(batch))


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    """Converts Python floats to a 1-d float64 tensor, without loss of precision."""
    return tensor(list(batch), dtype=_core.float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    """Converts Python ints or bools to a 1-d tensor."""
    return tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Returns strings unchanged."""
    return batch


class _Numpy(type):
    """Metaclass that stands for a NumPy class without importing NumPy: if there is an instance, NumPy is already imported."""

    def __instancecheck__(cls, instance: object) -> bool:
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return False
        if cls.__name__ == "_NumpyArray":
            return isinstance(instance, numpy.ndarray)
        return isinstance(instance, (numpy.bool_, numpy.number, numpy.object_))


class _NumpyArray(metaclass=_Numpy):
    pass


class _NumpyScalar(metaclass=_Numpy):
    pass


# numpy.float64 is a subclass of float, so NumPy comes first.
default_collate_fn_map: dict[type | tuple[type, ...], Collate] = {
    Tensor: collate_tensor_fn,
    _NumpyArray: collate_numpy_array_fn,
    _NumpyScalar: collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _complaint(kind: object) -> str:
    return f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"
