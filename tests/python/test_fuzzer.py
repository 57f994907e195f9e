"""Random programs of views, writes and operations mean the same in PyTorch, on the CPU, on numpy and under fusion."""

from __future__ import annotations

import gzip
import json
import math
import pathlib
import sys

import pytest

import pyburn

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/fuzz"))

from interpreter import Run  # noqa: E402

CASES = json.loads(gzip.decompress((ROOT / "tests/golden/fuzz.json.gz").read_bytes()))["cases"]


def device_or_skip(name: str):
    try:
        return pyburn.device(name)
    except RuntimeError as error:
        pytest.skip(f"{name}: {error}")


def assert_close(got: list[float], expected: list[float], where: str) -> None:
    assert len(got) == len(expected), where
    scale = 1e-3 * max([1.0, *map(abs, expected)])
    assert all(math.isclose(g, e, rel_tol=0, abs_tol=scale) for g, e in zip(got, expected)), f"{where}: got {got}, expected {expected}"


def compare(case: dict, device) -> None:
    got, expected = Run(pyburn, device=device).run(case["program"]).result(), case["expected"]
    assert got["outcomes"][:-1] == expected["outcomes"][:-1], got["messages"]
    for name, values in expected["readings"].items():
        assert_close(got["readings"][name], values, f"reading {name}")
    assert got["tensors"].keys() == expected["tensors"].keys()
    for name, (dtype, shape, values) in expected["tensors"].items():
        assert got["tensors"][name][:2] == [dtype, shape], f"tensor {name}"
        assert_close(got["tensors"][name][2], values, f"tensor {name}")
    # PyTorch refuses more backward passes: it keeps inputs where pyburn keeps a copy. What both compute is the same.
    if expected["outcomes"][-1] == "error":
        return
    assert got["outcomes"][-1] == "ok", got["messages"]
    for name, values in expected["gradients"].items():
        assert_close(got["gradients"][name], values, f"gradient of {name}")


@pytest.mark.parametrize("name", ["cpu", "fusion(cpu)", "numpy"])
def test_programs_mean_what_they_mean_in_pytorch(name):
    device = device_or_skip(name)
    cases = CASES if name != "numpy" else CASES[:300]
    failures = []
    for number, case in enumerate(cases):
        try:
            compare(case, device)
        except AssertionError as error:
            failures.append(f"program {number}: {str(error).splitlines()[0]}")
    assert not failures, "\n".join(failures[:20])


def test_the_recorded_programs_contain_what_matters():
    instructions = [i["op"] for case in CASES for i in case["program"]]
    for op in (
        "view",
        "slice",
        "permute",
        "expand",
        "copy_",
        "add_",
        "mul_",
        "exp_",
        "data_mul_",
        "detach",
        "matmul",
        "nonzero",
        "sum",
        "cast",
    ):
        assert instructions.count(op) > 10, op
    ends = [case["expected"]["outcomes"][-1] for case in CASES]
    assert ends.count("ok") > 200 and ends.count("error") > 10
    assert sum(any(any(g) for g in case["expected"]["gradients"].values()) for case in CASES) > 100
