"""Hostile calls of every public function: the same 20,000 in each run. `make fuzz` and `make fuzz-calls-asan` run others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUZZER = Path(__file__).resolve().parents[1] / "fuzz" / "calls"


def fuzz(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(FUZZER), *options], capture_output=True, text=True, timeout=1200)


def test_hostile_calls_return_or_raise() -> None:
    ran = fuzz("--runs", "20000", "--seed", "1")
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
    assert int(ran.stdout.rpartition("(")[2].split()[0]) >= 50, "percent of calls that pass the checks of arguments"


def test_the_fuzzer_finds_a_crash(tmp_path: Path) -> None:
    """A child that dies is found, with the text of its call, and the calls after it still run."""
    (tmp_path / "plant.py").write_text(
        f"import sys, os, signal, runpy; sys.path.insert(0, {str(FUZZER)!r})\n"
        "import pyburn; pyburn.sort = lambda *a, **k: os.kill(os.getpid(), signal.SIGSEGV)\n"
        f"sys.argv = ['calls', '--runs', '2000', '--seed', '2']; runpy.run_path({str(FUZZER / '__main__.py')!r}, run_name='__main__')\n"
    )
    ran = subprocess.run([sys.executable, str(tmp_path / "plant.py")], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 1
    assert "killed by SIGSEGV\non(" in ran.stdout and "pyburn.sort(" in ran.stdout
    assert ran.stdout.splitlines()[-1].split(" returned")[0].isdigit()
