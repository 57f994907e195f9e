"""Every operation in a compiled step: results and gradients have the bits that they have in Python."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from harness import SAMPLES

import pyburn
from pyburn.testing.conformance.calls import Call, name_of, results_of

CASES = [s for s in SAMPLES if not s.error]
CALLS = 6


def step_of(call: Call) -> Any:
    """Calls an operation, and computes the gradients of its inputs."""
    leaves = list(call.leaves.values())

    def step() -> Any:
        for leaf in leaves:
            if leaf.requires_grad:
                leaf.grad = None
        results = [r for r in results_of(call()) if isinstance(r, pyburn.Tensor)]
        wanting = [r for r in results if r.requires_grad]
        if wanting:
            sum((r * r).sum() for r in wanting).backward()
        return [r.detach().clone() for r in results], [leaf.grad for leaf in leaves if leaf.requires_grad]

    return step


def bits(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [bits(v) for v in value]
    return None if value is None else (str(value.dtype), tuple(value.shape), repr(value.detach().contiguous().flatten().tolist()))


@pytest.mark.parametrize("sample", CASES, ids=name_of)
def test_compiled(sample: Any) -> None:
    has_views = any(x.is_leaf and x.steps for x in sample.inputs)  # made before the step, with a history
    step = step_of(Call(sample, "cpu", gradient=not has_views))
    compiled = pyburn.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(CALLS):
            pyburn.manual_seed(i)
            wanted = bits(step())
            pyburn.manual_seed(i)
            assert bits(compiled()) == wanted, compiled.explain()
    assert compiled.runs or any(reason in compiled.explain() for reason in ("is read at", "depends on values")), compiled.explain()
