"""The samples of the operations: text in their rows, one case per line, read here.

    t(2, 3)                     a float32 tensor; dtype=f64 f32 f16 bf16 i8..i64 u8..u64 b8
    positive(2, 3)              the same, all elements greater than 0
    unit(2, 3)                  between -1 and 1; fraction: between 0 and 1; above_one: greater than 1 (floating)
    index(4, below=3)           int64, from 0 up to below
    tensor([1., 2.])            these elements; .smooth where derivatives do not jump at them
    [t(2), t(2)]                a list of tensors
    .T .expand(..) .permute(..) .transpose(..) and slices make views; .constant asks for no gradient
    arguments ! words           an error whose message holds the words

Values follow from the name of the operation, the line and the position of the argument, the same everywhere: the
goldens are made with torch from the same numbers. No two elements of a t() of up to 48 (positive(): 24) elements are
equal, and none is near 0, so that finite differences never meet a kink. Needs numpy alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "i16": "int16", "i32": "int32",
    "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "b8": "bool",
}  # fmt: skip
FLOATING = ("float64", "float32", "float16", "bfloat16")


@dataclass(frozen=True)
class DTypeName:
    """A dtype in a sample; the name is the same in numpy (except bfloat16), torch and pyburn."""

    name: str


FLOAT32 = DTypeName("float32")


@dataclass(frozen=True)
class Input:
    """A tensor in a sample: its elements in row-major order and the views applied to them."""

    array: np.ndarray = field(repr=False)  # bfloat16 as float32: the values are exact
    dtype: str
    steps: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    literal: bool = False  # tensor([...]): elements can be equal or 0
    wants_gradient: bool = True

    def _then(self, name: str, *arguments: Any) -> Input:
        return replace(self, steps=(*self.steps, (name, arguments)))

    @property
    def constant(self) -> Input:
        return replace(self, wants_gradient=False)

    @property
    def smooth(self) -> Input:
        return replace(self, literal=False)

    @property
    def T(self) -> Input:
        return self._then("permute", *reversed(range(self.values().ndim)))

    def permute(self, *order: int) -> Input:
        return self._then("permute", *order)

    def transpose(self, a: int, b: int) -> Input:
        return self._then("transpose", a, b)

    def expand(self, *size: int) -> Input:
        return self._then("expand", *size)

    def __getitem__(self, key: Any) -> Input:
        return self._then("slices", *(key if isinstance(key, tuple) else (key,)))

    def values(self) -> np.ndarray:
        """Returns the elements after the views."""
        x = self.array
        for name, arguments in self.steps:
            if name == "permute":
                x = x.transpose(arguments)
            elif name == "transpose":
                x = x.swapaxes(*arguments)
            elif name == "expand":
                x = np.broadcast_to(x, arguments)
            else:
                x = x[arguments]
        return x

    @property
    def is_leaf(self) -> bool:
        """Returns whether the operation has a gradient with respect to this input."""
        return self.wants_gradient and self.dtype in FLOATING


@dataclass(frozen=True)
class Sample:
    """A call of an operation, with its arguments.

    Attributes:
        op: The row of the operation, such as max.dim.
        line: The line that the sample was read from.
        arguments: The positional arguments.
        keywords: The keyword arguments.
        error: Words of the expected error message; None if the call succeeds.

    >>> read_sample("sum", "t(2, 3), dim=1").keywords
    {'dim': 1}
    """

    op: str
    line: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    error: str | None  # words of the expected error message

    @property
    def function(self) -> str:
        """The public function: max.dim is an overload of max."""
        return self.op.split(".")[0]

    @property
    def inputs(self) -> list[Input]:
        given = (*self.arguments, *self.keywords.values())
        return [x for a in given for x in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(x, Input)]

    def map(self, make: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments with make() applied to tensors and dtypes, each once and in order.

        Args:
            make: A function of an Input or a DTypeName.
        """

        def one(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(one(part) for part in value)
            return make(value) if isinstance(value, (Input, DTypeName)) else value

        return tuple(one(a) for a in self.arguments), {k: one(v) for k, v in self.keywords.items()}


class _Values:
    """The names available in a sample; numbers come from a generator with a fixed stream."""

    def __init__(self, seed: str):
        self.seed, self.made = seed, 0

    def _generator(self) -> random.Random:
        self.made += 1
        return random.Random(f"{self.seed} | {self.made}")

    # Floating-point values are multiples of 1/64 between 0.25 and 1.75: exact in bfloat16. Argument k takes every fourth of them from k on,
    # so that no two arguments share a value.
    def _floats(self, shape: tuple[int, ...], positive: bool) -> np.ndarray:
        g, n = self._generator(), int(np.prod(shape))
        levels = range(16 + self.made % 4, 112, 4)
        pool = [s * v / 64 for v in levels for s in ((1,) if positive else (1, -1))]
        pool.sort(key=lambda _: g.random())
        if n > len(pool):
            pool = [pool[int(g.random() * len(pool))] for _ in range(n)]
        return np.array(pool[:n], np.float64).reshape(shape)

    def _integers(self, shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
        g = self._generator()
        return np.array([low + int(g.random() * (high - low)) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)

    def _tensor(self, shape: tuple[int, ...], dtype: str, positive: bool) -> Input:
        if dtype in FLOATING:
            values = self._floats(shape, positive)
        elif dtype == "bool":
            values = self._integers(shape, 0, 2)
        else:
            values = self._integers(shape, 1 if positive else 0 if dtype[0] == "u" else -4, 6)
        return Input(values.astype("float32" if dtype == "bfloat16" else dtype), dtype)

    def t(self, *shape: int, dtype: DTypeName = FLOAT32) -> Input:
        return self._tensor(shape, dtype.name, positive=False)

    def positive(self, *shape: int, dtype: DTypeName = FLOAT32) -> Input:
        return self._tensor(shape, dtype.name, positive=True)

    def unit(self, *shape: int, dtype: DTypeName = FLOAT32) -> Input:
        return self._moved(shape, dtype.name, False, lambda x: x / 2)

    def fraction(self, *shape: int, dtype: DTypeName = FLOAT32) -> Input:
        return self._moved(shape, dtype.name, True, lambda x: x / 2)

    def above_one(self, *shape: int, dtype: DTypeName = FLOAT32) -> Input:
        return self._moved(shape, dtype.name, True, lambda x: x + 1)

    def _moved(self, shape: tuple[int, ...], dtype: str, positive: bool, move: Any) -> Input:
        x = self._tensor(shape, dtype, positive)
        return replace(x, array=move(x.array))

    def index(self, *shape: int, below: int) -> Input:
        return Input(self._integers(shape, 0, below), "int64")

    @staticmethod
    def tensor(elements: Any, dtype: DTypeName | None = None) -> Input:
        array = np.array(elements)
        name = dtype.name if dtype else "float32" if array.dtype == np.float64 else array.dtype.name
        return Input(array.astype("float32" if name == "bfloat16" else name), name, literal=True)


def read_sample(op: str, line: str) -> Sample:
    text, _, words = line.partition(" ! ")
    values = _Values(f"{op} | {text}")
    names = {name: getattr(values, name) for name in ("t", "positive", "unit", "fraction", "above_one", "index", "tensor")}
    names |= {"nan": float("nan"), "inf": float("inf")} | {short: DTypeName(name) for short, name in DTYPES.items()}
    arguments, keywords = eval(f"collect({text})", {"__builtins__": {}, "collect": lambda *a, **k: (a, k), **names})
    return Sample(op, line, arguments, keywords, words or None)


def lines_of(row: dict[str, Any]) -> list[str]:
    return [line.strip() for line in (row["samples"] or "").splitlines() if line.strip()]


def samples_of(row: dict[str, Any]) -> list[Sample]:
    return [read_sample(row["name"], line) for line in lines_of(row)]


def weights(sample: Sample, shape: tuple[int, ...], use: str = "first") -> np.ndarray:
    """Returns the weights that the result is multiplied by before it is summed: the incoming gradient of the operation."""
    return _Values(f"{sample.op} | {sample.line} | {use}")._floats(shape, positive=False)
