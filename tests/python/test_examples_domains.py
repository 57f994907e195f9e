"""The examples of examples/cora, molecules, eeg and membrane on small settings: they learn, and write their pictures."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("PIL")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
needs_data = pytest.mark.skipif("PYBURN_DATA" not in os.environ, reason="PYBURN_DATA does not name a folder with the data")


def run(script: str, *arguments: object, output: Path) -> str:
    command = [sys.executable, EXAMPLES / script, *arguments, "--output", output]
    return subprocess.run([*map(str, command)], check=True, cwd=output.parent, stdout=subprocess.PIPE, text=True).stdout


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found is not None, text
    return float(found[1])


def load(folder: str, name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A file of an example as a module, which finds its neighbours."""
    monkeypatch.syspath_prepend(EXAMPLES / folder)
    spec = importlib.util.spec_from_file_location(f"example_{folder}_{name}", EXAMPLES / folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


@needs_data
def test_cora(tmp_path: Path) -> None:
    text = run("cora/cora.py", "--seeds", 1, "--epochs", 40, output=tmp_path / "out")
    assert number(r"test papers: ([\d.]+)%", text) > 74
    assert is_png(tmp_path / "out" / "papers.png")


@needs_data
def test_esol(tmp_path: Path) -> None:
    text = run("molecules/molecules.py", "esol", "--seeds", 1, "--epochs", 8, "--display", "quiet", output=tmp_path / "out")
    assert number(r"square error ([\d.]+)", text) < 1.2  # the mean of all molecules is off by 2.1
    assert is_png(tmp_path / "out" / "esol.png")
    assert (tmp_path / "out" / "esol-0" / "report.html").exists()


@needs_data
@pytest.mark.parametrize("options", [("--epochs", 15), ("--epochs", 12, "--paper")], ids=["own", "paper"])
def test_mutag(tmp_path: Path, options: tuple[object, ...]) -> None:
    text = run("molecules/molecules.py", "mutag", "--folds", 2, *options, output=tmp_path / "out")
    assert number(r"\n([\d.]+)% \(", text) > 75  # always the more frequent class: 66 %
    assert "<svg" in (tmp_path / "out" / "mutag.svg").read_text()


@needs_data
def test_key_presses(tmp_path: Path) -> None:
    text = run("eeg/eeg.py", "presses", "--seeds", 1, "--folds", 2, "--epochs", 15, "--display", "quiet", output=tmp_path / "out")
    assert number(r"right on ([\d.]+)% of 316", text) > 62
    assert is_png(tmp_path / "out" / "presses" / "filters.png")
    assert "<svg" in (tmp_path / "out" / "presses" / "spectra.svg").read_text()


@needs_data
def test_motor_imagery(tmp_path: Path) -> None:
    text = run("eeg/eeg.py", "imagery", "--seeds", 1, "--folds", 2, "--epochs", 3, "--display", "quiet", output=tmp_path / "out")
    assert "of 45 trials" in text
    assert is_png(tmp_path / "out" / "imagery" / "filters.png")


def test_rhythms() -> None:
    command = [sys.executable, EXAMPLES / "eeg" / "rhythms.py"]
    assert "accuracy 100%" in subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True).stdout


def test_spectrum_and_electrodes(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = load("eeg", "pictures", monkeypatch)
    wave = np.sin(2 * np.pi * 11 * np.arange(320) / 160)[None, None]
    frequencies, power = pictures.spectrum(wave, 160.0)
    assert frequencies[power[0].argmax()] == 11
    assert power.sum() * (frequencies[1] - frequencies[0]) == pytest.approx(0.5)  # the variance of a sine
    (left, level), (right, other), (nose, front) = (pictures.place(name) for name in ("C3", "C4", "Fpz"))
    assert left == -right and left < 0 and level == other == 0
    assert nose == 0 and front > pictures.place("Fz")[1] > 0 > pictures.place("Oz")[1]
    with pytest.raises(ValueError, match="10-10"):
        pictures.place("EKG")


@needs_data
def test_membrane(tmp_path: Path) -> None:
    small = ("--epochs", 3, "--crops", 80, "--crop", 64, "--width", 4, "--held-out", 1)
    text = run("membrane/membrane.py", *small, "--display", "quiet", output=tmp_path / "out")
    assert number(r"Dice ([\d.]+)", text) > 0.45  # membrane everywhere: 0.31
    assert is_png(tmp_path / "out" / "overlay-0.png")
