"""The checkers of tools/ find what they look for, and nothing in this repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_architecture  # noqa: E402
import check_python_layers  # noqa: E402
import check_sizes  # noqa: E402
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


def test_the_python_packages_are_clean() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "check_python_layers.py"], check=True)


@pytest.mark.parametrize(
    ("file", "statement", "complaint"),
    [
        ("pyburn/nn/a.py", "from ..compat import absent", "pyburn.compat comes after pyburn.nn"),
        ("pyburn/nn/a.py", "from .. import train", "pyburn.train comes after pyburn.nn"),
        ("pyburn/nn/a.py", "def f():\n    from pyburn.train import Learner", "pyburn.train comes after pyburn.nn"),
        ("pyburn/optim/a.py", "importlib.import_module('pyburn.compat.absent')", "pyburn.compat comes after pyburn.optim"),
        ("pyburn/data/__init__.py", "import p_vision.models", "p_vision comes after pyburn.data"),
        ("pyburn/tensor/a.py", "import pyburn", "for users"),
        ("pyburn/elsewhere/a.py", "import math", "not in LAYERS"),
        ("p_vision/a.py", "import pyburn.compat", "pyburn.compat comes after p_vision"),
        ("pyburn/nn/a.py", "def _conv_forward(self, x): ...", "_conv_forward belongs to pyburn.compat"),
        ("pyburn/nn/a.py", "sys.meta_path.insert(0, finder)", "meta_path belongs to pyburn.compat"),
        ("p_vision/a.py", "PLACES = {'torch.nn': 'pyburn.nn'}", "'torch.nn' belongs to pyburn.compat"),
        ("pyburn/compat/a.py", "PLACES = {'torch.nn': 'pyburn.nn'}", None),
        ("pyburn/train/a.py", "from ..nn import Module", None),
        ("pyburn/compat/a.py", "import pyburn\nfrom p_vision import models", None),
    ],
)
def test_violations_of_python(tmp_path: Path, file: str, statement: str, complaint: str | None) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(statement + "\n")
    found = check_python_layers.violations(tmp_path)
    assert found == [] if complaint is None else len(found) == 1 and complaint in found[0] and str(path) in found[0]


def test_sizes_are_checked() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "check_sizes.py"], check=True)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("const int64_t n = x.shape()[0] * x.shape()[1];", True),
        ("y.strides[d] = x.strides[d] * step;", True),
        ("const int64_t reach = dilation * (kernel - 1) + 1;", True),
        ("return out.numel() * k;", True),
        ("const int64_t n = Checked(x.shape()[0]) * x.shape()[1];", False),
        ("const int64_t n = x.shape()[0] * 2;  // fits: a place of an element", False),
        ("const int64_t n = x.shape()[0] * 2;  // two", True),
        ('.torch = "lambda x: x.shape[0] * x.shape[1]",', False),
        ("const double mean = sum / (double(x.numel()) * scale);", False),
        ("// n * x.shape()[0] elements", False),
    ],
)
def test_products_of_sizes(tmp_path: Path, line: str, found: bool) -> None:
    path = tmp_path / "ops" / "a.cpp"
    path.parent.mkdir()
    path.write_text(f"// A file.\n{line}\n")
    complaints = check_sizes.violations(tmp_path)
    assert len(complaints) == found
    assert all(f"{path}:2:" in c for c in complaints)


def test_the_architecture_page_lists_the_folders_of_the_tree() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "check_architecture.py"], check=True)


def test_wrong_folders_and_paths_of_the_architecture_page_are_found() -> None:
    files = ["src/pyburn/ir/graph.h", "src/pyburn/ops/generated/rows.cpp", "src/pyburn/ops/sum.cpp", "python/pyburn/nn/loss.py"]
    rows = ("| `src/pyburn/ir/` | a |", "| `src/pyburn/onnx/` | b |", "| `python/pyburn/nn/` | `loss.py`, `ir/graph.h`, `ir/node.h` |")
    page = "\n".join(rows)
    assert check_architecture.complaints(page, files) == [
        "ARCHITECTURE.md: no row for src/pyburn/ops/",
        "ARCHITECTURE.md: src/pyburn/onnx/ does not exist",
        "ARCHITECTURE.md: ir/node.h does not exist",
    ]
