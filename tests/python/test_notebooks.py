"""The notebooks of examples/ run in a kernel, and what tensors, modules and results look like there."""

from __future__ import annotations

import base64
import html
import itertools
import os
import re
import sys
import types
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import pyburn
from pyburn import nn
from pyburn.dashboard import Dashboard
from pyburn.train import History, Learner, LrFinding
from pyburn.train.displays import display_for
from pyburn.train.notebook import NotebookProgress

NOTEBOOKS = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
EVIL = "<script>alert(1)</script>"


class Balanced(HTMLParser):
    """Fails for tags that are not closed, and collects tags and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        assert self._open == [], self._open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag not in ("br", "img"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def rich(value: Any) -> Balanced:
    return Balanced(value._repr_html_())


def test_tensors() -> None:
    small = rich(pyburn.tensor([[1.5, -2.0], [0.0, 4.0]], requires_grad=True))
    assert "[2, 2] · float32" in small.text and "requires_grad" in small.text and "min -2, mean 0.875, max 4" in small.text
    assert re.findall(r"[-\d.]+", small.text.rpartition("max 4")[2]) == ["1.5", "-2", "0", "4"]
    large = rich(pyburn.arange(10_000).reshape(100, 100))
    assert large.tags.count("tr") == 11 and large.tags.count("td") == 121 and " 9999 " in large.text and " 5050 " not in large.text
    assert "here [0, 0]" in rich(pyburn.zeros(2, 3, 4, 5)).text
    for shape in ((), (0,), (3,), (0, 2, 3)):
        for dtype in (pyburn.float32, pyburn.bfloat16, pyburn.int64, pyburn.bool):
            assert str(list(shape)) in rich(pyburn.zeros(shape, dtype=dtype)).text


def test_modules() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    found = rich(model)
    assert [int(n) for n in re.findall(r"(\d+) parameters", found.text)] == [26, 16, 10, 10]
    assert found.tags.count("details") == 2 and "in_features=4, out_features=2" in found.text

    class Evil(nn.Module):
        def extra_repr(self) -> str:
            return EVIL

    assert "script" not in rich(Evil()).tags and EVIL in rich(Evil()).text


def test_results_of_training(tmp_path: Path) -> None:
    history = History()
    assert "0 epochs" in rich(history).text
    for epoch in range(1, 21):
        history.add(epoch, {"train/accuracy": epoch / 20, "train/loss": 1 / epoch, f"valid/{EVIL}": 1.0})
    found = rich(history)
    assert found.tags.count("img") == 3 and found.tags.count("tr") == 13 and "script" not in found.tags
    first = base64.b64decode(re.findall(r"base64,([^\"]+)", history._repr_html_())[0]).decode()
    assert ">loss</text>" in first  # the loss first, though it was logged second
    finding = LrFinding([0.1, 1.0], [2.0, 1.0], [2.0, 1.5], 0.5)
    assert rich(finding).tags == ["img"] and repr(finding) == "LrFinding(suggestion=0.5, 2 rates from 0.1 to 1)"
    with Dashboard(tmp_path, port=0) as dashboard:
        assert f'href="{html.escape(dashboard.url)}"' in dashboard._repr_html_() and str(tmp_path.parent) not in dashboard._repr_html_()


def test_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    handle = types.SimpleNamespace(update=drawn.append)
    shell = types.ModuleType("IPython.display")
    shell.HTML, shell.display = str, lambda value, display_id: handle  # type: ignore[attr-defined]
    package = types.ModuleType("IPython")
    package.get_ipython = lambda: types.SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    for name, module in (("IPython", package), ("IPython.display", shell), ("ipykernel", types.ModuleType("ipykernel"))):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delenv("PYBURN_DISPLAY", raising=False)
    monkeypatch.setattr("pyburn.train.notebook._REDRAW_SECONDS", 0.0)
    monkeypatch.setattr("pyburn.train.displays._REDRAW_SECONDS", 0.0)
    monkeypatch.setattr("pyburn.train.displays._MOST_SHARE", 0)
    assert isinstance(display_for("auto"), NotebookProgress)
    model = nn.Linear(2, 2)
    learner = Learner(model, pyburn.optim.SGD(model.parameters(), lr=0.1), loss=nn.CrossEntropyLoss(), metrics=["accuracy"])
    data = [(pyburn.ones(4, 2), pyburn.tensor([0, 1, 1, 1]))] * 3
    learner.fit(data, data, epochs=2)
    pages = [Balanced(page) for page in drawn]
    assert any(re.search(r"epoch 1/2, batch 2/3.*train: loss [\d.]+, accuracy [\d.]+", page.text) for page in pages)
    assert any("valid: loss" in page.text for page in pages)
    assert "6 steps in" in pages[-1].text and pages[-1].tags.count("tr") == 3 and pages[-1].tags.count("img") == 1
    package.get_ipython = lambda: None  # type: ignore[attr-defined]  # imported, but not a notebook
    assert not isinstance(display_for("auto"), NotebookProgress)


EXPECTED = {
    "tensors_and_gradients": r"y = 2\.0\d x \+ (1\.0|0\.9)\d",
    "training": r"best epoch \d+: (9[5-9]|100)\.\d%",
    "images_to_deployment": r"(9[6-9]|100)\.\d% of the test images .*same result from the file: True",
}


def kinds(notebook: Any) -> list[list[str]]:
    """The types of the outputs of each cell; a stream may come in parts."""
    return [[kind for kind, _ in itertools.groupby(output["output_type"] for output in cell.get("outputs", []))] for cell in notebook.cells]


@pytest.mark.parametrize("name", EXPECTED)
def test_notebooks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pytest.importorskip("nbclient"), pytest.importorskip("ipykernel")
    if name == "images_to_deployment":
        pytest.importorskip("sklearn")
    import nbformat
    from nbclient import NotebookClient

    for variable in ("PYBURN_DISPLAY", "PYTHONWARNINGS"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, os.fspath(tmp_path / variable.lower()))
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    stored = kinds(notebook)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": os.fspath(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    printed = " ".join(output["text"] for output in outputs if output["output_type"] == "stream")
    assert re.search(EXPECTED[name], printed, re.DOTALL), printed
    assert sum("text/html" in output.get("data", {}) for output in outputs) >= 4
    assert kinds(notebook) == stored  # what readers see is what runs
    assert not any(output.get("name") == "stderr" for output in outputs)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_stored_outputs_name_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert path.stem in EXPECTED and not re.search(r"/tmp/|/home/|/root/|/work/", text) and len(text) < 100_000
