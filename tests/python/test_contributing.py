"""The walk-throughs "Add an operation" and "Add a graph pass" of CONTRIBUTING.md work as written.

Their blocks are applied to a copy of the repository, where the generator and the layer check must agree with the result. To save the
rebuild of the whole library, the new sources are then built as a plugin for the installed one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import pyburn

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PLUGIN = """
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/ops/register.h"
#include "pyburn/plugin.h"
PYBURN_PLUGIN() {
  pyburn::register_softcap(pyburn::OpTable::global());
  pyburn::cpu::register_softcap(pyburn::cpu::cpu_backend().kernels());
}
"""

BEFORE = """
import pyburn

pyburn.softcap = pyburn.load_library({library!r}).softcap
pyburn.backend.__path__.insert(0, {backend!r})  # its numpy_backend
"""

PASS_PROGRAM = """
#include <cstdio>
#include "pyburn/graph/passes.h"
#include "pyburn/inference/capture.h"
#include "pyburn/pyburn.h"
using namespace pyburn;
int main() {{
  try {{
    start();
    {trial}
  }} catch (const Error& e) {{
    return std::fprintf(stderr, "%s\\n", e.what()), 1;
  }}
}}
"""

AFTER = """
assert 0.49 < pyburn.softcap(pyburn.tensor([100.0], device="numpy"), 0.5).item() <= 0.5
"""


class Block(NamedTuple):
    language: str
    options: dict[str, str]
    text: str


def walk_through(title: str = "Add an operation") -> list[Block]:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    section = page.split(f"## {title}\n")[1].split("\n## ")[0]
    options = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
    return [Block(language, {k: a or b for k, a, b in options.findall(info)}, text) for language, info, text in BLOCK.findall(section)]


def apply(block: Block, tree: Path) -> None:
    path = tree / block.options["file"]
    if "after" in block.options:
        old, new = block.options["after"] + "\n", block.options["after"] + "\n" + block.text
    elif "replace" in block.options:
        old = block.options["replace"]
        new = block.text.rstrip("\n") + old[len(old.rstrip()) :]
    else:
        assert not path.exists()
        path.write_text(block.text)
        return
    source = path.read_text()
    assert source.count(old) == 1, f"{path}: {old!r}"
    path.write_text(source.replace(old, new))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("walk_through")
    for folder in ("src", "python", "tools", "cmake", "docs"):
        shutil.copytree(ROOT / folder, copy / folder)
    for block in [*walk_through(), *walk_through("Add a graph pass")]:
        if "file" in block.options:
            apply(block, copy)
    subprocess.run([sys.executable, "tools/generate.py"], cwd=copy, check=True)
    return copy


def test_everything_derived_is_written(tree: Path) -> None:
    assert "Tensor softcap(const TensorHandle& input, double cap = 1.0)" in (tree / "src/pyburn/ops/generated/functions.h").read_text()
    assert "def softcap(" in (tree / "python/pyburn/_functions.pyi").read_text()
    assert "cap (float, default 1.0)" in (tree / "python/pyburn/_functions.pyi").read_text()


def test_the_layers_hold(tree: Path) -> None:
    subprocess.run([sys.executable, "tools/check_layers.py"], cwd=tree, check=True)


def test_the_operation_works(tree: Path, tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (tree / "plugin.cpp").write_text(PLUGIN)
    library = tmp_path / "plugin.so"
    (pyburn_library,) = Path(pyburn.cmake_dir()).parents[1].glob("libpyburn.so.*")
    sources = ["plugin.cpp", "src/pyburn/ops/softcap.cpp", "src/pyburn/backends/cpu/softcap.cpp"]
    flags = ["-std=c++20", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-Isrc"]
    subprocess.run([compiler, *flags, *sources, "-o", str(library), str(pyburn_library)], cwd=tree, check=True)

    trial = next(block.text for block in walk_through() if block.language == "python" and "file" not in block.options)
    program = BEFORE.format(library=str(library), backend=str(tree / "python/pyburn/backend")) + trial + AFTER
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_the_graph_pass_works(tree: Path, tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (trial,) = (block.text for block in walk_through("Add a graph pass") if block.language == "cpp" and "file" not in block.options)
    (tree / "pass_trial.cpp").write_text(PASS_PROGRAM.format(trial=trial))
    (library,) = Path(pyburn.cmake_dir()).parents[1].glob("libpyburn.so.*")
    program = tmp_path / "pass_trial"
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-Isrc"]
    sources = ["pass_trial.cpp", "src/pyburn/graph/passes/cancel_negations.cpp", f"-Wl,-rpath,{library.parent}"]
    subprocess.run([compiler, *flags, *sources, "-o", str(program), str(library)], cwd=tree, check=True)
    subprocess.run([str(program)], check=True)
