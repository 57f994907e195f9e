"""Loading plugins: what is refused, and that what is refused leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import pyburn
from pyburn import _core

sys.path.insert(0, str(Path(__file__).resolve().parent))
from plugin_builds import PACKAGE, changed_headers, compile_library, library, needs_compiler, run_python

pytestmark = needs_compiler

# An operation and a backend under names of its own. What happens on the way is for macros and the environment to say.
SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "pyburn/ops/rules.h"
#include "pyburn/plugin.h"

using namespace pyburn;

namespace {
Meta infer(const NoAttrs&, Metas in) { return in[0]; }
TensorHandle decompose(const NoAttrs&, Inputs in) { return *in[0] * 2.0; }
constinit OpInfo row = define<NoAttrs, infer, nullptr, decompose>(
    {.schema = NAME "(Tensor input) -> Tensor", .doc = "Twice the input.", .no_grad = "a test"});

struct RunsWhenLoaded {
  RunsWhenLoaded() {
    if (const char* mark = std::getenv("PLUGIN_MARK")) std::fclose(std::fopen(mark, "w"));
  }
} runs_when_loaded;
}  // namespace

#ifndef REGISTER
#define REGISTER
#endif
PYBURN_PLUGIN() {
  OpTable::global().add({&row});
  register_backend({.name = NAME "_device", .aliases = {NAME "_alias"}, .doc = "A test.", .make = [](auto, auto) {
    return Ref<Backend>(&cpu::cpu_backend());
  }});
  remote::register_transport({.scheme = NAME, .doc = "A test.", .connect = [](const std::string&) -> std::unique_ptr<remote::Channel> {
    fail<RemoteError>("[remote] nobody there");
  }});
  REGISTER;
}
"""


def build(folder: Path, name: str, *options: str, headers: Path | None = None, source: str = SOURCE) -> Path:
    more = {"headers": headers} if headers else {}
    return compile_library(source, folder / f"{name}.so", f'-DNAME="{name}"', *options, **more)


def registered(name: str) -> list[str]:
    """Everything in pyburn's tables that has the name of a plugin."""
    found = [row["name"] for row in _core._op_table() if row["name"] == name]
    found += [b.name for b in pyburn.backends() if b.name.startswith(name)]
    try:
        pyburn.device(f"remote({name}://there)")
    except pyburn.DeviceError:
        return found
    except pyburn.RemoteError:
        return [*found, "transport"]
    raise AssertionError("connected to nobody")


def test_a_plugin_brings_operations_backends_and_transports(tmp_path: Path) -> None:
    path = build(tmp_path, "complete", "-O2", "-DNDEBUG")
    functions = pyburn.load_library(path)
    assert functions.complete(pyburn.tensor([1.5])).tolist() == [3.0]
    assert registered("complete") == ["complete", "complete_device", "transport"]
    assert pyburn.ones(2, device="complete_alias").sum() == 2

    link = tmp_path / "link.so"
    link.symlink_to(path)
    assert pyburn.load_library(path) is functions
    assert pyburn.load_library(link) is functions
    assert pyburn.load_library(os.path.relpath(path)) is functions

    shutil.copy(path, tmp_path / "copy.so")  # another library with the same names
    with pytest.raises(pyburn.PluginError, match="an operation with the name 'complete' already exists"):
        pyburn.load_library(tmp_path / "copy.so")
    assert registered("complete") == ["complete", "complete_device", "transport"]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("version.h", '"0.', '"99.'),
        ("ir/op_info.h", "const char* no_grad = nullptr;", "int more = 0; const char* no_grad = nullptr;"),
        (
            "ir/op_info.h",
            "  Kind kind = Kind::opaque;\n  Cast cast = Cast::none;",
            "  Cast cast = Cast::none;\n  Kind kind = Kind::opaque;",
        ),
        ("tensor/storage.h", "  void* host; ", "  void* host; int64_t alignment = 64; "),
        ("runtime/backend.h", "virtual void synchronize() {}", "virtual void flush() {}\n  virtual void synchronize() {}"),
        ("runtime/backend.h", "  // The cached result of support()", "  virtual void flush() {}\n  // The cached result of support()"),
        ("runtime/backend.h", "check_write(Inputs in, Outputs out) const {", "check_write(Inputs in, Outputs out, int = 0) const {"),
        ("nn/module.h", "  virtual std::string type_name()", "  virtual void added() {}\n  virtual std::string type_name()"),
    ],
    ids=["version", "field", "order", "storage", "virtual", "last_virtual", "signature", "module"],
)
def test_other_headers_are_refused_before_any_code_runs(tmp_path: Path, file: str, old: str, new: str) -> None:
    headers = changed_headers(tmp_path / "include", file, old, new)
    mark = tmp_path / "mark"
    path = build(tmp_path, "foreign", headers=headers)
    os.environ["PLUGIN_MARK"] = str(mark)
    try:
        with pytest.raises(pyburn.PluginError, match="Rebuild it against this version") as refused:
            pyburn.load_library(path)
    finally:
        del os.environ["PLUGIN_MARK"]
    assert ("another version" if file == "version.h" else "other headers") in str(refused.value)
    assert str(path) in str(refused.value)
    assert not mark.exists()
    assert registered("foreign") == []


