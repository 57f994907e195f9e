"""Runs samples on a device: upload, download, gradients."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

import pyburn
from pyburn import _core

from .samples import FLOATING, DTypeName, Input, Sample, samples_of, weights

TABLE = {row["name"]: row for row in _core._op_table()}
# Relative and absolute tolerance; the summation order differs from PyTorch's.
TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}


@cache
def all_samples() -> list[Sample]:
    """Returns the samples of all operations.

    >>> len(all_samples()) > 1000
    True
    """
    return [sample for row in TABLE.values() for sample in samples_of(row)]


def name_of(sample: Sample) -> str:
    """Returns the name of a sample in test reports: the call that it makes.

    Args:
        sample: The sample.

    >>> from .samples import read_sample
    >>> name_of(read_sample("exp", "t(2, 3)"))
    'exp(t(2, 3))'
    """
    return f"{sample.op}({sample.line})"


# --- capabilities of devices and operations ---


@cache
def dtypes_of(device: Any) -> frozenset[str]:
    return frozenset(dtype.name for dtype in _core._capabilities(device)["dtypes"])


def has_float64(device: Any) -> bool:
    return "float64" in dtypes_of(device)


def fits(sample: Sample, device: Any) -> bool:
    """Returns whether the device can store all dtypes of a sample, including those of the results.

    Args:
        sample: The sample.
        device: The device.

    >>> fits(all_samples()[0], "cpu")
    True
    """
    have = dtypes_of(device)
    if len(have) == len(dtypes_of("cpu")):
        return True
    used = {"float64"} if sample.op == "float_power" else set()  # float_power computes in float64
    sample.map(lambda x: used.add(x.name if isinstance(x, DTypeName) else x.dtype))
    if not sample.error:
        used |= {r.dtype.name for r in results_of(Call(sample, "cpu", gradient=False)())}
    return used <= have


def has_in_place(op: str) -> bool:
    """Returns whether x.op_() exists."""
    row = TABLE[op]
    is_method = re.match(r"[\w.]+\(Tensor\S* input\b", row["schema"]) is not None
    return is_method and (row["in_place"] or (row["row"] and row["kind"] == "elementwise" and op != "cast"))


def has_out(op: str) -> bool:
    """Returns whether the function accepts out=."""
    row = TABLE[op]
    if not row["row"]:
        return row["out"] or has_in_place(op)
    called = f"{op}.any" not in TABLE and op not in ("random", "fused", "reshape")
    return called and row["kind"] not in ("view", "dynamic", "fill", "update") and not row["schema"].endswith("-> Tensor[]")


def has_several_results(op: str) -> bool:
    return TABLE[op]["schema"].rpartition("-> ")[2].startswith("(")


# --- transfer ---


def upload(array: np.ndarray, dtype: str, device: Any) -> Any:
    """Uploads an array, in which bfloat16 is stored as float32."""
    if dtype == "bfloat16":
        array = (np.ascontiguousarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return _core._from_bytes(np.ascontiguousarray(array).tobytes(), array.shape, dtype, device)


def download(t: Any) -> np.ndarray:
    name = t.dtype.name
    array = np.frombuffer(t._download(), np.uint16 if name == "bfloat16" else name).reshape(tuple(t.shape))
    return (array.astype(np.uint32) << 16).view(np.float32) if name == "bfloat16" else array


def assert_close(actual: np.ndarray, expected: np.ndarray, dtype: str) -> None:
    """Raises AssertionError unless the arrays have the same shape and, within the tolerance of the dtype, the same elements.

    Args:
        actual: The result.
        expected: The expected array.
        dtype: The name of the dtype that decides the tolerance; integers are compared exactly.

    >>> assert_close(np.ones(2), np.ones(2), "float32")
    """
    assert actual.shape == expected.shape, f"shape: got {actual.shape}, expected {expected.shape}"
    if dtype in TOLERANCE:
        tolerance = TOLERANCE[dtype]
        np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(actual, expected)


# --- calls ---


def viewed(t: Any, x: Input) -> Any:
    for name, arguments in x.steps:
        if name == "slices":
            for axis, part in enumerate(arguments):
                t = pyburn.slice(t, axis, part.start, part.stop, part.step or 1)
        else:
            t = getattr(pyburn, name)(t, *(arguments if name == "transpose" else (arguments,)))
    return t


class Call:
    """A sample with arguments on a device; `made` are its tensors, before their views."""

    def __init__(self, sample: Sample, device: Any, arrays: list[np.ndarray] | None = None, float64: bool = False, gradient: bool = True):
        self.sample, self.device, self.made = sample, device, []  # type: ignore[var-annotated]

        def make(x: Input | DTypeName) -> Any:
            if isinstance(x, DTypeName):
                return getattr(pyburn, x.name)
            dtype = "float64" if float64 and x.dtype in FLOATING else x.dtype
            array = arrays[len(self.made)] if arrays else x.array.astype(np.float64) if dtype == "float64" else x.array
            t = upload(array, dtype, device)
            if gradient and x.is_leaf:
                _core._set_requires_grad(t, True)
            self.made.append((x, t))
            return viewed(t, x)

        self.arguments, self.keywords = sample.map(make)
        if any("Device" in part for part in TABLE[sample.op]["schema"].split(",")):
            self.keywords["device"] = device

    def __call__(self, **more: Any) -> Any:
        arguments = self.arguments
        if self.sample.op.endswith("_") and arguments and isinstance(arguments[0], pyburn.Tensor):
            arguments = (pyburn.clone(arguments[0]), *arguments[1:])  # PyTorch also refuses to overwrite a leaf
        own = self.sample.function.startswith("_")  # not part of the public API
        return getattr(_core if own else pyburn, self.sample.function)(*arguments, **self.keywords, **more)

    @property
    def leaves(self) -> dict[int, Any]:
        return {i: t for i, (x, t) in enumerate(self.made) if x.is_leaf}

    def arrays(self) -> list[np.ndarray]:
        return [download(t) for _, t in self.made]

    def gradients(self, y: Any) -> dict[int, np.ndarray]:
        """Returns the gradients of the sum of all results times fixed weights, for the inputs that they depend on."""
        results = with_history(y)
        wide = "float64" if has_float64(self.device) else "float32"
        entering = [upload(w.astype(wide), wide, self.device) for w in entering_weights(self.sample, results)]
        found = grad(results, list(self.leaves.values()), [pyburn.cast(dy, r.dtype) for dy, r in zip(entering, results)])
        return {i: download(g) for i, g in zip(self.leaves, found) if g is not None}

    # For second-order derivatives the incoming gradient is an input too, and the resulting gradients are summed with their own weights.

    def entering(self) -> list[np.ndarray]:
        return entering_weights(self.sample, with_history(self()))

    def weighted(self) -> float:
        results = with_history(self())
        return sum(float((download(r) * w).sum()) for r, w in zip(results, entering_weights(self.sample, results)))

    def weighted_gradients(self, entering: list[np.ndarray]) -> float:
        results = with_history(self())
        found = grad(results, list(self.leaves.values()), [upload(dy, "float64", self.device) for dy in entering])
        present = [(i, download(g)) for i, g in enumerate(found) if g is not None]
        return sum(float((g * weights(self.sample, g.shape, f"second{i}")).sum()) for i, g in present)

    def first_order(self) -> list[np.ndarray]:
        found = self.gradients(self())
        return [found.get(i, np.zeros(tuple(t.shape))) for i, t in self.leaves.items()]

    def second_order(self) -> list[np.ndarray]:
        results = with_history(self())
        entering = [upload(w, "float64", self.device) for w in entering_weights(self.sample, results)]
        for dy in entering:
            _core._set_requires_grad(dy, True)
        leaves = list(self.leaves.values())
        inputs = [*leaves, *entering]
        first = [
            (i, g) for i, g in enumerate(grad(results, leaves, entering, create_graph=True)) if g is not None and _core._requires_grad(g)
        ]
        ones = [upload(weights(self.sample, tuple(g.shape), f"second{i}"), "float64", self.device) for i, g in first]
        found = grad([g for _, g in first], inputs, ones) if first else [None] * len(inputs)
        return [np.zeros(tuple(t.shape)) if g is None else download(g) for t, g in zip(inputs, found)]


def results_of(y: Any) -> tuple[Any, ...]:
    """Returns the tensors of a result, which can be one, several or a plain value."""
    if isinstance(y, pyburn.Tensor):
        return (y,)
    return tuple(y) if isinstance(y, tuple) else ()


def with_history(y: Any) -> list[Any]:
    """Returns the results that depend on inputs that require gradients."""
    return [r for r in results_of(y) if _core._requires_grad(r)]


def entering_weights(sample: Sample, results: list[Any]) -> list[np.ndarray]:
    return [weights(sample, tuple(r.shape), f"result{k}" if k else "first") for k, r in enumerate(results)]


def grad(outputs: list[Any], inputs: list[Any], gradients: list[Any], create_graph: bool = False) -> tuple[Any, ...]:
    return _core._grad(outputs, inputs, gradients, create_graph, create_graph, True)
