"""tools/check_layers.py finds what it is there to find, and nothing in this repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from check_layers import violations  # noqa: E402


def test_this_repository_is_clean() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "check_layers.py"], check=True)


@pytest.mark.parametrize(
    ("file", "included", "complaint"),
    [
        ("tensor/a.h", "pyburn/ops/b.h", "ops/ comes after tensor/"),
        ("backends/cpu/a.cpp", "pyburn/decorators/fusion/b.h", "siblings"),
        ("decorators/trace/a.cpp", "pyburn/decorators/fusion/b.h", "siblings"),
        ("ops/a.cpp", "pyburn/elsewhere/b.h", "is not a layer"),
        ("nn/a.cpp", "pyburn/pyburn.h", "for users"),
        ("ops/a.cpp", "pyburn/tensor/b.h", None),
        ("decorators/trace/a.cpp", "pyburn/decorators/trace/b.h", None),
        ("start.cpp", "pyburn/backends/cpu/b.h", None),
    ],
)
def test_violations(tmp_path: Path, file: str, included: str, complaint: str | None) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#pragma once\n#include "{included}"\n')
    found = violations(tmp_path)
    if complaint is None:
        assert found == []
    else:
        assert len(found) == 1
        assert complaint in found[0]
        assert f"{path}:2:" in found[0]