@pytest.mark.parametrize("option", ["-D_GLIBCXX_USE_CXX11_ABI=0", "-D_GLIBCXX_DEBUG"])
def test_another_standard_library_is_refused(tmp_path: Path, option: str) -> None:
    source = '#include "pyburn/plugin.h"\nPYBURN_PLUGIN() {}\n'
    with pytest.raises(pyburn.PluginError, match="other headers"):
        pyburn.load_library(build(tmp_path, "other_library", option, source=source))


FAILURES = [
    ('throw std::runtime_error("no licence")', "no licence"),
    ("throw 42", "not a std::exception"),
    ('fail<ValueError>("[mine] no licence: got {}", 3)', r"\[mine\] no licence: got 3"),
    ("static OpInfo again = row; OpTable::global().add({&again})", "an operation with the name 'failing' already exists"),
    ('register_backend({.name = "ndarray"})', "a backend with the name 'ndarray' already exists"),
    ('register_backend({.name = "mine", .aliases = {"cpu"}})', "a backend with the name 'cpu' already exists"),
    ("remote::register_transport({.scheme = NAME, .connect = [](auto&) { return nullptr; }})", "a transport with the scheme"),
]


def test_a_registration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    cases = " ".join(f"case {i}: {{ {thrown}; break; }}" for i, (thrown, _) in enumerate(FAILURES))
    path = build(tmp_path, "failing", f'-DREGISTER=if (const char* n = std::getenv("PLUGIN_FAILS")) switch (std::atoi(n)) {{ {cases} }}')
    program = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import pyburn
from test_plugins import registered

for number in range({len(FAILURES)}):
    os.environ["PLUGIN_FAILS"] = str(number)
    try:
        pyburn.load_library({str(path)!r})
    except pyburn.PluginError as error:
        print(error)
    else:
        raise AssertionError("loaded")
    assert registered("failing") == [], registered("failing")
del os.environ["PLUGIN_FAILS"]
functions = pyburn.load_library({str(path)!r})
assert functions.failing(pyburn.tensor([1.5])).tolist() == [3.0]
assert registered("failing") == ["failing", "failing_device", "transport"]
"""
    for message, (_, expected) in zip(run_python(program).splitlines(), FAILURES, strict=True):
        assert re.search(expected, message)
        assert "was not loaded" in message


def test_what_is_no_plugin_is_refused(tmp_path: Path) -> None:
    for path in (Path(__file__), library(), next(PACKAGE.glob("_core*.so"))):
        with pytest.raises(pyburn.PluginError, match="not a plugin"):
            pyburn.load_library(path)
    bare = compile_library('extern "C" void pyburn_plugin() {}', tmp_path / "bare.so")
    with pytest.raises(pyburn.PluginError, match=r"use the macro and rebuild it"):
        pyburn.load_library(bare)
    (tmp_path / "empty.so").touch()
    with pytest.raises(pyburn.PluginError, match="not a plugin"):
        pyburn.load_library(tmp_path / "empty.so")
    with pytest.raises(FileNotFoundError):
        pyburn.load_library(tmp_path / "missing.so")
    with pytest.raises(IsADirectoryError):
        pyburn.load_library(tmp_path)


def test_a_damaged_library_is_refused(tmp_path: Path) -> None:
    path = build(tmp_path, "damaged")
    good = path.read_bytes()
    path.write_bytes(good[: good.index(b"pyburn plugin\x1a\r") + 20])
    with pytest.raises(pyburn.PluginError, match="Rebuild"):
        pyburn.load_library(path)
    path.write_bytes(b"\0" * 64 + good[64:])  # not a library at all, though the record is there
    with pytest.raises(pyburn.PluginError, match="cannot load"):
        pyburn.load_library(path)
    assert registered("damaged") == []


def test_names_of_files_need_not_be_unicode(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.so"
    with pytest.raises(FileNotFoundError):
        pyburn.load_library(os.fsdecode(name))
    with open(name, "wb"):
        pass
    with pytest.raises(pyburn.PluginError, match="not a plugin"):
        pyburn.load_library(os.fsdecode(name))


def test_rules_and_the_umbrella_header_go_together(tmp_path: Path) -> None:
    body = """
using namespace pyburn;
TensorHandle rule(const TensorHandle& x) { return sum(exp(x) * 2.0) - maximum(x, zeros({3})); }
Tensor program(const Tensor& x) { return x * 2.0 + relu(x) - 1.0 * abs(x).mean(); }
Tensors all(const Tensors& x) { return each(x, exp); }
"""
    for first, second in (("pyburn.h", "ops/rules.h"), ("ops/rules.h", "pyburn.h")):
        compile_library(f'#include "pyburn/{first}"\n#include "pyburn/{second}"\n{body}', tmp_path / "both.so", "-fsyntax-only")
