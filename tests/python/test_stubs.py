"""Type checkers understand pyburn: a user's script passes mypy --strict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pyburn

SCRIPT = """
from typing import assert_type
import numpy as np
import pyburn
from pyburn import BackendKind, Distribution, Tensor
from pyburn.tensor import set_printoptions

def loss(x: Tensor, w: Tensor) -> Tensor:
    return ((x @ w).relu() - 1).pow(2).mean()

x = pyburn.tensor([[1.0, 2.0]], dtype=pyburn.float32, device="cpu")
w = pyburn.rand(2, 1, requires_grad=True)
loss(x, w).backward()
grad: Tensor | None = w.grad
assert_type(x[0, :, None], Tensor)
assert_type(x.shape, pyburn.Size)
n: int = x.size(0)
rows: tuple[int, ...] = x.size()
x[0] = 3.5
value = float(x.sum()) + x.numel()
array = x.numpy()
back = pyburn.from_numpy(np.zeros(3))
y = Tensor.random((2, 3), Distribution.Normal(0, 1), device=BackendKind.NDARRAY)
z = 2 * y.to(pyburn.float64).double() + pyburn.zeros(2, 3, dtype=pyburn.float64)
mask: Tensor = y > 0
same: bool = pyburn.allclose(y, y)
set_printoptions(precision=3)
with pyburn.no_grad(), pyburn.device("cpu") as d:
    name: str = d.name
g: pyburn.Generator = pyburn.manual_seed(0)
for b in pyburn.backends():
    print(b.name, b.available)
"""
WRONG = """
import pyburn
pyburn.ones(2).no_such_method()
pyburn.relu("text")
"""

LAYERS = """
from typing import assert_type
import pyburn
from pyburn import nn
from pyburn.nn.loss import CrossEntropyLoss
from pyburn.nn.pool import MaxPool2d

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = nn.LeakyReLU(0.1, inplace=True)
        self.pool = MaxPool2d(2, stride=(1, 2), return_indices=True)

    def forward(self, x: pyburn.Tensor) -> pyburn.Tensor:
        return self.act(x)

loss = CrossEntropyLoss(pyburn.ones(3), label_smoothing=0.1)
assert_type(loss(pyburn.ones(2, 3), pyburn.tensor([0, 1])), pyburn.Tensor)
nn.Sequential(nn.Upsample(scale_factor=2), nn.AdaptiveAvgPool2d((None, 1))).eval()
"""
WRONG_LAYERS = """
from pyburn import nn
nn.LeakyReLU(slope=1)
nn.Dropout("half")
nn.MSELoss()(1, 2)
"""


def check(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    file = folder / "script.py"
    file.write_text(script)
    # What mypy knows of the package serves all tests of a session: reading it is most of its time.
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", "--cache-dir", str(folder.parent / "mypy"), str(file)]
    folder_of_package = Path(pyburn.__file__).resolve().parents[1]
    environment = {"PATH": "/usr/bin:/bin"}
    if folder_of_package.name != "site-packages":  # where mypy finds it by itself
        environment["MYPYPATH"] = str(folder_of_package)
    return subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_script_passes_strict_checking(tmp_path: Path) -> None:
    done = check(SCRIPT, tmp_path)
    errors = [line for line in done.stdout.splitlines() if line.startswith("script.py")]
    assert not errors, done.stdout
    with pyburn.printoptions():
        exec(SCRIPT, {"__name__": "script"})


def test_mistakes_are_found(tmp_path: Path) -> None:
    done = check(WRONG, tmp_path)
    assert "no_such_method" in done.stdout and 'incompatible type "str"' in done.stdout


def complaints(script: str, folder: Path) -> list[str]:
    return [line for line in check(script, folder).stdout.splitlines() if line.startswith("script.py") and "error" in line]


def test_layers_and_their_arguments_are_known(tmp_path: Path) -> None:
    assert complaints(LAYERS, tmp_path) == []
    exec(LAYERS, {"__name__": "script"})
    assert len(complaints(WRONG_LAYERS, tmp_path)) == 4  # two of them in one call


def test_stubs_name_what_exists() -> None:
    import ast

    package = Path(pyburn.__file__).resolve().parent
    for stub, holder in (("_functions.pyi", pyburn._core), ("__init__.pyi", pyburn)):
        for node in ast.parse((package / stub).read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                assert hasattr(holder, node.name), node.name
            if isinstance(node, ast.ImportFrom):
                for name in node.names:
                    if stub == "__init__.pyi" and name.name != "*":
                        assert hasattr(pyburn, name.name), name.name
    classes = [n for n in ast.parse((package / "_types.pyi").read_text()).body if isinstance(n, ast.ClassDef) and n.name == "Tensor"]
    for node in classes[0].body:
        if isinstance(node, ast.FunctionDef):
            assert hasattr(pyburn.Tensor, node.name), node.name
