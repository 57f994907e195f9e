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


def test_digits(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("PIL")
    output = run(EXAMPLES / "digits.py", "--epochs", 3, "--output", tmp_path / "out", cwd=tmp_path)
    accuracy = re.search(r"not seen: ([\d.]+)%", output)
    assert accuracy is not None
    assert float(accuracy[1]) > 90
    assert "saved and reloaded, same predictions" in output
    assert (tmp_path / "out" / "digits.png").read_bytes().startswith(b"\x89PNG")
