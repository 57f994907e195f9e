"""Writes tests/golden/printing.json: how PyTorch prints tensors. Needs torch; the tests do not.

python tools/make_print_goldens.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "tests" / "golden" / "printing.json"

# Expressions that mean the same in PyTorch (T is torch) and in pyburn (T is pyburn).
CASES = """
T.tensor(1.0)
T.tensor(1.5)
T.tensor(-0.1234567)
T.tensor(3)
T.tensor(True)
T.tensor(1e10)
T.tensor(1e-10)
T.tensor(float("nan"))
T.tensor(float("-inf"))
T.tensor(2.5, dtype=T.float64)
T.tensor([1.0, 2.0, 3.0])
T.tensor([1.5, 2.25, -3.125])
T.tensor([0.0, 0.0])
T.tensor([-0.0, 1.0])
T.tensor([0.5, float("nan"), float("inf")])
T.tensor([1.0, float("nan"), float("-inf")])
T.tensor([float("nan"), float("inf"), 0.0])
T.tensor([1e-5, 1.0])
T.tensor([1e-4, 1e-4])
T.tensor([9e-5, 9e-5])
T.tensor([1.0, 1000.0])
T.tensor([1.0, 1001.0])
T.tensor([1.5, 1500.0])
T.tensor([1.5, 1501.0])
T.tensor([1e8, 2e8])
T.tensor([1.1e8, 2e8])
T.tensor([123456.789, -98765.4321])
T.tensor([1e30, -1e-30])
T.tensor([1e300, 1e-300], dtype=T.float64)
T.tensor([0.1, 0.2], dtype=T.float64)
T.tensor([0.1, 0.2], dtype=T.float16)
T.tensor([60000.0, 1.0], dtype=T.float16)
T.tensor([0.1, 100.0], dtype=T.bfloat16)
T.tensor([1, -2, 300])
T.tensor([1, -2, 30], dtype=T.int8)
T.tensor([1, 2, 30], dtype=T.uint8)
T.tensor([1, 2, 30], dtype=T.int32)
T.tensor([1, 2, 30], dtype=T.int16)
T.tensor([2**63, 5], dtype=T.uint64)
T.tensor([-(2**63), 2**63 - 1])
T.tensor([True, False, True])
T.tensor([[True, False], [False, True]])
T.tensor([])
T.tensor([], dtype=T.int64)
T.tensor([], dtype=T.bool)
T.zeros(0, 3)
T.zeros(2, 0, dtype=T.float64)
T.zeros(2, 3)
T.ones(2, 3, 4)
T.ones(1, 1, 1, 1)
T.ones(2, 1, 2, 2, dtype=T.float64)
T.arange(6).reshape(2, 3)
T.arange(24).reshape(2, 3, 4)
T.arange(30)
T.arange(100)
T.arange(1000)
T.arange(1001)
T.arange(2000.0)
T.arange(3000.0) / 7
T.arange(3000).reshape(30, 100)
T.arange(10000).reshape(10, 10, 100)
T.arange(1100).reshape(1100, 1)
T.arange(1100).reshape(1, 1100)
T.arange(1200).reshape(2, 2, 300) - 600
T.arange(1500.0).reshape(3, 500) * 1e-3
T.arange(12.0).reshape(3, 4).T
T.arange(10.0)[::3]
T.arange(20.0).reshape(4, 5)[1:3, ::2] / 3
T.ones(3, 1).expand(3, 2)
T.tensor([[1.0, -1.0], [100.0, 0.25]])
T.tensor([[1, 20], [300, -4000]])
T.ones(2, requires_grad=True)
T.ones(2, requires_grad=True) * 2
(T.ones(2, requires_grad=True) + 1).sum()
T.ones(2, dtype=T.float64, requires_grad=True)
T.tensor(1.5, requires_grad=True)
T.ones(25, dtype=T.float64, requires_grad=True)
T.arange(16.0, requires_grad=True)
T.zeros(0, 2, requires_grad=True)
T.ones(2, 2, dtype=T.float64, requires_grad=True).exp()
T.arange(100000.0, dtype=T.float64).reshape(10, 10, 10, 100)
T.full((2, 3), 0.1)
T.full((3,), 16777216.0)
T.full((3,), -1e9)
""".strip().splitlines()

OPTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({"precision": 2}, ["T.tensor([1.23456, 2.0])", "T.tensor([1e-9, 1.0])"]),
    ({"precision": 0}, ["T.tensor([1.5, 2.25])"]),
    ({"precision": 10}, ["T.tensor([0.1, 0.2])", "T.tensor([0.1, 0.2], dtype=T.float64)"]),
    ({"threshold": 5}, ["T.arange(10)", "T.arange(4)", "T.arange(60.0).reshape(3, 20)"]),
    ({"threshold": 5, "edgeitems": 1}, ["T.arange(10)", "T.arange(60).reshape(3, 4, 5)"]),
    ({"threshold": 5, "edgeitems": 0}, ["T.arange(10)", "T.ones(2)"]),
    ({"linewidth": 30}, ["T.arange(40)", "T.ones(2, dtype=T.float64, requires_grad=True)"]),
    ({"linewidth": 1}, ["T.arange(4.0)"]),
    ({"sci_mode": True}, ["T.tensor([1.0, 2.5])", "T.tensor([1.0, 2.0])"]),
    ({"sci_mode": False}, ["T.tensor([1e-9, 1.0])", "T.tensor([1e10, 1.0])"]),
    ({"profile": "short"}, ["T.arange(2000.0) / 3"]),
    ({"profile": "full"}, ["T.arange(1100)"]),
]


def main() -> None:
    import torch

    def text(expression: str, options: dict[str, Any]) -> str:
        with torch._tensor_str.printoptions(**options):
            return repr(eval(expression, {"T": torch})).replace("torch.", "pyburn.")

    cases: list[dict[str, Any]] = [{"expression": e, "options": {}, "text": text(e, {})} for e in CASES]
    cases += [{"expression": e, "options": o, "text": text(e, o)} for o, expressions in OPTIONS for e in expressions]
    TARGET.write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
