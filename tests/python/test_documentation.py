"""The Python of README.md and docs/ runs, docstrings show what is printed, and links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyburn

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """The blocks of a page are one program."""
    program = "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)


def test_the_page_on_cpp_shows_a_program_that_is_built() -> None:
    program = (ROOT / "examples" / "cpp" / "tour.cpp").read_text()
    blocks = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / "docs" / "guides" / "cpp.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    for block in blocks:
        assert block in program


def test_links_lead_somewhere() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "check_links.py"], check=True)


def test_charts_are_up_to_date() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "site" / "charts.py", "--check"], check=True)


def test_docstrings_are_checked() -> None:
    found = subprocess.run([sys.executable, ROOT / "tools" / "check_docstrings.py"], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def operations() -> list[str]:
    sys.path.append(str(ROOT / "tools"))
    from schema import read_all

    names = {e.function for e in read_all() if e.public}
    return sorted(name for name in names if isinstance(getattr(pyburn, name, None), type(pyburn.add)))  # some are written in Python


@pytest.mark.parametrize("name", operations())
def test_an_operation_prints_what_its_docstring_shows(name: str) -> None:
    doc = getattr(pyburn, name).__doc__
    assert "\n\nReturns:\n    " in doc
    pyburn.manual_seed(0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(doctest.DocTestParser().get_doctest(doc, {"pyburn": pyburn}, name, None, 0))
    results = runner.summarize(verbose=False)
    assert results.attempted >= 1 and results.failed == 0


LAYERS = [name for name in pyburn.nn._layers.__all__ if name != "Module"]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_prints_what_its_docstring_shows(name: str) -> None:
    layer = getattr(pyburn.nn, name)
    doc = inspect.getdoc(layer)
    assert "\n\nArgs:\n    " in doc or not getattr(layer, "_option_types", {})
    pyburn.manual_seed(0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(doctest.DocTestParser().get_doctest(doc, {"pyburn": pyburn}, name, None, 0))
    results = runner.summarize(verbose=False)
    assert results.attempted >= 1 and results.failed == 0


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed: make docs")
def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    checked = subprocess.run([sys.executable, ROOT / "tools" / "check_site.py", tmp_path], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


PACKAGES = ["autograd", "config", "distributions", "func"]
COMPAT = ["benchmark", "flex_attention", "flop_counter", "hub", "onnx_export", "operators", "patches", "serialization", "tensorboard"]
COMPAT += [
    "finder",
    "torch_module",
    *("torchvision." + name for name in ("boxes", "builders", "dataset_files", "io", "presets", "regions")),
]
MODULES = [
    *(
        "pyburn.composites",
        "pyburn.cuda",
        "pyburn.inference",
        "pyburn.jit",
        "pyburn.linalg",
        "pyburn.masked.normalizations",
        "pyburn.masked.reductions",
        "pyburn.plugins",
        "pyburn.cli.main",
        "pyburn.server",
        "pyburn.server.limits",
    ),
    *("pyburn.backend.interface", "pyburn.backend.registration", "pyburn.backend.numpy_backend", "pyburn.backend.numpy_backend.conv"),
    *("pyburn.chemistry." + name for name in ("models", "graph_features", "molecule", "sdf", "sets", "smiles", "valence")),
    *("pyburn.eeg." + name for name in ("edf", "filters", "models", "sets", "transforms")),
    *("pyburn.imaging." + name for name in ("models", "sets", "windows")),
    *("pyburn.testing.comparison", "pyburn.testing.conformance"),
    *("pyburn.testing.conformance." + name for name in ("calls", "checks", "samples")),
    "pyburn.signal.windows",
    *("pyburn.compat", "pyburn.compat.torchvision.transforms"),
    *("pyburn.compat." + name for name in COMPAT),
] + [
    f"pyburn.{package}.{found.name}"
    for package in PACKAGES
    for found in pkgutil.iter_modules(importlib.import_module(f"pyburn.{package}").__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_prints_what_its_docstrings_show(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name), extraglobs={"pyburn": pyburn}, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


@pytest.mark.skipif(importlib.util.find_spec("einops") is None, reason="einops is not installed")
def test_the_layers_of_einops_print_what_their_docstrings_show() -> None:
    found = doctest.testmod(importlib.import_module("pyburn.einops"), extraglobs={"pyburn": pyburn})
    assert found.attempted >= 3 and found.failed == 0
