"""C++ outside the repository: programs and plugins built against the CMake package inside the installed wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

import pyburn

sys.path.insert(0, str(Path(__file__).resolve().parent))
from plugin_builds import changed_headers, compile_library

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


def run(program: str, site: Path, *arguments: str) -> str:
    """Runs Python in a process of its own: what a plugin registers stays for the life of the process."""
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], check=True, env=environment, stdout=subprocess.PIPE, text=True
    ).stdout


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


DECORATOR = """
import pyburn
import pyburn_faults

pyburn_faults.register()
device = pyburn.Device("faults:exp=3(ndarray)")
assert str(device) == "autodiff(faults:exp=3(ndarray))", device
x = pyburn.zeros(2, 2, device=device, requires_grad=True)
y = x.exp() + x.exp()
try:
    x.exp()
except MemoryError as e:
    assert str(e) == "[exp] fault injected into call 3 of exp", e
else:
    raise AssertionError("no fault")
y.sum().backward()
assert x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
assert x.exp().sum() == 4  # the device goes on
assert x[:, 1].sum() == 0  # views pass by

assert pyburn.ones(3, device="fusion(faults:exp=2(ndarray))").log().sum() == 0
for wrong in (":", ":exp", ":exp=0", ":exp=x", ":nothing=2"):
    try:
        pyburn.Device(f"faults{wrong}(ndarray)")
    except pyburn.DeviceError as e:
        assert "faults" in str(e), e
    else:
        raise AssertionError(wrong)
"""


def test_a_decorator_in_a_package_of_its_own(tmp_path: Path) -> None:
    run(DECORATOR, install_plugin("plugin_decorator_cpp", "pyburn_faults", tmp_path))


TRANSPORT = """
import os, socket, struct, sys, threading, time
import pyburn
import pyburn_unix

pyburn_unix.register()
here = sys.argv[1]
paths = [f"{here}/One.sock", f"{here}/two.sock"]
random = __import__("random").Random(0)


def talk(path, message):  # as anybody might
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        try:
            s.sendall(message)
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := s.recv(1 << 16):
                answer += piece
            return answer
        except ConnectionError:
            return b""


with pyburn_unix.serve(paths[0]) as one, pyburn_unix.serve(paths[1]) as two:
    a, b = (pyburn.Device(f"remote(unix://{path})") for path in paths)
    assert a != b
    x = pyburn.tensor([[1.0, 2.0], [3.0, 4.0]], device=a, requires_grad=True)
    (x @ x).sum().backward()
    assert x.grad.tolist() == [[7.0, 11.0], [9.0, 13.0]]
    assert pyburn.ones(3, device=b).sum() == 3
    try:
        pyburn.ones(2, device=a) + pyburn.ones(2, device=b)
    except pyburn.DeviceError:
        pass
    else:
        raise AssertionError("one device")
    try:
        x @ pyburn.ones(3, device=a)
    except pyburn.ShapeError:
        pass
    else:
        raise AssertionError("wrong shapes")

    frame = lambda body: struct.pack("<Q", len(body)) + body
    lengths = [struct.pack("<Q", n) for n in (1 << 63, 1 << 35, 0)]
    for message in [b"", b"GET / HTTP/1.1\\r\\n\\r\\n", *lengths, lengths[1] + b"x", b"\\0" * 7]:
        talk(paths[0], message)
    for most in [12, 256] * 150:
        talk(paths[0], frame(bytes(random.randrange(most) for _ in range(random.randrange(40)))))
    hello = frame(bytes([0, 2]))
    assert b"bmm" in talk(paths[0], hello)
    huge = frame(bytes([3, 1, 0, 255, 255, 255, 255, 255, 7]))  # an allocation
    assert b"bmm" in talk(paths[0], huge + hello)
    mute = [socket.socket(socket.AF_UNIX) for _ in range(100)]  # more than it serves at once
    for s in mute:
        s.connect(paths[0])
    for s in mute:
        s.close()
    assert one.poll() is None and two.poll() is None
    assert (x + 1).tolist() == [[2.0, 3.0], [4.0, 5.0]]

    ran = threading.Event()  # other threads run while this one waits
    threading.Thread(target=ran.set).start()
    assert ran.wait(20)

    one.kill()
    one.wait()
    for _ in range(2):
        try:
            (x + 1).tolist()
        except pyburn.RemoteError as e:
            assert str(e).startswith("[") and "remote" in str(e), e
        else:
            raise AssertionError("the server is gone")

