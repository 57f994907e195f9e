"""What users install: size, contents, requirements, how long an import takes."""

from __future__ import annotations

import importlib.metadata
import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyburn

PACKAGE = Path(pyburn.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "libpyburn.so." + pyburn.__version__.rpartition(".")[0]  # each minor version has a C++ interface of its own


def test_the_wheel_is_small() -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file in PACKAGE.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                wheel.write(file)
    assert len(archive.getvalue()) < 20e6


def test_numpy_is_the_only_requirement() -> None:
    required = [r for r in importlib.metadata.requires("pyburn") or [] if "extra ==" not in r]
    assert [re.match(r"\w+", r)[0] for r in required] == ["numpy"]  # type: ignore[index]


def test_versions_agree() -> None:
    declared = re.search(r"project\(pyburn VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert declared is not None
    assert importlib.metadata.version("pyburn") == declared[1] == pyburn.__version__


def test_types_and_headers_are_inside() -> None:
    for file in ("py.typed", f"lib/{LIBRARY}", "lib/cmake/pyburn/pyburnConfig.cmake", "include/pyburn/pyburn.h"):
        assert (PACKAGE / file).is_file(), file


def test_libraries_are_found_inside_the_wheel() -> None:
    listed = subprocess.run(["ldd", PACKAGE / "lib" / LIBRARY], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "not found" not in listed
    for name, path in re.findall(r"(libhwy\S*) => (\S+)", listed):
        assert Path(path).resolve().parent == (PACKAGE / "lib").resolve(), name


def test_the_library_has_a_versioned_name() -> None:
    assert [file.name for file in (PACKAGE / "lib").glob("libpyburn*")] == [LIBRARY]  # one copy: a wheel cannot hold links
    needed = subprocess.run(["ldd", next(PACKAGE.glob("_core*.so"))], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert f"{LIBRARY} => {PACKAGE}" in needed


def test_import_is_quick_and_does_not_load_numpy(tmp_path: Path) -> None:
    # Processor time, and the best of several runs: what else the machine does is no concern of this test.
    program = """
import sys, time
start = time.process_time()
import pyburn
print(time.process_time() - start, "numpy" in sys.modules)
"""
    # With bytecode, as after an installation: a checkout may have none, and an environment that writes none.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    command = [sys.executable, "-c", program]
    runs = [subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout.split() for _ in range(15)]
    assert min(float(seconds) for seconds, _ in runs) < 0.05
    assert all(numpy == "False" for _, numpy in runs)
