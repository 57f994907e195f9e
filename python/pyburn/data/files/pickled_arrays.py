"""Reads pickles of numeric data: NumPy arrays, SciPy CSR matrices, and containers of them.

This is a separate interpreter, not Python's: it knows the six global names that such files use and calls nothing else, so any other pickle
is rejected. Its stack and memo hold only what the file contains.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..damage import format_errors
from . import limits
from .source import ByteReader, File, FormatError, read_bytes


class SparseRows(NamedTuple):
    """A CSR matrix: row i has `values[pointers[i]:pointers[i + 1]]` in the columns `columns[...]`.

    >>> pyburn.data.files.SparseRows((1, 3), np.array([5.0]), np.array([2]), np.array([0, 1])).dense()
    array([[0., 0., 5.]], dtype=float32)
    """

    shape: tuple[int, int]
    values: np.ndarray
    columns: np.ndarray
    pointers: np.ndarray

    def dense(self, dtype: Any = np.float32) -> np.ndarray:
        """Returns the matrix as a dense array.

        Args:
            dtype: The dtype of the result.
        """
        full = np.zeros(self.shape, dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.pointers))
        np.add.at(full, (rows, self.columns), self.values.astype(dtype))
        return full


def read_pickled_arrays(file: File) -> Any:
    """Reads a pickle of numbers, text, lists, dicts, NumPy arrays and SciPy CSR matrices, without executing code.

    Args:
        file: A path, bytes or an open binary file.

    Returns:
        The value; CSR matrices are SparseRows.

    Raises:
        FormatError: The pickle is damaged or contains anything else.

    >>> import pickle
    >>> pyburn.data.files.read_pickled_arrays(pickle.dumps({"x": np.arange(3)}))["x"]
    array([0, 1, 2])
    """
    reader = ByteReader(read_bytes(file), "pickle")
    with format_errors("[pickle] the file is damaged"):
        return _Settling().value(_Interpreter(reader).run(), 0)


class _Global(NamedTuple):
    name: str


class _Made:
    """An object under construction: its kind, constructor arguments, and state."""

    def __init__(self, kind: str, arguments: tuple[Any, ...]) -> None:
        self.kind, self.arguments = kind, arguments
        self.state: Any = None
        self.items: dict[Any, Any] = {}


_KINDS = {
    "numpy.core.multiarray _reconstruct": "array",
    "numpy._core.multiarray _reconstruct": "array",
    "numpy ndarray": "ndarray",
    "numpy dtype": "dtype",
    "scipy.sparse.csr csr_matrix": "csr",
    "scipy.sparse._csr csr_matrix": "csr",
    "collections defaultdict": "dict",
    "__builtin__ list": "list",
    "builtins list": "list",
    "_codecs encode": "encode",
}

_MARK = object()


class _Interpreter:
    def __init__(self, reader: ByteReader) -> None:
        self.reader = reader
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        while True:
            code = self.reader.take(1, "the pickle")[0]
            if code == 0x2E:  # STOP
                return self.stack.pop()
            step = _STEPS.get(code)
            if step is None:
                raise self.reader.fail(f"the pickle has an instruction that files of arrays do not need: {bytes([code])!r}")
            step(self)

    def number(self, layout: str) -> int:
        return self.reader.unpack(layout)[0]

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def above_mark(self) -> list[Any]:
        for at in range(len(self.stack) - 1, -1, -1):
            if self.stack[at] is _MARK:
                items = self.stack[at + 1 :]
                del self.stack[at:]
                return items
        raise self.reader.fail("the pickle has no mark where one is wanted")

    def text(self, layout: str, encoding: str = "latin-1") -> None:
        self.push(bytes(self.reader.take(self.number(layout), "a text")).decode(encoding, "surrogatepass"))

    def raw(self, layout: str) -> None:
        self.push(bytes(self.reader.take(self.number(layout), "bytes")))

    def line(self) -> str:
        rest = bytes(self.reader.data[self.reader.at : self.reader.at + 256])
        end = rest.find(b"\n")
        if end < 0:
            raise self.reader.fail("a name has no end")
        self.reader.at += end + 1
        return rest[:end].decode("latin-1")

    def find_global(self) -> None:
        self.named(f"{self.line()} {self.line()}")

    def stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.named(f"{module} {name}")

    def named(self, name: str) -> None:
        if name not in _KINDS:
            raise self.reader.fail(f"the pickle wants {name.replace(' ', '.')!r}, which no file of arrays needs; it is not loaded")
        self.push(_Global(_KINDS[name]))

    def call(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, _Global) or not isinstance(arguments, tuple):
            raise self.reader.fail("the pickle calls what is no function")
        if function.name == "encode":  # how Python 3 pickles bytes with old protocols
            self.push(str(arguments[0]).encode("latin-1"))
        elif function.name in ("array", "dtype", "dict", "csr"):
            self.push(_Made(function.name, arguments))
        else:
            raise self.reader.fail(f"the pickle calls {function.name}")

    def build(self) -> None:
        state = self.stack.pop()
        if not isinstance(self.stack[-1], _Made):
            raise self.reader.fail("the pickle gives a state to what has none")
        self.stack[-1].state = state

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        into = target.items if isinstance(target, _Made) and target.kind == "dict" else target
        if not isinstance(into, dict) or len(items) % 2:
            raise self.reader.fail("the pickle sets items of what has none")
        for key, value in zip(items[::2], items[1::2]):
            if not isinstance(key, (str, int, float, bytes, bool)):
                raise self.reader.fail(f"the pickle has a key of type {type(key).__name__}")
            into[key] = value

    def extend(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise self.reader.fail("the pickle appends to what is no list")
        self.stack[-1].extend(items)

    def long(self) -> None:
        self.push(int.from_bytes(self.reader.take(self.number("<B")), "little", signed=True))

    def get(self, layout: str) -> None:
        self.push(self.memo[self.number(layout)])

    def put(self, layout: str) -> None:
        self.memo[self.number(layout)] = self.stack[-1]

    def memoize(self) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def tuple_of(self, count: int) -> None:
        if len(self.stack) < count:
            raise self.reader.fail("the pickle takes more than it has")
        items = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        self.push(items)


def _step_dict(machine: _Interpreter) -> None:
    items = machine.above_mark()
    machine.push({})
    machine.set_items(items)


def _step_items(machine: _Interpreter) -> None:
    machine.set_items(machine.above_mark())


def _step_item(machine: _Interpreter) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    machine.set_items([key, value])


_STEPS: dict[int, Callable[[_Interpreter], Any]] = {
    0x80: lambda m: m.reader.take(1),  # PROTO
    0x95: lambda m: m.reader.take(8),  # FRAME
    ord("("): lambda m: m.push(_MARK),
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("J"): lambda m: m.push(m.number("<i")),
    ord("K"): lambda m: m.push(m.number("<B")),
    ord("M"): lambda m: m.push(m.number("<H")),
    ord("G"): lambda m: m.push(m.number(">d")),
    0x8A: _Interpreter.long,
    ord("U"): lambda m: m.text("<B"),
    ord("T"): lambda m: m.text("<i"),
    ord("X"): lambda m: m.text("<I", "utf-8"),
    0x8C: lambda m: m.text("<B", "utf-8"),
    ord("C"): lambda m: m.raw("<B"),
    ord("B"): lambda m: m.raw("<I"),
    0x8E: lambda m: m.raw("<Q"),
    ord("]"): lambda m: m.push([]),
    ord("}"): lambda m: m.push({}),
    ord(")"): lambda m: m.push(()),
    0x85: lambda m: m.tuple_of(1),
    0x86: lambda m: m.tuple_of(2),
    0x87: lambda m: m.tuple_of(3),
    ord("t"): lambda m: m.push(tuple(m.above_mark())),
    ord("l"): lambda m: m.push(m.above_mark()),
    ord("d"): _step_dict,
    ord("a"): lambda m: m.extend([m.stack.pop()]),
    ord("e"): lambda m: m.extend(m.above_mark()),
    ord("s"): _step_item,
    ord("u"): _step_items,
    ord("c"): _Interpreter.find_global,
    0x93: _Interpreter.stack_global,
    ord("R"): _Interpreter.call,
    0x81: _Interpreter.call,  # NEWOBJ
    ord("b"): _Interpreter.build,
    ord("q"): lambda m: m.put("<B"),
    ord("r"): lambda m: m.put("<I"),
    0x94: _Interpreter.memoize,
    ord("h"): lambda m: m.get("<B"),
    ord("j"): lambda m: m.get("<I"),
}


class _Settling:
    """Converts the intermediate objects to final values.

    An object that is referenced several times is converted once, so the result is as large as the file, not as the unfolded tree.
    """

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}  # by id of the intermediate object; the interpreter's result keeps them alive

    def value(self, value: Any, depth: int) -> Any:
        if depth > limits.DEEPEST_PICKLE:
            raise FormatError(f"[pickle] containers are nested too deeply: at most {limits.DEEPEST_PICKLE} (DEEPEST_PICKLE)")
        if not isinstance(value, (_Made, list, tuple, dict)):
            if isinstance(value, _Global) or value is _MARK:
                raise FormatError("[pickle] the file contains a function")
            return value
        if id(value) not in self.made:
            self.made[id(value)] = self.container(value, depth)
        return self.made[id(value)]

    def container(self, value: Any, depth: int) -> Any:
        if isinstance(value, _Global):  # a tuple subclass: test before tuple
            raise FormatError("[pickle] the file contains a function")
        if isinstance(value, (list, tuple)):
            return type(value)([self.value(item, depth + 1) for item in value])
        if isinstance(value, dict):
            return {key: self.value(item, depth + 1) for key, item in value.items()}
        if value.kind == "array":
            return _array(value)
        if value.kind == "csr":
            state: dict[Any, Any] = value.state if isinstance(value.state, dict) else {}
            return _sparse(*(self.value(state.get(name), depth + 1) for name in ("_shape", "data", "indices", "indptr")))
        if value.kind == "dict":
            return {key: self.value(item, depth + 1) for key, item in value.items.items()}
        raise FormatError(f"[pickle] the file contains a {value.kind} that belongs to no array")


def _dtype(made: Any) -> np.dtype:
    if not isinstance(made, _Made) or made.kind != "dtype":
        raise FormatError("[pickle] an array has no dtype")
    code = made.arguments[0]
    if not isinstance(code, str) or len(code) > 4 or code[:1] not in ("i", "u", "f", "b") or not code[1:].isdigit():
        raise FormatError(f"[pickle] arrays of {code!r} are not read")
    order: str = made.state[1] if isinstance(made.state, tuple) and len(made.state) > 1 else "|"
    if order not in ("<", ">", "|", "="):
        raise FormatError(f"[pickle] a dtype has the byte order {order!r}")
    return np.dtype(order + code)


def _array(made: _Made) -> np.ndarray:
    if not isinstance(made.state, tuple) or len(made.state) != 5:
        raise FormatError("[pickle] an array has no content")
    _, shape, dtype_made, fortran, content = made.state
    dtype = _dtype(dtype_made)
    if not isinstance(shape, tuple) or len(shape) > 32 or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise FormatError(f"[pickle] an array has the shape {shape!r}")
    if isinstance(content, str):  # a Python 2 str is bytes
        content = content.encode("latin-1")
    if not isinstance(content, bytes) or math.prod(shape) * dtype.itemsize != len(content):
        raise FormatError(f"[pickle] an array of shape {shape} and {dtype} has another number of bytes than it wants")
    array = np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")
    return np.ascontiguousarray(array.astype(dtype.newbyteorder("=")))


def _sparse(shape: Any, *arrays: Any) -> SparseRows:
    if not isinstance(shape, tuple) or len(shape) != 2 or not all(isinstance(n, int) and 0 <= n < 2**40 for n in shape):
        raise FormatError(f"[pickle] a sparse matrix has the shape {shape!r}")
    if not all(isinstance(array, np.ndarray) and array.ndim == 1 for array in arrays):
        raise FormatError("[pickle] a sparse matrix has no values, columns or pointers")
    values, columns, pointers = arrays
    rows, width = shape
    if (
        len(pointers) != rows + 1
        or pointers.dtype.kind not in "iu"
        or columns.dtype.kind not in "iu"
        or len(columns) != len(values)
        or pointers[0] != 0
        or pointers[-1] != len(values)
        or (np.diff(pointers.astype(np.int64)) < 0).any()
        or (len(columns) and (columns.min() < 0 or columns.max() >= width))
    ):
        raise FormatError(f"[pickle] the parts of a sparse matrix of shape {shape} do not match")
    return SparseRows((rows, width), values, columns, pointers)