for address, error in [
    ("unix:///nowhere", pyburn.RemoteError),
    ("unix://relative", pyburn.DeviceError),
    ("unix:///" + "x" * 200, pyburn.DeviceError),
    ("carrier-pigeon://coop", pyburn.DeviceError),
]:
    try:
        pyburn.Device(f"remote({address})")
    except error as e:
        assert "remote" in str(e)
    else:
        raise AssertionError(address)
"""


def test_a_transport_in_a_package_of_its_own(tmp_path: Path) -> None:
    site = install_plugin("plugin_transport_cpp", "pyburn_unix", tmp_path)
    with tempfile.TemporaryDirectory() as short:  # the path of a socket has at most 107 bytes
        run(TRANSPORT, site, short)


LAYER = """
import copy, inspect, pickle
import pyburn
import pyburn_gated
from pyburn import nn
from pyburn_gated import GatedLinear

layer = GatedLinear(3, out_features=2)
assert repr(layer) == "GatedLinear(in_features=3, out_features=2, bias=True)", layer
assert isinstance(layer, nn.Module) and type(GatedLinear) is type
assert GatedLinear.__module__ == "pyburn_gated" and GatedLinear.__doc__.startswith("Applies a linear")
assert list(inspect.signature(GatedLinear).parameters) == ["in_features", "out_features", "bias", "device", "dtype"]
assert list(inspect.signature(layer.forward).parameters) == ["input"]
assert (layer.in_features, layer.out_features) == (3, 2)
assert [name for name, _ in layer.named_parameters()] == ["weight", "gate", "bias"]
assert list(layer.state_dict()) == ["weight", "gate", "bias"]
assert isinstance(layer.weight, nn.Parameter) and layer.weight is layer.weight
assert GatedLinear(3, 2, bias=False).bias is None
assert GatedLinear(3, 2, dtype=pyburn.float64).gate.dtype == pyburn.float64
assert GatedLinear(3, 2, device="meta").gate.device.type == "meta"


def expected(layer, x):
    return (x @ layer.weight.T + layer.bias) * pyburn.sigmoid(x @ layer.gate.T)


x = pyburn.randn(4, 3)
pyburn.testing.assert_close(layer(x), expected(layer, x))
pyburn.testing.assert_close(layer(input=x), expected(layer, x))
layer(x).sum().backward()
grads = [p.grad.clone() for p in layer.parameters()]
layer.zero_grad()
expected(layer, x).sum().backward()
for grad, p in zip(grads, layer.parameters()):
    pyburn.testing.assert_close(grad, p.grad)
layer.weight = nn.Parameter(pyburn.zeros(2, 3))  # C++ sees what Python has set
layer.bias = None
try:
    layer(x).sum().item()
finally:
    layer.bias = nn.Parameter(pyburn.ones(2))
pyburn.testing.assert_close(layer(x), pyburn.sigmoid(x @ layer.gate.T))
layer.reset_parameters()
assert layer.weight.abs().sum() > 0

for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
    assert type(other) is GatedLinear and other.weight is not layer.weight
    pyburn.testing.assert_close(other(x), layer(x))
fresh = GatedLinear(3, 2)
fresh.load_state_dict(layer.state_dict())
pyburn.testing.assert_close(fresh(x), layer(x))
model = nn.Sequential(layer, nn.ReLU())
assert "(0): GatedLinear(in_features=3" in repr(model)
pyburn.testing.assert_close(model(x), layer(x).relu())
seen = []
layer.register_forward_hook(lambda m, args, out: seen.append(type(m)))
model(x)
assert seen == [GatedLinear]
graph = pyburn.inference.compile(nn.Sequential(fresh), x)
pyburn.testing.assert_close(graph(x), fresh(x))


class Scaled(GatedLinear):
    def __init__(self, features):
        super().__init__(features, features, bias=False)
        self.scale = 2.0

    def forward(self, x):
        return super().forward(x) * self.scale


scaled = Scaled(3)
pyburn.testing.assert_close(nn.Sequential(scaled)(x), GatedLinear.forward(scaled, x) * 2)
assert repr(scaled).startswith("Scaled(in_features=3")

