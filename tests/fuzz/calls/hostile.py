"""What the text of a fuzzed call may use: tensors, hostile objects, and the functions that read results."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy as np
from oracles import expect  # noqa: F401 (a name of the calls)

import pyburn
from pyburn import nn, optim
from pyburn.nn import functional as F
from pyburn.testing.conformance.samples import DTYPES

_device: Any = "cpu"


def on(device: str) -> None:
    """Creates the tensors of the next calls on this device."""
    global _device
    _device = device


def restore_defaults() -> None:
    """Undoes what an earlier call has set for the whole process, so that each call can be repeated alone."""
    on("cpu")
    pyburn.set_default_device("cpu")
    pyburn.set_default_dtype(pyburn.float32)
    pyburn.set_grad_enabled(True)
    pyburn.autograd.set_detect_anomaly(False)
    pyburn.set_num_threads(_threads)


_threads = pyburn.get_num_threads()


# --- tensors: the names of the samples, with plain values ---


def _moved(x: Any) -> Any:
    return x if _device == "cpu" else x.to(device=_device)


def _tensor(shape: tuple[int, ...], dtype: Any, low: float, high: float) -> Any:
    count = int(np.prod(shape))
    values = (np.linspace(low, high, max(count, 2))[:count] if count else np.zeros(0)).reshape(shape)
    return _moved(pyburn.tensor(values.tolist() if not shape else values).to(dtype))


def t(*shape: int, dtype: Any = pyburn.float32) -> Any:
    return _tensor(shape, dtype, 0 if dtype.name.startswith("u") else -1.75, 1.75)


def positive(*shape: int, dtype: Any = pyburn.float32) -> Any:
    return _tensor(shape, dtype, 0.25, 1.75)


def unit(*shape: int, dtype: Any = pyburn.float32) -> Any:
    return _tensor(shape, dtype, -0.9, 0.9)


def fraction(*shape: int, dtype: Any = pyburn.float32) -> Any:
    return _tensor(shape, dtype, 0.1, 0.9)


def above_one(*shape: int, dtype: Any = pyburn.float32) -> Any:
    return _tensor(shape, dtype, 1.25, 2.75)


def index(*shape: int, below: int) -> Any:
    values = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) % max(below, 1)
    return _moved(pyburn.tensor(values))


def tensor(elements: Any, dtype: Any = None) -> Any:
    return _moved(pyburn.tensor(elements, dtype=dtype))


def edged(x: Any, place: int, which: int) -> Any:
    """The same tensor (or list of tensors) with one extreme value of its dtype in it."""
    if not isinstance(x, pyburn.Tensor):
        return [edged(part, place, which) for part in x]
    if x.numel() == 0 or x.device == pyburn.device("meta"):
        return x
    if x.dtype.is_floating_point:
        limits = pyburn.finfo(x.dtype)
        extremes = [pyburn.nan, pyburn.inf, -pyburn.inf, limits.max, limits.min, limits.tiny, -0.0, limits.eps]
    elif x.dtype == pyburn.bool:
        extremes = [True, False]
    else:
        limits = pyburn.iinfo(x.dtype)
        extremes = [limits.max, limits.max, limits.max - 1, limits.max // 2 + 1, limits.min, limits.min, limits.max // 2**32, 0]
    y = x.clone().contiguous()
    y.reshape(-1)[place % y.numel()] = extremes[which % len(extremes)]
    return y


# --- objects that lie or fail ---


class HostileError(Exception):
    """Raised by hostile objects; it must reach the caller."""


class Index:
    """An integer by __index__, which may be anything."""

    def __init__(self, value: Any):
        self.value = value

    def __index__(self) -> Any:
        return self.value

    __int__ = __index__

    def __float__(self) -> Any:
        return self.value


class Failing:
    """Every protocol raises."""

    def _fail(self, *_: Any) -> Any:
        raise HostileError

    __index__ = __len__ = __getitem__ = __iter__ = __float__ = __bool__ = __array__ = __str__ = __eq__ = _fail
    __hash__ = None  # type: ignore[assignment]


class Sequence:
    """A sequence whose length lies."""

    def __init__(self, length: Any, item: Any = 1):
        self.length, self.item = length, item

    def __len__(self) -> Any:
        return self.length

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, int) and i > 1000:
            raise IndexError
        return self.item


class Shrinking(list):
    """A list that an element's __index__ empties while it is read."""

    def __init__(self, *items: Any):
        super().__init__(items)
        owner = self

        class Clearing:
            def __index__(self) -> int:
                owner.clear()
                return 1

        self.insert(0, Clearing())


@functools.cache
def nested(depth: int) -> list[Any]:
    """A list in a list in a list ... (made once: making and freeing the deepest one takes longer than a hundred calls)."""
    x: list[Any] = []
    for _ in range(depth):
        x = [x]
    return x


def cyclic() -> list[Any]:
    x: list[Any] = [1]
    x.append(x)
    return x


# --- what happens to results ---


def use(y: Any, depth: int = 0) -> None:
    """Reads a result as a user would: prints it and visits every element, where that is bounded."""
    if isinstance(y, pyburn.Tensor):
        repr(y)
        if 0 < y.numel() <= 1 << 16 and y.device != pyburn.device("meta"):
            y.detach().tolist()
    elif isinstance(y, (tuple, list)) and depth < 3:
        for part in y[:64]:
            use(part, depth + 1)
    elif not isinstance(y, type):
        repr(y)


def backward(y: Any) -> None:
    """Runs the backward pass from every floating result that has a history."""
    for part in y if isinstance(y, (tuple, list)) else (y,):
        if isinstance(part, pyburn.Tensor) and part.requires_grad and part.numel() <= 1 << 16:
            part.sum().backward()


def new(kind: type) -> None:
    """Uses an object whose __init__ never ran: every attribute, its text, its protocols."""
    x = kind.__new__(kind)
    for name in dir(x):
        with contextlib.suppress(Exception):
            value = getattr(x, name)
            if callable(value) and name not in ("__reduce_ex__", "__init_subclass__", "__subclasshook__", "__class__"):
                value()
    for read in (repr, str, hash, len, iter, bool, float):
        with contextlib.suppress(Exception):
            read(x)


def namespace() -> dict[str, Any]:
    """The names of a call's text."""
    names = {
        name: value for name, value in globals().items() if not name.startswith("_") and name not in ("annotations", "contextlib", "Any")
    }
    names |= {short: getattr(pyburn, name) for short, name in DTYPES.items()}
    return names | {"inf": float("inf"), "nan": float("nan"), "pyburn": pyburn, "nn": nn, "F": F, "optim": optim, "np": np}
