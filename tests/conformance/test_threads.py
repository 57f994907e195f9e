"""Every operation on tensors so large that the work is split: values and gradients have the same bits with 1, 2 and 3 threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn.testing.conformance.calls import TABLE, Call, with_history
from pyburn.testing.conformance.samples import FLOATING, Input, Sample, samples_of

LARGE, HUGE = 70_000, 400_000  # elements of the largest input: several chunks of any kernel, but little work

# Operations without inputs that could grow, and some whose arguments depend on each other.
CALLS: dict[str, Callable[[], Any]] = {
    "rand": lambda: pyburn.rand(LARGE),
    "randn": lambda: pyburn.randn(LARGE),
    "randint": lambda: pyburn.randint(0, 1000, (LARGE,)),
    "randperm": lambda: pyburn.randperm(LARGE),
    "multinomial": lambda: pyburn.multinomial(pyburn.rand(50, 2000), 500),
    "seeded_dropout": lambda: pyburn.nn.functional.dropout(pyburn.randn(LARGE), 0.3, True),
    "searchsorted": lambda: pyburn.searchsorted(pyburn.rand(1000).sort()[0], pyburn.rand(LARGE)),
    "bincount": lambda: pyburn.bincount(pyburn.randint(0, 1000, (LARGE,))),
    "put": lambda: pyburn.put(pyburn.rand(LARGE), pyburn.randint(0, LARGE, (LARGE,)), pyburn.rand(LARGE), True),
    "outer": lambda: pyburn.outer(pyburn.rand(300), pyburn.rand(400)),
    "layer_norm": lambda: pyburn.nn.functional.layer_norm(pyburn.randn(300, 400), (400,)),
    "rms_norm": lambda: pyburn.nn.functional.rms_norm(pyburn.randn(300, 400), (400,)),
    "masked_select": lambda: pyburn.masked_select(pyburn.randn(LARGE), pyburn.rand(LARGE) > 0.5),
    "nonzero": lambda: pyburn.nonzero(pyburn.rand(LARGE) > 0.5),
    "bmm": lambda: pyburn.bmm(pyburn.randn(3, 130, 200), pyburn.randn(3, 200, 150)),
    "matmul": lambda: pyburn.matmul(pyburn.randn(49, 700), pyburn.randn(700, 512)),
    "mv": lambda: pyburn.mv(pyburn.randn(700, 900), pyburn.randn(900)),
}


def factor_for(sample: Sample, axes: str) -> int:
    """How often inputs are repeated along the axes until the largest has LARGE elements; 0 where it would have far more."""
    for factor in (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 512, 2048, 8192, 32768):
        largest = max(np.prod([n * r for n, r in zip(x.array.shape, repeats(x, factor, axes))], initial=1) for x in sample.inputs)
        if largest >= LARGE:
            return factor if largest <= HUGE else 0
    return 0


def repeats(x: Input, factor: int, axes: str) -> list[int]:
    rank = x.array.ndim
    chosen = {"all": range(rank), "first": range(min(1, rank)), "last": range(max(0, rank - 1), rank)}[axes]
    return [factor if i in chosen and x.array.shape[i] > 1 else 1 for i in range(rank)]


def grown(sample: Sample, factor: int, axes: str) -> list[np.ndarray]:
    """The inputs, repeated, with digits enough that every rounding shows."""
    random = np.random.default_rng(0)
    arrays = []
    for x in sample.inputs:
        a = np.tile(x.array, repeats(x, factor, axes))
        if x.dtype in FLOATING:
            a = np.asarray(a * (0.9 + 0.1 * random.random(a.shape)), a.dtype)
            if x.dtype == "bfloat16":
                a = (a.view(np.uint32) & 0xFFFF0000).view(np.float32)
        arrays.append(a)
    return arrays


def tensors_of(y: Any) -> list[Any]:
    parts = y if isinstance(y, (tuple, list)) else [y]
    return [r for r in parts if isinstance(r, pyburn.Tensor)]


@cache
def large_call(op: str) -> Call | None:
    """The first sample of the operation that still means something when it has grown."""
    for sample in samples_of(TABLE[op]):
        if sample.error or not sample.inputs or any(x.steps or x.literal for x in sample.inputs):
            continue
        for axes in ("all", "first", "last"):
            if not (factor := factor_for(sample, axes)):
                continue
            arrays = grown(sample, factor, axes)
            try:  # shapes alone: the result may be huge, or other arguments may no longer fit
                results = tensors_of(Call(sample, "null", arrays, gradient=False)())
            except (pyburn.PyburnError, RuntimeError, ValueError, IndexError, TypeError):
                continue
            if len(results) < 100 and sum(r.numel() for r in results) <= HUGE:
                return Call(sample, "cpu", arrays)
    return None


def bits(op: str) -> list[bytes]:
    """Of the results and of the gradients of all inputs."""
    pyburn.manual_seed(0)
    if op in CALLS:
        return [r._download() for r in tensors_of(CALLS[op]())]
    call = large_call(op)
    assert call
    results = tensors_of(call())
    found = [r._download() for r in results]
    recorded = with_history(tuple(results))
    if recorded and call.leaves:
        random = np.random.default_rng(1)
        entering = [pyburn.cast(pyburn.tensor(random.standard_normal(tuple(r.shape))), r.dtype) for r in recorded]
        gradients = pyburn.autograd.grad(recorded, list(call.leaves.values()), entering, allow_unused=True)
        found += [g._download() for g in gradients if g is not None]
    return found


SLOW = {"linalg_", "_linalg_", "pinverse", "igamma", "polygamma", "lobpcg", "cdist", "logdet", "slogdet", "det", "matrix_exp", "inverse"}
OPS = [op for op in sorted(TABLE) if not any(op.startswith(s) for s in SLOW)]  # matrices of this size take long, and use no threads


@pytest.mark.parametrize("op", OPS)
def test_bits_do_not_depend_on_the_number_of_threads(op):
    if op not in CALLS and large_call(op) is None:
        pytest.skip("no sample of it grows")
    before = pyburn.get_num_threads()
    try:
        pyburn.set_num_threads(1)
        one = bits(op)
        for n in (2, 3):
            pyburn.set_num_threads(n)
            assert bits(op) == one, f"other bits with {n} threads"
    finally:
        pyburn.set_num_threads(before)


def test_most_operations_grow():
    grows = [op for op in OPS if op in CALLS or large_call(op)]
    assert len(grows) > 0.75 * len(OPS)