for call, error in [
    (lambda: GatedLinear(3), TypeError),
    (lambda: GatedLinear(3, 2, True, None, None, 1), TypeError),
    (lambda: GatedLinear(3, 2, wrong=1), TypeError),
    (lambda: GatedLinear("3", 2), TypeError),
    (lambda: GatedLinear(0, 2), ValueError),
    (lambda: layer(), TypeError),
    (lambda: layer(x, x), TypeError),
    (lambda: layer(x, input=x), TypeError),
    (lambda: layer(3), TypeError),
    (lambda: layer(pyburn.ones(4, 5)), RuntimeError),
    (lambda: GatedLinear.forward(nn.Linear(3, 2), x), TypeError),
    (lambda: GatedLinear.reset_parameters(nn.Linear(3, 2)), TypeError),
    (lambda: nn.Module.forward(nn.Sequential()), NotImplementedError),
]:
    try:
        call()
    except error as e:
        assert str(e)
    else:
        raise AssertionError("no error")
"""


def test_a_layer_in_a_package_of_its_own(tmp_path: Path) -> None:
    run(LAYER, install_plugin("plugin_layer_cpp", "pyburn_gated", tmp_path))


EXTENSION = """
import math
import pyburn
from pyburn import nn
from pyburn_norms import parameter_norm, perceptron, unit_vectors

x = pyburn.tensor([[3.0, 4.0], [0.0, 2.0]], requires_grad=True)
y = unit_vectors(x)
assert isinstance(y, pyburn.Tensor)
pyburn.testing.assert_close(y, pyburn.tensor([[0.6, 0.8], [0.0, 1.0]]))
y.sum().backward()
assert x.grad.shape == (2, 2)
assert unit_vectors(pyburn.ones(1 << 15).reshape(-1, 2)).shape == (1 << 14, 2)

model = perceptron(3, 5, 2, "cpu")
assert isinstance(model, nn.Sequential), type(model)
assert repr(model[0]) == "Linear(in_features=3, out_features=5, bias=True)"
pyburn.optim.SGD(model.parameters(), 0.1).step()
assert model(pyburn.ones(4, 3)).shape == (4, 2)
expected = math.sqrt(sum(float((p * p).sum()) for p in model.parameters()))
assert abs(parameter_norm(model).item() - expected) < 1e-4


class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(pyburn.tensor([3.0, 4.0]))


assert parameter_norm(Mine()).item() == 5
for call, error in [
    (lambda: unit_vectors(3), TypeError),
    (lambda: unit_vectors(None), TypeError),
    (lambda: perceptron(-3, 5, 2, "cpu"), RuntimeError),
    (lambda: parameter_norm(x), TypeError),
    (lambda: parameter_norm(nn.Linear), TypeError),
    (lambda: perceptron(3, 5, 2), TypeError),
    (lambda: perceptron(3, "5", 2, "cpu"), TypeError),
    (lambda: perceptron(3, 5, 2, "nowhere"), pyburn.DeviceError),
]:
    try:
        call()
    except error as e:
        assert str(e)
    else:
        raise AssertionError("no error")
"""


def test_an_extension_module_takes_tensors_and_modules(tmp_path: Path) -> None:
    run(EXTENSION, install_plugin("extension_cpp", "pyburn_norms", tmp_path))


def test_an_extension_module_for_other_headers_is_not_imported(tmp_path: Path) -> None:
    headers = changed_headers(tmp_path / "include", "tensor/storage.h", "  void* host; ", "  void* host; int64_t alignment = 64; ")
    source = (ROOT / "examples" / "extension_cpp" / "norms.cpp").read_text()
    compile_library(source, tmp_path / "_native.so", f"-I{sysconfig.get_paths()['include']}", headers=headers)
    message = run("import pyburn\ntry:\n    import _native\nexcept ImportError as e:\n    print(e)", tmp_path)
    assert "built against other headers" in message
    assert "Rebuild it against this version" in message


VECTORS = """
import numpy as np
import pyburn

log_cosh = pyburn.load_library(__import__("sys").argv[1]).log_cosh
values = np.linspace(-100, 100, 1003).astype(np.float32)
expected = np.logaddexp(values.astype(np.float64), -values.astype(np.float64)) - np.log(2)
np.testing.assert_allclose(log_cosh(pyburn.from_numpy(values)).numpy(), expected, rtol=1e-5, atol=1e-6)
np.testing.assert_allclose(log_cosh(pyburn.from_numpy(values).double()).numpy(), expected, rtol=1e-5, atol=1e-6)
"""


@pytest.mark.skipif(not Path("/usr/include/hwy/highway.h").exists(), reason="needs Highway's headers")
def test_a_plugin_uses_the_vector_maths(tmp_path: Path) -> None:
    folder = ROOT / "tests" / "plugins"
    path = compile_library((folder / "log_cosh.cpp").read_text(), tmp_path / "log_cosh.so", f"-I{folder}", "-O1", "-lhwy")
    run(VECTORS, tmp_path, str(path))
