"""Modules do what PyTorch's do: values, texts and errors of the cases in module_cases.py, module_part_cases.py and module_edge_cases.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import pyburn

sys.path.insert(0, str(Path(__file__).resolve().parent))

import module_edge_cases  # noqa: F401  # adds its cases
import module_part_cases  # noqa: F401
from module_cases import CASES, outcome

GOLDEN = json.loads((Path(__file__).resolve().parents[1] / "golden" / "module" / "cases.json").read_text())


def test_all_cases_are_recorded() -> None:
    assert sorted(CASES) == sorted(GOLDEN)


def check(found: Any, expected: Any, path: str) -> None:
    if isinstance(expected, float):
        assert found == pytest.approx(expected, rel=2e-4, abs=3e-5), path
    elif isinstance(expected, dict):
        assert isinstance(found, dict) and found.keys() == expected.keys(), path
        for key, value in expected.items():
            check(found[key], value, f"{path}.{key}")
    elif isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected), f"{path}: {found} instead of {expected}"
        for i, value in enumerate(expected):
            check(found[i], value, f"{path}[{i}]")
    else:
        assert found == expected, path


@pytest.mark.parametrize("name", sorted(CASES))
def test_case(name: str) -> None:
    found, expected = outcome(CASES[name], pyburn), GOLDEN[name]
    if "error" in expected:
        assert "error" in found, found
        assert expected["error"][0] in found["error"], found
        assert found["text"].startswith(expected["text"].rstrip(".")), found["text"]
    else:
        assert "error" not in found, found
        check(found["value"], expected["value"], name)
    assert found.get("warnings") == expected.get("warnings")
