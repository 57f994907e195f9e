"""Layers and losses against what PyTorch's print, keep and compute: the cases of tests/layers."""

from __future__ import annotations

import builtins
import copy
import inspect
import json
import pickle
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "layers"))

from layer_cases import GOLDEN, Case, Maker, cases_of, described, families, made, run, trajectory

CASES = [case for family in families() for case in cases_of(family)]
SIGNATURES = json.loads((GOLDEN / "signatures.json").read_text())
_loaded: dict[str, Any] = {}


def golden(case: Case) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if case.family not in _loaded:
        _loaded[case.family] = dict(np.load(GOLDEN / f"{case.family}.npz"))
        _loaded[case.family]["about"] = json.loads(str(_loaded[case.family]["about"]))
    file = _loaded[case.family]
    assert case.line in file["about"], "run tools/make_layer_goldens.py"
    start = f"{list(file['about']).index(case.line)} "
    return file["about"][case.line], {key.removeprefix(start): value for key, value in file.items() if key.startswith(start)}


@pytest.fixture(autouse=True)
def _without_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.line)
def test_a_case(case: Case) -> None:
    about, arrays = golden(case)
    maker = Maker(pyburn, case.line)
    if case.error:
        with pytest.raises(getattr(builtins, case.error)):
            run(case, pyburn, made(case, pyburn, maker), maker)
        return
    layer = made(case, pyburn, maker)
    if about:
        assert described(layer) == about
    found = run(case, pyburn, layer, maker) if case.inputs else {}
    steps = arrays.pop("steps", None)
    assert found.keys() == arrays.keys()
    for key, value in arrays.items():
        assert found[key].dtype == value.dtype, key
        np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=2e-5, err_msg=key)
    if steps is not None:
        np.testing.assert_allclose(trajectory(case, pyburn, layer, maker, len(steps)), steps, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("case", [c for c in CASES if not c.error and not c.torch], ids=lambda case: case.line)
def test_copies_are_equal(case: Case) -> None:
    layer = made(case, pyburn)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert described(other) == described(layer)
        assert other._pb_config() == layer._pb_config()
        assert other.training == layer.training


def arguments(parameters: list[list[str]]) -> list[list[str]]:
    """Names, kinds and defaults; numbers that are the same for all axes as one, private arguments left out."""
    return [[name, kind, re.sub(r"^\((\d+)(, \1)*,?\)$", r"\1", default)] for name, kind, default in parameters if not name.startswith("_")]


@pytest.mark.parametrize("name", [n for n in SIGNATURES if SIGNATURES[n] and hasattr(getattr(pyburn.nn, n, None), "_option_types")])
def test_arguments_are_pytorchs(name: str) -> None:
    found = inspect.signature(getattr(pyburn.nn, name)).parameters.values()
    texts = [[p.name, p.kind.name, "" if p.default is p.empty else getattr(p.default, "__name__", repr(p.default))] for p in found]
    assert arguments(texts) == arguments(SIGNATURES[name])
