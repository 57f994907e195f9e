"""Tensors print as in PyTorch; the expected texts are made by tools/make_print_goldens.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pyburn

CASES = json.loads((Path(__file__).resolve().parents[1] / "golden" / "printing.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['expression']}{c['options'] or ''}")
def test_text_is_pytorchs(case) -> None:
    tensor = eval(case["expression"], {"T": pyburn})
    with pyburn.printoptions(**case["options"]):
        assert repr(tensor) == str(tensor) == case["text"]


def test_other_devices_are_named() -> None:
    assert repr(pyburn.ones(1, device="inner(cpu)")) == "tensor([1.], device='inner(ndarray)')"


def test_unknown_values() -> None:
    assert repr(pyburn.ones(2, 3, device="null")) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(pyburn.ones(2, dtype=pyburn.int64, device="null")) == "tensor(..., device='meta', size=(2,), dtype=pyburn.int64)"


def test_parameters() -> None:
    from pyburn.nn import Parameter

    assert repr(Parameter(pyburn.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_options() -> None:
    before = pyburn.get_printoptions()
    pyburn.set_printoptions(precision=2, sci_mode=True)
    assert repr(pyburn.tensor([1.0])) == "tensor([1.00e+00])"
    pyburn.set_printoptions(profile="default")
    assert pyburn.get_printoptions() == before
    pyburn.set_printoptions(profile="long")  # which is none, and PyTorch takes it
    assert pyburn.get_printoptions() == before
    for wrong in ({"precision": -1}, {"edgeitems": "a"}):
        with pytest.raises(ValueError):
            pyburn.set_printoptions(**wrong)
    assert pyburn.get_printoptions() == before


def test_default_dtype_decides_what_is_said() -> None:
    pyburn.set_default_dtype(pyburn.float64)
    try:
        assert repr(pyburn.tensor([1.5])) == "tensor([1.5000])"
        assert repr(pyburn.tensor([1.5], dtype=pyburn.float32)) == "tensor([1.5000], dtype=pyburn.float32)"
    finally:
        pyburn.set_default_dtype(pyburn.float32)
