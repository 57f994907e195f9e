"""Devices by name: the grammar, identity, printing, discovery, PYBURN_DEVICE, the enumeration, and the router over a few kernels."""

from __future__ import annotations

import copy
import enum
import importlib.util
import os
import pickle
import subprocess
import sys
import textwrap
import typing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import p_vision
import pyburn
from pyburn import BackendKind, backend


class Few(backend.Backend):
    """Three kernels, and no cast."""

    name = "few"

    def __init__(self, text: str = "0") -> None:
        self.text = text

    @backend.kernel
    def exp(self, x):
        return np.exp(x)

    @backend.kernel
    def mul(self, *tensors, scalar, value):
        return tensors[0] * (tensors[1] if scalar == 0 else value)

    @backend.kernel
    def sum(self, x, *, dim, keepdim, result):
        return x.sum(dim, keepdims=keepdim)


backend.register("few", Few)
backend.register("few-path", Few)


def test_options_are_part_of_a_device_and_keep_their_case():
    assert pyburn.device("few:1") == pyburn.device("FEW:1") != pyburn.device("few:2")
    assert pyburn.device("few-path:/A") != pyburn.device("few-path:/a")
    assert len({pyburn.device("few:1"), pyburn.device("few:2"), pyburn.device("Few:1")}) == 2
    assert (pyburn.device("few:1").type, pyburn.device("few:1").index) == ("few", 1)
    assert pyburn.device("few-path:/A").index is None
    with pytest.raises(pyburn.DeviceError, match="different devices"):
        pyburn.ones(2, device="router(few:1, cpu)") * pyburn.ones(2, device="router(few:2, cpu)")


def test_aliases_and_default_options_are_one_device():
    names = ("cpu", "ndarray", "ndarray:0", "cpu:3", "autodiff(CPU)", " autodiff( cpu ) ", "best")
    assert len({pyburn.device(name) for name in names}) == 1
    assert str(pyburn.device("cpu:7")) == "autodiff(ndarray)"
    assert pyburn.device("few") == pyburn.device("few:0")
    for name in ("cpu:fast", "fusion:1(cpu)", "meta:x"):
        with pytest.raises(pyburn.DeviceError, match="takes no options"):
            pyburn.device(name)


NAMES = ["cpu", "few:1", "few:cuda:0", "few-path:/A", 'few-path:"a (1), \\"b\\""', "inner(cpu)", "inner(few:1)", "meta"]
NAMES += ["fusion(few:2)", "router(few:1, cpu)"]


@pytest.mark.parametrize("name", NAMES)
def test_text_pickle_and_copies_give_the_same_device(name):
    d = pyburn.device(name)
    assert pyburn.device(str(d)) == d == eval(repr(d), {"device": pyburn.device})
    assert pickle.loads(pickle.dumps(d)) == copy.deepcopy(d) == copy.copy(d) == d


def test_a_backend_stacked_by_hand_keeps_its_identity():
    one, other = Few(), Few()
    assert backend.autodiff(one) == backend.autodiff(one) == one.device != backend.autodiff(other)
    assert one.device != pyburn.device("few")
    assert copy.deepcopy(one.device) == one.device
    with pytest.raises(pyburn.DeviceError, match="register the backend"):
        pickle.dumps(one.device)
    d = one.device
    with pytest.raises(pyburn.DeviceError, match="at most 32"):
        for _ in range(1000):
            d = backend.stack("fusion", d)


def test_meta_prints_as_in_pytorch():
    d = pyburn.device("null")
    assert d == pyburn.device("meta") and str(d) == d.type == "meta" and d.index is None
    assert repr(pyburn.ones(2, 3, device="meta")) == "tensor(..., device='meta', size=(2, 3))"


@pytest.mark.parametrize(
    "name, message, column",
    [
        ("fusion(cpu", "unclosed", 6),
        ("fusion(cpu))", "unmatched", 11),
        ("router(cpu, nope)", "unknown device: got 'nope'", 12),
        ("fusion()", "expected a name", 7),
        ("few:", "expected options", 4),
        ("ws://a:1", "in parentheses", 0),
        ("few:\x01", "control characters", 4),
        ('few:"a', "unclosed", 4),
        ("cpu\0x", "end of the name", 3),
    ],
)
def test_errors_point_at_the_place(name, message, column):
    with pytest.raises(pyburn.DeviceError, match=message) as caught:
        pyburn.device(name)
    *_, text, mark = str(caught.value).split("\n")
    assert mark == " " * (4 + column) + "^" and f"at byte {column} " in str(caught.value)


