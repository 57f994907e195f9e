"""Plugins and extension modules of one source, compiled against the headers inside the installed wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyburn

PACKAGE = Path(pyburn.__file__).parent
HEADERS = PACKAGE / "include"
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def library() -> Path:
    """libpyburn under the name that the loader looks for."""
    (found,) = (PACKAGE / "lib").glob("libpyburn.so.*")
    return found


def compile_library(source: str, target: Path, *options: str, headers: Path = HEADERS) -> Path:
    target.with_suffix(".cpp").write_text(source)
    command = [
        COMPILER,
        "-std=c++20",
        "-O0",
        "-shared",
        "-fPIC",
        f"-I{headers}",
        *options,
        target.with_suffix(".cpp"),
        "-o",
        target,
        library(),
    ]
    subprocess.run(command, check=True)
    return target


def changed_headers(where: Path, file: str, old: str, new: str) -> Path:
    """A copy of the headers, with one line of one file changed."""
    shutil.copytree(HEADERS, where, dirs_exist_ok=True)
    text = (where / "pyburn" / file).read_text()
    assert old in text, old
    (where / "pyburn" / file).write_text(text.replace(old, new, 1))
    return where


def run_python(program: str, **environment: str) -> str:
    """Runs Python in a process of its own: what a plugin registers stays for the life of the process."""
    result = subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout
