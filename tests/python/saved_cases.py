"""Which tensors a backward pass needs: what happens when one of them is written after the forward pass.

The same code runs with torch (tools/make_saved_goldens.py) and with pyburn (test_saved_for_backward.py).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))

from samples import DTypeName, Input, Sample, samples_of  # noqa: E402

MOST_SAMPLES = 3  # of one operation
MOST_INPUTS = 5  # that want a gradient


def cases_of(row: dict[str, Any]) -> list[Sample]:
    """A few samples of an operation: those with plain inputs."""
    plain = [s for s in samples_of(row) if not s.error and not any(i.steps for i in s.inputs) and sum(i.array.size for i in s.inputs) < 300]
    return [s for s in plain if 0 < sum(i.is_leaf for i in s.inputs) <= MOST_INPUTS][:MOST_SAMPLES]


def subsets_of(sample: Sample) -> Iterator[tuple[int, ...]]:
    """The inputs that may want a gradient, in all combinations."""
    floating = [i for i, x in enumerate(sample.inputs) if x.is_leaf]
    for count in range(1, len(floating) + 1):
        yield from itertools.combinations(floating, count)


def call(torch: Any, function: Callable[..., Any], sample: Sample, wanting: tuple[int, ...]) -> tuple[list[Any], list[Any], list[Any]]:
    """The leaves that want gradients, all inputs and the results. Inputs are results themselves, so that they can be written."""
    leaves, inputs = [], []

    def make(x: Input | DTypeName) -> Any:
        if isinstance(x, DTypeName):
            return getattr(torch, x.name)
        t = torch.tensor(x.array.tolist(), dtype=getattr(torch, x.dtype)).reshape(x.array.shape)
        if len(inputs) in wanting:
            leaves.append(t.requires_grad_())
            t = t.clone()
        inputs.append(t)
        return t

    arguments, keywords = sample.map(make)
    torch.manual_seed(0)
    y = function(*arguments, **keywords)
    results = [y] if isinstance(y, torch.Tensor) else [r for r in y if isinstance(r, torch.Tensor)] if isinstance(y, (tuple, list)) else []
    return leaves, inputs, results


def write(t: Any) -> None:
    """Changes nothing but the version."""
    if t.dtype.is_floating_point:
        t.add_(0)
    else:
        t.copy_(t.clone())


def refused_writes(torch: Any, function: Callable[..., Any], sample: Sample, wanting: tuple[int, ...]) -> list[str]:
    """The inputs ("in0") and results ("out0") that must not be written between the forward and the backward pass."""
    _, inputs, results = call(torch, function, sample, wanting)
    if not any(r.requires_grad for r in results):
        return []
    refused = []
    for name, i in [("in", i) for i in range(len(inputs))] + [("out", i) for i in range(len(results))]:
        _, inputs, results = call(torch, function, sample, wanting)
        target = (inputs if name == "in" else results)[i]
        try:
            write(target)
            sum(r.sum() for r in results if r.requires_grad).backward()
        except RuntimeError:
            refused.append(f"{name}{i}")
    return refused


def has_gradient(torch: Any, function: Callable[..., Any], sample: Sample, wanting: tuple[int, ...]) -> bool:
    return any(r.requires_grad for r in call(torch, function, sample, wanting)[2])