def test_what_no_name_is_raises():
    for name in ("\ud800", "", "fusion(" * 100_000, "fusion(" * 100, "x" * 5000, "cpu(1)", "fusion", "inner(cpu, cpu)"):
        with pytest.raises(pyburn.DeviceError):
            pyburn.device(name)
        assert pyburn.device("cpu") != name
    empty = pyburn.Device.__new__(pyburn.Device)
    with pytest.raises(TypeError):
        pyburn.ones(1, device=empty)
    with pytest.raises(pyburn.DTypeError):
        pyburn.ones(1, dtype="\ud800")


@pytest.mark.parametrize("name, instead", [("cuda:0", "torch:cuda:0"), ("mps", "torch:mps"), ("rocm:1", "torch:cuda:1")])
def test_devices_of_pytorch_name_what_to_use(name, instead):
    with pytest.raises(pyburn.DeviceError, match=f"'{instead}'.*pip install torch"):
        pyburn.ones(1, device=name)


PIECES = ["cpu", "few", "FUSION", "inner", "ws://a", "(", ")", ",", ":", '"', "\\", " ", "é", "1", "\t", "\x07", "meta"]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20))
def test_any_text_is_a_device_or_an_error(text):
    try:
        d = pyburn.device(text)
    except pyburn.DeviceError:
        return
    assert pyburn.device(str(d)) == d


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(lambda t: t != "0"))
def test_quoted_options_arrive_as_written(options):
    quoted = options.replace("\\", "\\\\").replace('"', '\\"')
    d = pyburn.device(f'few-path:"{quoted}"')
    assert pyburn.device(str(d)) == d and d != pyburn.device("few-path")


def program(text: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env={**os.environ, **environment}, capture_output=True, text=True)


def test_a_package_is_asked_before_a_name_is_not_available(tmp_path):
    package = tmp_path / "elsewhere-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[pyburn.backends]\nwgpu = elsewhere:announce\n")
    (tmp_path / "elsewhere.py").write_text(
        textwrap.dedent("""
        from pyburn import backend
        class Elsewhere(backend.Backend):
            name = "wgpu"
        def announce():
            backend.register("wgpu", Elsewhere)
        """)
    )
    done = program(
        f"""
        import sys; sys.path.append({str(tmp_path)!r})
        import pyburn
        assert pyburn.device("Wgpu").name == "autodiff(wgpu)" and pyburn.device("gpu") == "wgpu"
        assert pyburn.BackendKind.WGPUDEVICE.available and "wgpu" in pyburn.BackendKind.available()
        """,
        PYBURN_WGPU_LIBRARY="/no/such/library",
    )
    assert done.returncode == 0, done.stderr


def test_the_environment_names_the_default_device():
    done = program("import pyburn; print(pyburn.ones(1).device)", PYBURN_DEVICE="Fusion(numpy)")
    assert done.stdout == "autodiff(fusion(numpy))\n", done.stderr
    done = program("import pyburn; print('imported', flush=True); pyburn.ones(1)", PYBURN_DEVICE="nonsense")
    assert done.stdout == "imported\n" and "[PYBURN_DEVICE]" in done.stderr and "unknown device: got 'nonsense'" in done.stderr


def test_the_enumeration():
    kind = p_vision.backend
    assert kind is BackendKind
    assert [member.name for member in kind] == ["WGPUDEVICE", "FUSIONJITBACKEND", "PYTORCH", "NDARRAY", "NUMPY"]
    assert kind("Wgpu") is kind.WGPUDEVICE and kind("PyTorch") is kind.PYTORCH and kind("CPU") is kind.NDARRAY
    assert kind("fusion(ndarray)") is kind.FUSIONJITBACKEND
    with pytest.raises(ValueError):
        kind("nonsense")
    assert kind.NDARRAY.available is True and kind.PYTORCH.available is (importlib.util.find_spec("torch") is not None)
    assert "ndarray" in kind.names() and "wgpu" in kind.names() and "few" in kind.names()
    assert pyburn.device(kind.NDARRAY) == kind.NDARRAY and pyburn.device(kind.FUSIONJITBACKEND) == "fusion(cpu)"
    assert kind.epsilon() == p_vision.config.epsilon()
    assert pickle.loads(pickle.dumps(kind.NDARRAY)) is kind.NDARRAY


