"""What one small operation costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import Call, Make, add


def small(f: Callable[..., Any], recorded: bool) -> Make:
    def make(x: Any) -> Call:
        a, b = x.ones(10, requires_grad=recorded), x.ones(10, requires_grad=recorded)
        return lambda: f(x, a, b)

    return make


for recorded in (False, True):
    suffix = ", gradient recorded" if recorded else ""
    add("small", f"a + b, 10 floats{suffix}", small(lambda x, a, b: a + b, recorded), quick=True)
    add("small", f"exp, 10 floats{suffix}", small(lambda x, a, b: x.exp(a), recorded))
    add("small", f"sum, 10 floats{suffix}", small(lambda x, a, b: a.sum(), recorded))
    add("small", f"view, 10 floats{suffix}", small(lambda x, a, b: a.view(2, 5), recorded))
    add("small", f"slice, 10 floats{suffix}", small(lambda x, a, b: a[2:5], recorded))
add("small", "add and backward, 10 floats", small(lambda x, a, b: (a * b).sum().backward(), True), quick=True)
