"""The examples in Python run and do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(*arguments: object, cwd: Path) -> str:
    return subprocess.run([sys.executable, *map(str, arguments)], check=True, cwd=cwd, stdout=subprocess.PIPE, text=True).stdout


def test_demo(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("PIL")
    output = run(EXAMPLES / "demo" / "demo.py", "--data", "digits", "--display", "quiet", "--output", tmp_path / "out", cwd=tmp_path)
    accuracy = re.search(r"not seen: ([\d.]+)%", output)
    assert accuracy is not None
    assert float(accuracy[1]) >= 97
    assert "saved and reloaded, same predictions" in output
    assert (tmp_path / "out" / "predictions.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "out" / "curves.svg").read_text()
    assert (tmp_path / "out" / "run" / "report.html").exists()
