"""`import pyburn` changes nothing outside pyburn, and pyburn does not import pyburn.compat by itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Prints the names of what the import changed. The modules of the standard library that pyburn needs may be loaded.
_PROGRAM = """
import builtins, gc, locale, os, signal, sys, warnings
import numpy, numpy.random, einops, inspect

def state():
    own = ("__main__", "pyburn", *sys.stdlib_module_names)
    foreign = {name: module for name, module in sys.modules.items() if name.partition(".")[0] not in own}
    names = {f"module {name}": sorted((key, id(value)) for key, value in vars(module).items()) for name, module in foreign.items()}
    return {
        **names,
        "builtins": {name: id(value) for name, value in vars(builtins).items()},
        "inspect": {name: id(value) for name, value in vars(inspect).items()},
        "meta_path": list(sys.meta_path),
        "path_hooks": list(sys.path_hooks),
        "path": list(sys.path),
        "excepthook": sys.excepthook,
        "displayhook": sys.displayhook,
        "recursion": sys.getrecursionlimit(),
        "trace": (sys.gettrace(), sys.getprofile()),
        "modules": sorted(foreign),
        "warnings": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "environ": dict(os.environ),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "locale": locale.setlocale(locale.LC_ALL),
        "numpy": (numpy.geterr(), numpy.get_printoptions(), numpy.random.get_state()[1].tolist()),
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_debug()),
    }

before = state()
import pyburn, pyburn.inference, pyburn.io, pyburn.linalg, pyburn.nn, pyburn.optim
after = state()
print(*sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)), sep="\\n")
"""


@pytest.fixture(scope="module")
def changes() -> set[str]:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")) - {""}


def test_nothing_outside_pyburn_changes(changes: set[str]) -> None:
    assert changes == set()


def _run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_numpy_is_loaded_when_it_is_needed() -> None:
    assert _run("import sys, pyburn; print('numpy' in sys.modules)") == "False\n"


def test_compat_is_loaded_by_those_who_import_it() -> None:
    program = """
import sys, pyburn
for name in dir(pyburn):
    getattr(pyburn, name)
for place in (pyburn, pyburn.nn, pyburn.nn.parallel, pyburn.cuda, pyburn.jit, pyburn.utils, pyburn.optim):
    for name in ("onnx", "compile", "backends_of_torch", "hub", "DistributedDataParallel", "amp_of_torch", "trace"):
        hasattr(place, name)
print([name for name in sys.modules if name.startswith(("pyburn.compat", "p_vision", "torch"))])
"""
    assert _run(program) == "[]\n"


def test_every_name_of_the_stub_and_of_composites_is_found() -> None:
    program = """
import pyburn, pyburn.composites
print([name for name in {*dir(pyburn), *pyburn.composites.__all__} if not hasattr(pyburn, name)])
"""
    assert _run(program) == "[]\n"