def test_the_enumeration_in_annotations():
    def build(kind: p_vision.backend) -> p_vision.backend:
        return kind

    assert typing.get_type_hints(build) == {"kind": p_vision.backend, "return": p_vision.backend}
    assert isinstance(p_vision.backend, enum.EnumMeta) and isinstance(p_vision.backend.NUMPY, p_vision.backend)
    assert {type(member.available) for member in p_vision.backend} == {bool}
    assert [p_vision.backend(member.value) for member in p_vision.backend] == list(p_vision.backend)


def test_backends_that_are_no_members_are_named_by_strings():
    from pyburn.backend.numpy_backend import NumpyBackend

    class Later(NumpyBackend):
        name = "later"

    backend.register("later", Later)
    assert "later" in p_vision.backend.names() and "later" in p_vision.backend.available()
    with pytest.raises(ValueError):
        p_vision.backend("later")
    x, y = np.ones((4, 2), np.float32), np.ones((4, 3), np.float32)
    made = p_vision.Sequential([p_vision.Input((2,)), p_vision.Dense(3)], backend="Later")
    moved, compiled = (p_vision.Sequential([p_vision.Input((2,)), p_vision.Dense(3)]) for _ in range(2))
    moved.backend = "later"
    compiled.compile("sgd", "mse", backend="later")
    for model in (made, moved, compiled):
        assert model.backend == "later" and model.weights[0].device == pyburn.device("later")
        model.fit(x, y, verbose=0)
        assert model.backend == "later"
    compiled.compile("sgd", "mse", backend=p_vision.backend.NDARRAY)
    assert compiled.backend == "cpu"
    with pytest.raises(pyburn.DeviceError, match="to_empty"):
        compiled.compile("sgd", "mse", backend="null")
    assert compiled.backend == "cpu"


def test_a_model_keeps_its_weights_on_every_device_that_is_available():
    model = pyburn.nn.Linear(2, 3)
    before = model.weight.tolist()
    for member in BackendKind:  # other tests register devices that are wrong on purpose
        if member.available:
            model.backend = member
            assert model.weight.cpu().tolist() == before
    for face in (model, p_vision.Sequential([p_vision.Input((2,)), p_vision.Dense(3)])):
        with pytest.raises(pyburn.DeviceError, match="to_empty"):
            face.backend = "null"
        assert not next(face.parameters()).is_meta
    assert model.to("meta").weight.is_meta  # as in PyTorch


def test_a_compiled_model_runs_where_its_weights_are():
    model = pyburn.nn.Linear(2, 3).to("numpy")
    session = pyburn.inference.compile(model, pyburn.ones(1, 2))
    assert session.device == "numpy"
    x = pyburn.ones(4, 2, device="numpy")
    session = pyburn.inference.compile(model, x)
    assert np.allclose(session(x).cpu().numpy(), model(x).detach().cpu().numpy())


def test_a_router_needs_only_a_few_kernels_of_its_primary():
    d = "router(few, cpu)"

    def train(device):
        pyburn.manual_seed(0)
        model = pyburn.nn.Sequential(pyburn.nn.Linear(3, 4), pyburn.nn.Tanh(), pyburn.nn.Linear(4, 1)).to(device)
        optimizer = pyburn.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x = pyburn.arange(6.0).reshape(2, 3).to(device)
        for _ in range(2):
            optimizer.zero_grad()
            loss = ((model(x) - 1) ** 2).mean()
            loss.backward()
            optimizer.step()
        return [loss.item(), *(p.detach().cpu() for p in model.parameters())]

    for there, here in zip(train(d), train("cpu")):
        assert np.allclose(there, here, atol=1e-6)

    def write(device):
        x = pyburn.arange(12.0, device=device).reshape(3, 4)
        x += 1
        x[:, 1] *= 2
        x.T[2:] -= x.T[:2]
        x[x > 7] = 0.5
        y = pyburn.zeros(3, 4, dtype=pyburn.float64, device=device)
        pyburn.add(x, x, out=y)
        pyburn.mul(x, x, out=x)  # a kernel that the primary has
        return x.tolist(), y.tolist(), x.to(pyburn.int32).tolist()

    assert write(d) == write("cpu")


def test_a_router_names_the_operation_that_is_missing():
    x = pyburn.ones(2).to("router(few:3, few:4)")
    with pytest.raises(pyburn.UnsupportedOp, match=r"^\[sin\] has no kernel for float32"):
        x.sin()
