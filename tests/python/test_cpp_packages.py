"""C++ outside the repository: programs and plugins built against the CMake package inside the installed wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyburn

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("ninja")), reason="needs cmake and ninja")


def build(source: Path, where: Path, *options: str) -> Path:
    """Configures, builds and installs a project into a folder, which is returned."""
    configure = ["cmake", "-G", "Ninja", "-S", source, "-B", where / "build", f"-DPython_EXECUTABLE={sys.executable}", *options]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", where / "build"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--install", where / "build", "--prefix", where / "site"], check=True, stdout=subprocess.DEVNULL)
    return where / "site"


def install_plugin(name: str, package: str, where: Path) -> Path:
    """The folder to put on sys.path: what pip would have installed, without asking an index for build requirements."""
    site = build(ROOT / "examples" / name, where)
    shutil.copytree(ROOT / "examples" / name / package, site / package, dirs_exist_ok=True)
    return site


def run(program: str, site: Path) -> str:
    """Runs Python in a process of its own: what a plugin registers stays for the life of the process."""
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run([sys.executable, "-c", program], check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout


def test_the_command_line_prints_the_folder() -> None:
    printed = subprocess.run([sys.executable, "-m", "pyburn", "--cmake"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    assert printed == pyburn.cmake_dir()
    assert (Path(printed) / "pyburnConfig.cmake").is_file()


def test_examples_build_against_the_wheel_and_run(tmp_path: Path) -> None:
    build(ROOT / "examples" / "cpp", tmp_path, f"-Dpyburn_DIR={pyburn.cmake_dir()}", "-DCMAKE_BUILD_TYPE=Debug")
    output = subprocess.run([tmp_path / "build" / "regression"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "learned" in output
    subprocess.run([tmp_path / "build" / "tour", tmp_path], check=True, stdout=subprocess.DEVNULL)
    optimiser = pyburn.optim.AdamW([{"params": [p]} for p in pyburn.nn.Linear(2, 1).parameters()])
    saved = pyburn.load(tmp_path / "optimiser.pt")
    assert saved["param_groups"][0].keys() <= optimiser.state_dict()["param_groups"][0].keys() | {"params"}
    assert saved["state"][0].keys() == {"step", "exp_avg", "exp_avg_sq"}
    saved = pyburn.io.safetensors.load_file(tmp_path / "parts.safetensors")
    nn = pyburn.nn
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3))
    model(pyburn.ones(8, 1, 6, 6))
    nn.utils.parametrizations.weight_norm(model[0])
    nn.utils.parametrizations.spectral_norm(model[4])
    assert {name: t.shape for name, t in saved.items()} == {name: t.shape for name, t in model.state_dict().items()}
    model.load_state_dict(saved)


OPERATION = """
import numpy as np
import pyburn
from pyburn.autograd import gradcheck
from pyburn_huber import huber, huber_

values = np.linspace(-3, 3, 25)
for dtype in (np.float32, np.float64):
    x = pyburn.from_numpy(values.astype(dtype))
    size = np.abs(values)
    expected = np.where(size < 1.5, size**2 / 2, 1.5 * (size - 0.75))
    np.testing.assert_allclose(huber(x, 1.5).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(huber(x[::2], delta=1.5).numpy(), expected[::2], rtol=1e-6)

x = pyburn.tensor([-2.0, -0.3, 0.4, 2.0], dtype=pyburn.float64, requires_grad=True)
assert gradcheck(huber, (x,))
assert huber(pyburn.tensor([2])).dtype == pyburn.float32
y = x.detach().clone()
assert pyburn.equal(huber(x.detach(), out=pyburn.empty_like(y)), huber(x)) and huber_(y) is y and pyburn.equal(y, huber(x))

for wrong, error in [((x, -1.0), ValueError), ((x, "a"), TypeError), ((3,), TypeError), ((), TypeError), ((None,), TypeError)]:
    try:
        huber(*wrong)
    except error as e:
        assert str(e).startswith("[huber]"), e
    else:
        raise AssertionError(wrong)
try:
    pyburn.load_library(pyburn.__file__)
except OSError:
    pass
else:
    raise AssertionError("not a library")
"""


def test_an_operation_in_a_package_of_its_own(tmp_path: Path) -> None:
    run(OPERATION, install_plugin("plugin_op_cpp", "pyburn_huber", tmp_path))


BACKEND = """
import pyburn
import pyburn_budget

pyburn_budget.register()
device = pyburn.Device("budget:2")
a = pyburn.ones(256, 256, device=device, requires_grad=True)
(a @ a).sum().backward()
assert a.grad.tolist()[0][0] == 512
assert device.memory()["peak"] <= 2 << 20
try:
    pyburn.ones(1024, 1024, device=device)
except MemoryError as e:
    assert "the budget of 2 MB is spent" in str(e), e
else:
    raise AssertionError("4 MB fitted into 2")
try:
    pyburn.Device("budget:much")
except pyburn.DeviceError as e:
    assert "megabytes" in str(e)
else:
    raise AssertionError("no number")
"""


def test_a_backend_in_a_package_of_its_own(tmp_path: Path) -> None:
    run(BACKEND, install_plugin("plugin_backend_cpp", "pyburn_budget", tmp_path))
