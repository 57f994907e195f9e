"""pyright and mypy accept the programs of the documentation and the examples, and know the types that users rely on."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyburn
from pyburn import nn

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import pyburn
import p_vision
from pyburn import Tensor, nn

x = pyburn.rand(3, 4)
linear = pyburn.nn.Linear(2, 3)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


"""
# Expressions and their types, as both checkers print them without the modules.
EXPECTED = {
    "x.max(dim=1)": "max",
    "x.max(dim=1).values": "Tensor",
    "pyburn.max(x, axis=1).indices": "Tensor",
    "x.sum(axis=0)": "Tensor",
    "pyburn.sum(x, axis=0, keepdims=True)": "Tensor",
    "x.topk(2).indices": "Tensor",
    "linear.weight": "Parameter",
    "linear.weight.shape": "Size",
    "linear(x)": "Tensor",
    "nn.Conv2d(1, 2, 3).weight": "Parameter",
    "nn.BatchNorm2d(3).running_mean": "Tensor",
    "Net().fc": "Linear",
    "pyburn.optim.Adam(linear.parameters())": "Adam",
    "p_vision.models.resnet18()": "ResNet",
    "pyburn.inference.compile(linear, x)": "Session",
}


@pytest.fixture(scope="module")
def checkers() -> None:
    pytest.importorskip("pyright")
    pytest.importorskip("mypy")


def check(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "tools" / "check_types.py", *arguments], capture_output=True, text=True)


@pytest.mark.usefixtures("checkers")
def test_programs_of_docs_and_examples_have_no_type_errors() -> None:
    done = check()
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("checkers")
@pytest.mark.parametrize("checker", ["pyright", "mypy"])
def test_a_mistake_is_found_at_its_line(tmp_path: Path, checker: str) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nimport pyburn\npyburn.ones(2).no_such_method()\n```\n")
    done = check(page, "--checker", checker)
    assert done.returncode == 1
    assert "page.md:5: " in done.stdout and "no_such_method" in done.stdout


@pytest.mark.usefixtures("checkers")
@pytest.mark.parametrize("checker", ["pyright", "mypy"])
def test_types_of_expressions(tmp_path: Path, checker: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "\n".join(f"reveal_type({expression})" for expression in EXPECTED))
    done = check(program, "--checker", checker)
    found = [re.sub(r'"|\b\w+\.|<.*>', "", line.rpartition(": ")[2]) for line in done.stdout.splitlines() if "program.py:" in line]
    found = [re.sub(r"^.* is |tuple\[.*fallback=|\]$", "", text) for text in found]
    assert dict(zip(EXPECTED, found)) == EXPECTED, done.stdout + done.stderr


def test_every_public_function_has_a_signature() -> None:
    missing = []
    for module in (pyburn, nn.functional, nn.init, pyburn.linalg, pyburn.special, pyburn.train, pyburn.data, pyburn.optim, pyburn.func):
        for name, value in ((name, getattr(module, name)) for name in dir(module) if not name.startswith("_")):
            if isinstance(value, type(pyburn.max)) or inspect.isfunction(value):
                try:
                    inspect.signature(value)
                except ValueError:
                    missing.append(f"{module.__name__}.{name}")
    assert not missing
    assert list(inspect.signature(pyburn.clamp).parameters) == ["input", "min", "max", "out"]
    assert list(inspect.signature(pyburn.max).parameters) == ["input", "args", "kwargs"]
    assert str(inspect.signature(pyburn.Tensor.dim)) == "(self, /)"
