"""ONNX's own backend suite. What fails is listed with a reason; a surprise pass fails as well."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import suite

EXPECTED = suite.expected_failures()
# In parts, so that a worker of pytest-xdist makes the cases once for many of them.
PARTS = 16


@pytest.mark.parametrize("part", range(PARTS))
def test_backend_suite(part: int) -> None:
    surprises = []
    for name in sorted(suite.cases())[part::PARTS]:
        try:
            suite.run(name)
        except Exception as error:
            if name not in EXPECTED:
                surprises.append(f"{name} fails: {type(error).__name__}: {error}")
        else:
            if name in EXPECTED:
                surprises.append(f"{name} passes, though {suite.EXPECTED.name} says: {EXPECTED[name]}")
    assert not surprises, "\n".join(surprises)


def test_the_list_of_expected_failures_names_cases() -> None:
    assert not EXPECTED.keys() - suite.cases().keys()


def test_whatever_onnxruntime_passes_or_has_a_reason() -> None:
    passes = set(suite.ONNXRUNTIME.read_text().split())
    assert len(passes) > 1400
    assert all(EXPECTED[name] for name in passes & EXPECTED.keys())


def test_hostile_attributes_and_inputs_are_refused_or_run(tmp_path: Path) -> None:
    fuzzer = Path(__file__).resolve().parents[1] / "fuzz" / "onnx_nodes.py"
    done = subprocess.run(
        [sys.executable, fuzzer, "--runs", "150", "--seed", "7"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    returned, refused = (int(n) for n in re.findall(r"(\d+) (?:returned|refused)", done.stdout))
    assert returned > 20 and refused > 20
